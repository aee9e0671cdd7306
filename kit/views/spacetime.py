"""A space-time diagram from plain data: lifelines, the messages between them, and marks.

Time runs down the page, a row per step; each node has a vertical lifeline. A message is an arrow
from the step in which it was sent to the one in which it was received. One that is on its way ends
in the open, below the last step; one that is held is dashed and ends in two bars, one that is lost
ends in a cross. A copy is a double line from between the lifelines, in the step that made it. Equal
arrows are one arrow with their number. A lifeline has a gap while its node is down, and signs where
it crashes, starts again, writes, or hears a timer or a client. A press on a name folds its lane.
Beside a run that is longer than the window there is all of it, small. ``MESSAGES`` draws any model
of actors on a network so.
"""

from __future__ import annotations

import json
from bisect import insort
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from itertools import starmap
from math import hypot
from typing import Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from kit.errors import counted
from kit.model import network
from kit.model.actors import NetworkModel
from kit.model.machines import MachineModel
from kit.model.timeline import PassedStep
from kit.views.fragment import Frag, h
from kit.views.labels import SIZE, Box, seated, shortened, wide
from kit.views.panel import Panel, Scene
from kit.views.parts import scroll

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
CRASHES, RESTART = "crash", "restart"
SIGNS = {
    CRASHES: "M-5-5l10 10M-5 5l10-10",
    RESTART: "M-5 0a5 5 0 1 0 5-5m-3-2l3 2l-2 3",
    "tick": "M0-6a6 6 0 1 0 .1 0M0-3v3h3",
    "persist": "M-6-3h12v6h-12zM-3 0h6",
    "request": "M-14 0h11m-4-3l4 3l-4 3",
}
"""What is drawn at a lifeline in place of a dot, by the first word of what is done there."""
KEPT = 512
"""Steps of a long run whose labels are placed together: before this many twice, labels are gone."""
TOLD = 200
"""Steps that the text form tells of."""
OVERVIEW, BUCKETS = 14.0, 60
"""How wide the small picture of a whole run is, and how many parts it has."""
LETTERS, LINE, BASE = SIZE, 15.0, 4
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

    An ``alarm`` is a promise that is broken in this step. ``sign`` is one of ``SIGNS``.
    """

    node: str
    at: int
    label: str
    alarm: bool = False
    sign: str = ""


Clock: TypeAlias = dict[str, int]
"""What a node knows: of each node the last step that it has heard of (what a node did before that
it has heard of, too)."""


class Spacetime(Struct, frozen=True):
    """A run: its nodes in order, the number of its steps, the messages in order, the marks.

    ``known`` is the clock of each node at the end; empty: nobody can say. ``legend`` says what its
    labels mean.
    """

    nodes: tuple[str, ...]
    steps: int
    arrows: tuple[Arrow, ...] = ()
    marks: tuple[Mark, ...] = ()
    known: Mapping[str, Clock] = {}
    legend: tuple[str, ...] = ()

    @property
    def alarms(self) -> frozenset[int]:
        """The steps that broke a promise."""
        return frozenset(mark.at for mark in self.marks if mark.alarm)

    def lives(self, node: str) -> Iterator[tuple[int, int]]:
        """From which step to which a node was up, within the window."""
        begun: int | None = self.first
        for mark in self.marks:
            if mark.node == node and mark.sign in (CRASHES, RESTART):
                if begun is not None and mark.at > begun:
                    yield begun, mark.at
                begun = None if mark.sign == CRASHES else max(mark.at, self.first)
        if begun is not None:
            yield begun, self.steps + 2

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


def arrows(run: Spacetime, since: int = 0) -> Iterator[DrawnArrow]:
    """The arrows of a run that end at a step or later, equal ones once; those that wait end below
    the last step.
    """
    numbers = Counter[tuple[str, str, int]]()
    keyed: dict[Shape, tuple[str, Arrow]] = {}
    counts = Counter[Shape]()
    for arrow in run.arrows:
        place = arrow.source, arrow.target, arrow.sent_at
        numbers[place] += 1
        if arrow.ended_at is None or arrow.ended_at >= since:
            key = f"msg:{arrow.source}>{arrow.target}:{arrow.sent_at}:{numbers[place] - 1}"
            counts[shape := _shape(arrow)] += 1
            keyed.setdefault(shape, (key, arrow))
    waiting = 0
    for shape, (key, arrow) in keyed.items():
        end: float | None = arrow.ended_at
        if end is None:
            end = run.steps + 1 + WAITING * waiting
            waiting = (waiting + 1) % BELOW
        yield DrawnArrow(key, arrow, counts[shape], end)


Shape = tuple[str, str, str, int, int | None, str]
"""What makes two arrows look the same."""


def _shape(a: Arrow) -> Shape:
    return a.source, a.target, a.label, a.sent_at, a.ended_at, a.fate


def drawn(run: Spacetime) -> tuple[DrawnArrow, ...]:
    """The arrows of the window."""
    return tuple(arrows(run, run.first))


def y(step: float) -> float:
    """The middle of a step's row."""
    return TOP + ROW * (step + 0.5)


def leg(run: Spacetime, each: DrawnArrow) -> Leg:
    """The line of an arrow: from its sender, or where it was copied, to as far as it came. One that
    was sent before the window begins at its top, so that its sender is seen.
    """
    arrow = each.arrow
    came, copied = arrow.fate == "received", arrow.copied_at is not None
    source, target = run.x(arrow.source), run.x(arrow.target)
    aside = source + LANE * 0.3 if source == target else source
    begun = arrow.sent_at if arrow.copied_at is None else arrow.copied_at
    return Leg(
        aside + (target - aside) * (REACH if copied else 0),
        y(max(begun, min(run.first, each.end) - 0.5)),
        target if came else aside + (target - aside) * REACH,
        y(each.end),
    )


def _marks(run: Spacetime) -> Iterator[tuple[str, Mark]]:
    for number, mark in enumerate(run.marks):
        if not mark.alarm:
            yield f"mark:{mark.at}:{number}", mark


def seats(run: Spacetime) -> Mapping[str, Box]:
    """Where the labels stand, by the keys of their marks and arrows; none is over another.

    Marks come first, then arrows by the step in which they ended, then those that have not.
    """
    since = (run.first // KEPT - 1) * KEPT  # earlier ones are out of sight, and stand in no way
    places = [(k, _places_of_mark(run, mark)) for k, mark in _marks(run) if mark.at >= since]
    by_end = sorted(arrows(run, since), key=lambda each: (each.arrow.ended_at is None, each.end))
    places += [(each.key, _places_of_arrow(run, each)) for each in by_end]
    return seated(places)


def is_seen(run: Spacetime, seat: Box) -> bool:
    """Whether a label is in the window, below the names."""
    return seat.y - LINE / 2 >= run.top + TOP - 2


def _places_of_mark(run: Spacetime, mark: Mark) -> list[Box]:
    width = wide(_mark_words(run, mark), LETTERS)
    if not mark.node:
        return [Box(run.width - 4 - width / 2, y(mark.at) - LINE / 2 - 2, width, LINE)]
    x, far, row = run.x(mark.node), 8 + width / 2, y(mark.at)
    least, most = GUTTER + width / 2, run.width - width / 2
    beside = [Box(at, row, width, LINE) for at in (x + far, x - far) if least <= at <= most]
    middle = min(max(x, least), most)
    return [*beside, *(Box(middle, row + aside, width, LINE) for aside in (OVER, UNDER))]


def _places_of_arrow(run: Spacetime, each: DrawnArrow) -> list[Box]:
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


HEAD = 7


# -- the picture -----------------------------------------------------------------------------------


def draw_spacetime(run: Spacetime) -> Frag:
    """Draw the window of the run that ends at its last step."""
    arrows = drawn(run)
    seen = {key: seat for key, seat in seats(run).items() if is_seen(run, seat)}
    last = max([run.steps + 0.5, *(arrow.end for arrow in arrows)])
    height = round(TOP + ROW * (last - run.first + 1)) + FOOT
    rows, life, now, names = [], [], [], []
    for step in range(run.first, run.steps + 1):
        number = tag(str(step or "start"), 2, y(step) + 4, "soft", "start")
        rows.append(h("g", number, k=f"step:{step}"))
    for node in run.nodes:
        x, bottom = run.x(node), run.top + height
        ups = [(run.top if a == run.first else y(a), min(y(b), bottom)) for a, b in run.lives(node)]
        line = "".join(f"M{x} {above:.0f}V{below:.0f}" for above, below in ups)
        life.append(h("path", d=line, k=f"life:{node}", class_="life", data_lanes=node))
        # What travels in the last step begins and ends here.
        circle, here = h("circle", r=6, class_="now"), f"translate({x} {y(run.steps):.0f})"
        now.append(h("g", circle, k=f"run:{node}", transform=here))
        words, there = h("text", node, x=0, y=0, text_anchor="middle"), run.top + 17
        where: dict[str, Any] = {"transform": f"translate({x} {there})", "data_lanes": node}
        where |= {"role": "button", "tabindex": 0, "aria_label": f"fold {node}"}
        where["aria_pressed"] = "false"
        names.append(h("g", words, k=f"who:{node}", class_="who", **where))
    paper = h("rect", x=0, y=run.top, width=run.width, height=TOP, class_="paper")
    width = run.width + OVERVIEW * (run.first > 0)
    before = counted(run.first, "earlier step") + "; " if run.first else ""
    run_words = f"{before}{'; '.join(_lines(run, run.first))}"
    picture = h(
        "svg",
        rows,
        life,
        [_arrow(run, arrow, seen) for arrow in arrows],
        now,
        [_mark(run, mark, key, seen) for key, mark in _marks(run) if mark.at >= run.first],
        [_alarm(run, step) for step in sorted(run.alarms) if step >= run.first],
        h("g", paper, names, k="names", data_pinned="top"),  # in sight where it is scrolled
        _overview(run, height) if run.first else None,
        viewBox=f"0 {run.top} {width} {height}",
        role="group",
        aria_label=f"space-time diagram: {run_words}",
        width=width,
        height=height,
        class_="lifelines",
        data_newest="0 1",
        data_known=json.dumps(run.known, separators=(",", ":")) if run.known else None,
    )
    marks = ("open end: in flight", "dashed ‖: held", "✗ lost", "double: a copy", "×2: two alike")
    means = " · ".join((marks[0], *run.legend) if run.legend else marks)
    legend = h("p", means, class_="soft legend")
    chosen = only_of(run.known) if run.known else None
    return scroll("messages in space and time", picture, legend, chosen, kind="tall")


def only_of(names: Iterable[str], **facts: Mapping[str, str]) -> Frag:
    """A choice of one node: what that one does not know is taken away."""
    every = [
        h("option", name, value=name, **{key: of[name] for key, of in facts.items()})
        for name in names
    ]
    chosen = h("select", h("option", "everybody", value=""), every, data_do="only")
    return h("label", "show only what this node knows", " ", chosen)


def _arrow(run: Spacetime, drawn: DrawnArrow, seen: Mapping[str, Box]) -> Frag:
    arrow, line = drawn.arrow, leg(run, drawn)
    came, copied = arrow.fate == "received", arrow.copied_at is not None
    x1, y1, x2, y2 = line.x1, line.y1, line.x2, line.y2
    path = arrow_path(x1, y1, x2, y2) if came else f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"
    turns = arrow.source == arrow.target and not copied  # back to its sender
    out = f"M{run.x(arrow.source):.1f} {y1:.1f}H{x1:.1f}" if turns else ""
    kind = ("copy" if copied else "message") + DASHES.get(arrow.fate, "")
    guilty = " guilty" if came and arrow.ended_at in run.alarms else ""
    return h(
        "g",
        copied_line(path, kind) if copied else h("path", d=out + path, class_=kind),
        ENDS[arrow.fate](x2, y2) if arrow.fate in ENDS else None,
        _label(drawn.label, seen.get(drawn.key)),
        h("title", _story(arrow)),
        k=drawn.key,
        class_=f"transit {arrow.fate.replace(' ', '-')}{guilty}",
        data_of=None if arrow.ended_at is None else f"step:{arrow.ended_at}",
        data_lanes=f"{arrow.source}|{arrow.target}",
        data_since=arrow.sent_at,
    )


def _label(words: str, seat: Box | None, kind: str = "tag") -> Frag | None:
    return None if seat is None else tag(words, seat.x, seat.y + BASE, kind)


def _mark_words(run: Spacetime, mark: Mark) -> str:
    room = run.width - GUTTER - 8
    return mark.label if mark.node else shortened(mark.label, room, LETTERS, bold=True)


def _mark(run: Spacetime, mark: Mark, key: str, seen: Mapping[str, Box]) -> Frag:
    label = _label(_mark_words(run, mark), seen.get(key), "tag" if mark.node else "tag strong")
    if mark.sign:
        there = f"translate({run.x(mark.node)} {y(mark.at):.0f})"
        sign = h("path", d=SIGNS[mark.sign], transform=there, class_="sign on")
    elif mark.node:
        sign = dot(run.x(mark.node), y(mark.at))
    else:
        sign = h("path", d=f"M{GUTTER} {y(mark.at)}H{run.width}", class_="barrier")
    where: dict[str, Any] = {"data_lanes": mark.node, "data_since": mark.at} if mark.node else {}
    return h("g", sign, label, k=key, data_of=f"step:{mark.at}", **where)


def _overview(run: Spacetime, height: float) -> Frag:
    part = (run.steps + 1) / BUCKETS
    full = Counter(int(a.ended_at / part) for a in run.arrows if a.ended_at is not None)
    most, x, tall = max([1, *full.values()]), run.width + 2, height - TOP
    above = run.top + TOP
    bars = (
        f"M{x} {above + tall * (i + 0.5) / BUCKETS:.0f}h{(OVERVIEW - 4) * number / most:.1f}"
        for i, number in sorted(full.items())
    )
    bad = (f"M{x} {above + tall * at / (run.steps + 1):.0f}h{OVERVIEW - 4}" for at in run.alarms)
    seen, low = tall * run.first / (run.steps + 1), tall * SHOWN / (run.steps + 1)
    return h(
        "g",
        h("title", f"the whole run of {run.steps} steps; the frame marks what you see"),
        h("path", d="".join(bars), class_="message"),
        h("path", d="".join(bad), class_="cross"),
        h("rect", x=x - 1, y=round(above + seen), width=OVERVIEW - 2, height=max(3, round(low)),
          class_="life"),
        k="overview",
    )  # fmt: skip


def _alarm(run: Spacetime, step: int) -> Frag:
    words = "; ".join(mark.label for mark in run.marks if mark.alarm and mark.at == step)
    return h(
        "g",
        h("rect", x=GUTTER - 16, y=y(step) - 8, width=16, height=15, class_="stop fails"),
        tag("!", GUTTER - 8, y(step) + 4, "tag on"),
        h("title", words),
        k=f"alarm:{step}",
        data_of=f"step:{step}",
    )


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


def copied_line(course: str, kind: str = "copy") -> list[Frag]:
    """The double line of a copy: dashes are for what is not yet so."""
    return [h("path", d=course, class_=look) for look in (kind, f"{kind} core")]


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
    """Write a line per step (of a long run the last ones), ``!`` where a promise was broken; then
    what is still on its way.
    """
    first = max(0, run.steps - TOLD)
    before = [counted(first, "earlier step")] * (first > 0)
    return "\n".join(before + _lines(run, first)) or "nothing has happened yet"


def _lines(run: Spacetime, first: int) -> list[str]:
    alarms, lines, said = run.alarms, [], _events(run, first)
    for step in range(first, run.steps + 1):
        if said[step]:
            number = f"{'!' if step in alarms else ' '}{step or 'start':>5}"
            lines.append(f"{number}  {'; '.join(said[step])}")
    for fate in ("in flight", "held"):
        waiting = Counter(arrow.what for arrow in run.arrows if arrow.fate == fate)
        if waiting:
            lines.append(f"{_fate(fate)}: {', '.join(starmap(times, waiting.items()))}")
    return lines


def _events(run: Spacetime, first: int) -> Mapping[int, list[str]]:
    said: dict[int, list[str]] = defaultdict(list)
    sent: dict[int, Counter[tuple[str, str, str]]] = defaultdict(Counter)
    for arrow in run.arrows:
        if arrow.copied_at is not None and arrow.copied_at >= first:
            said[arrow.copied_at].append(f"{arrow.what} is copied")
        if arrow.ended_at is not None and arrow.ended_at >= first:
            said[arrow.ended_at].append(_story(arrow))
        if arrow.copied_at is None and arrow.sent_at >= first:
            sent[arrow.sent_at][arrow.source, arrow.text, arrow.target] += 1
    for mark in run.marks:
        if mark.at >= first:
            named = mark.label.startswith(mark.node)
            said[mark.at].append(mark.label if named else f"{mark.node}: {mark.label}")
    for step, messages in sent.items():
        for (source, text, target), number in messages.items():
            said[step].append(f"{source} sends to {target}: {times(text, number)}")
    return said


def _story(arrow: Arrow) -> str:
    since = f"sent at {_at(arrow.sent_at)}"
    if arrow.copied_at is not None:
        since = f"{since}, copied at {_at(arrow.copied_at)}"
    if arrow.fate == "received":
        return f"{arrow.target} receives from {arrow.source}: {arrow.text} ({since})"
    return f"{arrow.what} is {_fate(arrow.fate)} ({since})"


def _at(step: int) -> str:
    return f"step {step}" if step else "the start"


def _fate(fate: Fate) -> str:
    words = {"in flight": "in flight", "held": "held", "lost": "lost"}
    return words.get(fate, fate)


class Journal:
    """The messages of a run in the order in which they came to be, and which are under way."""

    def __init__(self, model: NetworkModel) -> None:
        self.model, self.arrows, self.marks = model, list[Arrow](), list[Mark]()
        self.last: tuple[Any, Any, Any] = (None, None, None)
        self.written = 0
        self.known: dict[str, Clock] = {name: dict.fromkeys(model.names, 0) for name in model.names}
        self.told = [self.known]  # by step: the clocks that were new in it
        self.under_way: dict[tuple[network.Envelope[Any], Fate], list[int]] = defaultdict(list)

    def begins(self, steps: Sequence[PassedStep]) -> bool:
        """Whether these steps begin with those that are written here."""
        at = steps[self.written - 1] if 0 < self.written <= len(steps) else None
        same = zip(self.last, (at.before, at.action, at.after), strict=True) if at else [(0, 1)]
        return all(ours is theirs for ours, theirs in same)

    def copy(self) -> Journal:
        """The same, to be written on."""
        other = copy(self)
        other.arrows, other.marks, other.told = [*self.arrows], [*self.marks], [*self.told]
        other.under_way = defaultdict(list, {k: [*v] for k, v in self.under_way.items() if v})
        return other

    def enter(self, envelope: network.Envelope[Any], step: int, fate: Fate = "in flight") -> None:
        """A message is sent."""
        short, full = self.model.in_short(envelope.message), self.model.in_full(envelope.message)
        sent = Arrow(envelope.source, envelope.target, short, step, fate=fate, full=full)
        self.turn(envelope, len(self.arrows), sent)

    def turn(self, envelope: network.Envelope[Any], place: int, arrow: Arrow) -> None:
        """What a message comes to; at the end of the list it is one more."""
        self.arrows[place : place + 1] = [arrow]
        if arrow.ended_at is None:
            insort(self.under_way[envelope, arrow.fate], place)

    def write(self, passed: PassedStep) -> None:
        """Enter a step. Of equal messages the one that was sent first is meant."""
        self.written = step = self.written + 1
        self.last = passed.before, passed.action, passed.after
        action, before, after = passed.action, passed.before.network, passed.after.network
        acting: dict[str, Clock] = {}  # who does something, and what it hears by that
        if type(action) in FATES:
            was, fate = FATES[type(action)]
            waiting = self.under_way[action.envelope, was]
            place = waiting[0]
            arrow = self.arrows[place]
            if fate == "received":
                acting[arrow.target] = self.told[arrow.sent_at][arrow.source]
            copies = isinstance(action, network.DuplicateMessage)
            if copies or (fate == "received" and before.left.duplicates is None):  # it stays
                self.turn(action.envelope, len(self.arrows), replace(arrow, copied_at=step))
            if not copies:
                ended = step if fate in ("received", "lost") else None
                del waiting[0]
                self.turn(action.envelope, place, replace(arrow, fate=fate, ended_at=ended))
        for envelope in network.posted(before, action, after):
            self.enter(envelope, step)
            acting.setdefault(envelope.source, {})
        if not isinstance(action, network.MESSAGE_ACTIONS):
            node = self.model.actor_of(passed.before, action)
            acting |= {node: {}} if node in self.known else {}
            sign = self.model.kind(action).split()[0]
            is_drawn = node and sign in SIGNS and isinstance(self.model, MachineModel)
            label = self.model.label(passed.before, action)
            self.marks.append(Mark(node, step, label, sign=sign if is_drawn else ""))
        new = dict[str, Clock]()
        for name, heard in acting.items():
            own = self.known[name]
            new[name] = own | {n: at for n, at in heard.items() if at > own[n]} | {name: step}
        self.known = {**self.known, **new}
        self.told.append(new)


FATES: dict[Any, tuple[Fate, Fate]] = {
    network.DeliverMessage: ("in flight", "received"),
    network.DropMessage: ("in flight", "lost"),
    network.HoldMessage: ("in flight", "held"),
    network.ReleaseMessage: ("held", "in flight"),
    network.DuplicateMessage: ("in flight", "in flight"),
}
"""What each action makes of a message: from which fate to which."""


LATEST = deque[Journal](maxlen=4)
"""What was written last: the next moment of a long run only adds to it."""


def run_of(scene: Scene) -> Spacetime:
    """The messages and marks of the way to a moment."""
    steps, model = scene.way(), scene.model
    known = [each for each in LATEST if each.model is model and each.begins(steps)]
    if known:
        journal = max(known, key=lambda each: each.written).copy()
    else:
        journal, first = Journal(model), steps[0].before if steps else scene.state
        for envelope in first.network.in_flight:
            journal.enter(envelope, 0)
        for envelope in first.network.held:
            journal.enter(envelope, 0, "held")
    for passed in steps[journal.written :]:
        journal.write(passed)
    LATEST.append(journal)
    broken = tuple(Mark("", b.step + 1, b.witness, alarm=True) for b in scene.breaches())
    loops = {breach.loop for breach in scene.breaches()} - {None}
    begins = tuple(Mark("", loop, "the loop begins here") for loop in loops if loop)
    marks = *journal.marks, *begins, *broken
    return Spacetime(model.names, len(steps), tuple(journal.arrows), marks, journal.known)


MESSAGES = Panel(
    "messages",
    "Messages in space and time",
    lambda scene: draw_spacetime(run_of(scene)),
    lambda scene: spacetime_text(run_of(scene)),
    tab="Run",
    still=True,
)
"""A tab beside a stage, on which messages travel."""
