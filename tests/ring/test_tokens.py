"""Token spaces and the Murmur3 partitioner."""

from __future__ import annotations

from itertools import pairwise

import pytest
from cassandra.metadata import Murmur3Token
from hypothesis import example, given
from hypothesis import strategies as st

from kit.errors import BadInput
from kit.ring.ranges import Range, bounds, covering, first_overlap, label
from kit.ring.tokens import INT64_HIGH, INT64_LOW, MURMUR3, TokenSpace, murmur3_token, small
from tests.saying import says


@given(st.binary(max_size=70))
@example(b"")
@example(b"\xff" * 15)
@example(b"\x80" * 31)
@example(b"\x7f" * 31)
def test_murmur3_equals_the_driver(key: bytes) -> None:
    """A key has the token that the published driver computes, bytes above 127 included."""
    assert murmur3_token(key) == Murmur3Token.hash_fn(key)


@pytest.mark.parametrize("step", [1, 7, 85])
def test_murmur3_equals_the_driver_at_every_length(step: int) -> None:
    """Whole blocks, one after the other, and each length of the tail; no two bytes are alike."""
    for length in range(80):
        key = bytes(step * at % 256 for at in range(1, length + 1))
        assert murmur3_token(key) == Murmur3Token.hash_fn(key)


@pytest.mark.parametrize(
    ("key", "token"),
    [
        ("c10395365d817250538c6d0cb635108e", INT64_HIGH),  # it hashes to MIN
        ("5704a61764383be7bb8ac6267ffd968c", INT64_LOW + 1),
        ("3b9d0b97d03847d9ef28dd01a1348656", INT64_HIGH - 1),
        ("65afa7cc9acaa9021d25cec4149420cc", INT64_HIGH),
        ("b818a774c2b070c7011fc75e4326d733", -1),
        ("0b197f89af93b6d841a6b4409eed8f4c", 0),
    ],
)
def test_tokens_at_the_ends(key: str, token: int) -> None:
    """Keys that were made for their tokens by going through the hash backwards."""
    assert murmur3_token(bytes.fromhex(key)) == token == Murmur3Token.hash_fn(bytes.fromhex(key))


def test_known_token() -> None:
    """The token of a well-known key is pinned, so that driver and kit cannot drift together."""
    assert murmur3_token(b"123") == -7468325962851647638


@pytest.mark.parametrize("token", [True, 1.0, "1", None, 2**63, -(2**63) - 1, 10**400])
def test_what_is_no_token(token: object) -> None:
    """Booleans, floats, texts and numbers beyond 64 bits are no tokens; the message is one line."""
    with pytest.raises(BadInput) as caught:
        MURMUR3.check(token, "nodes[0].tokens[0]")
    text = str(caught.value)
    assert says(text, "nodes[0].tokens[0] |")
    assert "\n" not in text
    assert len(text) < 200


def test_both_ends_are_tokens() -> None:
    """A node may own MIN as well as the last token."""
    assert MURMUR3.check(INT64_LOW) == INT64_LOW
    assert MURMUR3.check(INT64_HIGH) == INT64_HIGH


@pytest.mark.parametrize(("low", "high"), [(0, 0), (5, 1), (0, 2**63), (-(2**64), 0), (False, 9)])
def test_impossible_spaces(low: int, high: int) -> None:
    """A space needs two different ends within 64 bits."""
    with pytest.raises(BadInput):
        TokenSpace("small", low, high)


SOME = st.tuples(st.integers(0, 20), st.integers(1, 9)).map(lambda p: Range(p[0], p[0] + p[1]))


def area(ranges: tuple[Range, ...] | list[Range]) -> set[int]:
    """The tokens of some ranges, one by one."""
    return {token for one in ranges for token in range(one.left + 1, one.right + 1)}


@pytest.mark.spec("A-006")
def test_half_open() -> None:
    """A range leaves out its left bound, holds its right one, and is written so."""
    one = Range(100, 150)
    assert [one.contains(t) for t in (100, 101, 150, 151)] == [False, True, True, False]
    assert one.label(small(400)) == "(100, 150]"
    assert Range(MURMUR3.low, 5).label(MURMUR3) == "(min, 5]"


def test_the_ends_of_the_line_have_no_bound() -> None:
    """At either end of the line there is None, and a word for it; elsewhere the token."""
    space = small(400)
    told = {(0, 400): "(min, max]", (0, 9): "(min, 9]", (9, 400): "(9, max]", (1, 399): "(1, 399]"}
    assert {pair: label(bounds(space, *pair)) for pair in told} == told
    assert bounds(space, 0, 9) == (None, 9)
    assert bounds(space, 9, 400) == (9, None)


@pytest.mark.spec("A-042")
@pytest.mark.parametrize(("left", "right"), [(5, 5), (9, 3)])
def test_no_range_wraps(left: int, right: int) -> None:
    """A range whose left bound is not below its right one cannot be made."""
    with pytest.raises(BadInput, match="a range does not wrap"):
        Range(left, right)


@given(SOME, SOME)
def test_overlap_is_a_shared_token(one: Range, other: Range) -> None:
    """Two ranges overlap exactly when some token lies in both."""
    assert one.overlaps(other) == bool(area([one]) & area([other]))


@given(st.lists(st.integers(0, 30), max_size=9, unique=True).map(sorted), SOME)
def test_the_first_that_overlaps(bounds: list[int], wanted: Range) -> None:
    """Among ascending, disjoint ranges it is found as by looking at each; so is who holds one."""
    side_by_side = [Range(*pair) for pair in pairwise(bounds)]
    for ranges in (side_by_side, side_by_side[::2]):
        first = next((r for r in ranges if r.overlaps(wanted)), None)
        assert first_overlap(ranges, wanted) == first
        for token in range(31):
            assert covering(ranges, token) == next((r for r in ranges if r.contains(token)), None)
