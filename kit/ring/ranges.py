"""Token ranges: ``(left, right]``, open on the left and closed on the right (CEP-21, "Data range").

Ranges live on a line, so ``left < right`` always holds and none wraps around.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from msgspec import Struct

from kit.errors import BadInput
from kit.ring.tokens import TokenSpace


class Range(Struct, frozen=True, order=True):
    """The tokens ``left < token <= right``."""

    left: int
    right: int

    def __post_init__(self) -> None:
        if self.left >= self.right:
            raise BadInput("range", (self.left, self.right), "left < right: a range does not wrap")

    def contains(self, token: int) -> bool:
        """Whether the token lies in the range."""
        return self.left < token <= self.right

    def overlaps(self, other: Range) -> bool:
        """Whether the two ranges share at least one token."""
        return self.left < other.right and other.left < self.right

    def label(self, space: TokenSpace) -> str:
        """As shown to people: ``(100, 150]``."""
        return f"({space.label(self.left)}, {space.label(self.right)}]"


def first_overlap(ranges: Sequence[Range], wanted: Range) -> Range | None:
    """The first of some ascending, disjoint ranges that shares a token with ``wanted``, if any."""
    at = bisect_right(ranges, wanted.left, key=lambda range_: range_.right)
    return ranges[at] if at < len(ranges) and ranges[at].overlaps(wanted) else None


def covering(ranges: Sequence[Range], token: int) -> Range | None:
    """The one of some ascending, disjoint ranges that holds ``token``, if any."""
    at = bisect_left(ranges, token, key=lambda range_: range_.right)
    return ranges[at] if at < len(ranges) and ranges[at].contains(token) else None


Bounds = tuple[int | None, int | None]
Line = tuple[int | None, int | None, tuple[str, ...]]


def bounds(space: TokenSpace, left: int, right: int) -> Bounds:
    """A range's bounds; None at either end of the line."""
    return (None if left == space.low else left, None if right == space.high else right)


def label(range_: Bounds) -> str:
    """A range in words: ``(min, 100]``."""
    left, right = range_
    return f"({'min' if left is None else left}, {'max' if right is None else right}]"
