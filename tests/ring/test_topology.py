"""Rings as immutable columns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.errors import BadInput, KitError
from kit.ring import columns
from kit.ring.tokens import MURMUR3, small
from kit.ring.topology import Node, Ring
from tests.ring.draws import changed, rings

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


def test_nobody_joins_twice() -> None:
    """A name is one node's, also if the newcomer has a token of its own."""
    ring = Ring.of(ABC, small(400))
    assert ring.join(Node("D", (250,))).names == ("A", "B", "C", "D")
    with pytest.raises(BadInput, match="B"):
        ring.join(Node("B", (250,)))


FOUR = (
    Node("A", (200, 50)),
    Node("B", (), "dc2"),
    Node("C", (100,), "dc1", "r2"),
    Node("D", (150, 300, 7), "dc2"),
)


def test_a_ring_as_columns() -> None:
    """Node by node, in each node's own order; sorted where it is sent, in as few bytes as do."""
    ring = Ring.of(FOUR, small(400))
    packed = ring.packed
    assert (packed.space, packed.names) == (small(400), ("A", "B", "C", "D"))
    assert packed.places == (("dc1", "r1"), ("dc2", "r1"), ("dc1", "r2"), ("dc2", "r1"))
    assert packed.counts.tolist() == [2, 0, 1, 3]
    assert packed.tokens.tolist() == [200, 50, 100, 150, 300, 7]
    assert ring.order.tolist() == [5, 1, 2, 3, 0, 4]
    assert Ring.unpacked(packed).nodes == packed.nodes() == FOUR
    made, (sent,) = ring.__reduce__()
    assert sent.line.tokens.tolist() == [7, 50, 100, 150, 200, 300]
    assert (sent.owners.tolist(), sent.ranks.tolist()) == ([3, 0, 2, 3, 0, 3], [2, 1, 0, 0, 0, 1])
    assert sent.packed().tokens.tolist() == [200, 50, 100, 150, 300, 7]
    back = made(sent)  # type: ignore[operator]  # what makes it again
    assert (back.tokens.tolist(), back.owners.tolist()) == (
        ring.tokens.tolist(),
        ring.owners.tolist(),
    )
    assert back.owners.dtype == np.int32
    assert (back.names, back.nodes) == (ring.names, FOUR)
    after = ring.move(2, (400, 8))
    assert after.order.tolist() == [6, 3, 1, 4, 0, 5, 2]
    assert after.packed.tokens.tolist() == [200, 50, 400, 8, 150, 300, 7]
    for nodes in (FOUR, ()):
        _, (sent,) = Ring.of(nodes, small(400)).__reduce__()
        assert (sent.owners.dtype, sent.ranks.dtype) == (np.uint8, np.uint8)


@pytest.mark.parametrize(
    ("tokens", "lefts", "starts"),
    [
        ((50, 100), [0, 50, 100], [0, 1, 0]),
        ((0, 100), [0, 100], [1, 0]),
        ((100, 400), [0, 100], [0, 1]),
        ((0, 100, 400), [0, 100], [1, 2]),
        ((0,), [0], [0]),
        ((), [0], [0]),
    ],
)
def test_where_rows_begin(tokens: tuple[int, ...], lefts: list[int], starts: list[int]) -> None:
    """On the line, and among the tokens: of all rows or of some; the last one wraps around."""
    ring = Ring.of([Node("A", tokens)], small(400))
    assert (ring.row_lefts().tolist(), ring.row_starts().tolist()) == (lefts, starts)
    for row, both in enumerate(zip(lefts, starts, strict=True)):
        some = np.array([row])
        assert (ring.row_lefts(some).tolist(), ring.row_starts(some).tolist()) == (
            *([each] for each in both),
        )
    assert ring.starts(ring.rights).tolist() == starts


def test_who_owns_a_token() -> None:
    """The first token not below it, and behind the last one the first."""
    ring = Ring.of(ABC, small(400))
    at = np.array([0, 99, 100, 101, 300, 301, 400])
    assert ring.starts(at).tolist() == [0, 0, 0, 1, 2, 0, 0]


def test_a_ring_of_columns_makes_no_nodes_before_they_are_asked_for() -> None:
    """Names and places are there without them; what was found on a ring is kept with it."""
    ring = Ring.unpacked(Ring.of(FOUR, small(400)).packed)
    assert (ring.names, where(ring)[0], ring.walked) == (
        ("A", "B", "C", "D"),
        [("dc1", 0), ("dc2", 1)],
        {},
    )
    assert "nodes" not in ring.__dict__
    assert [ring.code(name) for name in ring.names] == [0, 1, 2, 3]


def test_a_node_elsewhere_is_another_ring() -> None:
    """In its own place it is the very ring; tokens stay where they are."""
    ring = Ring.of(FOUR, small(400))
    assert ring.placed(2, "dc1", "r2") is ring
    for place in (("dc1", "r1"), ("dc2", "r2"), ("dc9", "r9")):
        other = ring.placed(2, *place)
        nodes = (*FOUR[:2], Node("C", (100,), *place), FOUR[3])
        assert other == Ring.of(nodes, small(400))
        assert other.tokens.tolist() == ring.tokens.tolist()
        assert where(other) == where(Ring.of(nodes, small(400)))


def test_a_ring_has_a_digest_that_every_process_makes() -> None:
    """Of its space and nodes, 16 bytes, the first half of which is its hash."""
    ring = Ring.of(FOUR, small(400))
    assert ring.digest.hex() == "2d4ffff57a5153d855a779eab54b6c91"
    assert hash(ring) == hash(int.from_bytes(ring.digest[:8], "little"))
    assert len(ring.digest) == 16


def test_tokens_come_and_go_at_both_ends() -> None:
    """A changed ring has the others' tokens as they were, and the new ones among them."""
    ring = Ring.of(FOUR, small(400))
    after = ring.move(2, (400, 8))
    assert after.tokens.tolist() == [7, 8, 50, 150, 200, 300, 400]
    assert after.owners.tolist() == [3, 2, 0, 3, 0, 3, 2]
    after = ring.join(Node("E", (301, 0)))
    assert after.tokens.tolist() == [0, 7, 50, 100, 150, 200, 300, 301]
    assert after.owners.tolist() == [4, 3, 0, 2, 3, 0, 3, 4]
    after = ring.leave(3)
    assert (after.tokens.tolist(), after.owners.tolist()) == ([50, 100, 200], [0, 2, 0])


def test_the_first_token_that_two_own_is_named() -> None:
    """With both, in the order of their nodes."""
    nodes = (Node("A", (10, 20)), Node("B", (10,)), Node("C", (20,)))
    with pytest.raises(BadInput, match=r"10.*A and B both own"):
        Ring.of(nodes, small(400))


def where(ring: Ring) -> tuple[object, ...]:
    """What is known of where its nodes are."""
    told = ring.geography
    columns = (told.dc_of, told.rack_of, told.in_ring)
    return (list(told.dcs.items()), list(told.racks.items()), *(each.tolist() for each in columns))


def test_where_nodes_are_follows_each_change() -> None:
    """Datacenters and racks by their numbers, and who owns tokens, as if it were built anew."""
    ring = Ring.of(FOUR, small(400))
    dcs, racks = [("dc1", 0), ("dc2", 1)], [(("dc1", "r1"), 0), (("dc2", "r1"), 1)]
    racks.append((("dc1", "r2"), 2))
    known = (dcs, racks, [0, 1, 0, 1], [0, 1, 2, 1])
    assert where(ring) == (*known, [True, False, True, True])
    assert where(Ring.unpacked(ring.packed)) == where(ring)
    for code in range(4):
        in_ring = [True, False, True, True]
        for tokens in ((), (9,)):
            in_ring[code] = bool(tokens)
            assert where(ring.move(code, tokens)) == (*known, in_ring)
    for tokens in ((), (9,)):
        assert where(ring.join(Node("E", tokens, "dc3", "r1"))) == (
            [*dcs, ("dc3", 2)],
            [*racks, (("dc3", "r1"), 3)],
            [0, 1, 0, 1, 2],
            [0, 1, 2, 1, 3],
            [True, False, True, True, bool(tokens)],
        )
    assert where(ring.join(Node("E", (9,), "dc1", "r2")))[2:4] == ([0, 1, 0, 1, 0], [0, 1, 2, 1, 2])
    assert where(Ring.of((), small(400))) == ([], [], [], [], [])


def test_a_ring_without_numpy_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Larger ones are refused where they are made."""
    monkeypatch.setattr(columns, "PLAIN", True)
    monkeypatch.setattr(columns, "MOST_PLAIN", 5)
    with pytest.raises(KitError, match=r"^a ring of 6 ranges needs numpy"):
        Ring.of(FOUR, small(400))
