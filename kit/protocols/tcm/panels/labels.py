"""Which labels of a drawing there is room for: the more important first, none over another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from msgspec import Struct

LETTER, HIGH = 8.4, 15.0
"""How wide a letter is at most, and how high a line, at 13 pixels."""
CELL = 32


class Box(Struct, frozen=True):
    """What a label covers: its middle, its width and its height."""

    x: float
    y: float
    width: float
    height: float = HIGH

    def meets(self, other: Box) -> bool:
        """Whether the two cover a common point."""
        return (
            abs(self.x - other.x) * 2 < self.width + other.width
            and abs(self.y - other.y) * 2 < self.height + other.height
        )


def wide(text: str) -> float:
    """How wide a text is, with a little air."""
    return LETTER * len(text) + 2


def fitting(labels: Iterable[tuple[str, tuple[Box, ...]]]) -> frozenset[str]:
    """The keys of the labels that are drawn; each is there as a whole or not at all."""
    cells: dict[tuple[int, int], list[Box]] = defaultdict(list)
    kept = set()
    for key, boxes in labels:
        if not any(box.meets(other) for box in boxes for at in _cells(box) for other in cells[at]):
            kept.add(key)
            for box in boxes:
                for at in _cells(box):
                    cells[at].append(box)
    return frozenset(kept)


def _cells(box: Box) -> list[tuple[int, int]]:
    left, right = (int((box.x + side * box.width / 2) // CELL) for side in (-1, 1))
    top, bottom = (int((box.y + side * box.height / 2) // CELL) for side in (-1, 1))
    return [(x, y) for x in range(left, right + 1) for y in range(top, bottom + 1)]
