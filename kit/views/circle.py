"""Where things lie on a drawn ring: clockwise from the top, one unit a pixel on the board.

From the middle outwards: the log, who is read from, applied epochs, the arcs with the nodes' discs
on them, tokens, who is written to but not read from.
"""

import math

from msgspec import Struct

from kit.ring.tokens import TokenSpace
from kit.views.fragment import Frag, h
from kit.views.labels import LINE, Box, wide
from kit.views.replicas import MARK, eye, pencil

WIDTH = 396
HEIGHT = 294
CENTRE = (WIDTH / 2, HEIGHT / 2)
RADIUS = 101
DISC = 13
SMALL_DISC = 5
LOCKS_AT = RADIUS - 8
INSIDE, OUTSIDE = RADIUS - DISC - 7, RADIUS + DISC + 7
"""Where the first letters stand inside of an arc, and outside."""
THICK = 8


class Letter(Struct, frozen=True):
    """A replica's letters at an arc, where they stand, and what the step did with it.

    ``kind``: *pending* where it is only written to, *added*, *removed*; empty otherwise.
    """

    name: str
    text: str
    x: float
    y: float
    kind: str

    @property
    def box(self) -> Box:
        """What it covers."""
        width = MARK if self.kind in (EYE, PENCIL) else wide(self.text)
        return Box(self.x, self.y, max(width, LINE))


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


def draw_band(left: float, right: float) -> Frag:
    """Draw an arc of the ring, from one share of the turn to another."""
    return h("path", d=band(left, right, THICK), class_="band")


EYE, PENCIL = "eye", "pencil"
"""The kinds of what is no letter: who stands there is read, is written."""


def draw_letter(key: str, letter: Letter) -> Frag:
    """Draw a replica's letters; where something is said of it, on a seat. Or an eye, a pencil."""
    if letter.kind in (EYE, PENCIL):
        mark = (eye if letter.kind == EYE else pencil)(letter.x, letter.y, filled=True)
        return h("g", mark, k=f"at:{key}:{letter.kind}")
    width = letter.box.width
    seat = h("rect", x=-width / 2, y=-LINE / 2, width=width, height=LINE, rx=LINE / 2,
             class_="seat")  # fmt: skip
    return h(
        "g",
        seat if letter.kind else None,
        h("text", letter.text, text_anchor="middle", dy=4.5),
        k=f"at:{key}:{letter.name}",
        class_=f"letter {letter.kind}".rstrip(),
        transform=f"translate({letter.x:.1f} {letter.y:.1f})",
        data_of=letter.name,
    )
