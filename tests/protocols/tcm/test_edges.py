"""The edges: ends of the line, rings of one node, moves next door, replacements in other racks."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from kit.protocols.tcm.facts import moment as facts
from kit.ring.replication import Keyspace, NetworkTopologyStrategy
from kit.ring.topology import Node
from tests.protocols.tcm.driving import Drive

EDITIONS = ("documents", "server")
LINE = {
    "members": (Node("A", (0,)), Node("B", (100,)), Node("C", (200,)), Node("D", (400,))),
    "low": 0,
    "high": 400,
}
RACKS = {
    "members": (
        Node("A", (100,), "dc1", "r1"),
        Node("B", (200,), "dc1", "r2"),
        Node("C", (300,), "dc1", "r1"),
        Node("D", (400,), "dc1", "r2"),
    ),
    "low": 0,
    "high": 1000,
    "keyspaces": (Keyspace("ks", NetworkTopologyStrategy((("dc1", 2),))),),
}


def played(text: str, edition: str, **given: Any) -> Drive:
    """The operation to its end; lamps are looked at after every event."""
    drive = Drive(operations=(text,), edition=edition, **given)
    drive.complete(text)
    for state in drive.states:
        drive.states.append(state)
        assert drive.dark() == []
        drive.states.pop()
    assert drive.stable()
    return drive


@pytest.mark.spec("A-042")
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("rf", [1, 2, 3])
@pytest.mark.parametrize(
    "text", ["decommission A", "decommission D", "move A --tokens 300", "move D --tokens 50"]
)
def test_owners_of_the_ends(text: str, rf: int, edition: str) -> None:
    """The owners of the first and of the last token of the line come and go like any other."""
    drive = played(text, edition, rf=rf, **LINE)
    for state in drive.states:
        rows = facts.rows(drive.model, state)
        assert (rows[0].left, rows[-1].right) == (0, 400)
        assert all(one.right == two.left for one, two in pairwise(rows))


@pytest.mark.spec("A-042")
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("token", [0, 400])
def test_a_joiner_at_an_end(token: int, edition: str) -> None:
    """A joiner may own the first token, which closes no row of its own, or the last one."""
    members = (Node("A", (100,)), Node("B", (200,)), Node("C", (300,)))
    drive = played(f"bootstrap X --tokens {token}", edition, members=members, low=0, high=400, rf=2)
    assert drive.table()[-1] == (300, 400, ("X", "A"), ("X", "A"))
    assert [right for _, right, _, _ in drive.table()] == [100, 200, 300, 400]


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("token", [150, 250, 299, 101])
@pytest.mark.parametrize("rf", [1, 2, 3])
def test_a_move_next_door(token: int, rf: int, edition: str) -> None:
    """A node may move within its own neighbourhood, where it is old and new replica at once."""
    drive = played(f"move B --tokens {token}", edition, nodes=4, rf=rf)
    assert token in {right for _, right, _, _ in drive.table()}
    assert 200 not in {right for _, right, _, _ in drive.table()}
    for state in drive.states:
        for row in facts.rows(drive.model, state):
            assert rf <= len(row.writes) <= rf + 1


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("rack", ["r1", "r2", "r9"])
def test_a_replacement_in_another_rack(rack: str, edition: str) -> None:
    """In another rack a replacement may gain and lose ranges beside those it takes over."""
    drive = played(f"replace B Z --rack {rack}", edition, **RACKS)
    place = {node.name: node.rack for node in facts.nodes(drive.model, drive.state)}
    assert place["Z"] == rack
    for _, _, reads, _ in drive.table():
        assert len({place[name] for name in reads}) == 2


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_ring_of_one(edition: str) -> None:
    """One node owns the line; another may join it, or take its place, but it may not just go."""
    drive = played("bootstrap X --tokens 150", edition, nodes=1, rf=1)
    assert len(drive.table()) == 3
    replaced = played("replace A Z", edition, nodes=1, rf=1)
    assert replaced.table() == ((0, 100, ("Z",), ("Z",)), (100, 200, ("Z",), ("Z",)))
    for text in ("decommission A", "removenode A", "assassinate A", "decommission A --force"):
        lonely = Drive(nodes=1, rf=1, operations=(text,), edition=edition)
        assert "last node" in lonely.refusal(text).reason


@pytest.mark.parametrize("edition", EDITIONS)
def test_murmur3(edition: str) -> None:
    """On Murmur3's line tokens are signed, and its ends are called min and max."""
    members = (Node("A", (-(2**62),)), Node("B", (0,)), Node("C", (2**62,)))
    drive = played("bootstrap X --tokens 1", edition, members=members, rf=2)
    rows = facts.rows(drive.model, drive.state)
    assert rows[0].label.startswith("(min, ")
    assert rows[-1].label.endswith(", max]")
    assert rows[2].label == "(0, 1]"
