"""The plan of any ring change: what it does, what it locks, whom it takes data from."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.errors import BadInput
from kit.ring import nearby
from kit.ring.applying import apply, settle
from kit.ring.deltas import Delta, invert, merge
from kit.ring.movement import Movement, Replaced, movement
from kit.ring.placements import Placement, Table, stable_placement
from kit.ring.ranges import Range
from kit.ring.replication import NetworkTopologyStrategy, Replication, SimpleStrategy
from kit.ring.tokens import MURMUR3, TokenSpace, small
from kit.ring.topology import Node, Ring
from tests.examples import examples
from tests.ring.draws import RACKS, changed, networks, probes, replications, rings, steps

TEN = Ring.of([Node(f"n{i}", (i * 100,)) for i in range(1, 11)])
RF3 = SimpleStrategy(3)


def locks_of_join(token: int) -> tuple[Range, ...]:
    """The ranges that a node joining the ten at this token locks."""
    return movement(TEN, TEN.join(Node("x", (token,))), RF3).locked


def locks_of_leave(name: str) -> tuple[Range, ...]:
    """The ranges that a node leaving the ten locks."""
    return movement(TEN, TEN.leave(TEN.names.index(name)), RF3).locked


def sets(placement: Placement, tokens: list[int]) -> list[list[list[frozenset[int]]]]:
    """The groups of each token in both tables, as sets."""
    return [
        [[frozenset(g) for g in table.groups_of(t)] for t in tokens]
        for table in (placement.reads, placement.writes)
    ]


@pytest.mark.spec("A-021", "A-036")
@examples(150)
@given(st.data())
def test_every_plan_leads_to_the_future_placement(data: st.DataObject) -> None:
    """For any change of any ring the five steps lead from rest to rest, and each can be undone.

    The split changes no owner; the merge neither; added writers come before they are read and
    displaced ones go after; the plan as one delta does the same.
    """
    before, replication = data.draw(rings()), data.draw(replications())
    after = data.draw(changed(before))
    plan = movement(before, after, replication)
    tokens = probes(before, after)
    now = start = stable_placement(before, replication)
    whole = Delta.empty
    for name, delta in steps(plan):
        then = apply(now, delta)
        assert sets(apply(then, invert(delta)), tokens) == sets(now, tokens)
        if name in ("split", "merge"):
            assert sets(then, tokens) == sets(now, tokens)
        reads, writes = sets(then, tokens)
        assert all(r[0] <= w[0] for r, w in zip(reads, writes, strict=True))
        now, whole = then, merge(whole, delta)
    assert settle(now, after, replication) == stable_placement(after, replication)
    assert settle(apply(start, whole), after, replication) == stable_placement(after, replication)
    assert not merge(whole, invert(whole))


def changing(plan: Movement) -> set[tuple[int, int]]:
    """The rows of a plan that gain a replica, by their bounds."""
    return {(one.range.left, one.range.right) for one in plan.streams}


@given(st.data())
def test_plan_row_by_row(data: st.DataObject) -> None:
    """Locks, affected nodes and sources agree with both placements, row by row."""
    before, replication = data.draw(rings()), data.draw(replications())
    after = data.draw(changed(before))
    plan = movement(before, after, replication)
    old, new = (
        stable_placement(before, replication).reads,
        stable_placement(after, replication).reads,
    )
    bounds = sorted({before.space.low, *before.rights.tolist(), *after.rights.tolist()})
    expected: list[Range] = []
    low, high = before.space.low, before.space.high
    wraps_anew = (low in before.tokens) != (low in after.tokens)
    gains: dict[Range, tuple[set[int], set[int]]] = {}
    for left, right in pairwise(bounds):
        (was,), (will,) = old.groups_of(right), new.groups_of(right)
        gained, lost = set(will) - set(was), set(was) - set(will)
        if gained:
            gains[Range(left, right)] = gained, lost
        (row,), (future) = old.rows_of(right), new.rows_of(right)[0]
        split = any(int(old.lefts[row]) < cut < int(old.rights[row]) for cut in plan.split.cuts)
        merged = any(
            int(new.lefts[future]) < bound < int(new.rights[future]) for bound in plan.merge.merges
        )
        if gained or lost or split or merged or (wraps_anew and (left == low or right == high)):
            expected.append(Range(left, right))
            codes = plan.affected[plan.locked.index(Range(left, right))]
            assert set(codes) == set(was) | set(will)
            assert len(set(codes)) == len(codes)
    assert list(plan.locked) == expected
    assert changing(plan) == {(one.left, one.right) for one in gains}
    for one, (gained, lost) in gains.items():
        pairs = [p for p in plan.streams if p.range == one]
        assert {p.gains for p in pairs} == gained
        displaced = [p.loses for p in pairs if p.loses is not None]
        assert len(displaced) == len(set(displaced)) == min(len(gained), len(lost))
        assert set(displaced) <= lost


def test_the_read_switch_is_one_delta() -> None:
    """Reads gain and lose in the same delta; the writer that goes is dropped by a later one."""
    plan = movement(TEN, TEN.join(Node("x", (550,))), RF3)
    assert plan.switch.reads.adds
    assert plan.switch.reads.drops
    assert not plan.switch.writes
    assert plan.add.writes.adds == plan.switch.reads.adds
    assert plan.drop.writes.drops == plan.switch.reads.drops
    assert not plan.merge


def test_a_join_locks_one_range_more_than_rf() -> None:
    """On ten nodes with RF 3 a join locks four ranges in a row: three gain, the fourth is split."""
    assert locks_of_join(550) == (
        Range(300, 400),
        Range(400, 500),
        Range(500, 550),
        Range(550, 600),
    )


def shared(first: tuple[Range, ...], second: tuple[Range, ...]) -> tuple[Range, ...]:
    """What both of two lists of ranges cover."""
    meeting = ((one, other) for one in first for other in second if one.overlaps(other))
    return tuple(Range(max(a.left, b.left), min(a.right, b.right)) for a, b in meeting)


def test_joins_far_apart_do_not_meet() -> None:
    """Joins at 550 and 850 share no locked token; joins at 550 and 750 do."""
    assert shared(locks_of_join(550), locks_of_join(850)) == ()
    assert shared(locks_of_join(550), locks_of_join(750)) == (Range(500, 550), Range(550, 600))


def test_leaves_meet_in_the_merged_range_only() -> None:
    """Leaves of n3 and n6 share (300, 400]: n3's row is merged into it, n6's heirs gain it."""
    assert shared(locks_of_leave("n3"), locks_of_leave("n6")) == (Range(300, 400),)
    locked = {(one.left, one.right) for one in locks_of_leave("n3")}
    assert locked - changing(movement(TEN, TEN.leave(TEN.names.index("n3")), RF3)) == {(300, 400)}


def test_a_new_rack_locks_the_whole_ring() -> None:
    """The first node of a new rack can take a replica everywhere, and then everything is locked."""
    nodes = [Node(f"n{i}", (i * 100,), rack=f"r{i % 2}") for i in range(1, 7)]
    ring = Ring.of(nodes, small(700))
    plan = movement(ring, ring.join(Node("x", (50,), rack="new")), _network(dc1=3))
    assert plan.locked[0].left == ring.space.low
    assert plan.locked[-1].right == ring.space.high
    assert all(a.right == b.left for a, b in pairwise(plan.locked))


def _network(**factors: int) -> NetworkTopologyStrategy:
    return NetworkTopologyStrategy(tuple(sorted(factors.items())))


def test_sources_are_the_displaced_replicas() -> None:
    """The joiner takes each row from the replica whose place it takes, if there is one."""
    ring = Ring.of([Node("A", (100,)), Node("B", (200,)), Node("C", (300,))], small(400))
    after = ring.join(Node("X", (150,)))
    a_b_c_x = dict(enumerate("ABCX"))
    plan = movement(ring, after, SimpleStrategy(2))
    assert [(p.range.right, a_b_c_x[p.gains], a_b_c_x[p.loses or 0]) for p in plan.streams] == [
        (100, "X", "B"), (150, "X", "C"), (400, "X", "B"),
    ]  # fmt: skip
    wide = movement(ring, after, SimpleStrategy(9))
    assert {(p.gains, p.loses) for p in wide.streams} == {(3, None)}


def test_sources_are_of_the_same_datacenter() -> None:
    """When replicas of two datacenters are displaced in one row, each takes from its own side."""
    nodes = [
        Node("a", (10,)), Node("b", (20,), "dc2"), Node("c", (30,)), Node("d", (40,), "dc2"),
    ]  # fmt: skip
    ring = Ring.of(nodes, small(99))
    after = ring.move(ring.names.index("a"), (35,)).move(ring.names.index("b"), (45,))
    plan = movement(ring, after, _network(dc1=1, dc2=1))
    row = [p for p in plan.streams if p.range == Range(10, 20)]
    assert row == [Replaced(Range(10, 20), 3, 1)]
    two = [p for p in plan.streams if p.range == Range(0, 10)]
    assert {(p.gains, p.loses) for p in two} == {(2, 0), (3, 1)}
    crossed = Ring.of([*nodes[:2], Node("c", (30,), "dc2"), Node("d", (40,))], small(99))
    after = crossed.move(crossed.names.index("a"), (45,)).move(crossed.names.index("b"), (48,))
    plan = movement(crossed, after, _network(dc1=1, dc2=1))
    two = [p for p in plan.streams if p.range == Range(0, 10)]
    assert {(p.gains, p.loses) for p in two} == {(2, 1), (3, 0)}


def test_replace_changes_owners_only() -> None:
    """A replacement takes every row of the node it replaces, and no bound comes or goes."""
    after = TEN.join(Node("n9x", ())).replace(2, 10)
    plan = movement(TEN, after, RF3)
    assert not plan.split
    assert not plan.merge
    assert {(p.gains, p.loses) for p in plan.streams} == {(10, 2)}


def test_first_node_of_a_cluster() -> None:
    """The first node gains the whole line; nobody is displaced."""
    empty = Ring.of([Node("A", ())], small(400))
    plan = movement(empty, empty.move(0, (100,)), RF3)
    assert [(p.gains, p.loses) for p in plan.streams] == [(0, None), (0, None)]
    assert plan.split.cuts == (100,)
    assert plan.locked == (Range(0, 100), Range(100, 400))
    assert plan.affected == ((0,), (0,))


@pytest.mark.parametrize("other", [Ring.of([Node("z", (1,))]), Ring.of(TEN.nodes, small(9999))])
def test_rings_that_do_not_belong_together(other: Ring) -> None:
    """A plan needs the same space and stable codes; anything else is bad input."""
    with pytest.raises(BadInput, match="rings"):
        movement(TEN, other, RF3)


ABC = Ring.of([Node("A", (100,)), Node("B", (200,)), Node("C", (300,))], small(400))


def test_both_ends_of_the_line_are_locked_where_its_first_token_comes_or_goes() -> None:
    """On the circle they are one row, which is cut there, or merged, whoever owns its parts."""
    after = ABC.join(Node("X", (0,)))
    for plan, old, new in (
        (movement(ABC, after, SimpleStrategy(1)), 0, 3),
        (movement(after, after.leave(3), SimpleStrategy(1)), 3, 0),
    ):
        assert plan.locked == (Range(0, 100), Range(300, 400))
        assert plan.affected == ((0,), (old, new))
        assert plan.streams == (Replaced(Range(300, 400), new, old),)
    unmoved = movement(ABC, ABC.move(0, (0, 100)), SimpleStrategy(1))
    assert (unmoved.locked, unmoved.streams) == ((Range(0, 100), Range(300, 400)), ())
    one = Ring.of([Node("A", (100,))], small(400))
    two = movement(one, one.move(0, (0, 100)), SimpleStrategy(1)).locked
    assert two == (Range(0, 100), Range(100, 400))
    both = after.move(1, (250,))
    assert movement(after, both, SimpleStrategy(1)).locked == (
        Range(100, 200), Range(200, 250), Range(250, 300),
    )  # fmt: skip


TIGHT = small(4000)


@st.composite
def large_rings(draw: st.DrawFn) -> Ring:
    """Rings of up to 20 nodes with 60 to 160 tokens, ends of the line included at times."""
    space = draw(st.sampled_from((TIGHT, small(3000, -3000))))
    chance = draw(st.randoms(use_true_random=False))
    count = draw(st.integers(6, 20))
    tokens = chance.sample(range(space.low, space.high + 1), draw(st.integers(60, 160)))
    if draw(st.booleans()):
        tokens = [*({*tokens} - {space.low, space.high}), space.low, space.high]
    racks = draw(st.integers(1, 4))
    return Ring.of(
        (
            Node(f"n{i}", tuple(tokens[i::count]), f"dc{i % 2 + 1}", RACKS[i // 2 % racks])
            for i in range(count)
        ),
        space,
    )


def parts(plan: Movement) -> tuple[object, ...]:
    """Everything that a plan says, to compare two of them."""
    affected = [frozenset(codes) for codes in plan.affected]
    return steps(plan), plan.locked, plan.streams, affected


def anew(before: Ring, after: Ring, replication: Replication) -> Movement:
    """The same plan with all rows computed anew."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nearby, "DEARER", 2**40)
        return movement(before, after, replication)


@examples(150)
@given(st.data(), st.sampled_from((2, 4, 16)))
def test_plans_from_nearby_rows_equal_plans_from_all_rows(data: st.DataObject, span: int) -> None:
    """For any change, narrow windows included, looking nearby gives the plan of looking at all."""
    before = data.draw(large_rings())
    replication = data.draw(st.one_of(networks(), replications()))
    after = data.draw(changed(before))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nearby, "FIRST_SPAN", span)
        patch.setattr(nearby, "DEARER", 2)
        plan = movement(before, after, replication)
    assert parts(plan) == parts(anew(before, after, replication))


@given(st.data())
def test_two_changes_at_once(data: st.DataObject) -> None:
    """Rings that differ by two changes, in two datacenters too, have the plan of all rows."""
    before = data.draw(large_rings())
    replication = data.draw(networks())
    left = before.leave(data.draw(st.integers(0, len(before.names) - 1)))
    after = data.draw(changed(left))
    assert parts(movement(before, after, replication)) == parts(anew(before, after, replication))


def test_only_rows_nearby_are_looked_at() -> None:
    """One join in a large ring looks at a few rows; a first rack of its kind looks at all."""
    nodes = [Node(f"n{i}", (i, i + 1000), rack=f"r{i % 3}") for i in range(1, 1000)]
    ring = Ring.of(nodes, TIGHT)
    joined = ring.join(Node("x", (3000,), rack="r1"))
    new_rack = ring.join(Node("x", (3000,), rack="r9"))
    three = NetworkTopologyStrategy((("dc1", 3),))
    assert len(nearby.changes(ring, joined, three).rights) < 12
    assert len(nearby.changes(ring, new_rack, three).rights) < 12
    four = NetworkTopologyStrategy((("dc1", 4),))
    assert len(nearby.changes(ring, new_rack, four).rights) > 1998
    assert len(nearby.changes(ring, joined, SimpleStrategy(3)).rights) < 12


# operation, step: read rows | write rows; a row is its right bound and its replicas.
TABLES = """
bootstrap    0: 100=A,B 200=B,C         | 100=A,B 200=B,C
bootstrap    1: 100=A,B 150=B,C 200=B,C | 100=A,B 150=B,C 200=B,C
bootstrap    2: 100=A,B 150=B,C 200=B,C | 100=A,B,X 150=B,C,X 200=B,C
bootstrap    3: 100=A,X 150=X,B 200=B,C | 100=A,B,X 150=B,C,X 200=B,C
bootstrap    4: 100=A,X 150=X,B 200=B,C | 100=A,X 150=X,B 200=B,C
decommission 0: 100=A,X 150=X,B 200=B,C | 100=A,X 150=X,B 200=B,C
decommission 1: 100=A,X 150=X,B 200=B,C | 100=A,X,B 150=X,B,C 200=B,C
decommission 2: 100=A,B 150=B,C 200=B,C | 100=A,X,B 150=X,B,C 200=B,C
decommission 3: 100=A,B 150=B,C 200=B,C | 100=A,B 150=B,C 200=B,C
decommission 4: 100=A,B 200=B,C         | 100=A,B 200=B,C
"""
STEPS = {
    "bootstrap": ("split", "add", "switch", "drop"),
    "decommission": ("add", "switch", "drop", "merge"),
}


def shown(table: Table, names: tuple[str, ...]) -> str:
    """The rows up to 200 as one line of text."""
    rows = [row for row in table.rows(names) if row.right <= 200]
    return " ".join(f"{row.right}={','.join(row.replicas)}" for row in rows)


def frames(operation: str, before: Ring, after: Ring) -> list[str]:
    """Both tables after each step, in display order; walk order changes with the read switch."""
    replication = SimpleStrategy(2)
    plan = movement(before, after, replication)
    now, ring, lines = stable_placement(before, replication), before, []
    for step, name in enumerate(("rest", *STEPS[operation])):
        if name != "rest":
            ring = after if name == "switch" else ring
            now = settle(apply(now, getattr(plan, name)), ring, replication)
        reads, writes = shown(now.reads, after.names), shown(now.writes, after.names)
        lines.append(" ".join(f"{operation} {step}: {reads} | {writes}".split()))
    return lines


@pytest.mark.spec("A-022", "A-023", "A-024", "A-025", "A-026", "A-034")
@pytest.mark.spec("A-030", "A-031", "A-032", "A-033")
@pytest.mark.parametrize("space", [small(400), MURMUR3])
def test_tables_letter_by_letter(space: TokenSpace) -> None:
    """X joins at 150 and leaves again: every table of the worked example comes out."""
    nodes = (Node("A", (100,)), Node("B", (200,)), Node("C", (300,)))
    rest = Ring.of(nodes, space)
    joined = rest.join(Node("X", (150,)))
    lines = frames("bootstrap", rest, joined)
    lines += frames("decommission", joined, joined.leave(joined.code("X")))
    assert lines == [" ".join(line.split()) for line in TABLES.strip().splitlines()]


@pytest.mark.spec("A-040")
def test_range_that_x_gains_with_three_replicas() -> None:
    """With RF 3 the gained range goes ABC, then X writes, then X reads for A, then A is gone."""
    replication = SimpleStrategy(3)
    before = Ring.of((Node("A", (100,)), Node("B", (200,)), Node("C", (300,))), small(400))
    after = before.join(Node("X", (150,)))
    plan = movement(before, after, replication)
    now = stable_placement(before, replication)
    groups = []
    for name in ("split", "add", "switch", "drop"):
        now = apply(now, getattr(plan, name))
        pair = (table.groups_of(120)[0] for table in (now.reads, now.writes))
        groups.append(tuple("".join(sorted(after.names[c] for c in group)) for group in pair))
    assert groups == [("ABC", "ABC"), ("ABC", "ABCX"), ("BCX", "ABCX"), ("BCX", "BCX")]
