"""The run in space and time: who sent what to whom, with the epoch on every arrow.

Lifelines of coordinators, then of replicas; time runs to the right. Solid arrows are messages with
the sender's epoch, thin ones answers with the replica's; errors are dashed and end in a cross;
dotted ones are copies. An upward arrow beside a number is a node that catches up.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from kit.protocols.storage.facts.steps import (
    Applied,
    Completed,
    Copied,
    Delivered,
    DiskEvent,
    EpochCommitted,
    Sent,
)
from kit.protocols.storage.panels.event_lines import line, wrong_answers
from kit.protocols.storage.panels.layout import (
    AFTER,
    NAMES,
    STEP,
    TOP,
    Layout,
    Message,
    Placed,
    Span,
    Way,
    layout,
    x,
)
from kit.protocols.storage.panels.replicas import short
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.spacetime import arrow_path as _arrow
from kit.views.spacetime import cross as _cross
from kit.views.spacetime import dot as _dot
from kit.views.spacetime import tag as _text

BESIDE = 38
LEGEND = (
    "message @ its epoch",
    "answer @ the replica's",
    "✗ error",
    "black dots: copy @ its source's",
    "↑ catches up, dotted: with whom",
    "w1 = write 1, d2 = delete 2, – = nothing",
)


def draw_spacetime(scene: Scene) -> Frag:
    """Draw the window of the run that ends at this moment."""
    drawing, wrong = layout(scene), wrong_answers(scene).keys()
    if not drawing.placed:
        return h("p", "Nothing has happened yet.", k="no-spacetime", class_="soft")
    return h(
        "div",
        h(
            "svg",
            _epochs(drawing),
            [_life(drawing, node) for node in drawing.nodes],
            [_span(drawing, one, wrong) for one in drawing.spans if drawing.there(one.end)],
            [_way(drawing, one) for one in drawing.ways if drawing.there(one.landed)],
            [_message(drawing, one) for one in drawing.messages if drawing.there(one.met)],
            list(_points(drawing)),
            _alarms(scene, drawing),
            _names(drawing),
            viewBox=f"{drawing.left} 0 {drawing.width} {drawing.height}",
            role="img",
            aria_label=_words(drawing),
            width=drawing.width,
            height=drawing.height,
            class_="spacetime-drawing",
            data_newest=f"{(x(drawing.last) - drawing.left) / drawing.width:.2f} 0",
        ),
        h("p", " · ".join(LEGEND), class_="soft legend"),
    )


def _words(drawing: Layout) -> str:
    """The steps in the window as text, for who cannot see them."""
    before = f"{drawing.hidden()} earlier steps; " if drawing.hidden() else ""
    lines = [line(one.event) for one in drawing.placed if one.column >= drawing.first]
    return f"space-time diagram: {before}{'; '.join(lines)}"


def spacetime_text(scene: Scene) -> str:
    """Write a line a step, ``!`` where a promise was broken."""
    wrong = {breach.step for breach in scene.breaches()}
    lines = []
    for one in layout(scene).placed:
        sign = "!" if one.step in wrong else " "
        lines.append(f"{sign}{one.step + 1:3}  {line(one.event)}")
    return "\n".join(lines) or "  nothing has happened yet"


# -- lines ----------------------------------------------------------------------------------------


def _life(drawing: Layout, node: str) -> Frag:
    y, right = drawing.y(node), drawing.left + drawing.width
    return h("path", d=f"M{drawing.left} {y}H{right}", k=f"life:{node}", class_="life")


def _names(drawing: Layout) -> Frag:
    """Draw the names of the lifelines; they stay in sight where the picture is scrolled."""
    paper = h("rect", x=drawing.left, y=TOP, width=NAMES, height=drawing.height, class_="paper")
    names = [_name(drawing, node) for node in drawing.nodes]
    return h("g", paper, names, k="names", data_pinned=True)


def _name(drawing: Layout, node: str) -> Frag:
    return h(
        "g",
        h("text", node, x=2, y=5, text_anchor="start"),
        k=f"who:{node}",
        transform=f"translate({drawing.left} {drawing.y(node)})",
        class_="who",
    )


def _epochs(drawing: Layout) -> list[Frag]:
    """A dashed line down the page where an epoch is committed."""
    return [
        h(
            "g",
            h("path", d=f"M{x(one.column):.0f} {TOP - 16}V{drawing.height}", class_="barrier"),
            _text(f"epoch {one.event.epoch}", x(one.column), TOP - 22, "tag strong"),
            h("title", line(one.event)),
            k=f"epoch-at:{one.step}",
        )
        for one in drawing.placed
        if isinstance(one.event, EpochCommitted) and drawing.there(one)
    ]


def _span(drawing: Layout, one: Span, wrong: AbstractSet[int]) -> Frag:
    """The time that a request takes, as a bar on its coordinator's lifeline."""
    begin = one.begin.event
    assert isinstance(begin, Sent | Completed)
    y, left = drawing.y(begin.coordinator), x(one.begin.column)
    right = x(drawing.last) + STEP * AFTER if one.end is None else x(one.end.column)
    end = one.end.event if one.end is not None else None
    parts: list[Frag] = [
        h("rect", x=left, y=y - 5, width=max(right - left, 4), height=10, rx=3, class_="bar"),
    ]
    if isinstance(end, Completed):
        bad = end.request in wrong
        sign = "!" if bad else "✓" if end.ok else "✗"
        kind = "stop fails" if bad else "stop holds" if end.ok else "stop"
        parts += [
            h("rect", x=right - 7, y=y - 7, width=14, height=14, rx=2, class_=kind),
            _text(sign, right, y + 4, "tag on"),
            _text(_result(end.result), right, y - 12, "tag strong"),
        ]
    state = "open" if end is None else "ended"
    return h("g", parts, k=f"span:{begin.request}", class_=f"span {state}")


def _result(result: str) -> str:
    word, _, cell = result.partition(" ")
    return f"got {short(cell)}" if cell else word


def _way(drawing: Layout, one: Way) -> Frag:
    """A copy, from the moment at which it is read to the moment at which it arrives."""
    read = one.read.event
    assert isinstance(read, Copied)
    x1, y1 = x(one.read.column), drawing.y(read.source)
    x2 = x(drawing.last + 0.5 if one.landed is None else one.landed.column)
    y2 = float(drawing.y(read.target))
    if one.landed is None:
        y2 = y1 + (y2 - y1) * 0.85
    return h(
        "g",
        h("path", d=_arrow(x1, y1, x2, y2), class_="copy"),
        _text(f"copy {short(read.cell)} {_at(read.epoch)}", x1 + 4, y1 + (17 if y2 > y1 else -9)),
        k=f"way:{read.source}:{read.target}:{one.read.step}",
    )


def _message(drawing: Layout, one: Message) -> Frag:
    """A message and its answer; one that is on its way ends in the open."""
    sent = one.sent.event
    assert isinstance(sent, Sent | Delivered)
    x1, y1, y2 = x(one.sent.column), drawing.y(sent.coordinator), drawing.y(one.replica)
    key = f"msg:{one.number}:{one.replica}:{one.sent.step}"
    if one.met is None:
        right = x(drawing.last) + STEP * 0.45
        high = y1 + (y2 - y1) * 0.8 if right - x1 > STEP else y1 + (y2 - y1) * 0.5
        parts = [h("path", d=f"M{x1:.1f} {y1}L{right:.1f} {high:.1f}", class_="message away")]
        parts.append(_text(_at(_carried(sent)), right + 3, high + 4, anchor="start"))
        return h("g", parts, k=key, class_="transit")
    met = one.met.event
    assert isinstance(met, Delivered)
    x2 = x(one.met.column)
    parts = [h("path", d=_arrow(x1, y1, x2, y2), class_="message"), h("title", line(met))]
    if not met.late:
        back = _arrow(x2, y2, x2 + STEP * AFTER, y1 + 6)
        parts.append(h("path", d=back, class_="answer error" if met.error else "answer"))
    if met.learned is not None:
        asks = _arrow(x2 + STEP * AFTER, y1 + 6, x2 + STEP * 0.9, y2)
        parts.append(h("path", d=asks, k=f"{key}:catch-up", class_="answer away"))
    return h("g", parts, k=key, class_="transit")


def _carried(event: Sent | Delivered) -> int | None:
    """The epoch in a message."""
    return event.carries if isinstance(event, Sent) else event.epoch


# -- points ---------------------------------------------------------------------------------------


def _points(drawing: Layout) -> Iterator[Frag]:
    """What happens on a lifeline: messages met, epochs applied, plans made, disks changed."""
    for one in drawing.placed:
        if not drawing.there(one):
            continue
        event, key = one.event, f"at:{one.step}"
        if isinstance(event, Delivered):
            yield h("g", _met(drawing, one, event), k=key)
        elif isinstance(event, Applied):
            at, y = x(one.column), drawing.y(event.node)
            yield h("g", _dot(at, y), _text(f"↑{event.epoch}", at, y - 9), k=f"{key}:{event.node}")
        elif isinstance(event, Sent):
            at, y = x(one.column), drawing.y(event.coordinator)
            again = " again" if event.again else ""
            words = [_text(f"{short(event.title) if again else event.title}{again}", at, y - 24,
                           "tag strong"), _text(_at(event.carries), at, y - 12)]  # fmt: skip
            yield h("g", words, k=f"{key}:sent")
        elif isinstance(event, DiskEvent):
            at, y = x(one.column), drawing.y(event.replica)
            sign = "✗" if event.what == "fails" else "∅"
            yield h("g", _cross(at, y), _text(f"{sign} {event.what}", at, y + 18), k=key)


def _met(drawing: Layout, one: Placed, event: Delivered) -> list[Frag]:
    """The message's epoch left of the point, the answer's to the right; below, what it did."""
    at, y = x(one.column), drawing.y(event.replica)
    parts = [_cross(at, y) if event.error else _dot(at, y)]
    parts.append(_text(_at(event.epoch), at - 5, y - 8, anchor="end"))
    if event.caught_up:
        parts.append(_text(f"↑{event.knows}", at - 3, y + 15, "tag strong", "end"))
    if event.error:
        low = y + (27 if event.caught_up else 16)
        parts.append(_text(f"✗ {event.error}", at, low, "tag strong"))
    else:
        parts.append(_text(_done(event), at + 4, y + 15, anchor="start"))
    answered = "late" if event.late else _at(event.answers)
    parts.append(_text(answered, at + 7, y - 8, anchor="start"))
    if event.learned is not None:
        back, low = at + STEP * AFTER, drawing.y(event.coordinator) + 20
        parts.append(_text(f"↑{event.learned}", back, low, "tag strong"))
    return parts


def _done(event: Delivered) -> str:
    """What the replica holds of it: the write that it took, the cell that it returned."""
    word, _, rest = event.did.partition(" ")
    return short(rest) if word == "returns" else short(event.title) if word == "takes" else "older"


def _at(epoch: int | None) -> str:
    return "–" if epoch is None else f"@{epoch}"


def _alarms(scene: Scene, drawing: Layout) -> list[Frag]:
    """A sign over every step that was the first to break a promise."""
    placed = {one.step: one for one in drawing.placed}
    wrong = {breach.step: breach.title for breach in scene.breaches() if breach.step in placed}
    return [
        _alarm(placed[step], title)
        for step, title in wrong.items()
        if placed[step].column >= drawing.first
    ]


def _alarm(one: Placed, title: str) -> Frag:
    """The sign of one step, beside the number of the epoch where it commits one."""
    middle = x(one.column) + BESIDE * isinstance(one.event, EpochCommitted)
    return h(
        "g",
        h("rect", x=middle - 8, y=1, width=16, height=15, class_="stop fails"),
        _text("!", middle, 13, "tag on"),
        h("title", title),
        k=f"alarm:{one.step}",
    )


SPACETIME = Panel(
    "spacetime", "Messages in space and time", draw_spacetime, spacetime_text, still=True
)
