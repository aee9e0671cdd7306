"""Ways through a history: which epochs somebody may still work by, and where each of them stands.

Whoever lags, and every message on its way, works by an earlier epoch, so the way to the newest one
matters, not the newest one alone. A *trail* is such a way: the epochs from the oldest that may
still be in use to the newest. An *epoch index* is a place on it, 0 the oldest. Where nobody's lag
is bounded a trail begins at the start, so that its index counts the events so far; histories that
are trees have then one trail for each of their nodes, with the same number. With a bound on the lag
the oldest epoch drops out at a commit, all indices go down by one, and a history that leads back
has finitely many trails.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from kit.errors import BadInput
from kit.protocols.storage.rules.history import Edge, RangeEpoch, RangeHistory
from kit.protocols.storage.rules.view import View

MOST_TRAILS = 4000


class Trail(Struct, frozen=True):
    """A way to a node: the range at each of its epochs, oldest first, and what can come next.

    ``nodes`` are numbers of the history's epochs; ``leads`` gives the number of the trail behind
    each edge of ``newest``. ``numbers`` are those by which people know its epochs: a quiet one has
    that of the epoch before it. ``full``: at the next commit the oldest epoch drops out.
    """

    nodes: tuple[int, ...]
    views: tuple[View, ...]
    newest: RangeEpoch
    leads: tuple[int, ...]
    numbers: tuple[int, ...]
    full: bool = False

    def edge(self, verb: str) -> tuple[Edge, int]:
        """The edge of that name, and the trail behind it."""
        return next(
            (edge, to)
            for edge, to in zip(self.newest.edges, self.leads, strict=True)
            if edge.verb == verb
        )

    def index(self, number: int) -> int:
        """The index of the last epoch of that number."""
        return len(self.numbers) - 1 - self.numbers[::-1].index(number)

    @property
    def plans(self) -> tuple[int, ...]:
        """The indices that plans are made by: of equal numbers the last."""
        return tuple(self.index(number) for number in dict.fromkeys(self.numbers))


def trails(history: RangeHistory) -> tuple[Trail, ...]:
    """Every trail of a history; number 0 is the start.

    Raises:
        BadInput: when there are too many, as of a history that leads back without a bounded lag.
    """
    ways: list[tuple[int, ...]] = [(0,)]
    numbers = {ways[0]: 0}
    leads: list[tuple[int, ...]] = []
    for way in ways:  # grows while it is walked along
        behind = [_extended(way, edge.to, history.kept) for edge in history.epochs[way[-1]].edges]
        for longer in behind:
            if longer not in numbers:
                if len(ways) == MOST_TRAILS:
                    allowed = "a smaller lag, or fewer operations and cancels"
                    raise BadInput("lag", history.lag, f"{allowed}: more than {MOST_TRAILS} ways")
                numbers[longer] = len(ways)
                ways.append(longer)
        leads.append(tuple(numbers[longer] for longer in behind))
    return tuple(_trail(history, *pair) for pair in zip(ways, leads, strict=True))


def _extended(way: tuple[int, ...], node: int, kept: int | None) -> tuple[int, ...]:
    longer = (*way, node)
    return longer if kept is None else longer[-kept - 1 :]


def _trail(history: RangeHistory, way: tuple[int, ...], leads: tuple[int, ...]) -> Trail:
    newest = history.epochs[way[-1]]
    full = history.kept is not None and len(way) > history.kept
    views = _views([history.epochs[node].view for node in way])
    return Trail(way, views, newest, leads, _numbers(history, way), full)


def _numbers(history: RangeHistory, way: tuple[int, ...]) -> tuple[int, ...]:
    """The number of each epoch along a way: one more than that before, unless it is quiet."""
    numbers = [history.epochs[way[-1]].epoch]
    for node in reversed(way[1:]):
        numbers.append(numbers[-1] - (not history.epochs[node].quiet))
    return tuple(reversed(numbers))


def _views(views: list[View]) -> tuple[View, ...]:
    """The views along a way; each knows when its row was last modified."""
    last = 0
    along = []
    for index, view in enumerate(views):
        if index and (view.reads, view.writes) != (views[index - 1].reads, views[index - 1].writes):
            last = index
        along.append(replace(view, last_modified=last))
    return tuple(along)


def to_the_end(ways: tuple[Trail, ...]) -> int:
    """The trail on which the first operation is done: every step taken, nothing cancelled."""
    at = 0
    while ways[at].leads:
        at = ways[at].leads[0]
    return at
