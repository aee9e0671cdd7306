"""Where tablets begin and end, and which are siblings: border by border."""

from __future__ import annotations

from typing import Any

import pytest

from kit.errors import BadInput
from kit.protocols.tablets.rules.maps import (
    first_token,
    is_power_of_two,
    last_tokens,
    siblings,
    split_token,
    split_tokens,
    tablet_of,
)
from kit.ring.tokens import INT64_HIGH, INT64_LOW

COUNTS = (1, 2, 3, 4, 7, 8, 100)


@pytest.mark.parametrize("count", COUNTS)
def test_tablets_cut_the_line_into_equal_pieces(count: int) -> None:
    """From the lowest token to the highest, none larger than another by more than one token."""
    lasts = last_tokens(count)
    firsts = [first_token(index, lasts) for index in range(count)]
    assert (len(lasts), firsts[0], lasts[-1]) == (count, INT64_LOW, INT64_HIGH)
    assert firsts[1:] == [*lasts[:-1]]
    sizes = [last - first for first, last in zip(firsts, lasts, strict=True)]
    assert max(sizes) - min(sizes) <= 2
    for index, last in enumerate(lasts):
        assert tablet_of(last, lasts) == index
        assert tablet_of(firsts[index] + 1, lasts) == index
    assert tablet_of(INT64_LOW, lasts) == 0


@pytest.mark.parametrize("wrong", [0, -1])
def test_there_is_a_tablet_at_least(wrong: int) -> None:
    """A table without tablets covers no token."""
    with pytest.raises(BadInput, match=r"^tablet_count: .*a number from 1 up"):
        last_tokens(wrong)


@pytest.mark.parametrize("wrong", [None, True, 1.0, "1", INT64_LOW - 1, INT64_HIGH + 1])
def test_what_is_no_token_is_in_no_tablet(wrong: Any) -> None:
    """Also where it is near to one."""
    with pytest.raises(BadInput, match=r"^token: "):
        tablet_of(wrong, last_tokens(2))


@pytest.mark.parametrize("power", range(5))
def test_halves_of_a_power_of_two_are_the_next_power(power: int) -> None:
    """And each half ends where it is said to."""
    lasts = last_tokens(2**power)
    assert tuple(split_tokens(lasts)) == last_tokens(2 ** (power + 1))
    assert [split_token(left, 10) for left in (0, 7, 9)] == [5, 8, 9]


def test_siblings_are_pairs() -> None:
    """Of any even count; of an odd one only where a tablet is isolated."""
    for count in range(-2, 40):
        assert is_power_of_two(count) is (count in (1, 2, 4, 8, 16, 32))
        if count > 1 and count % 2 == 0:
            assert siblings(count) == tuple((n, n + 1) for n in range(count) if n % 2 == 0)
        else:
            with pytest.raises(BadInput, match=r"^(tablet_count: .*from 2 up|isolated tablet)"):
                siblings(count)
