"""Deltas as values, their algebra, and applying them."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.ring.applying import apply, mergeable, settle
from kit.ring.deltas import Delta, Edit, Edits, edits, invert, merge
from kit.ring.placements import Placement, Row, Table, stable_placement
from kit.ring.replication import SimpleStrategy
from kit.ring.tokens import small
from kit.ring.topology import Node, Ring

ABC = Ring.of([Node("A", (100,)), Node("B", (200,)), Node("C", (300,))], small(400))
NAMES = ("A", "B", "C", "X", "Y")
RF2 = SimpleStrategy(2)
REST = stable_placement(ABC, RF2)
TOKENS = [1, 30, 31, 60, 61, 100, 101, 130, 131, 150, 151, 200, 201, 250, 251, 300, 301, 400]
BOUNDS = st.sampled_from((0, 30, 60, 100, 130, 150, 200, 250, 300, 400))

Sets = dict[int, list[frozenset[int]]]


def sets(table: Table) -> Sets:
    """The groups of each probed token, as sets."""
    return {t: [frozenset(group) for group in table.groups_of(t)] for t in TOKENS}


def both(placement: Placement) -> tuple[Sets, Sets]:
    """The groups of both tables by token."""
    return sets(placement.reads), sets(placement.writes)


@st.composite
def valid_edits(draw: st.DrawFn, table: Table) -> Edits:
    """Edits that change something everywhere: drop members, add strangers, row by row."""
    adds, drops = [], []
    for at, (left, right) in enumerate(
        zip(table.lefts.tolist(), table.rights.tolist(), strict=True)
    ):
        for code in range(5):
            if draw(st.integers(0, 3)) == 0:
                edit = Edit(left, right, code)
                (drops if code in table.codes(at) else adds).append(edit)
    return edits(adds, drops)


@st.composite
def steps(draw: st.DrawFn, placement: Placement) -> Delta:
    """A delta for this placement: new cuts, edits along rows, bounds to merge where they fit.

    Some of the bounds do not fit: apply leaves those as they are.
    """
    bounds = set(placement.reads.rights.tolist())
    cuts = tuple(sorted(draw(st.sets(BOUNDS, max_size=2)) - bounds - {0}))
    now = apply(placement, Delta(cuts=cuts))
    reads, writes = draw(valid_edits(now.reads)), draw(valid_edits(now.writes))
    inner = sorted(bounds - {400})
    merges = draw(st.sets(st.sampled_from(inner))) if inner else set()
    return Delta(cuts, reads, writes, tuple(sorted(merges)))


@given(st.data())
def test_inverse_takes_back(data: st.DataObject) -> None:
    """A delta and then its inverse leave the groups of every token as they were, as sets."""
    delta = data.draw(steps(REST))
    back = apply(apply(REST, delta), invert(delta))
    assert both(back) == both(REST)
    assert invert(invert(delta)) == delta


@given(st.data())
def test_merge_acts_as_one_after_the_other(data: st.DataObject) -> None:
    """The merged delta does to every token what the two do in turn."""
    first = data.draw(steps(REST))
    between = apply(REST, first)
    second = data.draw(steps(between))
    assert both(apply(REST, merge(first, second))) == both(apply(between, second))


@given(st.data())
def test_merging_with_the_inverse_gives_nothing(data: st.DataObject) -> None:
    """What a delta and its inverse do cancels out; an empty delta changes nothing."""
    delta = data.draw(steps(REST))
    assert not merge(delta, invert(delta))
    assert merge(delta, Delta.empty) == merge(Delta.empty, delta) == delta
    assert apply(REST, Delta.empty) == REST


def test_merged_delta_keeps_a_cut_that_its_edits_need() -> None:
    """A cut stays when an edit ends there, and so does its merge, forced or not."""
    first = Delta(cuts=(150,), reads=edits([Edit(100, 150, 3)]))
    second = Delta(merges=(150,))
    whole = merge(first, second)
    for check in (True, False):
        in_turn = apply(apply(REST, first), second, merge_check=check)
        assert apply(REST, whole, merge_check=check) == in_turn


def test_canonical_edits() -> None:
    """Adjacent and overlapping ranges of one node are one edit, sorted by place."""
    given_edits = [Edit(5, 9, 1), Edit(0, 3, 2), Edit(3, 5, 2), Edit(4, 8, 2), Edit(9, 12, 1)]
    assert edits(given_edits).adds == (Edit(0, 8, 2), Edit(5, 12, 1))
    inside = [Edit(0, 9, 1), Edit(2, 5, 1), Edit(3, 9, 1), Edit(10, 12, 1)]
    assert edits(inside).adds == (Edit(0, 9, 1), Edit(10, 12, 1))
    assert edits() == Edits()


def test_deltas_are_small_values() -> None:
    """A delta is hashable, true when it does something, and survives being written and read."""
    delta = Delta((150,), edits([Edit(100, 150, 3)]), Edits(), (7,))
    assert msgspec.json.decode(msgspec.json.encode(delta), type=Delta) == delta
    assert len({delta, invert(delta), invert(invert(delta))}) == 2
    assert delta
    assert not Delta.empty
    assert not Edits()


@pytest.mark.spec("A-021")
@given(st.sets(st.integers(1, 399), max_size=4))
def test_cuts_keep_the_owners(cuts: set[int]) -> None:
    """Splitting changes no token's group and no order in a group."""
    after = apply(REST, Delta(cuts=tuple(sorted(cuts))))
    assert set(after.reads.rights.tolist()) == cuts | {100, 200, 300, 400}
    assert after.writes.partitions
    for token in (*TOKENS, *cuts):
        assert after.reads.groups_of(token) == REST.reads.groups_of(token)
        assert after.writes.groups_of(token) == REST.writes.groups_of(token)


def test_added_nodes_come_last_once() -> None:
    """An addition is appended; a node already there keeps its place; a drop closes the gap."""
    delta = Delta(writes=edits([Edit(0, 200, 3), Edit(0, 100, 0)], [Edit(0, 100, 1)]))
    rows = apply(REST, delta).writes.rows(NAMES)
    assert [row.replicas for row in rows[:2]] == [("A", "X"), ("B", "C", "X")]
    assert rows[2:] == REST.writes.rows(NAMES)[2:]
    assert REST.writes.rows(NAMES)[0].replicas == ("A", "B")


@pytest.mark.spec("A-035")
def test_only_equal_neighbours_merge() -> None:
    """A bound goes only where both groups on both sides are equal as sets."""
    split = apply(REST, Delta(cuts=(150,)))
    assert mergeable(split, 150)
    assert not mergeable(split, 100)
    assert not mergeable(split, 400)
    assert not mergeable(split, 42)
    assert not mergeable(split, 120)  # no bound, although the rows on both sides are equal
    assert apply(split, Delta(merges=(100, 150))) == REST
    for side in ("reads", "writes"):
        uneven = apply(split, Delta(**{side: edits([Edit(100, 150, 3)])}))
        assert not mergeable(uneven, 150)
        assert apply(uneven, Delta(merges=(150,))) == uneven


@pytest.mark.spec("A-035")
def test_merge_without_the_check() -> None:
    """With S-55 off, unequal neighbours become one row with the left one's group."""
    merged = apply(REST, Delta(merges=(100,)), merge_check=False)
    assert merged.reads.rows(NAMES)[0] == Row(0, 200, ("A", "B"))
    assert len(merged.writes) == 3


def test_edit_without_a_cut_makes_an_overlapping_row() -> None:
    """With S-54 off, a token of the part that an edit reaches has two answers."""
    added = apply(REST, Delta(writes=edits([Edit(0, 150, 3)])))
    assert added.writes.rows(NAMES)[:3] == (
        Row(0, 100, ("A", "B", "X")),
        Row(100, 150, ("B", "C", "X")),
        Row(100, 200, ("B", "C")),
    )
    assert added.writes.groups_of(120) == ((1, 2, 3), (1, 2))
    dropped = apply(added, Delta(writes=edits(drops=[Edit(100, 150, 2)])))
    assert dropped.writes.groups_of(120) == ((1, 3), (1, 2))
    assert dropped.writes.groups_of(160) == ((1, 2),)


def test_settled_order() -> None:
    """Naturals come first in walk order, then others as the walk meets them, then the tokenless."""
    ring = ABC.join(Node("X", (150,))).join(Node("Y", ()))
    reads = Table.of([(0, 100, (4, 2, 1, 3, 0)), (100, 400, (3, 1))])
    writes = Table.of([(0, 100, (0, 1, 2, 3, 4)), (100, 400, (3, 1, 2))])
    settled = settle(Placement(reads, writes), ring, RF2)
    assert settled.reads.rows(NAMES)[0].replicas == ("A", "X", "B", "C", "Y")
    assert settled.writes.rows(NAMES)[0].replicas == ("A", "X", "B", "C", "Y")
    assert settled.writes.rows(NAMES)[1].replicas == ("X", "B", "C")
