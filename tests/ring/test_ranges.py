"""Token ranges on a line."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.errors import BadInput
from kit.ring.ranges import Range, bounds, covering, first_overlap, label
from kit.ring.tokens import MURMUR3, small

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
