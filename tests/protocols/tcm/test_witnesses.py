"""What is said of placements at the edges: readers and writers of two epochs, rows at a lock."""

from __future__ import annotations

from itertools import product
from typing import Any

import msgspec
import pytest

from kit.protocols.tcm.rules.metadata import Snapshot, merging
from kit.protocols.tcm.rules.operations import ALL_ON, ProtocolSwitches, TcmSafeguards
from kit.protocols.tcm.rules.quorums import quorums_meet, replicated, settled
from kit.ring.placements import Placement, Table
from kit.ring.replication import (
    EverywhereStrategy,
    Keyspace,
    NetworkTopologyStrategy,
    SimpleStrategy,
)
from kit.ring.topology import Node
from tests.protocols.tcm.driving import Drive

JOIN = "bootstrap X --tokens 150"
WITHOUT_EQUALITY = ProtocolSwitches(safeguards=TcmSafeguards(merge_equality=False))


def snapshots(text: str, **parameters: Any) -> list[Snapshot]:
    """The metadata and tables before an operation and after each of its events."""
    drive = Drive(operations=(text,), **parameters)
    found = [drive.model.snapshot(drive.state)]
    drive.act(text)
    node = drive.operation().node
    found.append(drive.model.snapshot(drive.state))
    while drive.metadata.sequence(node) is not None:
        found.append(drive.model.snapshot(drive.commit(node).state))
    return found


def apart(*snapshots: Snapshot) -> str | None:
    """Whose majorities miss each other, of all who read and write at one of these."""
    nobody = frozenset[int]()
    return quorums_meet((*pair, nobody, nobody) for pair in product(snapshots, repeat=2))


def test_a_new_reader_may_miss_an_old_writer() -> None:
    """Were the new writers skipped, who reads from X would miss what went to B alone."""
    before, _, _, switched, _ = snapshots(JOIN, rf=1)
    assert apart(before, switched) == (
        "ks (100, 150]: a read at epoch 3 from X misses a write at epoch 0 to B"
    )
    assert apart(before) is apart(switched) is None


def test_an_old_reader_may_miss_a_new_writer() -> None:
    """Were the read switch skipped, who still reads from B would miss what goes to X alone."""
    _, _, added, _, dropped = snapshots(JOIN, rf=1)
    assert apart(added, dropped) == (
        "ks (100, 150]: a read at epoch 2 from B misses a write at epoch 4 to X"
    )


def changed(snapshot: Snapshot, right: int, codes: tuple[int, ...]) -> Snapshot:
    """The same with other readers of the row that ends at a token."""
    [placement] = snapshot.placements
    reads = placement.reads
    rows = zip(reads.lefts.tolist(), reads.rights.tolist(), strict=True)
    table = Table.of(
        (left, last, codes if last == right else reads.codes(row))
        for row, (left, last) in enumerate(rows)
    )
    return msgspec.structs.replace(snapshot, placements=(Placement(table, placement.writes),))


@pytest.mark.parametrize(("right", "held"), [(100, False), (150, True), (200, True), (300, False)])
def test_only_rows_inside_a_lock_may_differ(right: int, held: bool) -> None:
    """While X joins in (100, 200], rows that end there may differ; those beside may not."""
    begun = snapshots(JOIN, rf=1)[1]
    [movement] = begun.metadata.sequences[0].plan.movements
    assert [(one.left, one.right) for one in movement.locked] == [(100, 150), (150, 200)]
    other = changed(begun, right, (begun.metadata.ring.code("X"),))
    assert (replicated(other, (1,)) is None) is held
    assert (settled(other, frozenset()) is None) is held
    assert settled(other, frozenset({"X"})) is not None, "nobody is left to change it"


@pytest.mark.parametrize(
    ("readers", "floor", "kept"),
    [("A", 1, True), ("AB", 2, True), ("A", 2, False), ("AB", 1, False), ("ABC", 3, True)],
)
def test_how_many_readers_a_range_has(readers: str, floor: int, kept: bool) -> None:
    """A row has at least as many readers as at the start, and at most as many as are wanted."""
    begun = snapshots(JOIN, rf=1)[1]
    codes = tuple(begun.metadata.ring.code(name) for name in readers)
    for right in begun.placements[0].reads.rights.tolist():
        begun = changed(begun, right, codes)
    found = replicated(begun, (floor,)) or ""
    assert ("replica" not in found) is kept


def test_the_first_wrong_range_is_named() -> None:
    """Of several ranges with too many or too few readers the first one is told."""
    begun = snapshots(JOIN, rf=1)[1]
    for right, readers in ((150, ()), (300, (0, 1)), (400, (0, 1, 2))):
        begun = changed(begun, right, readers) if readers else begun
    named = "ks (200, 300]: reads go to {A, B}, but should go to 1 replica"
    assert (replicated(begun, (1,)) or "").startswith(named)
    assert "(100, 150]" in (replicated(changed(begun, 150, ()), (1,)) or "")


def test_where_all_replicate_a_newcomer_is_read_from_the_switch_on() -> None:
    """Then a range has more readers than there are owners of tokens, and that is right."""
    everywhere = (Keyspace("all", EverywhereStrategy()),)
    found = snapshots(JOIN, keyspaces=everywhere, edition="server")
    assert [replicated(each, (3,)) for each in found] == [None] * 5
    readers = [len(each.placements[0].reads.codes(0)) for each in found]
    assert readers == [3, 3, 3, 4, 4]
    owners = [sum(bool(node.tokens) for node in each.metadata.ring.nodes) for each in found]
    assert owners == [3, 3, 3, 3, 4]


def test_a_ring_of_few_nodes_wants_those_that_there_are() -> None:
    """With RF 3 on two nodes each range wants both of them, and nobody a second time."""
    drive = Drive(nodes=2, rf=3)
    begun = drive.model.snapshot(drive.state)
    assert replicated(begun, (2,)) is None
    assert replicated(changed(begun, 100, (0,)), (1,)) == (
        "ks (0, 100]: reads go to {A}, but should go to {A, B}"
    )


@pytest.mark.parametrize(
    ("text", "equal", "without"),
    [
        (JOIN, (), ()),
        ("replace B Z", (), ()),
        ("decommission B", (200,), (100, 200)),
        ("move B --tokens 350", (200,), (100, 200, 300, 350)),
    ],
)
def test_what_a_merge_takes_away(
    text: str, equal: tuple[int, ...], without: tuple[int, ...]
) -> None:
    """Merges take given-up tokens; where there are any, without the check all bounds in locks."""
    drive = Drive(nodes=5, rf=2, operations=(text,)).act(text)
    [moved] = drive.metadata.sequences[0].plan.movements
    for switches, bounds in ((ALL_ON, equal), (WITHOUT_EQUALITY, without)):
        assert merging(moved, switches).merges == bounds
    unchecked = Drive(nodes=5, rf=2, operations=(text,), off=("merge-equality",)).complete(text)
    assert unchecked.stable() is (equal == without)


def test_a_replacement_elsewhere_keeps_the_number_of_nodes() -> None:
    """Where replicas count in all, a node may be replaced from another datacenter; one that counts
    them a datacenter loses one, and so it does when a node leaves.
    """
    places = zip("abcd", (100, 200, 300, 400), ("dc1", "dc1", "dc1", "dc2"), strict=True)
    members = tuple(Node(name, (token,), dc) for name, token, dc in places)
    elsewhere, leave = "replace b Z --dc dc2", "decommission b"
    given: dict[str, Any] = {
        "members": members, "low": 0, "high": 500, "operations": (elsewhere, leave),
    }  # fmt: skip
    simple = Drive(keyspaces=(Keyspace("ks", SimpleStrategy(4)),), **given)
    assert "keeps 4 replicas" in simple.refusal(leave).reason
    simple.complete(elsewhere)
    assert simple.stable()
    each = NetworkTopologyStrategy((("dc1", 3), ("dc2", 1)))
    apart = Drive(keyspaces=(Keyspace("ks", each),), **given)
    for verb in (elsewhere, leave):
        assert "only 2 nodes are left in dc1" in apart.refusal(verb).reason
    short = NetworkTopologyStrategy((("dc1", 2), ("dc2", 3)))
    there = Drive(keyspaces=(Keyspace("ks", short),), **given)
    there.act(leave)
    assert there.metadata.sequence("b") is not None, "dc2 lacked replicas before, and loses none"
