"""A space-time diagram from plain data: lifelines, the messages between them, and marks.

Time runs down the page, a row per step; each node has a vertical lifeline. A message is an arrow
from the step in which it was sent to the one in which it was received. One that is on its way ends
in the open, below the last step; one that is held is dashed and ends in two bars, one that is lost
ends in a cross. A copy is dotted and begins between the lifelines, in the step that made it. Equal
arrows are one arrow with their number. ``MESSAGES`` draws any model of actors on a network so.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import starmap
from math import hypot
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from kit.edge.words import later, say
from kit.engine.actors import NetworkModel
from kit.engine.network import (
    MESSAGE_ACTIONS,
    DeliverMessage,
    DropMessage,
    DuplicateMessage,
    Envelope,
    HoldMessage,
    ReleaseMessage,
    posted,
)
from kit.engine.timeline import PassedStep
from kit.views.fragment import Frag, h
from kit.views.labels import SIZE, Box, seated, wide
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
"""What makes two arrows look the same."""


def _shape(a: Arrow) -> Shape:
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


def _marks(run: Spacetime) -> Iterator[tuple[str, Mark]]:
    """The marks but for alarms, with their keys: the step, and which of all it is."""
    for number, mark in enumerate(run.marks):
        if not mark.alarm:
            yield f"mark:{mark.at}:{number}", mark


def seats(run: Spacetime) -> Mapping[str, Box]:
    """Where the labels stand, by the keys of their marks and arrows; none is over another.

    Marks come first, then arrows by the step in which they ended, then those that have not.
    """
    places = [(key, _places_of_mark(run, mark)) for key, mark in _marks(run)]
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
        number = tag(str(step or say("start")), 2, y(step) + 4, "soft", "start")
        rows.append(h("g", number, k=f"step:{step}"))
    for node in run.nodes:
        x, line = run.x(node), f"M{run.x(node)} {run.top}V{run.top + height}"
        life.append(h("path", d=line, k=f"life:{node}", class_="life"))
        # What travels in the last step begins and ends here.
        circle, here = h("circle", r=6, class_="now"), f"translate({x} {y(run.steps):.0f})"
        now.append(h("g", circle, k=f"run:{node}", transform=here))
        words, head = h("text", node, x=0, y=0, text_anchor="middle"), run.top + 17
        there = f"translate({x} {head})"
        names.append(h("g", words, k=f"who:{node}", transform=there, class_="who"))
    paper = h("rect", x=0, y=run.top, width=run.width, height=TOP, class_="paper")
    before = say("{n} earlier steps", n=run.first) + "; " if run.first else ""
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
        viewBox=f"0 {run.top} {run.width} {height}",
        role="img",
        aria_label=say("space-time diagram: {what}", what=run_words),
        width=run.width,
        height=height,
        class_="lifelines",
        data_newest="0 1",
    )
    marks = (
        *(say("open end: in flight"), say("dashed ‖: held"), say("✗ lost"), say("dotted: a copy")),
        say("×2: so many alike"),
    )
    legend = h("p", " · ".join(marks), class_="soft legend")
    return scroll(say("messages in space and time"), picture, legend, kind="tall")


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
        h("path", d=out + path, class_=kind),
        ENDS[arrow.fate](x2, y2) if arrow.fate in ENDS else None,
        _label(drawn.label, seen.get(drawn.key)),
        h("title", _story(arrow)),
        k=drawn.key,
        class_=f"transit {arrow.fate.replace(' ', '-')}{guilty}",
        data_of=None if arrow.ended_at is None else f"step:{arrow.ended_at}",
    )


def _label(words: str, seat: Box | None, kind: str = "tag") -> Frag | None:
    return None if seat is None else tag(words, seat.x, seat.y + BASE, kind)


def _mark(run: Spacetime, mark: Mark, key: str, seen: Mapping[str, Box]) -> Frag:
    """A dot with words at a node, or a line with words across all."""
    label = _label(mark.label, seen.get(key), "tag" if mark.node else "tag strong")
    if mark.node:
        sign = dot(run.x(mark.node), y(mark.at))
    else:
        sign = h("path", d=f"M{GUTTER} {y(mark.at)}H{run.width}", class_="barrier")
    return h("g", sign, label, k=key, data_of=f"step:{mark.at}")


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
    return "\n".join(_lines(run, 0)) or say("nothing has happened yet")


def _lines(run: Spacetime, first: int) -> list[str]:
    alarms, lines = run.alarms, []
    for step in range(first, run.steps + 1):
        said = "; ".join(_events(run, step))
        if said:
            lines.append(f"{'!' if step in alarms else ' '}{step or say('start'):>5}  {said}")
    for fate in ("in flight", "held"):
        waiting = Counter(arrow.what for arrow in run.arrows if arrow.fate == fate)
        if waiting:
            lines.append(f"{_fate(fate)}: {', '.join(starmap(times, waiting.items()))}")
    return lines


def _events(run: Spacetime, step: int) -> Iterator[str]:
    for arrow in run.arrows:
        if arrow.copied_at == step:
            yield say("{what} is copied", what=arrow.what)
        if arrow.ended_at == step:
            yield _story(arrow)
    for mark in run.marks:
        if mark.at == step:
            named = mark.label.startswith(mark.node)
            yield mark.label if named else f"{mark.node}: {mark.label}"
    now = (arrow for arrow in run.arrows if arrow.copied_at is None and arrow.sent_at == step)
    sent = Counter((arrow.source, arrow.text, arrow.target) for arrow in now)
    for (source, text, target), number in sent.items():
        yield say(
            "{source} sends {what} to {target}",
            source=source,
            what=times(text, number),
            target=target,
        )


def _story(arrow: Arrow) -> str:
    since = say("sent at {step}", step=arrow.sent_at or say("the start"))
    if arrow.copied_at is not None:
        since = say("{since}, copied at {step}", since=since, step=arrow.copied_at)
    if arrow.fate == "received":
        ends = {"target": arrow.target, "source": arrow.source, "what": arrow.text}
        return say("{target} receives {what} from {source} ({since})", since=since, **ends)
    return say("{what} is {fate} ({since})", what=arrow.what, fate=_fate(arrow.fate), since=since)


def _fate(fate: Fate) -> str:
    words = {"in flight": say("in flight"), "held": say("held"), "lost": say("lost")}
    return words.get(fate, fate)


class MessageArrow(Struct):
    """A message under way through a run: what the bag calls it, and its arrow so far."""

    envelope: Envelope[Any]
    arrow: Arrow


def run_of(scene: Scene) -> Spacetime:
    """The messages and marks of the way to a moment."""
    steps = scene.way()
    first = steps[0].before if steps else scene.state
    model = scene.model
    journal = [_new(model, envelope, 0) for envelope in first.network.in_flight]
    journal += [_new(model, envelope, 0, "held") for envelope in first.network.held]
    marks = []
    for number, passed in enumerate(steps, start=1):
        _write(model, journal, number, passed)
        if not isinstance(passed.action, MESSAGE_ACTIONS):
            done = model.label(passed.before, passed.action)
            marks.append(Mark(model.actor_of(passed.before, passed.action), number, done))
    marks += [Mark("", b.step + 1, b.title, alarm=True) for b in scene.breaches()]
    return Spacetime(model.names, len(steps), tuple(sent.arrow for sent in journal), tuple(marks))


def _new(
    model: NetworkModel, envelope: Envelope[Any], step: int, fate: Fate = "in flight"
) -> MessageArrow:
    label, full = model.in_short(envelope.message), model.in_full(envelope.message)
    arrow = Arrow(envelope.source, envelope.target, label, step, fate=fate, full=full)
    return MessageArrow(envelope, arrow)


FATES: dict[Any, tuple[Fate, Fate]] = {
    DeliverMessage: ("in flight", "received"),
    DropMessage: ("in flight", "lost"),
    HoldMessage: ("in flight", "held"),
    ReleaseMessage: ("held", "in flight"),
}
"""What each action makes of a message: from which fate to which."""


def _write(model: NetworkModel, journal: list[MessageArrow], step: int, passed: PassedStep) -> None:
    """Enter a step into a journal. Of equal messages the one that was sent first is meant."""
    action, before, after = passed.action, passed.before.network, passed.after.network
    if type(action) in FATES:
        was, fate = FATES[type(action)]
        sent = _first(journal, action.envelope, was)
        if fate == "received" and before.left.duplicates is None:  # it stays
            journal.append(MessageArrow(sent.envelope, replace(sent.arrow, copied_at=step)))
        ended = step if fate in ("received", "lost") else None
        sent.arrow = replace(sent.arrow, fate=fate, ended_at=ended)
    elif isinstance(action, DuplicateMessage):
        sent = _first(journal, action.envelope, "in flight")
        journal.append(MessageArrow(sent.envelope, replace(sent.arrow, copied_at=step)))
    journal += [_new(model, envelope, step) for envelope in posted(before, action, after)]


def _first(journal: list[MessageArrow], envelope: Envelope[Any], fate: Fate) -> MessageArrow:
    return next(s for s in journal if s.envelope == envelope and s.arrow.fate == fate)


MESSAGES = Panel(
    "messages",
    later("Messages in space and time"),
    lambda scene: draw_spacetime(run_of(scene)),
    lambda scene: spacetime_text(run_of(scene)),
    tab=later("Run"),
    still=True,
)
"""A tab beside a stage, on which messages travel."""
