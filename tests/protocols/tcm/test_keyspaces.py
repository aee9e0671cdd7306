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
def test_several_keyspaces_at_one_epoch() -> None:
    """Keyspaces with different replication have their own tables at the same epoch, all stable."""
    drive = ring()
    assert facts.keyspaces(drive.model) == ("one", "three", "same", "wide", "all", "own")
    for keyspace in SEVERAL[:-1]:
        for token in (1, 120, 260, 444, 999):
            wanted = natural(facts.nodes(drive.model, drive.state), keyspace, token, drive)
            assert drive.groups(token, keyspace.name) == (wanted, wanted)
    assert facts.stable(drive.model, drive.state)


@pytest.mark.spec("A-014")
def test_equal_replication_shares_placements() -> None:
    """Keyspaces with equal replication share one computed placement; rows name all of them."""
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
def test_only_local_keyspaces(text: str) -> None:
    """With nothing replicated an operation is one event of its own last step; the ring changes."""
    drive = Drive(keyspaces=(Keyspace("own", LocalStrategy()),), operations=(text,)).act(text)
    kind = text.split(maxsplit=1)[0]
    last = {"bootstrap": "drop old write replicas", "replace": "drop old write replicas"}
    (line,) = facts.log(drive.model, drive.state)
    assert line.text == last.get(kind, "merge equal neighbours")
    assert drive.dark() == []
    assert not facts.operations(drive.model, drive.state)


def test_the_last_two_do_not_both_leave() -> None:
    """Where no factor protects the ring, the last node that stays may still not go."""
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
def test_racks_are_spread(edition: str) -> None:
    """With two replicas in a datacenter of two racks each range has one on either rack, always."""
    place = {node.name: node.rack for node in RACKS} | {"X": "r1"}
    text = "bootstrap X --tokens 170 --dc dc1 --rack r1"
    drive = ring(operations=(text,), edition=edition)
    drive.complete(text)
    for state in drive.states:
        for row in facts.rows(drive.model, state, "wide"):
            in_dc1 = [name for name in row.reads if not name.startswith("b")]
            assert sorted(place[name] for name in in_dc1) == ["r1", "r2"]
    assert drive.dark() == []


@pytest.mark.spec("A-013")
def test_each_datacenter_has_its_factor() -> None:
    """A factor a datacenter is kept in each of them, at every epoch of an operation."""
    text = "bootstrap X --tokens 170 --dc dc1 --rack r1"
    drive = ring(operations=(text,)).complete(text)
    for state in drive.states:
        for row in facts.rows(drive.model, state, "wide"):
            assert sum(name.startswith("b") for name in row.reads) == 1
            assert sum(not name.startswith("b") for name in row.reads) == 2


def test_too_few_left() -> None:
    """A node may not go when too few would be left; those leaving already count as gone."""
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
def test_force_overrides_the_check_and_the_lamp_says_so(operation: str, edition: str) -> None:
    """Forced, the node goes; that ranges have fewer replicas than they had stays visible. The
    server always forces an assassination.
    """
    drive = Drive(rf=3, operations=(operation,), edition=edition).complete(operation)
    assert drive.stable()
    assert [witness.split(":")[0] for witness in drive.dark()] == ["replicas"]


def test_the_check_counts_each_datacenter() -> None:
    """A factor of a datacenter is judged by that datacenter's nodes alone."""
    keyspaces = (Keyspace("ks", NetworkTopologyStrategy((("dc1", 2), ("dc2", 4)))),)
    drive = ring(keyspaces=keyspaces, operations=("decommission a1", "decommission b1"))
    assert "in dc2" in drive.refusal("decommission b1").reason
    drive.complete("decommission a1")


@pytest.mark.spec("A-009")
@pytest.mark.parametrize("rf", [1, 2, 3, 4, 5])
@pytest.mark.parametrize(
    "text", ["bootstrap X --tokens 150", "decommission B", "move B --tokens 650", "removenode B"]
)
def test_majorities_meet_at_every_epoch(rf: int, text: str) -> None:
    """Trying all pairs: at each epoch each read majority shares a node with each write majority."""
    drive = Drive(nodes=6, rf=rf, operations=(text,)).complete(text)
    gone = {"B"} if text.startswith("removenode") else set()
    for state in drive.states:
        for row in facts.rows(drive.model, state):
            for reads in combinations(set(row.reads) - gone, majority(len(row.reads))):
                for writes in combinations(set(row.writes) - gone, majority(len(row.writes))):
                    assert set(reads) & set(writes)
    assert drive.dark() == []


@pytest.mark.spec("A-011")
@pytest.mark.parametrize("rf", [1, 2, 3])
def test_nearest_nodes_clockwise(rf: int) -> None:
    """At rest a range's replicas are the owner of its closing token and the next ones clockwise."""
    drive = Drive(nodes=4, rf=rf)
    order = "ABCD"
    for place, (_, _, reads, _) in enumerate(drive.table()):
        assert reads == tuple(order[(place + i) % 4] for i in range(rf))


def test_two_leaves_do_not_shrink_one_group() -> None:
    """Where all replicate, nodes leave one at a time: majorities of 7 and of 9 need not meet."""
    keyspaces = (Keyspace("all", EverywhereStrategy()),)
    drive = Drive(
        nodes=9, keyspaces=keyspaces, operations=("decommission B", "decommission F")
    ).act("decommission B")
    assert drive.refusal("decommission F").missing == ("B",)
    drive.finish("B").complete("decommission F")
    assert drive.dark() == []


def test_majorities_of_one_datacenter_must_meet() -> None:
    """A local majority that misses a local write is seen, though majorities over all still meet."""
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
