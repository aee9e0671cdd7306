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
