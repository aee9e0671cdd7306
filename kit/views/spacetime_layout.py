"""Where everything of a space-time diagram stands: lifelines, rows, arrows and their labels.

Places are absolute, so that a picture that moves on moves its window, not its parts. Where a label
stands depends on what ended before its arrow only; one that finds no place is left to the words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Literal

from msgspec import Struct

from kit.views.labels import Box, seated, wide
from kit.views.sizes import SMALL

LANE, ROW = 84, 30
LANES = 4
"""Fewer lifelines stand further apart, so that the drawing is as wide."""
TOP, GUTTER, FOOT = 26, 40, 4
SHOWN = 16
"""Rows in the window."""
REACH = 0.6
"""How far an arrow goes that does not arrive, and where on its way a copy is made."""
WAITING, BELOW = 0.6, 12
"""Rows between the ends of arrows that wait, and how many of them get a place of their own."""
LETTERS, LINE, BASE = SMALL, 13.0, 4
"""The size of labels, how high one is, and how far its letters stand below its middle."""
ALONG = {True: (0.7, 0.5, 0.85, 0.3), False: (1.0, 0.8, 0.6, 0.4)}
"""Where a label may stand on an arrow that was received, and on one that was not."""
OVER, UNDER = -9.0, 11.0
"""From the arrow to the middle of its label."""

Fate = Literal["received", "in flight", "held", "lost"]


class Arrow(Struct, frozen=True):
    """A message: from whom to whom, what it says, and between which steps it was on its way.

    Step 0 is the start. ``ended_at`` is the step in which it was received or lost; None while it is
    in flight or held. ``copied_at`` is the step in which the network made it, as a copy. ``full``
    is what it says in full, where that is more than its label.
    """

    source: str
    target: str
    label: str
    sent_at: int
    ended_at: int | None = None
    fate: Fate = "in flight"
    copied_at: int | None = None
    full: str = ""

    @property
    def text(self) -> str:
        """What it says, in full."""
        return self.full or self.label

    @property
    def what(self) -> str:
        """``add 1 from A to B``."""
        return f"{self.text} from {self.source} to {self.target}"


class Mark(Struct, frozen=True):
    """What happens in a step besides messages: at one node, or (``node`` empty) to all of them.

    An ``alarm`` is a promise that is broken in this step.
    """

    node: str
    at: int
    label: str
    alarm: bool = False


class Spacetime(Struct, frozen=True):
    """A run: its nodes in order, the number of its steps, the messages in order, the marks."""

    nodes: tuple[str, ...]
    steps: int
    arrows: tuple[Arrow, ...] = ()
    marks: tuple[Mark, ...] = ()

    @property
    def alarms(self) -> frozenset[int]:
        """The steps that broke a promise."""
        return frozenset(mark.at for mark in self.marks if mark.alarm)

    @property
    def first(self) -> int:
        """The first step in the window."""
        return max(0, self.steps + 1 - SHOWN)

    @property
    def top(self) -> int:
        """Where the window begins."""
        return self.first * ROW

    @property
    def width(self) -> int:
        """How wide the drawing is."""
        return round(GUTTER + self.lane * len(self.nodes))

    @property
    def lane(self) -> float:
        """How wide the column of a lifeline is."""
        return LANE * max(1, LANES / len(self.nodes))

    def x(self, node: str) -> float:
        """Where a node's lifeline is."""
        return GUTTER + self.lane * (self.nodes.index(node) + 0.5)


class DrawnArrow(Struct, frozen=True):
    """An arrow, how many it stands for, and the step (or beyond) where it ends."""

    key: str
    arrow: Arrow
    count: int
    end: float

    @property
    def label(self) -> str:
        """What it says, and how many they are."""
        return times(self.arrow.label, self.count)


class Leg(Struct, frozen=True):
    """The line of an arrow; one to its own sender begins beside the lifeline."""

    x1: float
    y1: float
    x2: float
    y2: float

    def at(self, share: float) -> tuple[float, float]:
        """The point at a share of its length."""
        return self.x1 + (self.x2 - self.x1) * share, self.y1 + (self.y2 - self.y1) * share


def arrows(run: Spacetime) -> Iterator[DrawnArrow]:
    """The arrows of a run, equal ones once; those that wait end below the last step."""
    numbers = Counter[str]()
    keyed: dict[Shape, tuple[str, Arrow]] = {}
    for arrow in run.arrows:
        place = f"msg:{arrow.source}>{arrow.target}:{arrow.sent_at}"
        keyed.setdefault(_shape(arrow), (f"{place}:{numbers[place]}", arrow))
        numbers[place] += 1
    counts = Counter(map(_shape, run.arrows))
    waiting = 0
    for shape, (key, arrow) in keyed.items():
        end: float | None = arrow.ended_at
        if end is None:
            end = run.steps + 1 + WAITING * waiting
            waiting = (waiting + 1) % BELOW
        yield DrawnArrow(key, arrow, counts[shape], end)


Shape = tuple[str, str, str, int, int | None, str]


def _shape(arrow: Arrow) -> Shape:
    """What makes two arrows look the same."""
    a = arrow
    return a.source, a.target, a.label, a.sent_at, a.ended_at, a.fate


def drawn(run: Spacetime) -> tuple[DrawnArrow, ...]:
    """The arrows of the window."""
    return tuple(each for each in arrows(run) if each.end >= run.first)


def y(step: float) -> float:
    """The middle of a step's row."""
    return TOP + ROW * (step + 0.5)


def leg(run: Spacetime, each: DrawnArrow) -> Leg:
    """The line of an arrow: from its sender, or where it was copied, to as far as it came."""
    arrow = each.arrow
    came, copied = arrow.fate == "received", arrow.copied_at is not None
    source, target = run.x(arrow.source), run.x(arrow.target)
    aside = source + LANE * 0.3 if source == target else source
    begun = arrow.sent_at if arrow.copied_at is None else arrow.copied_at
    return Leg(
        aside + (target - aside) * (REACH if copied else 0),
        y(begun),
        target if came else aside + (target - aside) * REACH,
        y(each.end),
    )


def mark_key(number: int, mark: Mark) -> str:
    """The key of a mark: its step, and which of all it is."""
    return f"mark:{mark.at}:{number}"


def seats(run: Spacetime) -> Mapping[str, Box]:
    """Where the labels stand, by the keys of their marks and arrows; none is over another.

    Marks come first, then arrows by the step in which they ended, then those that have not.
    """
    places = [
        (mark_key(i, mark), _places_of_mark(run, mark))
        for i, mark in enumerate(run.marks)
        if not mark.alarm
    ]
    by_end = sorted(arrows(run), key=lambda each: (each.arrow.ended_at is None, each.end))
    places += [(each.key, _places_of_arrow(run, each)) for each in by_end]
    return seated(places)


def is_seen(run: Spacetime, seat: Box) -> bool:
    """Whether a label is in the window, below the names."""
    return seat.y - LINE / 2 >= run.top + TOP - 2


def _places_of_mark(run: Spacetime, mark: Mark) -> list[Box]:
    """Words beside a dot, else over or under it; or at the right end of a line across all."""
    width = wide(mark.label, LETTERS)
    if not mark.node:
        return [Box(run.width - 4 - width / 2, y(mark.at) - LINE / 2 - 2, width, LINE)]
    x, far, row = run.x(mark.node), 8 + width / 2, y(mark.at)
    least, most = GUTTER + width / 2, run.width - width / 2
    beside = [Box(at, row, width, LINE) for at in (x + far, x - far) if least <= at <= most]
    middle = min(max(x, least), most)
    return [*beside, *(Box(middle, row + aside, width, LINE) for aside in (OVER, UNDER))]


def _places_of_arrow(run: Spacetime, each: DrawnArrow) -> list[Box]:
    """Words over or under an arrow, within the drawing."""
    width, line = wide(each.label, LETTERS), leg(run, each)
    places = []
    for aside in (OVER, UNDER):
        for share in ALONG[each.arrow.fate == "received"]:
            x, middle = line.at(share)
            within = min(max(x, GUTTER + width / 2), run.width - width / 2)
            places.append(Box(within, middle + aside, width, LINE))
    return places


def times(words: str, number: int) -> str:
    """Words with how often they are meant: ``ack 1 ×2``."""
    return f"{words} ×{number}" if number > 1 else words
