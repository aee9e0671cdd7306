"""Rows found near the changed tokens against all rows computed anew."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.ring import nearby
from kit.ring.movement import Movement, movement
from kit.ring.replication import NetworkTopologyStrategy, Replication, SimpleStrategy
from kit.ring.tokens import small
from kit.ring.topology import Node, Ring
from tests.examples import examples
from tests.ring.draws import RACKS, changed, networks, replications, steps

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


# the datacenter of the node -> where the rows end that are looked at when it comes to 1501, when it
# goes from there, and when another one of that datacenter takes its place
REACHED = {
    "dc1": ([1491, 1494, 1497, 1500, 1501, 1503],) * 3,
    "dc2": ([1501, 1503],) * 3,
    "dc3": ([1501, 1503],) * 3,
}


@pytest.mark.parametrize("dc", REACHED)
def test_of_other_datacenters_only_the_halves_of_rows_are_looked_at(dc: str) -> None:
    """Nodes of two datacenters take turns every three tokens, and one of them has three replicas:
    of it, three nodes lie between 1491 (the first row whose third replica changes) and 1501. A
    node that holds nothing of the keyspace changes no replica, but cuts a row.
    """
    without = Ring.of([Node(f"n{i}", (3 * i,), f"dc{i % 2 + 1}") for i in range(1, 1000)], TIGHT)
    joined = without.join(Node("x", (1501,), dc))
    known = joined.join(Node("y", (), dc))
    x, y = (known.names.index(name) for name in "xy")
    changes = (known.leave(x).join(Node("z", (1501,), dc)), known.leave(x), known.replace(x, y))
    befores = (known.leave(x), known, known)
    three = NetworkTopologyStrategy((("dc1", 3),))
    looked_at = (nearby.changes(*rings, three) for rings in zip(befores, changes, strict=True))
    assert tuple(rows.rights.tolist() for rows in looked_at) == REACHED[dc]


def test_each_datacenter_has_its_slots_of_a_row() -> None:
    """X joins one datacenter and Y the other, whose nodes stand at every third ten.

    A row has the replicas of those datacenters alone whose walk from there meets a newcomer.
    """
    nodes = [Node(f"n{i}", (10 * i,), "dc1" if i % 3 else "dc2") for i in range(100)]
    ring = Ring.of(nodes, TIGHT)
    after = ring.join(Node("X", (505,), "dc1")).join(Node("Y", (506,), "dc2"))
    x, y = (after.names.index(name) for name in "XY")
    rows = nearby.changes(ring, after, NetworkTopologyStrategy((("dc1", 2), ("dc2", 1))))
    assert rows.rights.tolist() == [490, 500, 505, 506, 510]
    assert rows.lefts.tolist() == [480, 490, 500, 505, 506]
    none = [-1, -1]
    assert rows.before.tolist() == [
        [*none, 51], [50, 52, 51], [52, 53, 51], [*none, 51], [*none, -1],
    ]  # fmt: skip
    assert rows.after.tolist() == [[*none, y], [50, x, y], [x, 52, y], [*none, y], [*none, -1]]
    assert (rows.cuts.tolist(), rows.merges.tolist()) == ([505, 506], [])


def test_tokens_that_stay_are_not_looked_at() -> None:
    """A node moves one of its two tokens: rows near that one change, where it was and where it is.
    Of tokens that go and tokens that come, each bounds a row in one ring only.
    """
    ring = Ring.of([*(Node(f"n{i}", (3 * i,)) for i in range(1, 1000)), Node("x", (1501, 2002))])
    rows = nearby.changes(ring, ring.move(ring.names.index("x"), (1501, 2501)), SimpleStrategy(1))
    assert rows.rights.tolist() == [2002, 2004, 2501, 2502]
    assert (rows.cuts.tolist(), rows.merges.tolist()) == ([2501], [2002])
    moved, follows, gives = (ring.names.index(name) for name in ("x", "n668", "n834"))
    assert rows.before.tolist() == [[moved], [-1], [gives], [-1]]
    assert rows.after.tolist() == [[follows], [-1], [moved], [-1]]


@pytest.mark.parametrize(("dearer", "near"), [(25, True), (26, False)])
def test_windows_grow_until_they_are_dearer_than_the_ring(
    dearer: int, near: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three replicas need a window of four, the second one. So many times four tokens are as many
    as the 100 of the ring, or more; then all its rows are looked at.
    """
    monkeypatch.setattr(nearby, "FIRST_SPAN", 2)
    monkeypatch.setattr(nearby, "DEARER", dearer)
    ring = Ring.of([Node(f"n{i}", (10 * i,)) for i in range(1, 100)], TIGHT)
    rows = nearby.changes(ring, ring.join(Node("x", (505,))), SimpleStrategy(3))
    few, every = [490, 500, 505, 510], [*range(10, 510, 10), 505, *range(510, 1000, 10), 4000]
    assert rows.rights.tolist() == (few if near else every)


@pytest.mark.parametrize("factor", [1, 2, 3])
def test_the_first_node_of_all_counts_as_any_other(factor: int) -> None:
    """Its code is 0: it joins, moves and leaves as nodes with other codes do."""
    here = Ring.of([Node("first", (1501,)), *(Node(f"n{i}", (3 * i,)) for i in range(1, 1000))])
    assert here.names.index("first") == 0
    gone, there = here.leave(0), here.move(0, (2002,))
    replication = SimpleStrategy(factor)
    for rings in ((gone, here), (here, there), (here, gone)):
        plan = movement(*rings, replication)
        assert parts(plan) == parts(anew(*rings, replication))
        assert len(nearby.changes(*rings, replication).rights) < 12


@pytest.mark.parametrize("factor", [2, 3, 4, 5])
@pytest.mark.parametrize("change", ["bootstrap", "decommission", "replace"])
def test_a_rack_comes_or_goes(change: str, factor: int) -> None:
    """The only node of a rack changes the rule for all rows, not only for those near its tokens."""
    nodes = [Node(f"n{i}", (i, i + 1000), rack=f"r{i % 3}") for i in range(1, 200)]
    alone = Node("alone", (3000,), rack="r9")
    without = Ring.of(nodes, TIGHT)
    ring = without.join(alone)
    known = ring.join(Node("x", (), rack="r1"))
    replication = NetworkTopologyStrategy((("dc1", factor),))
    before, after = {
        "bootstrap": (without, ring),
        "decommission": (ring, ring.leave(ring.names.index("alone"))),
        "replace": (ring, known.replace(known.names.index("alone"), known.names.index("x"))),
    }[change]
    assert parts(movement(before, after, replication)) == parts(anew(before, after, replication))


@pytest.mark.parametrize("racks", ["aaabbc", "aabc", "abcc", "aaaab", "abcabd"])
@pytest.mark.parametrize("factor", [3, 4, 5])
def test_a_rack_is_taken_again_so_often_and_no_more(racks: str, factor: int) -> None:
    """Where there are fewer racks than replicas, walks pass nodes of racks that had their share."""
    nodes = [Node(f"n{i}", (10 * i,), rack=racks[i % len(racks)]) for i in range(1, 300)]
    ring = Ring.of(nodes, TIGHT)
    replication = NetworkTopologyStrategy((("dc1", factor),))
    for rack in sorted({*racks}):
        after = ring.join(Node("x", (1505,), rack=rack))
        plan = movement(ring, after, replication)
        assert parts(plan) == parts(anew(ring, after, replication))


def test_fewer_nodes_than_replicas() -> None:
    """Where a datacenter has no more nodes than replicas, a join or leave touches every row."""
    nodes = [Node(f"n{i}", tuple(range(i, 900, 9))) for i in range(1, 4)]
    ring = Ring.of(nodes, TIGHT)
    replication = SimpleStrategy(3)
    for after in (ring.leave(ring.names.index("n1")), ring.join(Node("x", (3000,)))):
        plan = movement(ring, after, replication)
        assert parts(plan) == parts(anew(ring, after, replication))
