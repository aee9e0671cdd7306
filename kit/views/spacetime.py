"""A space-time diagram from plain data: lifelines, the messages between them, and marks.

Time runs down the page, a row per step; each node has a vertical lifeline. A message is an arrow
from the step in which it was sent to the one in which it was received. One that is on its way ends
in the open, below the last step; one that is held is dashed and ends in two bars, one that is lost
ends in a cross. A copy is dotted and begins between the lifelines, in the step that made it. Equal
arrows are one arrow with their number. Places are absolute, so that a picture that moves on moves
its window, not its parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import hypot
from typing import Literal

from msgspec import Struct

from kit.views.fragment import Frag, h

LANE, ROW = 130, 30
TOP, GUTTER = 26, 40
SHOWN = 16
"""Rows in the window."""
HEAD = 7
REACH = 0.6
"""How far an arrow goes that does not arrive, and where on its way a copy is made."""
WAITING, BELOW = 0.6, 12
"""Rows between the ends of arrows that wait, and how many of them get a place of their own."""

Fate = Literal["received", "in flight", "held", "lost"]
LEGEND = ("open end: in flight", "dashed ‖: held", "✗ lost", "dotted: a copy", "×2: so many alike")


class Arrow(Struct, frozen=True):
    """A message: from whom to whom, what it says, and between which steps it was on its way.

    Step 0 is the start. ``ended_at`` is the step in which it was received or lost; None while it is
    in flight or held. ``copied_at`` is the step in which the network made it, as a copy.
    """

    source: str
    target: str
    label: str
    sent_at: int
    ended_at: int | None = None
    fate: Fate = "in flight"
    copied_at: int | None = None

    @property
    def what(self) -> str:
        """``add 1 from A to B``."""
        return f"{self.label} from {self.source} to {self.target}"


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
        return GUTTER + LANE * len(self.nodes)

    def x(self, node: str) -> float:
        """Where a node's lifeline is."""
        return GUTTER + LANE * (self.nodes.index(node) + 0.5)


class DrawnArrow(Struct, frozen=True):
    """An arrow in the window, how many it stands for, and the step (or beyond) where it ends."""

    key: str
    arrow: Arrow
    count: int
    end: float


def drawn(run: Spacetime) -> tuple[DrawnArrow, ...]:
    """The arrows of the window, equal ones once; those that wait end below the last step."""
    numbers = Counter[str]()
    keyed: dict[Shape, tuple[str, Arrow]] = {}
    for arrow in run.arrows:
        place = f"msg:{arrow.source}>{arrow.target}:{arrow.sent_at}"
        keyed.setdefault(_shape(arrow), (f"{place}:{numbers[place]}", arrow))
        numbers[place] += 1
    counts = Counter(map(_shape, run.arrows))
    arrows, waiting = [], 0
    for shape, (key, arrow) in keyed.items():
        end = arrow.ended_at
        if end is None:
            arrows.append(DrawnArrow(key, arrow, counts[shape], run.steps + 1 + WAITING * waiting))
            waiting = (waiting + 1) % BELOW
        elif end >= run.first:
            arrows.append(DrawnArrow(key, arrow, counts[shape], end))
    return tuple(arrows)


Shape = tuple[str, str, str, int, int | None, str]


def _shape(arrow: Arrow) -> Shape:
    """What makes two arrows look the same."""
    a = arrow
    return a.source, a.target, a.label, a.sent_at, a.ended_at, a.fate


def y(step: float) -> float:
    """The middle of a step's row."""
    return TOP + ROW * (step + 0.5)


# -- the picture -----------------------------------------------------------------------------------


def draw_spacetime(run: Spacetime) -> Frag:
    """Draw the window of the run that ends at its last step."""
    arrows = drawn(run)
    last = max([run.steps + 0.5, *(arrow.end for arrow in arrows)])
    height = round(TOP + ROW * (last - run.first + 1))
    bottom = run.top + height
    return h(
        "div",
        h(
            "svg",
            [_row(run, step) for step in range(run.first, run.steps + 1)],
            [
                h("path", d=f"M{run.x(node)} {run.top}V{bottom}", k=f"life:{node}", class_="life")
                for node in run.nodes
            ],
            [_arrow(run, arrow) for arrow in arrows],
            [_now(run, node) for node in run.nodes],
            [_mark(run, mark, i) for i, mark in enumerate(run.marks) if mark.at >= run.first],
            h("rect", x=0, y=run.top, width=run.width, height=TOP, class_="paper"),
            [_name(run, node) for node in run.nodes],
            viewBox=f"0 {run.top} {run.width} {height}",
            role="img",
            aria_label=_alternative(run),
            width=run.width,
            height=height,
            class_="lifelines",
            data_newest="0 1",
        ),
        h("p", " · ".join(LEGEND), class_="soft legend"),
        class_="scroll tall",
        tabindex=0,
        role="region",
        aria_label="messages in space and time",
    )


def _alternative(run: Spacetime) -> str:
    """The steps in the window as text, for who cannot see them."""
    before = f"{run.first} earlier steps; " if run.first else ""
    return f"space-time diagram: {before}{'; '.join(_lines(run, run.first))}"


def _row(run: Spacetime, step: int) -> Frag:
    return h("g", tag(str(step or "start"), 2, y(step) + 4, "soft", "start"), k=f"step:{step}")


def _name(run: Spacetime, node: str) -> Frag:
    words = h("text", node, x=0, y=0, text_anchor="middle")
    return h("g", words, k=f"who:{node}", transform=f"translate({run.x(node)} {run.top + 17})",
             class_="who")  # fmt: skip


def _now(run: Spacetime, node: str) -> Frag:
    """Where a node stands now: what travels in the last step begins and ends there."""
    circle = h("circle", r=6, class_="now")
    return h("g", circle, k=f"n:{node}", transform=f"translate({run.x(node)} {y(run.steps):.0f})")


def _arrow(run: Spacetime, drawn: DrawnArrow) -> Frag:
    """One message, or several that look the same."""
    arrow = drawn.arrow
    came, copied = arrow.fate == "received", arrow.copied_at is not None
    source, target = run.x(arrow.source), run.x(arrow.target)
    aside = source + LANE * 0.3 if source == target else source
    x1 = aside + (target - aside) * (REACH if copied else 0)
    x2 = target if came else aside + (target - aside) * REACH
    y1, y2 = y(arrow.sent_at if arrow.copied_at is None else arrow.copied_at), y(drawn.end)
    path = arrow_path(x1, y1, x2, y2) if came else f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"
    out = f"M{source:.1f} {y1:.1f}H{aside:.1f}" if source == target and not copied else ""
    kind = ("copy" if copied else "message") + DASHES.get(arrow.fate, "")
    far = 0.7 if came else 1.0
    guilty = " guilty" if came and arrow.ended_at in run.alarms else ""
    return h(
        "g",
        h("path", d=out + path, class_=kind),
        ENDS[arrow.fate](x2, y2) if arrow.fate in ENDS else None,
        tag(_times(arrow.label, drawn.count), x1 + (x2 - x1) * far, y1 + (y2 - y1) * far - 5),
        h("title", _story(arrow)),
        k=drawn.key,
        class_=f"transit {arrow.fate.replace(' ', '-')}{guilty}",
        data_of=None if arrow.ended_at is None else f"step:{arrow.ended_at}",
    )


def _mark(run: Spacetime, mark: Mark, number: int) -> Frag:
    """A dot with words at a node, a line with words across all, or the sign of an alarm."""
    parts: list[Frag]
    if mark.alarm:
        box = h("rect", x=GUTTER - 16, y=y(mark.at) - 8, width=16, height=15, class_="stop fails")
        parts = [box, tag("!", GUTTER - 8, y(mark.at) + 4, "tag on"), h("title", mark.label)]
    elif mark.node:
        x = run.x(mark.node)
        parts = [dot(x, y(mark.at)), tag(mark.label, x + 8, y(mark.at) + 4, anchor="start")]
    else:
        line = h("path", d=f"M{GUTTER} {y(mark.at)}H{run.width}", class_="barrier")
        parts = [line, tag(mark.label, run.width - 4, y(mark.at) - 4, "tag strong", "end")]
    return h("g", parts, k=f"mark:{mark.at}:{number}", data_of=f"step:{mark.at}")


def arrow_path(x1: float, y1: float, x2: float, y2: float) -> str:
    """The path of a line with an open head at its second end."""
    far = hypot(x2 - x1, y2 - y1) or 1.0
    ux, uy = (x2 - x1) / far, (y2 - y1) / far
    left = x2 - HEAD * ux + HEAD * uy / 2, y2 - HEAD * uy - HEAD * ux / 2
    right = x2 - HEAD * ux - HEAD * uy / 2, y2 - HEAD * uy + HEAD * ux / 2
    return (
        f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"
        f"M{left[0]:.1f} {left[1]:.1f}L{x2:.1f} {y2:.1f}L{right[0]:.1f} {right[1]:.1f}"
    )


def tag(words: str, at: float, y: float, kind: str = "tag", anchor: str = "middle") -> Frag:
    """A few words, readable over lines."""
    return h("text", words, x=round(at, 1), y=round(y, 1), text_anchor=anchor, class_=kind)


def dot(at: float, y: float) -> Frag:
    """A point on a lifeline."""
    return h("circle", cx=at, cy=y, r=3.5, class_="dot")


def _bars(at: float, y: float) -> Frag:
    return h("path", d=f"M{at - 3} {y}v10M{at + 3} {y}v10", class_="bars")


def cross(at: float, y: float) -> Frag:
    """The end of what failed."""
    return h("path", d=f"M{at - 5} {y - 5}l10 10M{at - 5} {y + 5}l10 -10", class_="cross")


DASHES = {"in flight": " away", "held": " dashed"}
ENDS = {"received": dot, "lost": cross, "held": _bars}

# -- in words --------------------------------------------------------------------------------------


def spacetime_text(run: Spacetime) -> str:
    """Write a line per step, ``!`` where a promise was broken; then what is still on its way."""
    lines = _lines(run, 0)
    return "\n".join(lines) or "nothing has happened yet"


def _lines(run: Spacetime, first: int) -> list[str]:
    alarms, lines = run.alarms, []
    for step in range(first, run.steps + 1):
        said = "; ".join(_events(run, step))
        if said:
            lines.append(f"{'!' if step in alarms else ' '}{step or 'start':>5}  {said}")
    for fate in ("in flight", "held"):
        waiting = Counter(arrow.what for arrow in run.arrows if arrow.fate == fate)
        if waiting:
            lines.append(f"{fate}: {', '.join(_times(what, n) for what, n in waiting.items())}")
    return lines


def _events(run: Spacetime, step: int) -> Iterator[str]:
    """What happens in a step: what ends, what is marked, what begins."""
    for arrow in run.arrows:
        if arrow.copied_at == step:
            yield f"{arrow.what} is copied"
        if arrow.ended_at == step:
            yield _story(arrow)
    for mark in run.marks:
        if mark.at == step:
            yield f"{mark.node}: {mark.label}" if mark.node else mark.label
    sent = Counter(a for a in map(_sending, run.arrows) if a is not None and a[0] == step)
    for (_, source, label, target), number in sent.items():
        yield f"{source} sends {_times(label, number)} to {target}"


def _sending(arrow: Arrow) -> tuple[int, str, str, str] | None:
    """When and by whom a message was sent; a copy was not."""
    if arrow.copied_at is not None:
        return None
    return arrow.sent_at, arrow.source, arrow.label, arrow.target


def _story(arrow: Arrow) -> str:
    since = f"sent at {arrow.sent_at or 'the start'}"
    since += "" if arrow.copied_at is None else f", copied at {arrow.copied_at}"
    if arrow.fate == "received":
        return f"{arrow.target} receives {arrow.label} from {arrow.source} ({since})"
    return f"{arrow.what} is {arrow.fate} ({since})"


def _times(words: str, number: int) -> str:
    return f"{words} ×{number}" if number > 1 else words
