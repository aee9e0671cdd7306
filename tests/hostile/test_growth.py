"""Importers take ten times as long for ten times as much, not a hundred times.

No clock: the calls of Python functions and the steps of generators are counted.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kit.edge.json_text import parse_json
from kit.errors import BadInput
from kit.operators.importers.dumps import parse_csv_rows, parse_json_rows, rows_listing
from kit.operators.importers.opening import import_texts
from kit.operators.importers.ringfile import MOST_KEYSPACES, parse_ring
from kit.operators.importers.system_tables import parse_requests, parse_topology
from kit.operators.importers.topology_journals import parse_journals
from kit.protocols.tcm.parameters import parse_operation
from kit.ring.replication import SimpleStrategy
from tests.commands.calling import ring_of
from tests.operators.printing import (
    Host,
    copy_csv,
    describering_text,
    host_id,
    ring_text,
    rows_of,
    select_json,
    status_text,
)
from tests.operators.topology_printing import as_csv, node, table, timeuuid


def hosts(count: int) -> list[Host]:
    """Nodes with a datacenter each: what looked for its like among all others was quadratic."""
    return [
        Host(f"10.{at >> 16}.{at >> 8 & 255}.{at & 255}", (at,), f"dc{at}", host_id=host_id(at))
        for at in range(count)
    ]


def journal(host: str, count: int) -> str:
    """A journal in which a host says that often what it is doing."""
    said = "[shard 0: gms] raft_topology - entered `join group0` transition state"
    return "\n".join(
        f"Feb 01 {at // 3600 % 24:02}:{at // 60 % 60:02}:{at % 60:02}.1 {host} scylla[1]:  {said}"
        for at in range(count)
    )


def tokens_row(count: int) -> str:
    """One row of a dump with so many tokens."""
    row = {"peer": "10.0.0.1", "data_center": "dc1", "rack": "r1", "tokens": list(range(count))}
    return json.dumps(row)


FORMS: dict[str, tuple[Callable[[int], Any], Callable[[Any], Any]]] = {
    "ring": (lambda n: [("r", ring_text(hosts(n)))], import_texts),
    "status": (lambda n: [("r", ring_text(hosts(n))), ("s", status_text(hosts(n)))], import_texts),
    "tokens of a row": (
        lambda n: tokens_row(10 * n),
        lambda text: rows_listing(parse_json_rows(text, "d"), "d"),
    ),
    "ring file": (
        lambda n: json.dumps(ring_of([{"name": f"n{at}", "tokens": [at]} for at in range(n)])),
        parse_ring,
    ),
    "describering": (
        lambda n: [("d", describering_text(hosts(n), SimpleStrategy(3)))],
        import_texts,
    ),
    "rows of JSON": (lambda n: [("j", select_json(rows_of(hosts(n))))], import_texts),
    "rows of CSV": (lambda n: [("c", copy_csv(rows_of(hosts(n))[1:]))], import_texts),
    "keyspaces": (
        lambda n: [
            f'k{at}={{"class": "SimpleStrategy", "replication_factor": 1}}' for at in range(n)
        ],
        lambda texts: import_texts([("r", ring_text(hosts(2)))], texts),
    ),
    "JSON text": (
        lambda n: [(at, at + 1, 1) for at in range(n)],
        lambda rows: parse_json(json.dumps({"ranges": {"ks": rows}}), "sizes file"),
    ),
    "topology": (
        lambda n: as_csv(table([node(at) for at in range(1, n)])),
        lambda text: parse_topology(text, "t"),
    ),
    "requests of the topology": (
        lambda n: as_csv(
            [{"id": timeuuid(at), "request_type": "join", "done": True} for at in range(n)]
        ),
        lambda text: parse_requests(text, "r"),
    ),
    "journals": (
        lambda n: [(f"{host}.log", journal(host, n)) for host in ("node-a", "node-b")],
        parse_journals,
    ),
    "operation": (
        lambda n: "bootstrap x --tokens " + ",".join(map(str, range(n))),
        parse_operation,
    ),
    "empty lines": (
        lambda n: "peer,rack\n" + "\n" * 10 * n,
        lambda text: parse_csv_rows(text, "c"),
    ),
}


def counted(call: Callable[[], Any]) -> int:
    """How many lines of Python a call runs."""
    lines = 0

    def trace(_frame: Any, event: str, _: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return trace

    former = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(former)
    return lines


@pytest.mark.parametrize("name", FORMS)
def test_ten_times_as_much_is_about_ten_times_the_work(name: str) -> None:
    """No step of a reader goes through all that was read before."""
    written, read = FORMS[name]
    read(written(10))
    few, many = written(40), written(400)
    assert counted(lambda: read(many)) <= 12 * counted(lambda: read(few))


def test_limits_are_said() -> None:
    """Too many keyspaces and too long an operation are refused by what is allowed."""
    many = {f"ks{at}": {"class": "LocalStrategy"} for at in range(MOST_KEYSPACES + 1)}
    with pytest.raises(BadInput, match=f"at most {MOST_KEYSPACES}"):
        parse_ring(json.dumps(ring_of(keyspaces=many)))
    with pytest.raises(BadInput, match="a line of at most 100000 characters"):
        parse_operation("bootstrap " + "x" * 4_000_000)


def test_a_row_of_many_tokens_twice(tmp_path: Path) -> None:
    """A token that a node has twice is found among 100,000 without comparing all with all."""
    row = json.loads(tokens_row(100_000))
    row["tokens"][-1] = 7
    with pytest.raises(BadInput, match="each token once"):
        rows_listing(parse_json_rows(json.dumps(row), "d"), "d")
