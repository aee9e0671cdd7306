"""Where things lie on the drawn ring: clockwise from the top, one unit a pixel on the board.

From the middle outwards: the log, who is read from, applied epochs, the arcs with the nodes' discs
on them, tokens, who is written to but not read from.
"""

from __future__ import annotations

import math

from kit.ring.tokens import TokenSpace

WIDTH = 396
HEIGHT = 322
CENTRE = (WIDTH / 2, HEIGHT / 2)
RADIUS = 116
DISC = 13
SMALL_DISC = 5
LOCKS_AT = RADIUS - 8


def share(space: TokenSpace, token: int) -> float:
    """Return where a token lies on the line, from 0 to 1."""
    return (token - space.low) / (space.high - space.low)


def point(part: float, radius: float) -> tuple[float, float]:
    """Return the point at a share of the turn, clockwise from the top."""
    angle = 2 * math.pi * part
    return CENTRE[0] + radius * math.sin(angle), CENTRE[1] - radius * math.cos(angle)


def length(part: float, radius: float) -> float:
    """How long an arc is that takes a share of the turn."""
    return 2 * math.pi * part * radius


def arc_path(left: float, right: float, radius: float) -> str:
    """The path of an arc from one share of the turn to another."""
    right = min(right, left + 0.9999)
    (x1, y1), (x2, y2) = point(left, radius), point(right, radius)
    large = 1 if right - left > 0.5 else 0
    return f"M{x1:.1f} {y1:.1f}A{radius} {radius} 0 {large} 1 {x2:.1f} {y2:.1f}"


def band(left: float, right: float, thick: float) -> str:
    """The outline of an arc of the ring that is so thick."""
    outer, inner = RADIUS + thick / 2, RADIUS - thick / 2
    right = min(right, left + 0.9999)
    (x1, y1), (x2, y2) = point(right, inner), point(left, inner)
    large = 1 if right - left > 0.5 else 0
    back = f"L{x1:.1f} {y1:.1f}A{inner} {inner} 0 {large} 0 {x2:.1f} {y2:.1f}Z"
    return arc_path(left, right, outer) + back
