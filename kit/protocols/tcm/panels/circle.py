"""Where a token lies on the drawn ring: clockwise from the top."""

from __future__ import annotations

import math

from kit.ring.tokens import TokenSpace

SIZE = 300
MIDDLE = SIZE / 2
RADIUS = 108


def share(space: TokenSpace, token: int) -> float:
    """Return where a token lies on the line, from 0 to 1."""
    return (token - space.low) / (space.high - space.low)


def point(part: float, radius: float) -> tuple[float, float]:
    """Return the point at a share of the turn, clockwise from the top."""
    angle = 2 * math.pi * part
    return MIDDLE + radius * math.sin(angle), MIDDLE - radius * math.cos(angle)
