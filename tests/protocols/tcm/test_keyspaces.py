"""Keyspaces, strategies, racks and datacenters, vnodes, and rings smaller than the factor."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

from kit.masks import majority
from kit.protocols.tcm.facts import moment as facts
from kit.ring.reference import replicas_reference
from kit.ring.replication import (
    EverywhereStrategy,
    Keyspace,
    LocalStrategy,
    NetworkTopologyStrategy,
    SimpleStrategy,
)
from kit.ring.topology import Node
from tests.protocols.tcm.driving import Drive

RACKS = (
    Node("a1", (100,), "dc1", "r1"),
    Node("b1", (150,), "dc2", "r1"),
    Node("a2", (200,), "dc1", "r1"),
    Node("b2", (250,), "dc2", "r2"),
    Node("a3", (300,), "dc1", "r2"),
    Node("b3", (350,), "dc2", "r1"),
    Node("a4", (400,), "dc1", "r2"),
    Node("b4", (450,), "dc2", "r2"),
)
SEVERAL = (
    Keyspace("one", SimpleStrategy(1)),
    Keyspace("three", SimpleStrategy(3)),
    Keyspace("same", SimpleStrategy(3)),
    Keyspace("wide", NetworkTopologyStrategy((("dc1", 2), ("dc2", 1)))),
    Keyspace("all", EverywhereStrategy()),
    Keyspace("own", LocalStrategy()),
)


def ring(**parameters: Any) -> Drive:
    """Eight nodes in two datacenters of two racks, with six keyspaces."""
    return Drive(**{"members": RACKS, "low": 0, "high": 1000, "keyspaces": SEVERAL, **parameters})


def natural(
    nodes: tuple[facts.NodeRow, ...], keyspace: Keyspace, token: int, drive: Drive
) -> set[str]:
    """The replicas of a token by the readable reference."""
    owners = [node for node in nodes if node.status in ("joined", "leaving", "moving")]
    return set(replicas_reference(owners, keyspace.replication, token, facts.space(drive.model)))


@pytest.mark.spec("A-008", "A-014")
def test_keyspaces_with_different_replication_have_tables_of_their_own() -> None:
    """At one epoch all of them are stable."""
    drive = ring()
    assert facts.keyspaces(drive.model) == ("one", "three", "same", "wide", "all", "own")
    for keyspace in SEVERAL[:-1]:
        for token in (1, 120, 260, 444, 999):
            wanted = natural(facts.nodes(drive.model, drive.state), keyspace, token, drive)
            assert drive.groups(token, keyspace.name) == (wanted, wanted), (keyspace.name, token)
    assert facts.stable(drive.model, drive.state)


@pytest.mark.spec("A-014")
def test_keyspaces_with_equal_replication_share_one_placement() -> None:
    """Rows and barriers name all of them."""
    drive = ring(operations=("bootstrap X --tokens 170",))
    assert len(drive.metadata.groups) == 4
    assert drive.table("three") == drive.table("same")
    drive.act("bootstrap X --tokens 170")
    rows = {row.keyspace for row in drive.operation().barriers}
    assert {"three", "same"} <= rows
    assert drive.metadata.keyspaces_of(drive.metadata.group_of("same")) == ("three", "same")


@pytest.mark.parametrize(
    "text", ["bootstrap X --tokens 150", "decommission B", "removenode B", "replace B Z"]
)
def test_an_operation_on_local_keyspaces_alone_is_one_event(text: str) -> None:
    """Nothing is streamed, and the ring changes at once."""
    drive = Drive(keyspaces=(Keyspace("own", LocalStrategy()),), operations=(text,)).act(text)
    kind = text.split(maxsplit=1)[0]
    last = {"bootstrap": "drop old write replicas", "replace": "drop old write replicas"}
    (line,) = facts.log(drive.model, drive.state)
    assert line.text == last.get(kind, "merge equal neighbours")
    assert drive.dark() == []
    assert not facts.operations(drive.model, drive.state)


def test_the_last_node_of_a_ring_cannot_leave() -> None:
    """A keyspace that is everywhere has no factor that would protect it."""
    keyspaces = (Keyspace("all", EverywhereStrategy()),)
    members = (Node("A", (0,)), Node("B", (200,)))
    both = ("decommission A", "decommission B")
    drive = Drive(members=members, low=0, high=400, keyspaces=keyspaces, operations=both)
    drive.act("decommission A")
    assert "last node" in drive.refusal("decommission B").reason
    assert (
        "last node"
        in Drive(nodes=1, rf=1, operations=("decommission A",)).refusal("decommission A").reason
    )


@pytest.mark.spec("A-012")
@pytest.mark.parametrize("edition", ["documents", "server"])
def test_the_two_replicas_of_a_datacenter_stay_on_two_racks(edition: str) -> None:
    """In every state of a join, in both editions."""
    place = {node.name: node.rack for node in RACKS} | {"X": "r1"}
    text = "bootstrap X --tokens 170 --dc dc1 --rack r1"
    drive = ring(operations=(text,), edition=edition)
    drive.complete(text)
    for state in drive.states:
        for row in facts.rows(drive.model, state, "wide"):
            in_dc1 = [name for name in row.reads if not name.startswith("b")]
            assert sorted(place[name] for name in in_dc1) == ["r1", "r2"], row.label
    assert drive.dark() == []


@pytest.mark.spec("A-013")
def test_each_datacenter_keeps_its_replication_factor_at_every_epoch() -> None:
    """Reads are counted in every state of a join."""
    text = "bootstrap X --tokens 170 --dc dc1 --rack r1"
    drive = ring(operations=(text,)).complete(text)
    for state in drive.states:
        for row in facts.rows(drive.model, state, "wide"):
            assert sum(name.startswith("b") for name in row.reads) == 1, row.label
            assert sum(not name.startswith("b") for name in row.reads) == 2, row.label


def test_an_operation_is_refused_when_too_few_nodes_would_be_left() -> None:
    """Nodes that are leaving count as gone."""
    assert (
        "2 nodes are left"
        in Drive(rf=3, operations=("decommission C",)).refusal("decommission C").reason
    )
    for kind in ("decommission", "removenode", "assassinate"):
        assert (
            "keeps 3 replicas" in Drive(rf=3, operations=(f"{kind} C",)).refusal(f"{kind} C").reason
        )
    both = ("decommission A", "decommission B")
    drive = Drive(nodes=4, rf=3, off=("range-locks",), operations=both).act("decommission A")
    assert "without B only 2 nodes are left" in drive.refusal("decommission B").reason


@pytest.mark.parametrize(
    ("operation", "edition"),
    [
        ("decommission C --force", "documents"),
        ("removenode C --force", "server"),
        ("assassinate C", "server"),
        ("assassinate C --force", "documents"),
    ],
)
def test_a_forced_operation_leaves_too_few_replicas_and_puts_out_a_lamp(
    operation: str, edition: str
) -> None:
    """The server always forces an assassination."""
    drive = Drive(rf=3, operations=(operation,), edition=edition).complete(operation)
    assert drive.stable()
    assert [witness.split(":")[0] for witness in drive.dark()] == ["replicas"]


def test_the_replication_check_counts_nodes_of_each_datacenter() -> None:
    """dc2 has as many nodes as replicas, and dc1 has more."""
    keyspaces = (Keyspace("ks", NetworkTopologyStrategy((("dc1", 2), ("dc2", 4)))),)
    drive = ring(keyspaces=keyspaces, operations=("decommission a1", "decommission b1"))
    assert "in dc2" in drive.refusal("decommission b1").reason
    drive.complete("decommission a1")


@pytest.mark.spec("A-009")
@pytest.mark.parametrize("rf", [1, 2, 3, 4, 5])
@pytest.mark.parametrize(
    "text", ["bootstrap X --tokens 150", "decommission B", "move B --tokens 650", "removenode B"]
)
def test_every_read_majority_meets_every_write_majority_at_every_epoch(rf: int, text: str) -> None:
    """All pairs are tried, in every state of four operations."""
    drive = Drive(nodes=6, rf=rf, operations=(text,)).complete(text)
    gone = {"B"} if text.startswith("removenode") else set()
    for state in drive.states:
        for row in facts.rows(drive.model, state):
            for reads in combinations(set(row.reads) - gone, majority(len(row.reads))):
                for writes in combinations(set(row.writes) - gone, majority(len(row.writes))):
                    assert set(reads) & set(writes), (row.label, reads, writes)
    assert drive.dark() == []


@pytest.mark.spec("A-011")
@pytest.mark.parametrize("rf", [1, 2, 3])
def test_the_replicas_of_a_range_are_the_next_nodes_clockwise(rf: int) -> None:
    """The owner of the token that closes the range comes first."""
    drive = Drive(nodes=4, rf=rf)
    order = "ABCD"
    for place, (_, _, reads, _) in enumerate(drive.table()):
        assert reads == tuple(order[(place + i) % 4] for i in range(rf)), place


def test_two_leaves_cannot_shrink_one_group_at_once() -> None:
    """Majorities of seven and of nine need not meet."""
    keyspaces = (Keyspace("all", EverywhereStrategy()),)
    drive = Drive(
        nodes=9, keyspaces=keyspaces, operations=("decommission B", "decommission F")
    ).act("decommission B")
    assert drive.refusal("decommission F").missing == ("B",)
    drive.finish("B").complete("decommission F")
    assert drive.dark() == []


def test_a_local_majority_that_misses_a_local_write_puts_out_a_lamp() -> None:
    """Majorities over all datacenters still meet."""
    nodes = [Node(f"a{i}", (i * 100,), "dc1") for i in range(1, 4)]
    nodes += [Node(f"b{i}", (i * 100 + 50,), "dc2") for i in range(1, 4)]
    given: dict[str, Any] = {
        "members": tuple(nodes),
        "low": 0,
        "high": 1000,
        "keyspaces": (Keyspace("ks", NetworkTopologyStrategy((("dc1", 3), ("dc2", 3)))),),
        "operations": ("bootstrap X --tokens 120 --dc dc1",),
    }
    drive = Drive(off=("old-writer-stays",), **given)
    drive.act("bootstrap X --tokens 120 --dc dc1").commit("X", 2)
    (dark,) = drive.dark()
    assert dark.startswith("quorums: ")
    assert dark.endswith("(LOCAL_QUORUM in dc1)")
    calm = Drive(**given).complete("bootstrap X --tokens 120 --dc dc1")
    assert calm.dark() == []
