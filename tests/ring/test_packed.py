"""Rings as flat columns, and parts of their placements."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kit.errors import BadInput
from kit.ring.applying import apply, settle
from kit.ring.movement import movement
from kit.ring.placements import stable_placement
from kit.ring.replication import Replication
from kit.ring.tokens import small
from kit.ring.topology import Packed, Ring
from tests.ring.draws import changed, replications, rings, steps
from tests.saying import like


@given(rings())
def test_a_ring_travels_as_columns(ring: Ring) -> None:
    """A pickled ring comes back equal, with the same columns, and makes its nodes when asked."""
    back = pickle.loads(pickle.dumps(ring))
    assert "nodes" not in back.__dict__
    assert np.array_equal(back.tokens, ring.tokens)
    assert np.array_equal(back.owners, ring.owners)
    assert np.array_equal(back.geography.rack_of, ring.geography.rack_of)
    assert np.array_equal(back.geography.in_ring, ring.geography.in_ring)
    assert back.geography.dcs == ring.geography.dcs
    assert back.names == ring.names
    assert back == ring
    assert hash(back) == hash(ring)
    again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(ring))))
    assert np.array_equal(again.packed.tokens, ring.packed.tokens)
    assert again == ring


def test_columns_with_a_token_twice_are_refused() -> None:
    """A token that two nodes own is named, with both."""
    packed = Packed(
        small(100),
        ("a", "b"),
        (("dc1", "r1"), ("dc1", "r1")),
        np.array([2, 1], np.int32),
        np.array([10, 20, 10], np.int64),
    )
    with pytest.raises(BadInput, match=like("tokens | 10 | a and b both own")):
        Ring.unpacked(packed)
    more = replace(
        packed,
        names=("a", "b", "c"),
        places=(("dc1", "r1"),) * 3,
        counts=np.array([1, 2, 1], np.int32),
        tokens=np.array([20, 30, 20, 30], np.int64),
    )
    with pytest.raises(BadInput, match=like("tokens | 20 | a and b both own")):
        Ring.unpacked(more)


@given(st.data(), rings(), replications())
def test_settling_near_a_change_is_settling_all(
    data: st.DataObject, ring: Ring, replication: Replication
) -> None:
    """After each part of a change, only its area needs to be put in order."""
    before, after = ring, data.draw(changed(ring))
    moved = movement(before, after, replication)
    placement = stable_placement(before, replication)
    for name, delta in steps(moved):
        walked = before if name in ("split", "add") else after
        placement = apply(placement, delta)
        near = settle(placement, walked, replication, moved.area)
        placement = settle(placement, walked, replication)
        assert near == placement
