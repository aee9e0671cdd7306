"""The run in space and time: who sent what to whom, with the epoch on every arrow.

Lifelines of coordinators, then of replicas; time runs to the right. Solid arrows are messages with
the sender's epoch, thin ones answers with the replica's; errors end in a cross;
double ones are copies. An upward arrow beside a number is a node that catches up.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise
from typing import Any

from msgspec import Struct

from kit.errors import counted
from kit.model.timeline import Breach
from kit.protocols.storage import events as what
from kit.protocols.storage import facts
from kit.protocols.storage.facts import about, addressees, known_text, message_key, request_key
from kit.protocols.storage.panels.heads import asks_words, draw_heads, head_width
from kit.protocols.storage.solo import Replica
from kit.protocols.storage.storage import Finish, Storage
from kit.views.fragment import Frag, Kid, h
from kit.views.labels import SIZE, Box, boxes, measured, seated, wide
from kit.views.panel import Panel, Scene
from kit.views.parts import fresh
from kit.views.promises import step_key
from kit.views.replicas import envelope, legend
from kit.views.spacetime import arrow_path as _arrow
from kit.views.spacetime import copied_line
from kit.views.spacetime import cross as _cross
from kit.views.spacetime import dot as _dot
from kit.views.spacetime import tag as _text


def events(scene: Scene) -> Sequence[tuple[int, what.Happened]]:
    """Every step on the way with its number (from 0), and what it was."""
    happened = scene.model.happened
    return scene.once(
        "events",
        lambda: [
            (i, event)
            for i, step in enumerate(scene.way())
            for event in happened(step.before, step.action, step.after)
        ],
    )


def sentences(scene: Scene) -> Sequence[str]:
    """The sentence of every step on the way, and the replica plan that an answer rests on."""

    def work() -> Sequence[str]:
        describe, said = scene.model.describe, list[str]()
        for step in scene.way():
            said.append(describe(step.before, step.action, step.after))
        for at, event in events(scene):
            if isinstance(event, what.Completed) and event.plan:
                said[at] += f" Plan: {'; '.join(quota.count for quota in event.plan)}."
        return said

    return scene.once("sentences", work)


def wrong_answers(scene: Scene) -> dict[int, Breach]:
    """The breach by the answer to a request, by the request's number."""
    return {
        breach.action.request: breach
        for breach in scene.breaches()
        if isinstance(breach.action, Finish)
    }


def at_epoch(epoch: int | None) -> str:
    """The epoch of a message: ``@102``; messages may carry none."""
    return "–" if epoch is None else f"@{epoch}"


def short(text: str) -> str:
    """A cell in two letters: ``w1`` for write 1, ``d2`` for delete 2, a dash for nothing."""
    word, _, number = text.partition(" ")
    return f"{word[0]}{number}" if number else "–"


STEP, ROW = 36, 46
LANES = 6
"""Fewer lifelines stand further apart, up to twice as far, so that the drawing is as high."""
TOP, MARGIN = 40, 170
SHOWN = 16
"""Columns in the window."""
APART = 3
"""Columns between two epochs that have room for what they are called; of others the number is."""
AFTER = 0.25
"""How much of a column an answer takes on its way back."""
LONGEST = 0.2
"""Over how much of a column an arrow goes across: before, it stays on its sender's lifeline. So it
crosses no words of other steps, and its sender is in sight where only the last columns are.
"""
COMB, NEAR = 0.3, 13
"""How much of a column messages on their way are apart, and how near they are to their lifeline."""


class Placed(Struct, frozen=True):
    """An event that ``Happened``, its step, and its column."""

    step: int
    column: int
    event: Any


class Message(Struct, frozen=True):
    """A message from its sending to where it was met; ``met`` None: it is still on its way."""

    sent: Placed
    number: int
    replica: str
    met: Placed | None

    @property
    def key(self) -> str:
        """Its key in the drawing."""
        return f"msg:{self.number}:{self.replica}:{self.sent.step}"

    @property
    def writes(self) -> bool:
        """Whether it brings a cell."""
        event = self.sent.event
        back = isinstance(event, what.Sent) and event.back
        return bool(back) or not event.title.startswith("read")

    @property
    def carried(self) -> str:
        """The epoch in it."""
        event = self.sent.event
        return at_epoch(event.carries if isinstance(event, what.Sent) else event.epoch)

    @property
    def words(self) -> str:
        """The words at the open end of its line: to whom, and the epoch in it."""
        return f"to {self.replica} {self.carried}"


Span = tuple[Placed, Placed | None]
"""A request's time on its coordinator's lifeline; no end: it is not answered."""


class Way(Struct, frozen=True):
    """A copy from its source to its target; ``landed`` None: it is on its way.

    ``older``: another one of the same pair has been read since.
    """

    read: Placed
    landed: Placed | None
    older: bool = False

    @property
    def key(self) -> str:
        """Its key in the drawing."""
        return f"way:{self.read.event.source}:{self.read.event.target}:{self.read.step}"

    @property
    def copied(self) -> str:
        """The copy that it holds, and the epoch in which it was read."""
        return f"{short(self.read.event.cell)} {at_epoch(self.read.event.epoch)}"


class Layout(Struct, frozen=True):
    """Everything that a diagram shows, with the columns that are in its window.

    ``row`` is how high a lifeline's row is, ``head`` how wide what stands before it; the window
    begins at ``left`` and is as wide as the run has come.
    """

    nodes: tuple[str, ...]
    placed: tuple[Placed, ...]
    messages: tuple[Message, ...]
    spans: tuple[Span, ...]
    ways: tuple[Way, ...]
    first: int
    last: int
    sentences: Sequence[str]
    row: int
    head: int
    left: int
    width: int
    height: int

    def y(self, node: str) -> int:
        """The height of a node's lifeline."""
        return TOP + self.row * self.nodes.index(node) + self.row // 2

    def there(self, placed: Placed | None) -> bool:
        """Whether something that ends here can be seen."""
        return placed is None or placed.column >= self.first


def x(column: float) -> float:
    """The middle of a column."""
    return STEP * (column + 1)


def leaves(start: float, end: float) -> float:
    """The point where an arrow between two places leaves its sender's lifeline."""
    return max(start, end - LONGEST * STEP)


def _course(x1: float, y1: float, x2: float, y2: float, *, came: bool = True) -> str:
    left = leaves(x1, x2)
    along = f"M{x1:.1f} {y1:.1f}H{left:.1f}" * (left > x1)
    return along + (_arrow(left, y1, x2, y2) if came else f"M{left:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}")


def layout(scene: Scene) -> Layout:
    """Place all that happened on the way to a moment."""
    return scene.once("layout", lambda: _laid_out(scene))


def _laid_out(scene: Scene) -> Layout:
    m, placed = scene.model, _columns(scene)
    last = placed[-1].column if placed else -1
    nodes = ("you", m.replica) if isinstance(m, Replica) else (*m.coordinators, *m.history.replicas)
    first, head = max(0, last + 1 - SHOWN), head_width(m)
    row = min(2 * ROW, ROW * max(LANES, len(nodes)) // len(nodes))
    drawn = _messages(placed), _spans(placed), _ways(placed)
    width, height = (last - first + 1) * STEP + head + MARGIN, TOP + row * len(nodes)
    window = row, head, first * STEP - head, width, height
    return Layout(nodes, placed, *drawn, first, last, sentences(scene), *window)


def _columns(scene: Scene) -> tuple[Placed, ...]:
    columns: list[Placed] = []
    column, together = -1, set[str]()
    for step, event in events(scene):
        if isinstance(event, what.Applied) and together and event.node not in together:
            together.add(event.node)
        else:
            column += 2 if columns and _close(columns[-1].event, event) else 1
            together = {event.node} if isinstance(event, what.Applied) else set()
        columns.append(Placed(step, column, event))
    return tuple(columns)


def _close(event: what.Happened, other: what.Happened) -> bool:
    """Whether the words of a step would stand on those of another one on the same lifeline, those
    of a disk on the line of an epoch, or those right of a message on the way of the next one.
    """
    places = [
        each.replica if isinstance(each, what.Delivered) else each.node
        for each in (event, other)
        if isinstance(each, what.Delivered | what.Applied)
    ]
    applied = isinstance(event, what.Applied) and isinstance(other, what.Applied)
    if {type(event), type(other)} == {what.DiskEvent, what.EpochCommitted}:
        return True
    if isinstance(event, what.Delivered) and isinstance(other, what.Delivered):
        return (
            event.answers != event.epoch
            or measured(_held(event)) > STEP * 0.75
            or len({*places}) < 2
        )
    return len(places) == 2 and places[0] == places[1] and not applied


def _messages(placed: tuple[Placed, ...]) -> tuple[Message, ...]:
    messages: list[Message] = []
    away: dict[tuple[int, str], Placed] = {}
    for dot in placed:
        event = dot.event
        if isinstance(event, what.Sent):
            if event.back:  # the read's own messages matter no more
                away = _without(event.request, away)
            away |= {(event.request, name): dot for name in event.targets}
        elif isinstance(event, what.Delivered):
            begun = away.pop((event.request, event.replica), dot)
            messages.append(Message(begun, event.request, event.replica, dot))
        elif isinstance(event, what.Completed) and event.title.startswith("read"):
            away = _without(event.request, away)
    messages += [Message(sent, number, name, None) for (number, name), sent in away.items()]
    return tuple(messages)


def _without(request: int, away: dict[tuple[int, str], Placed]) -> dict[tuple[int, str], Placed]:
    """The messages on their way but for a read's, which nobody waits for; what brings a cell is."""
    return {
        key: sent
        for key, sent in away.items()
        if key[0] != request or (isinstance(sent.event, what.Sent) and sent.event.back)
    }


def _spans(placed: tuple[Placed, ...]) -> tuple[Span, ...]:
    spans: list[Span] = []
    opened: dict[int, Placed] = {}
    for dot in placed:
        event = dot.event
        if isinstance(event, what.Sent) and event.first:
            opened[event.request] = dot
        elif isinstance(event, what.Completed):
            spans.append((opened.pop(event.request, dot), dot))
    return (*spans, *((begin, None) for begin in opened.values()))


def _ways(placed: tuple[Placed, ...]) -> tuple[Way, ...]:
    ways: list[Way] = []
    away: dict[tuple[str, str], list[Placed]] = {}
    for dot in placed:
        event = dot.event
        if not isinstance(event, what.Copied):
            continue
        begun = away.setdefault((event.source, event.target), [])
        if event.landed:  # what comes late is the oldest of its pair
            ways.append(Way(begun.pop(0 if event.late else -1) if begun else dot, dot))
        else:
            begun.append(dot)
    for begun in away.values():
        ways += [Way(read, None, older=read is not begun[-1]) for read in begun]
    return tuple(ways)


LETTERS, LINE, BASE = SIZE, 15.0, 4
"""The size of words, how high a line is, how far letters stand below its middle."""
NOTHING_YET = "  nothing has happened yet"
MOST_LINES = 8
"""How far from an open end its words may stand."""
BEADS = 20
"""Points of an arrow that its words keep clear of."""
BESIDE = 38


def _legend(scene: Scene, drawing: Layout, words: str) -> Iterator[str]:
    if isinstance(scene.model, Storage):
        yield "square: client; grey lines: reads, black: writes"
        if any(row.oldest < row.newest for row in scene.of(facts.addressees)):
            unit = scene.model.history.unit
            yield f"several {unit}s at a client: its next request is planned at one of them"
        yield legend()
        yield from ("+: becomes a replica",) * any(row.joins for row in scene.of(facts.replicas))
        yield from ("key: session",) * bool(facts.session(scene.model, scene.state))
    yield f"@: {scene.model.history.unit} that the sender works with"
    yield from ("✗: error",) * ("✗" in words)
    yield from ("double line: copy",) * any(drawing.there(way.landed) for way in drawing.ways)
    yield from ("↑: catches up; thin line: from which node",) * ("↑" in words)
    yield from ("ink outline: acts or is new in this step",) * bool(scene.action)
    yield from ("w1: write 1",) * bool(re.search(r"\bw\d", words))
    yield from ("d2: delete 2",) * bool(re.search(r"\bd\d", words))


def draw_spacetime(scene: Scene) -> Frag:
    """Draw the window of the run that ends at this moment."""
    drawing, wrong = layout(scene), wrong_answers(scene).keys()
    named = {key for each in scene.breaches() for key in about(scene.model, each.witness)}
    # A lifeline goes on to the edge of the slot, which is wider than a short run.
    left, right = drawing.left, drawing.left + SHOWN * STEP + drawing.head + MARGIN
    lines = [
        *_epochs(drawing),
        *(
            h("path", d=f"M{left} {drawing.y(node)}H{right}", k=f"life:{node}", class_="life")
            for node in drawing.nodes
        ),
        *(_now(drawing, node) for node in drawing.nodes),
        *(_span(drawing, *span, wrong) for span in drawing.spans if drawing.there(span[1])),
    ]
    points = list(_points(drawing))
    placed = seats(drawing, [*lines, *points])
    sent = [message for message in drawing.messages if drawing.there(message.met)]
    newest = max([x(drawing.last), *(box.x + box.width / 2 for box in placed.values())])
    picture = h(
        "svg",
        lines,
        [_way(drawing, way, placed) for way in drawing.ways if drawing.there(way.landed)],
        [_message(drawing, message, named, placed) for message in sent],
        points,
        _alarms(scene, drawing),
        _heads(scene, drawing),
        viewBox=f"{drawing.left} 0 {drawing.width} {drawing.height}",
        preserveAspectRatio="xMinYMin",
        role="img",
        aria_label=_words(scene, drawing),
        width=drawing.width,
        height=drawing.height,
        class_="spacetime-drawing",
        data_newest=f"{(newest - drawing.left) / drawing.width:.2f} 0",
    )
    shown = " · ".join(_legend(scene, drawing, picture.text()))
    return h("div", picture, h("p", shown, class_="soft legend", title=shown))


def _addressees(scene: Scene) -> list[str]:
    if not isinstance(scene.model, Storage):
        return []
    return [f"now {asks_words(line)}" for line in scene.of(addressees)]


def _words(scene: Scene, drawing: Layout) -> str:
    hidden = len({dot.step for dot in drawing.placed if not drawing.there(dot)})
    shown = dict.fromkeys(dot.step for dot in drawing.placed if drawing.there(dot))
    before = f"{hidden} earlier steps; " if hidden else ""
    now = (f"{words}." for words in _addressees(scene))
    lines = [*(drawing.sentences[step] for step in shown), *now]
    return f"space-time diagram: {before}{' '.join(lines)}"


def spacetime_text(scene: Scene) -> str:
    """Write a sentence per step, numbered as by the Player's counter; ``!`` breaks a promise."""
    wrong = {breach.step for breach in scene.breaches()}
    lines = [
        f"{'!' if step in wrong else ' '}{scene.counted(step):3}  {said}"
        for step, said in enumerate(sentences(scene))
    ]
    return "\n".join(lines or [f"  {words}" for words in _addressees(scene)] or [NOTHING_YET])


# -- lines ----------------------------------------------------------------------------------------


def _heads(scene: Scene, drawing: Layout) -> Frag:
    m, wide_to = scene.model, drawing.head - 2
    paper = h("rect", x=0, y=0, width=wide_to, height=drawing.height, class_="paper")
    newest: list[Frag] = []
    if isinstance(m, Storage):
        words, former = _newest(scene), scene.former()
        if former and _newest(former) != words:
            length = measured(words, bold=True)
            newest = [fresh(2 + length / 2, TOP - 27, length + 4)]
        newest.append(_text(words, 2, TOP - 22, "tag strong", "start"))
    drawn = draw_heads(scene, {node: drawing.y(node) for node in drawing.nodes})
    place = f"translate({drawing.left} 0)"
    return h("g", h("g", paper, newest, drawn, transform=place), k="names", data_pinned=True)


def _newest(scene: Scene) -> str:
    m, s = scene.model, scene.state
    ticks = f" · {counted(s.waited, 'tick')}" if s.waited else ""
    return f"now: {m.history.unit} {known_text(m, s, len(m.views(s)) - 1)[1:]}{ticks}"


def _now(drawing: Layout, node: str) -> Frag:
    place = f"translate({x(max(0, drawing.last)):.0f} {drawing.y(node)})"
    return h("g", h("circle", r=6, class_="now"), k=f"n:{node}", transform=place)


def _epochs(drawing: Layout) -> list[Frag]:
    committed = [dot for dot in drawing.placed if isinstance(dot.event, what.EpochCommitted)]
    last = {dot.event.epoch: dot for dot in committed}
    at = [dot.column for dot in committed]
    close = {column for a, b in pairwise(at) for column in (a, b) if b - a < APART}
    return [
        h(
            "g",
            h("path", d=f"M{x(dot.column):.0f} {TOP - 16}V{drawing.height}", class_="barrier"),
            _text(
                f"{dot.event.unit} " * (dot.column not in close) + str(dot.event.epoch),
                *(x(dot.column), TOP - 22, "tag strong"),
            ),
            h("title", drawing.sentences[dot.step]),
            k=f"log:{dot.event.epoch}" if last[dot.event.epoch] is dot else f"epoch-at:{dot.step}",
        )
        for dot in committed
        if drawing.there(dot)
    ]


def _span(drawing: Layout, first: Placed, last: Placed | None, wrong: AbstractSet[int]) -> Frag:
    begin, end = first.event, last and last.event
    y, left = drawing.y(begin.coordinator), x(first.column)
    right = x(drawing.last) + STEP * AFTER if last is None else x(last.column)
    parts: list[Frag] = [
        h("rect", x=left, y=y - 5, width=max(right - left, 4), height=10, rx=3, class_="bar")
    ]
    if end:
        word, _, cell = end.result.partition(" ")
        sign, kind = ("✓", "stop holds") if end.ok else ("✗", "stop")
        if end.request in wrong:
            sign, kind = "!", "stop fails"
        parts += [
            h("rect", x=right - 7, y=y - 7, width=14, height=14, rx=2, class_=kind),
            _text(sign, right, y + 4, "tag on"),
            _text(f"got {short(cell)}" if cell else word, right, y - 12, "tag strong"),
        ]
    state = "open" if end is None else "ended"
    return h("g", parts, k=f"span:{begin.request}", class_=f"span {state}",
             data_of=request_key(begin.request))  # fmt: skip


def _way(drawing: Layout, way: Way, placed: Mapping[str, Box]) -> Frag:
    read, on_its_way = way.read.event, None
    x1, y1, x2, y2 = _copied(drawing, way)
    course = _course(x1, y1, x2, y2)
    if way.landed is None:
        end = f"copy:{read.source}:{read.target}" + f":{way.read.step}" * way.older
        on_its_way = _open_end(end, x2, y2, _dot(0, 0))
    refused = way.landed is not None and way.landed.event.refused
    return h(
        "g",
        h("title", f"copy from {read.source} to {read.target}: {way.copied}"),
        h("path", d=course, class_="answer error") if refused else copied_line(course),
        on_its_way,
        _label(way.copied, placed.get(way.key)),
        k=way.key,
    )


def _copied(drawing: Layout, way: Way) -> tuple[float, float, float, float]:
    y1, y2 = drawing.y(way.read.event.source), float(drawing.y(way.read.event.target))
    if way.landed is None:
        return x(way.read.column), y1, x(drawing.last + 0.5), y1 + (y2 - y1) * 0.85
    return x(way.read.column), y1, x(way.landed.column), y2


def _label(words: str, seat: Box | None, at: float = 0, y: float = 0) -> Frag | None:
    return None if seat is None else _text(words, seat.x - at, seat.y + BASE - y)


def _message(
    drawing: Layout, message: Message, named: AbstractSet[str], placed: Mapping[str, Box]
) -> Frag:
    x1, y1 = x(message.sent.column), drawing.y(message.sent.event.coordinator)
    y2, key = drawing.y(message.replica), message.key
    thing = message_key(message.number, message.replica)
    kind = "transit guilty" if thing in named else "transit"
    stroke = "inked" if message.writes and thing not in named else "message"
    if message.met is None:
        right, high = open_end(drawing, message)
        course, seat = _course(x1, y1, right, high, came=False), placed.get(key)
        parts = [h("path", d=course, class_=f"{stroke} away"), _lead(seat, right, high)]
        ends = [envelope(0, 0), _label(message.words, seat, right, high)]
        parts.append(_open_end(f"away:{message.number}:{message.replica}", right, high, ends))
        return h("g", parts, k=key, class_=kind, data_of=thing)
    met = message.met.event
    x2 = x(message.met.column)
    parts = [
        h("path", d=_course(x1, y1, x2, y2), class_=stroke),
        h("title", drawing.sentences[message.met.step]),
    ]
    if not met.late:
        back = _arrow(x2, y2, x2 + STEP * AFTER, y1 + 6)
        parts.append(h("path", d=back, class_="answer error" if met.error else "answer"))
    if met.adopted is not None:
        asks = _arrow(x2 + STEP * AFTER, y1 + 6, x2 + STEP * 0.9, y2)
        parts.append(h("path", d=asks, k=f"{key}:catch-up", class_="answer"))
    return h("g", parts, k=key, class_=kind, data_of=thing)


def _lead(seat: Box | None, right: float, high: float) -> Frag | None:
    if seat is None or abs(seat.y - high) < LINE / 2:
        return None
    near = seat.y + LINE / 2 * (1 if seat.y < high else -1)
    inner = min(max(right, seat.x - seat.width / 2), seat.x + seat.width / 2)
    return h("path", d=f"M{right:.1f} {high:.1f}L{inner:.1f} {near:.1f}", class_="lead")


def _open_end(key: str, at: float, y: float, mark: Kid) -> Frag:
    return h("g", mark, k=key, transform=f"translate({at:.1f} {y:.1f})")


# -- points ---------------------------------------------------------------------------------------


def _points(drawing: Layout) -> Iterator[Frag]:
    for dot in filter(drawing.there, drawing.placed):
        event, at, key = dot.event, x(dot.column), f"at:{dot.step}"
        if isinstance(event, what.Delivered):
            yield h("g", _met(drawing, at, event), k=key)
        elif isinstance(event, what.Applied):
            y = drawing.y(event.node)
            yield h("g", _dot(at, y), _text(f"↑{event.epoch}", at, y - 9), k=f"{key}:{event.node}")
        elif isinstance(event, what.Sent):
            y, title = drawing.y(event.coordinator), event.title
            if event.back or event.again:
                title = f"{short(event.back)} back" if event.back else f"{short(title)} again"
            epoch = _text(at_epoch(event.carries), at, y - 11)
            yield h("g", _text(title, at, y - 25, "tag strong"), epoch, k=f"{key}:sent")
        elif isinstance(event, what.Completed):
            for name in event.repaired:
                y = drawing.y(name)
                yield h("g", _dot(at, y), _text("repaired", at, y + 15), k=f"{key}:{name}")
        elif isinstance(event, what.DiskEvent):
            y = drawing.y(event.replica)
            sign = "✗" if event.what == "fails" else "…" if event.what.startswith("begins") else "∅"
            mark = _cross(at, y) if event.what == "fails" else _dot(at, y)
            yield h("g", mark, _text(f"{sign} {event.what}", at, y + 18), k=key)


def _met(drawing: Layout, at: float, event: what.Delivered) -> list[Frag]:
    """The message's epoch left of its point, another of the answer right; below, what it did."""
    y = drawing.y(event.replica)
    parts = [_cross(at, y) if event.error else _dot(at, y)]
    parts.append(_text(at_epoch(event.epoch), at - 8, y - 8, anchor="end"))
    if event.caught_up:
        parts.append(_text(f"↑{event.knows}", at - 3, y + 15, "tag strong", "end"))
    if event.error:
        low = y + (27 if event.caught_up else 16)
        parts.append(_text(f"✗ {event.error}", at, low, "tag strong"))
    else:
        parts.append(_text(_held(event), at + 4, y + 15, anchor="start"))
    answered = "late" if event.late else at_epoch(event.answers)
    if answered != at_epoch(event.epoch):
        parts.append(_text(answered, at + 7, y - 8, anchor="start"))
    if event.adopted is not None:
        back, low = at + STEP * AFTER, drawing.y(event.coordinator) + 20
        parts.append(_text(f"↑{event.adopted}", back, low, "tag strong"))
    return parts


def _held(event: what.Delivered) -> str:
    word, _, rest = event.did.partition(" ")
    return "older" if word == "keeps" else short(rest)


def _alarms(scene: Scene, drawing: Layout) -> list[Frag]:
    placed = {dot.step: dot for dot in drawing.placed}
    titles = {breach.step: breach.title for breach in scene.breaches() if breach.step in placed}
    alarms = []
    for step, title in titles.items():
        dot = placed[step]
        middle = x(dot.column) + BESIDE * isinstance(dot.event, what.EpochCommitted)
        if drawing.there(dot):
            sign = h("rect", x=middle - 8, y=1, width=16, height=15, class_="stop fails")
            parts = [sign, _text("!", middle, 13, "tag on"), h("title", title)]
            alarms.append(h("g", parts, k=f"alarm:{step}", data_of=step_key(step)))
    return alarms


# -- where the words of what is on its way stand, beside all other words ---------------------------


def open_end(drawing: Layout, message: Message) -> tuple[float, float]:
    """The point of a message that was not met yet: beside the lifeline of who shall get it. Those
    that go further leave earlier, so that none crosses another.
    """

    def far(each: Message) -> int:
        return abs(drawing.y(each.replica) - drawing.y(each.sent.event.coordinator))

    further = sum(m.met is None and far(m) > far(message) for m in drawing.messages)
    y1, y2 = drawing.y(message.sent.event.coordinator), drawing.y(message.replica)
    return x(drawing.last) + STEP * (1.2 + COMB * further), y2 - NEAR * (1 if y2 > y1 else -1)


def seats(drawing: Layout, others: Iterable[Frag]) -> Mapping[str, Box]:
    """The places of the words of copies and of messages on their way, none over another; over an
    arrow, or else over a lifeline, only where there is no other place.
    """
    taken = [box for frag in others for box in boxes(frag, LETTERS)]
    middle = drawing.left + drawing.width / 2
    lines = [Box(middle, drawing.y(node), drawing.width, 2) for node in drawing.nodes]
    lines += (
        Box(x(dot.column), drawing.height / 2, 4, drawing.height)
        for dot in drawing.placed
        if isinstance(dot.event, what.EpochCommitted)
    )
    ways = [way for way in drawing.ways if drawing.there(way.landed)]
    places = [(way.key, _beside_start(drawing, way)) for way in ways]
    open_ends = {m.key: open_end(drawing, m) for m in drawing.messages if m.met is None}
    words = {m.key: wide(m.words, LETTERS) for m in drawing.messages}
    for key, end in sorted(open_ends.items(), key=lambda each: each[1][1]):  # words as their ends
        theirs = [other for other in open_ends.values() if other != end]
        places.append((key, _around(*end, words[key], theirs)))
    low = drawing.height - LINE / 2
    places = [(key, [seat for seat in each if LINE / 2 <= seat.y <= low]) for key, each in places]
    arrows = [bead for way in ways for bead in _beads(*_copied(drawing, way))]
    for message in drawing.messages:
        if message.met is None:
            start = x(message.sent.column), drawing.y(message.sent.event.coordinator)
            arrows += _beads(*start, *open_ends[message.key])
    placed: dict[str, Box] = {}
    for clear in ([*lines, *arrows], lines, []):
        left = [place for place in places if place[0] not in placed]
        placed |= seated(left, [*taken, *placed.values(), *clear])
    return placed


def _beads(x1: float, y1: float, x2: float, y2: float) -> Iterator[Box]:
    left = leaves(x1, x2)
    shares = (i / BEADS for i in range(1, BEADS))
    return (Box(left + (x2 - left) * at, y1 + (y2 - y1) * at, 2, 2) for at in shares)


def _beside_start(drawing: Layout, way: Way) -> list[Box]:
    """Right or left of where a copy leaves its source, first on the side to which it goes."""
    width, (x1, y, x2, y2) = wide(way.copied, LETTERS), _copied(drawing, way)
    at, toward = leaves(x1, x2), 1 if y2 > y else -1
    end = drawing.left + drawing.width
    return [
        Box(at + right * (8 + width / 2), y + side * high, width, LINE)
        for side in (toward, -toward)
        for right in (1, -1)
        for high in (13, 26, 39, 52)
        if right < 0 or at + 8 + width <= end
    ]


def _around(
    right: float, high: float, width: float, others: Sequence[tuple[float, float]]
) -> list[Box]:
    """Beside an open end, else further and further over and under it, so that each has words;
    where they are nearer to another end only at last.
    """
    aside = 9 + width / 2
    rises = [side * LINE * lines for lines in range(MOST_LINES) for side in (1, -1)]
    seats_at = [Box(right + dx, high + dy, width, LINE) for dy in rises for dx in (aside, -aside)]
    return sorted(
        seats_at, key=lambda box: any(abs(box.y - y) < abs(box.y - high) for _, y in others)
    )


SPACETIME = Panel(
    "spacetime", "Messages in space and time", draw_spacetime, spacetime_text, still=True
)
