"""Where each step of a run stands in the space-time diagram: lifelines down, time to the right.

A column is a step; steps in which different nodes apply an epoch share one. Places are absolute, so
that a picture that moves on moves its window, not its parts.
"""

from __future__ import annotations

from msgspec import Struct

from kit.protocols.storage.events import Applied, Completed, Copied, Delivered, Happened, Sent
from kit.protocols.storage.panels.event_lines import events
from kit.protocols.storage.replica import Replica
from kit.views.panel import Scene

STEP, ROW = 40, 46
LANES = 6
"""Fewer lifelines stand further apart, up to twice as far, so that the drawing is as high."""
TOP, NAMES, MARGIN = 40, 34, 104
SHOWN = 16
"""Columns in the window."""
AFTER = 0.62
"""How much of a column an answer takes on its way back."""


class Placed(Struct, frozen=True):
    """What happened, the step in which it did, and its column."""

    step: int
    column: int
    event: Happened


class Message(Struct, frozen=True):
    """A message from its sending to where it was met; ``met`` None: it is still on its way."""

    sent: Placed
    number: int
    replica: str
    met: Placed | None


class Span(Struct, frozen=True):
    """A request's time on its coordinator's lifeline; ``end`` None: it is not answered."""

    begin: Placed
    end: Placed | None


class Way(Struct, frozen=True):
    """A copy from its source to its target; ``landed`` None: it is on its way.

    ``older``: another one of the same pair has been read since.
    """

    read: Placed
    landed: Placed | None
    older: bool = False


class Layout(Struct, frozen=True):
    """Everything that a diagram shows, with the columns that are in its window."""

    nodes: tuple[str, ...]
    placed: tuple[Placed, ...]
    messages: tuple[Message, ...]
    spans: tuple[Span, ...]
    ways: tuple[Way, ...]
    first: int
    last: int

    def y(self, node: str) -> int:
        """The height of a node's lifeline."""
        return TOP + self.row * self.nodes.index(node) + self.row // 2

    @property
    def row(self) -> int:
        """How high the row of a lifeline is."""
        return min(2 * ROW, ROW * max(LANES, len(self.nodes)) // len(self.nodes))

    @property
    def height(self) -> int:
        """How high the drawing is."""
        return TOP + self.row * len(self.nodes)

    @property
    def left(self) -> int:
        """Where the window begins."""
        return self.first * STEP - NAMES

    @property
    def width(self) -> int:
        """How wide the window is: as far as the run has come."""
        return (self.last - self.first + 1) * STEP + NAMES + MARGIN

    @property
    def right(self) -> int:
        """Where the longest window ends."""
        return self.left + SHOWN * STEP + NAMES + MARGIN

    def there(self, placed: Placed | None) -> bool:
        """Whether something that ends here can be seen."""
        return placed is None or placed.column >= self.first

    def hidden(self) -> int:
        """How many steps lie before the window."""
        return len({dot.step for dot in self.placed if dot.column < self.first})


def x(column: float) -> float:
    """The middle of a column."""
    return STEP * (column + 1)


def layout(scene: Scene) -> Layout:
    """Place all that happened on the way to a moment."""
    model = scene.model
    placed = _columns(scene)
    last = placed[-1].column if placed else -1
    real_replica = isinstance(model, Replica)
    return Layout(
        ("you", model.replica) if real_replica else (*model.coordinators, *model.history.replicas),
        placed,
        _messages(placed),
        _spans(placed),
        _ways(placed),
        max(0, last + 1 - SHOWN),
        last,
    )


def _columns(scene: Scene) -> tuple[Placed, ...]:
    columns: list[Placed] = []
    column, together = -1, set[str]()
    for step, event in events(scene):
        if isinstance(event, Applied) and together and event.node not in together:
            together.add(event.node)
        else:
            column += 2 if columns and _close(columns[-1].event, event) else 1
            together = {event.node} if isinstance(event, Applied) else set()
        columns.append(Placed(step, column, event))
    return tuple(columns)


def _close(event: Happened, other: Happened) -> bool:
    """Whether the numbers of two steps would stand on one another: both on one lifeline."""
    if not isinstance(event, Delivered | Applied) or not isinstance(other, Delivered | Applied):
        return False
    places = [
        either.replica if isinstance(either, Delivered) else either.node
        for either in (event, other)
    ]
    return places[0] == places[1] and (isinstance(event, Delivered) or isinstance(other, Delivered))


def _messages(placed: tuple[Placed, ...]) -> tuple[Message, ...]:
    messages: list[Message] = []
    away: dict[tuple[int, str], Placed] = {}
    for dot in placed:
        event = dot.event
        if isinstance(event, Sent):
            if event.back:  # the read's own messages matter no more
                away = _without(event.request, away)
            away |= {(event.request, name): dot for name in event.targets}
        elif isinstance(event, Delivered):
            begun = away.pop((event.request, event.replica), dot)
            messages.append(Message(begun, event.request, event.replica, dot))
        elif isinstance(event, Completed) and event.title.startswith("read"):
            away = _without(event.request, away)
    messages += [Message(sent, number, name, None) for (number, name), sent in away.items()]
    return tuple(messages)


def _without(request: int, away: dict[tuple[int, str], Placed]) -> dict[tuple[int, str], Placed]:
    """The messages on their way but for a read's, which nobody waits for; what brings a cell is."""
    return {
        key: sent
        for key, sent in away.items()
        if key[0] != request or (isinstance(sent.event, Sent) and sent.event.back)
    }


def _spans(placed: tuple[Placed, ...]) -> tuple[Span, ...]:
    spans: list[Span] = []
    opened: dict[int, Placed] = {}
    for dot in placed:
        event = dot.event
        if isinstance(event, Sent) and event.first:
            opened[event.request] = dot
        elif isinstance(event, Completed):
            spans.append(Span(opened.pop(event.request, dot), dot))
    return (*spans, *(Span(begin, None) for begin in opened.values()))


def _ways(placed: tuple[Placed, ...]) -> tuple[Way, ...]:
    ways: list[Way] = []
    away: dict[tuple[str, str], list[Placed]] = {}
    for dot in placed:
        event = dot.event
        if not isinstance(event, Copied):
            continue
        begun = away.setdefault((event.source, event.target), [])
        if event.landed:  # what comes late is the oldest of its pair
            ways.append(Way(begun.pop(0 if event.late else -1) if begun else dot, dot))
        else:
            begun.append(dot)
    for begun in away.values():
        ways += [Way(read, None, older=read is not begun[-1]) for read in begun]
    return tuple(ways)
