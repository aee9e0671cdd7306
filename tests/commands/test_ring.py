"""``ring``: the placements of a stable ring, as JSON and as text."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from cassandra import metadata as driver
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from tests.commands.calling import TEN, call, ring_of, written
from tests.commands.drawing import clusters, keyspaces
from tests.commands.oracle import HIGH, LOW, Node, Walks, rights, spans
from tests.examples import examples

SHARED_FOLDER = [HealthCheck.function_scoped_fixture]
SIMPLE_2 = {"class": "SimpleStrategy", "replication_factor": 2}
WORKED = [{"name": n, "tokens": [t]} for n, t in (("A", 100), ("B", 200), ("C", 300))]


class Host:
    """A node as the driver's strategies see it."""

    def __init__(self, node: Node) -> None:
        self.name, self.datacenter, self.rack = node.name, node.dc, node.rack


@pytest.mark.spec("A-006", "A-008", "A-011", "A-022", "A-042")
def test_worked_example(tmp_path: Path) -> None:
    """The worked ring: rows in order, walk order in each, null at both ends of the line."""
    path = written(tmp_path, ring_of(WORKED, {"KS": SIMPLE_2}))
    answer = call("ring", path, "--json")
    assert answer.status == 0
    assert answer.json == {
        "keyspaces": {
            "KS": [
                [None, 100, ["A", "B"]],
                [100, 200, ["B", "C"]],
                [200, 300, ["C", "A"]],
                [300, None, ["A", "B"]],
            ]
        }
    }


@pytest.mark.parametrize("change", ["bom", "crlf", "texts"])
def test_forms_of_the_same_file(tmp_path: Path, change: str) -> None:
    """A byte order mark, CRLF and tokens as texts make no difference."""
    content = ring_of(TEN)
    plain = call("ring", written(tmp_path, content), "--json")
    text = Path(written(tmp_path, content)).read_text("utf-8").replace(", ", ",\r\n")
    if change == "texts":
        for node in content["nodes"]:
            node["tokens"] = [str(token) for token in node["tokens"]]
        text = Path(written(tmp_path, content)).read_text("utf-8")
    raw = text.encode("utf-8-sig" if change == "bom" else "utf-8")
    assert call("ring", written(tmp_path, raw), "--json") == plain
    assert plain.status == 0


@pytest.mark.spec("A-011", "A-012", "A-013", "A-014")
@examples(60, suppress_health_check=SHARED_FOLDER)
@given(st.data())
def test_against_the_driver(tmp_path: Path, data: st.DataObject) -> None:
    """Every row has the replicas of a published driver, in its order within each datacenter."""
    nodes = data.draw(clusters(64, 3))
    replications = data.draw(keyspaces(nodes))
    content = ring_of([node.plain for node in nodes], replications)
    found = call("ring", written(tmp_path, content), "--json").json["keyspaces"]
    assert list(found) == list(replications)
    for name, replication in replications.items():
        check_line(found[name], nodes, replication)
        if replication["class"] in ("SimpleStrategy", "NetworkTopologyStrategy"):
            check_driver(found[name], nodes, replication)


def check_line(rows: list[Any], nodes: list[Node], replication: dict[str, Any]) -> None:
    """The rows lie one beside the other from end to end; each is the reference's."""
    if replication["class"] == "LocalStrategy":
        assert rows == []
        return
    assert rows[0][0] is None
    assert rows[-1][1] is None
    assert all(one[1] == other[0] for one, other in pairwise(rows))
    bounds = [
        (LOW if left is None else left, HIGH if right is None else right) for left, right, _ in rows
    ]
    assert bounds == spans(rights(nodes))
    if replication["class"] == "EverywhereStrategy":
        assert all(sorted(who) == sorted(node.name for node in nodes) for *_, who in rows)


def check_driver(rows: list[Any], nodes: list[Node], replication: dict[str, Any]) -> None:
    """Each row has the driver's replicas of the token that closes it.

    Where a node with several tokens was passed over twice, the driver lists it twice and so finds
    too few: there its list without repetitions is the beginning of ours. Where a rack comes again,
    the driver puts the nodes that it passed over behind the other racks, the servers do not: there
    only the sets are compared.
    """
    factors = {k: str(v) for k, v in replication.items() if k != "class"}
    strategy = getattr(driver, replication["class"])(factors)
    hosts = {node.name: Host(node) for node in nodes}
    owner = {token: hosts[node.name] for node in nodes for token in node.tokens}
    order = sorted(owner)
    theirs = dict(strategy.make_token_replica_map(owner, order))
    for _, right, who in rows:
        token = next((t for t in order if right is not None and t >= right), order[0])
        if right is None and HIGH in owner:
            token = HIGH
        for dc in {node.dc for node in nodes}:
            ours = [name for name in who if hosts[name].datacenter == dc]
            listed = [host.name for host in theirs.get(token, []) if host.datacenter == dc]
            distinct = list(dict.fromkeys(listed))
            if len({hosts[name].rack for name in ours}) < len(ours):
                assert set(distinct) <= set(ours)
            else:
                assert ours[: len(distinct)] == distinct
            if len(distinct) == len(listed):
                assert sorted(ours) == sorted(distinct)
        if replication["class"] == "SimpleStrategy":
            assert who == [host.name for host in theirs[token]]


@examples(40, suppress_health_check=SHARED_FOLDER)
@given(st.data())
def test_against_the_reference(tmp_path: Path, data: st.DataObject) -> None:
    """Every row has the replicas of the readable reference, in one clockwise walk."""
    from kit.ring.replication import parse_replication

    nodes = data.draw(clusters(16, 3))
    replications = data.draw(keyspaces(nodes))
    content = ring_of([node.plain for node in nodes], replications)
    found = call("ring", written(tmp_path, content), "--json").json["keyspaces"]
    for name, replication in replications.items():
        walks = Walks(nodes, parse_replication(replication))
        for _, right, who in found[name]:
            assert tuple(who) == walks.of(HIGH if right is None else right)
