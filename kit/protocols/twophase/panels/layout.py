"""Where the boxes of two-phase commit stand: the one who decides in the middle of the others."""

from __future__ import annotations

from cmath import rect
from math import pi

WIDTH, HEIGHT = 396, 322
MIDDLE = complex(WIDTH, HEIGHT) / 2
FEW = 8
"""Managers whose boxes have room for a word below the name."""


def size(count: int) -> tuple[int, int]:
    """How wide and how high a manager's box is."""
    return (88, 38) if count <= FEW else (60, 26)


def places(count: int) -> list[complex]:
    """The middle of each box: the first stands at the top, the others follow clockwise.

    They take all of the height, whatever their number.
    """
    turns = [rect(1, 2 * pi * at / count - pi / 2) for at in range(count)]
    lowest = max((turn.imag for turn in turns[1:]), default=0.0)
    wide, high = size(count)
    across, down = (WIDTH - wide) / 2 - 3, (HEIGHT - high) / 2 - 3
    return [
        MIDDLE + complex(across * turn.real, down * _stretched(turn.imag, lowest)) for turn in turns
    ]


def _stretched(height: float, lowest: float) -> float:
    """A height between -1 and ``lowest`` as one between -1 and 1."""
    return 2 * (height + 1) / (lowest + 1) - 1
