"""Where the words of what is on its way stand in the space-time diagram, beside all other words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kit.protocols.storage.facts.steps import Copied, Delivered, Sent
from kit.protocols.storage.panels.layout import STEP, Layout, Message, Way, x
from kit.protocols.storage.panels.replicas import short
from kit.views.fragment import Frag
from kit.views.labels import Box, boxes, seated, wide

LETTERS, LINE, BASE = 11, 13.0, 4
"""The size of words, how high a line is, how far letters stand below its middle."""
MOST_LINES = 8
"""How far from an open end its words may stand."""


def at_epoch(epoch: int | None) -> str:
    """The epoch of a message: ``@102``."""
    return "–" if epoch is None else f"@{epoch}"


def carried(message: Message) -> str:
    """The epoch in a message."""
    event = message.sent.event
    assert isinstance(event, Sent | Delivered)
    return at_epoch(event.carries if isinstance(event, Sent) else event.epoch)


def copied(way: Way) -> str:
    """What a copy holds, and the epoch in which it was read."""
    event = way.read.event
    assert isinstance(event, Copied)
    return f"copy {short(event.cell)} {at_epoch(event.epoch)}"


def way_key(way: Way) -> str:
    """The key of a copy."""
    event = way.read.event
    assert isinstance(event, Copied)
    return f"way:{event.source}:{event.target}:{way.read.step}"


def message_at(message: Message) -> str:
    """The key of a message in the drawing."""
    return f"msg:{message.number}:{message.replica}:{message.sent.step}"


def open_end(drawing: Layout, message: Message) -> tuple[float, float]:
    """Where a message is that was not met yet."""
    sent = message.sent.event
    assert isinstance(sent, Sent | Delivered)
    y1, y2 = drawing.y(sent.coordinator), drawing.y(message.replica)
    right = x(drawing.last) + STEP * 0.45
    far = right - x(message.sent.column) > STEP
    return right, y1 + (y2 - y1) * (0.8 if far else 0.5)


def seats(drawing: Layout, others: Iterable[Frag]) -> Mapping[str, Box]:
    """The places of the words of copies and of messages on their way, none over another."""
    taken = [box for frag in others for box in boxes(frag, LETTERS)]
    places = [
        (way_key(way), _beside_start(drawing, way))
        for way in drawing.ways
        if drawing.there(way.landed)
    ]
    places += [
        (message_at(message), _around(*open_end(drawing, message), wide(carried(message), LETTERS)))
        for message in drawing.messages
        if message.met is None
    ]
    return seated(places, taken)


def _beside_start(drawing: Layout, way: Way) -> list[Box]:
    """To the right of where a copy begins, or to the left, on the side to which it goes first."""
    read = way.read.event
    assert isinstance(read, Copied)
    width = wide(copied(way), LETTERS)
    at, y = x(way.read.column), drawing.y(read.source)
    toward = 1 if drawing.y(read.target) > y else -1
    places = []
    for side in (toward, -toward):
        for right in (1, -1):
            for further in (0, 1):
                middle = y + side * (13 + 13 * further)
                places.append(Box(at + right * (8 + width / 2), middle, width, LINE))
    return places


def _around(right: float, high: float, width: float) -> list[Box]:
    """Beside an open end, else further and further over and under it, so that each has words."""
    aside = 4 + width / 2
    rises = [side * LINE * lines for lines in range(MOST_LINES) for side in (1, -1)]
    return [Box(right + dx, high + dy, width, LINE) for dy in rises for dx in (aside, -aside)]
