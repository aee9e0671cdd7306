"""Rings as immutable columns."""

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
from kit.ring.tokens import MURMUR3, small
from kit.ring.topology import Node, Packed, Ring
from tests.ring.draws import changed, replications, rings, steps
from tests.saying import like

ABC = (Node("A", (100,)), Node("B", (200,)), Node("C", (300,)))


def test_tokens_are_sorted_and_codes_are_indices() -> None:
    """Nodes keep the order in which they were given; tokens are sorted with their owners."""
    ring = Ring.of([Node("B", (200, 50)), Node("A", (100,))], small(400))
    assert ring.names == ("B", "A")
    assert ring.tokens.tolist() == [50, 100, 200]
    assert ring.owners.tolist() == [0, 1, 0]


@pytest.mark.spec("A-042")
@pytest.mark.parametrize(
    ("tokens", "rights"),
    [((100,), [100, 400]), ((0, 100), [100, 400]), ((400,), [400]), ((0,), [400]), ((), [400])],
)
def test_rows_end_at_tokens_and_at_the_end_of_the_line(
    tokens: tuple[int, ...], rights: list[int]
) -> None:
    """MIN closes no row, and there is no empty row after a token at the end of the line."""
    assert Ring.of([Node("A", tokens)], small(400)).rights.tolist() == rights


def test_the_nodes_of_a_ring_give_it_again() -> None:
    """The very tuple is checked once; equal nodes elsewhere, or another space, are another ring."""
    ring = Ring.of(ABC, small(400))
    assert Ring.of(ring.nodes, small(400)) is ring
    assert Ring.of(list(ABC), small(400)) is not ring
    assert Ring.of(list(ABC), small(400)) == ring
    with pytest.raises(BadInput, match="tokens"):
        Ring.of(ring.nodes, small(200))


def test_a_token_has_one_owner() -> None:
    """A token given twice is refused, and both owners are named."""
    with pytest.raises(BadInput, match=r"200.*B and D both own"):
        Ring.of((*ABC, Node("D", (200,))), small(400))
    with pytest.raises(BadInput, match=r"200.*B and D both own"):
        Ring.of(ABC, small(400)).join(Node("D", (7, 200)))
    with pytest.raises(BadInput, match=r"7.*D and D both own"):
        Ring.of(ABC, small(400)).join(Node("D", (7, 7)))


@pytest.mark.parametrize("token", [401, -1, True, 1.5, 2**70])
@pytest.mark.parametrize("others", [(), (0,), (400,), (0, 7, 400)])
def test_tokens_outside_the_space(token: int, others: tuple[int, ...]) -> None:
    """Both ways to a ring refuse what is no token of its space, and say which one it is."""
    at, own = len(others), (*others, token)
    for code, nodes in enumerate(([Node("A", own)], [Node("Z", (5,)), Node("A", own)])):
        with pytest.raises(BadInput) as caught:
            Ring.of(nodes, small(400))
        said = (caught.value.field, caught.value.allowed)
        assert said == (f"nodes[{code}].tokens[{at}]", "an integer from 0 to 400")
    with pytest.raises(BadInput) as caught:
        Ring.of(ABC, small(400)).move(0, own)
    assert caught.value.field == f"tokens of A[{at}]"


def test_names_are_unique() -> None:
    """Two nodes of one name are refused; an unknown name says which there are."""
    with pytest.raises(BadInput, match=r"nodes\[1\]\.name"):
        Ring.of([Node("A", (1,)), Node("A", (2,))])
    with pytest.raises(BadInput, match=r"nodes\[0\]\.name"):
        Ring.of([Node("", (1,))])
    with pytest.raises(BadInput, match="one of A, B, C"):
        Ring.of(ABC).code("Z")


def test_columns_cannot_be_written() -> None:
    """A ring's arrays are read-only, so a shared one never changes under a reader."""
    ring = Ring.of(ABC)
    for column in (ring.tokens, ring.owners, ring.rights):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1


@given(st.data())
def test_changes_equal_building_anew(data: st.DataObject) -> None:
    """A changed ring equals the ring built from its nodes, columns included; codes are stable."""
    ring = data.draw(rings())
    after = data.draw(changed(ring))
    anew = Ring.of(after.nodes, after.space)
    assert after == anew
    assert hash(after) == hash(anew)
    assert after.digest == anew.digest
    assert np.array_equal(after.tokens, anew.tokens)
    assert np.array_equal(after.owners, anew.owners)
    assert after.names[: len(ring.names)] == ring.names


def test_replace_gives_the_tokens_to_the_new_node() -> None:
    """The replacement owns the tokens; the replaced node stays registered without any."""
    after = Ring.of(ABC, small(400)).join(Node("D", (), "dc1", "r2")).replace(1, 3)
    assert after.nodes[1] == Node("B", ())
    assert after.nodes[3] == Node("D", (200,), "dc1", "r2")
    back = after.replace(3, 1)
    assert back.nodes[1].tokens == (200,)
    with pytest.raises(BadInput, match="owns no token yet"):
        after.replace(0, 2)


def test_equality_is_by_content() -> None:
    """Rings differ by nodes, places, order and space; they can be kept in sets."""
    ring = Ring.of(ABC)
    assert ring == Ring.of(ABC)
    assert ring != Ring.of(ABC, small(400))
    assert ring != Ring.of(ABC[::-1])
    assert (ring == "ring") is False
    assert len({ring, Ring.of(ABC), Ring.of(ABC, small(400))}) == 2
    assert ring.space is MURMUR3
    assert repr(ring) == "Ring(3 nodes, 3 tokens, murmur3)"


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
