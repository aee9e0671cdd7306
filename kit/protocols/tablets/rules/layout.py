"""Where the tablets of a table lie on the line of tokens.

A tablet covers the tokens after its predecessor's last one up to its own last one; the first begins
at the lowest token, the last ends at the highest. Source: Topology over Raft, "Tablet merging",
"Tablet splitting"; for the tokens themselves the published ``tablet_map``.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from kit.errors import BadInput
from kit.ring.tokens import INT64_HIGH, INT64_LOW

WIDTH = 2**64 - 1  # tokens between the two ends


def last_token(index: int, count: int) -> int:
    """The last token of tablet ``index`` of ``count`` that are as equal as tokens allow."""
    return (index + 1) * WIDTH // count + INT64_LOW


def last_tokens(count: int) -> tuple[int, ...]:
    """The last token of each of ``count`` tablets, ascending; the last one is the highest token.

    Raises:
        BadInput: for a count below one.
    """
    if count < 1:
        raise BadInput("tablet_count", count, "a number from 1 on")
    return tuple(last_token(index, count) for index in range(count))


def tablet_of(token: int, lasts: Sequence[int]) -> int:
    """The number of the tablet that covers a token; ``lasts`` are last tokens, ascending.

    Raises:
        BadInput: for what is no token.
    """
    if type(token) is not int or not INT64_LOW <= token <= INT64_HIGH:
        raise BadInput("token", token, f"an integer from {INT64_LOW} to {INT64_HIGH}")
    return bisect_left(lasts, token)


def first_token(index: int, lasts: Sequence[int]) -> int:
    """The token after which tablet ``index`` begins: its predecessor's last, or the lowest."""
    return lasts[index - 1] if index else INT64_LOW


def split_token(left: int, right: int) -> int:
    """The last token of the left half of ``(left, right]``."""
    return left + (right - left) // 2


def split_tokens(lasts: Sequence[int]) -> Iterator[int]:
    """The last tokens once each tablet is two: of ``2 ** k`` equal ones, those of twice as many."""
    for index, last in enumerate(lasts):
        yield split_token(first_token(index, lasts), last)
        yield last


def is_power_of_two(count: int) -> bool:
    """Whether ``count`` tablets can be paired as siblings again and again."""
    return count > 0 and count & (count - 1) == 0


def siblings(count: int) -> tuple[tuple[int, int], ...]:
    """The pairs that a merge makes one: (0, 1), (2, 3) and so on.

    Raises:
        BadInput: for one tablet, or a count that is no power of two.
    """
    if count < 2 or not is_power_of_two(count):
        raise BadInput("tablet_count", count, "a power of two from 2 on")
    return tuple((even, even + 1) for even in range(0, count, 2))
