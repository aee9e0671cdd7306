"""Dumps of the system tables: JSON, what cqlsh prints, CSV."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.errors import BadInput
from kit.operators.importers.opening import import_texts
from kit.ring.replication import Keyspace, LocalStrategy, NetworkTopologyStrategy, SimpleStrategy
from kit.ring.topology import Node
from tests.operators.printing import Host, copy_csv, ring_of, rows_of, select_json
from tests.operators.samples import DUMPS, clusters, one_line, opened, text_of
from tests.saying import says

NODES = json.loads(text_of(DUMPS / "nodes.json"))
PEERS = text_of(DUMPS / "peers.csv")
LOCAL = text_of(DUMPS / "local.txt")
KEYSPACES = (
    Keyspace("shop", NetworkTopologyStrategy((("east", 2), ("west", 1)))),
    Keyspace("system", LocalStrategy()),
    Keyspace("system_traces", SimpleStrategy(2)),
)


def test_samples_of_three_forms() -> None:
    """The same ring from a JSON list, and from ``SELECT JSON`` output beside a CSV copy."""
    one = opened(DUMPS / "nodes.json", DUMPS / "keyspaces.json")
    other = opened(DUMPS / "local.txt", DUMPS / "peers.csv", DUMPS / "keyspaces.csv")
    assert one.ring == other.ring
    assert one.keyspaces == other.keyspaces == KEYSPACES
    assert one.host_ids == other.host_ids
    assert one.host_ids["10.5.0.3"] == "00000002-0000-4000-8000-000000000002"
    assert one.ring.nodes[0] == Node(
        "10.5.0.1",
        (-116343679928894088, 3111093572218458760, 4948025256206694139, 8128531362203741959),
        "east",
        "r1",
    )


def test_the_log_of_metadata_is_placed_by_no_ring() -> None:
    """Cassandra's own keyspace of the metadata log is left out, with a word."""
    (warning,) = opened(DUMPS / "nodes.json", DUMPS / "keyspaces.csv").warnings
    assert "system_cluster_metadata" in warning
    assert "line 5" in warning


@given(clusters(), st.booleans())
def test_any_cluster_is_read_back(hosts: list[Host], lines: bool) -> None:
    """What is dumped of a cluster gives its ring."""
    rows = rows_of([host for host in hosts if host.state != "Joining"])
    peers = rows[1:]
    texts = [("local", select_json(rows[:1]))]
    if peers:
        form = "\n".join(map(json.dumps, peers)) if lines else copy_csv(peers)
        texts.append(("peers", form))
    found = import_texts(texts)
    assert set(found.ring.nodes) == set(ring_of(hosts).nodes)


def row(at: int = 1, /, **changes: object) -> dict[str, object]:
    """A row of the sample with some columns changed; one whose value is ... is left out."""
    found = {**NODES[at], **changes}
    return {column: value for column, value in found.items() if value is not ...}


def test_tokens_in_every_form() -> None:
    """Tokens are texts or numbers in a list, or a set as CQL writes it."""
    for tokens in (["-9", "5"], [-9, 5], "{'-9', '5'}", "['-9','5']"):
        text = json.dumps([row(0), row(tokens=tokens)])
        assert import_texts([("rows", text)]).ring.nodes[1].tokens == (-9, 5)


def test_a_peer_whose_host_id_is_null() -> None:
    """Its address and tokens count, and the answer says that the id is unknown."""
    known = import_texts([("rows", json.dumps([row(0), row(host_id=None)]))])
    assert known.ring.names == ("10.5.0.1", "10.5.0.2")
    assert "10.5.0.2" not in known.host_ids
    assert "rows row 2: the host_id of 10.5.0.2 is null" in known.warnings[0]
    # A dump may leave the column out; then nobody expects it.
    without = import_texts([("rows", json.dumps([row(0), row(host_id=...)]))])
    assert not any("host_id" in warning for warning in without.warnings)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"peer": ...}, "rows row 2 address | None"),
        ({"peer": "10.5.0"}, "rows row 2 address | '10.5.0'"),
        ({"peer": "10.5.0.1"}, "rows row 2 | '10.5.0.1' | each | node | once"),
        ({"data_center": ...}, "rows row 2 | 'peer, host_id, rack"),
        ({"data_center": None}, "rows row 2 data_center | None"),
        ({"data_center": 5}, "rows row 2 data_center | 5"),
        ({"rack": "a\nb"}, "rows row 2 rack: got"),
        ({"host_id": "x"}, "rows row 2 host_id | 'x' | UUID"),
        ({"host_id": NODES[0]["host_id"]}, "host id of 10.5.0.2"),
        ({"tokens": 5}, "rows row 2 tokens | 5"),
        ({"tokens": ["5", True]}, "rows row 2 tokens | True"),
        ({"tokens": ["1.5"]}, "rows row 2 tokens | '1.5'"),
        ({"tokens": [2**63]}, "rows row 2 tokens | 9223372036854775808"),
        ({"tokens": ["5", "5"]}, "rows row 2 tokens | 5 | each | token | once"),
        ({"tokens": "{'5'"}, "rows row 2 tokens: got"),
        ({"tokens": NODES[0]["tokens"]}, "token of 10.5.0.2 | -116343679928894088"),
        ({"partitioner": "org.apache.cassandra.dht.RandomPartitioner"}, "partitioner | 'org"),
        ({"cluster_name": "Other"}, "rows of one cluster only, such as 'Other'"),
    ],
)
def test_bad_rows(changes: dict[str, object], said: str) -> None:
    """Each wrong value is named with its row and column, in one line."""
    with pytest.raises(BadInput) as caught:
        import_texts([("rows", json.dumps([row(0), row(1, **changes)]))])
    assert says(one_line(caught.value), said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LOCAL.replace("(1 rows)", "(2 rows)"), "line 6 | '(2 rows)' | count"),
        (LOCAL.replace("}\n", "\n"), "line 4: got"),
        (LOCAL.replace("}\n", "}\n---MORE---\n").replace("(1", "("), "line 7 | '( rows)'"),
        (LOCAL.partition("(1 rows)")[0] + "---MORE---\n", "line 6 | '---MORE---' | all pages"),
        (LOCAL.replace(" {", " x {"), "line 4 | 'x {"),
        ("[json]\n------\n\n(0 rows)\n", " | 'no row'"),
        ("[]", " | 'no row'"),
        ("[5]", "row 1 | 5 | row | JSON | object"),
        ('[{"data_center": "dc1"}]', "row 1 | 'data_center'"),
        ('{"peer": "10.0.0.1"}', "line 1 | 'peer'"),
        ('{"keyspace_name": "ks", "replication": 3}', "line 1 keyspace ks | 3"),
        ('{"keyspace_name": "ks", "replication": {"class": "X"}}', "line 1 keyspace ks.class"),
        ('{"keyspace_name": "", "replication": {}}', "line 1 keyspace_name | ''"),
        (PEERS.replace(",rack", ",data_center"), "line 1 | 'peer,data_center"),
        (PEERS.replace(",rack", ",shelf"), "line 2 | 'peer, data_center"),
        (PEERS.replace("10.5.0.3,west,", "10.5.0.3,"), "line 3 | '5 fields' | 6 | fields"),
        (PEERS.rstrip().removesuffix('}"'), "line 3 | 'no CSV'"),
        (PEERS.split("\n", 1)[1], "line 1 | '10.5.0.2,east"),
    ],
)
def test_bad_text(text: str, said: str) -> None:
    """Dumps that are cut short, mixed up or of another table are refused in one line."""
    with pytest.raises(BadInput) as caught:
        import_texts(
            [("local.txt", LOCAL if text.startswith("peer") else text), ("rows", text)][-1:]
        )
    assert says(one_line(caught.value), said)


@given(st.integers(0, 3000), st.sampled_from((PEERS, LOCAL, text_of(DUMPS / "nodes.json"))))
def test_cut_off_anywhere(length: int, text: str) -> None:
    """A dump cut off anywhere is bad input or lacks whole rows, never a part of one."""
    with suppress(BadInput):
        found = import_texts([("rows", text[:length])])
        assert set(found.ring.nodes) <= set(import_texts([("rows", text)]).ring.nodes)
