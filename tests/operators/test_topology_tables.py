"""Dumps of ``system.topology`` and ``system.topology_requests``: CSV and JSON."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.errors import BadInput
from kit.operators.importers.system_tables import (
    REQUESTS,
    TOPOLOGY,
    parse_requests,
    parse_topology,
    read_requests,
    read_topology,
)
from tests.operators.samples import one_line
from tests.operators.topology_printing import as_csv, as_select, node, table, timeuuid, uuid
from tests.saying import like, says

FOLDER = Path(__file__).resolve().parents[1] / "fixtures" / "topology"
CSV, SELECT = FOLDER / "topology.csv", FOLDER / "topology.txt"
ROWS = table([node(1), node(2)])


def test_samples_of_both_forms() -> None:
    """What ``COPY`` wrote and what ``SELECT JSON`` showed of one table say the same."""
    one, other = read_topology(CSV), read_topology(SELECT)
    assert (one.statics, one.rows) == (other.statics, other.rows)
    assert one.statics["transition_state"] == "write_both_read_old"
    assert one.statics["version"] == 14
    assert one.statics["tablet_balancing_enabled"] is True
    assert one.statics["ignore_nodes"] is None
    states = [(row["host_id"], row["node_state"], row["tokens"]) for row in one.rows]
    assert states[3:] == [
        (uuid(4), "bootstrapping", (-4000, 4000)),
        (uuid(5), "none", None),
        (uuid(9), "left", None),
    ]
    assert one.unknown == ("intended_storage_mode",)
    assert all("intended_storage_mode" in row for row in one.rows)


def test_the_columns_are_those_of_a_server() -> None:
    """33 columns, 16 of them static, each of its type; features are names there (Q-22)."""
    assert len(TOPOLOGY) == 33
    assert sum(column.static for column in TOPOLOGY.values()) == 16
    assert TOPOLOGY["committed_cdc_generations"].type == "set<tuple<timestamp, timeuuid>>"
    assert TOPOLOGY["supported_features"].type == "set<text>"


def test_samples_of_requests() -> None:
    """Requests of both forms say the same; they are in the order of time."""
    one, other = read_requests(FOLDER / "requests.csv"), read_requests(FOLDER / "requests.txt")
    assert one.rows == other.rows
    assert [row["request_type"] for row in one.rows.values()] == [
        "leave",
        "join",
        "join",
        "cleanup",
    ]
    assert [row["done"] for row in one.rows.values()] == [True, False, False, False]
    assert parse_requests(as_csv([dict.fromkeys(REQUESTS)]).split("\n")[0], "x").rows == {}


@given(
    st.lists(st.sets(st.integers(-(2**63), 2**63 - 1), max_size=5), min_size=1, max_size=5),
    st.sampled_from((None, "join group0", "write both read new", "write_both_read_new")),
    st.text(max_size=20).filter(str.isprintable),
)
def test_any_table_is_read_back(tokens: list[set[int]], state: str | None, rack: str) -> None:
    """Whatever a table holds, both forms give it; a state is read in both spellings."""
    nodes = [node(at, tokens=sorted(map(str, own)), rack=rack) for at, own in enumerate(tokens, 1)]
    rows = table(nodes, transition_state=state)
    found = parse_topology(as_select(rows), "x")
    assert parse_topology(json.dumps(rows), "x") == found
    assert found.statics["transition_state"] == (state and state.replace(" ", "_"))
    assert [row["tokens"] for row in found.rows] == [tuple(sorted(own)) or None for own in tokens]
    assert {row["rack"] for row in found.rows} == {rack or None}
    if "\\" not in rack:
        assert parse_topology(as_csv(rows), "x") == found


def changed(at: int = 1, /, **columns: Any) -> str:
    """The rows as JSON, one of them with other columns; ... leaves a column out of all."""
    rows = [dict(row) for row in ROWS]
    rows[at] |= {name: value for name, value in columns.items() if value is not ...}
    left = [name for name, value in columns.items() if value is ...]
    return json.dumps([{k: v for k, v in row.items() if k not in left} for row in rows])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "dump | 'no row' | rows of system.topology"),
        (changed(host_id=None), "dump row 2 host_id | None | UUID"),
        (changed(host_id="x"), "dump row 2 host_id | 'x' | UUID"),
        (changed(host_id=uuid(1)), "dump row 2 host_id | each node once"),
        (changed(key="other"), "dump row 2 key | 'other' | topology"),
        (changed(node_state=...), "dump row 1 | the column node_state"),
        (changed(tokens=["x"]), "dump row 2 tokens | 'x' | signed 64-bit"),
        (changed(tokens="{'5'}"), "dump row 2 tokens"),
        (changed(version=13), "dump row 2 version | 13 | what dump row 1 has | static"),
        (changed(version="x"), "dump row 2 version | 'x' | 64-bit"),
        (changed(shard_count=2**31), "dump row 2 shard_count"),
        (changed(num_tokens=-1), "dump row 2 num_tokens | -1 | tokens: a number from 0"),
        (changed(ignore_msb=64), "dump row 2 ignore_msb | 64 | from 0 to 63"),
        (changed(later=1), "dump row 2 | the same columns in every row"),
        (changed(request_id=uuid(3)), "dump row 2 request_id | version 1"),
        (as_csv(ROWS).replace("topology,00000002", "topology\n00000002"), "line 3 | '1 fields'"),
        (as_csv(ROWS).replace("{'1000', '-1000'}", "{'1000', '-1000'"), "line 2 tokens"),
        (as_csv(ROWS).split("\n", 1)[1], "line 1 | WITH HEADER"),
        (as_select(ROWS).replace("(2 rows)", "(3 rows)"), "line 7 | '(3 rows)' | count"),
        ("\nhello", "dump line 2 | 'hello' | rows of system.topology"),
        ("", "dump line 1 | '' | rows of system.topology"),
    ],
)
def test_bad_dumps(text: str, said: str) -> None:
    """What is wrong is named with its line or row and its column, in one line."""
    with pytest.raises(BadInput) as caught:
        parse_topology(text, "dump")
    assert says(one_line(caught.value), said)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"id": None}, "requests row 1 id | None"),
        ({"id": uuid(1)}, "requests row 1 id | version 1"),
        ({"done": "maybe"}, "requests row 1 done | 'maybe'"),
        ({"start_time": "now"}, "requests row 1 start_time | 'now'"),
    ],
)
def test_bad_requests(changes: dict[str, Any], said: str) -> None:
    """The same for the table of requests."""
    row = {**dict.fromkeys(REQUESTS), "id": timeuuid(1), "request_type": "join", **changes}
    with pytest.raises(BadInput) as caught:
        parse_requests(json.dumps([row]), "requests")
    assert says(one_line(caught.value), said)
    twice = json.dumps([{**row, "id": timeuuid(1), "done": False, "start_time": None}] * 2)
    with pytest.raises(BadInput, match=like("requests row 2 id | each request once")):
        parse_requests(twice, "requests")


@pytest.mark.parametrize("path", [CSV, SELECT])
@given(length=st.integers(0, 9000))
def test_cut_off_anywhere(path: Path, length: int) -> None:
    """A dump that is cut off is bad input, or lacks whole rows."""
    text, whole = path.read_text("utf-8"), read_topology(path)
    with suppress(BadInput):
        found = parse_topology(text[:length], path.name)
        assert set(map(repr, found.rows)) <= set(map(repr, whole.rows)) or path == CSV
        hosts = {row["host_id"] for row in found.rows}
        assert hosts <= {row["host_id"] for row in whole.rows}
