"""The log: one event an epoch, appended once, applied by each node in order.

This is the small model that consensus refines. Here the *atomic log* appends in one step; Paxos
and Raft do the same in many. Source: CEP-21, "Epoch" and "Node Level Changes".
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, KeysView
from functools import reduce
from typing import Any

from msgspec import Struct, field

from kit.engine.model import Model, Property, always, content
from kit.engine.pairs import paired
from kit.errors import Refusal

_CHUNK = 64


class Log:
    """An immutable sequence of events that knows the digest of what it holds.

    Two logs are equal when their digests are; ``append`` shares everything but the last chunk,
    so that neither comparing nor extending a long log costs its length. An event whose words have
    changed since the first traces gives the former ones as ``written``: digests are made of those.
    """

    __slots__ = ("_full", "_prefix", "_tail", "digest", "length")
    _full: tuple[Any, ...]
    _tail: tuple[Any, ...]
    _prefix: Log | None
    digest: bytes
    length: int

    def __init__(
        self,
        _full: tuple[Any, ...] = (),
        _tail: tuple[Any, ...] = (),
        _digest: bytes = b"",
        _prefix: Log | None = None,
    ) -> None:
        """The empty log; the arguments are for ``append`` alone."""
        keep = object.__setattr__
        keep(self, "_full", _full)
        keep(self, "_tail", _tail)
        keep(self, "_prefix", _prefix)
        keep(self, "digest", _digest)
        keep(self, "length", len(_full) * _CHUNK + len(_tail))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a log never changes; append gives another one")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("a log never changes")

    def append(self, event: Any) -> Log:
        """This log with ``event`` at its end."""
        written = getattr(event, "written", event)
        digest = hashlib.blake2b(self.digest + content(written), digest_size=16).digest()
        tail = (*self._tail, event)
        if len(tail) == _CHUNK:
            return Log((*self._full, tail), (), digest, self)
        return Log(self._full, tail, digest, self)

    def shorter(self) -> Log:
        """The log without its last event."""
        if self._prefix is None:
            raise IndexError("the empty log has no prefix")
        return self._prefix

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        if not 0 <= index < self.length:
            raise IndexError(index)
        chunk, offset = divmod(index, _CHUNK)
        return (self._full[chunk] if chunk < len(self._full) else self._tail)[offset]

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(self.length))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Log) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __reduce__(self) -> tuple[Callable[[tuple[Any, ...]], Log], tuple[tuple[Any, ...]]]:
        return log_of, (tuple(self),)

    def __repr__(self) -> str:
        return f"Log({self.length} events)"


def log_of(events: Iterable[Any]) -> Log:
    """A log that holds these events."""
    return reduce(Log.append, events, Log())


class LogState(Struct, frozen=True, cache_hash=True):
    """The entries; how many each node has applied; which later ones it holds back.

    ``applied[i]`` counts the entries node ``i`` has applied; ``held[i]`` is a bit mask of entry
    indices that reached it above a gap and wait there. Below ``applied[i]`` its bits are entries
    that were skipped, which only happens where the safeguard of the order is off.
    """

    entries: Log
    applied: tuple[int, ...] = field(name="learned")  # as traces of earlier versions have it
    held: tuple[int, ...]


class Append(Struct, frozen=True, tag="append"):
    """The log takes one more event; it gets the next epoch."""

    event: Any


class Apply(Struct, frozen=True, tag="apply"):
    """A node applies its next epoch (and any held back right behind it)."""

    node: str


class Deliver(Struct, frozen=True, tag="deliver"):
    """An entry reaches a node out of order: it is held back until the gap below is filled."""

    node: str
    index: int


class CatchUp(Struct, frozen=True, tag="catch-up"):
    """A node asks another for the entries above its own epoch, and applies what it gets."""

    node: str
    peer: str


class Rewrite(Struct, frozen=True, tag="rewrite"):
    """Somebody tries to change an entry that the log already has."""

    index: int


class LogParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """Who applies the log, how far ahead an entry may arrive, and the epoch it counts from.

    ``peers``: nodes may also ask one another for what they lack.
    """

    nodes: tuple[str, ...] = ("A", "B", "C")
    window: int = 1
    epoch: int = 0
    peers: bool = False


class AtomicLog(Model[LogState, Any]):
    """A log that takes an event in one step; ``Append`` has no candidates, it comes by link."""

    name = "log"
    title = "The log: one event an epoch, applied in order"
    State = LogState
    Action = Append | Apply | Deliver | CatchUp | Rewrite

    def __init__(self, parameters: LogParameters | None = None, *, in_order: bool = True) -> None:
        """A log for ``parameters.nodes``.

        Without the safeguard ``in_order`` a node applies what reaches it at once, gap or not.
        """
        self.parameters: LogParameters = parameters or LogParameters()
        self.in_order = in_order
        self.index = {name: i for i, name in enumerate(self.parameters.nodes)}
        # Keys, so that whether a node may think of it costs the same however many nodes there are.
        self._every_apply = dict.fromkeys(Apply(name) for name in self.parameters.nodes).keys()
        self.rules = (
            paired(Apply, "apply", self._lagging, self._behind, self._applied),
            paired(Deliver, "deliver", self._early, self._fresh, self._hold),
            *(
                (paired(CatchUp, "apply", self._askers, self._has_more, self._catch_up),)
                * self.parameters.peers
            ),
            paired(Rewrite, "edit", self._edits, self._immutable, self._never),
            paired(Append, "commit", lambda s: (), lambda s, a: None, self._appended),
        )
        self.properties: tuple[Property, ...] = (
            always("log-prefix", "Each node's applied log is a prefix of the one log", _is_prefix),
        )

    def start(self) -> LogState:
        """Nothing appended, nothing applied."""
        count = len(self.parameters.nodes)
        return LogState(Log(), (0,) * count, (0,) * count)

    def epoch(self, count: int) -> int:
        """The epoch of a log prefix of ``count`` entries."""
        return self.parameters.epoch + count

    def _lagging(self, s: LogState) -> KeysView[Apply]:
        return self._every_apply

    def _behind(self, s: LogState, action: Apply) -> Refusal | None:
        if s.applied[self.index[action.node]] < len(s.entries):
            return None
        return Refusal(f"{action.node} has applied every committed epoch")

    def _applied(self, s: LogState, action: Apply) -> LogState:
        i = self.index[action.node]
        applied, held = s.applied[i] + 1, s.held[i]
        while held >> applied & 1:
            applied += 1
        return LogState(
            s.entries, _put(s.applied, i, applied), _put(s.held, i, _still(held, s, i, applied))
        )

    def _early(self, s: LogState) -> Iterator[Deliver]:
        for name, applied in zip(self.parameters.nodes, s.applied, strict=True):
            last = min(applied + self.parameters.window, len(s.entries))
            yield from (Deliver(name, index) for index in range(applied + 1, last))

    def _fresh(self, s: LogState, action: Deliver) -> Refusal | None:
        if s.held[self.index[action.node]] >> action.index & 1:
            epoch = self.epoch(action.index + 1)
            return Refusal(f"{action.node} already holds epoch {epoch} back above a gap")
        return None

    def _hold(self, s: LogState, action: Deliver) -> LogState:
        """Above a gap an entry waits; applied at once, it leaves the gap behind for good."""
        i = self.index[action.node]
        if self.in_order:
            return LogState(s.entries, s.applied, _put(s.held, i, s.held[i] | 1 << action.index))
        gap = (1 << action.index) - (1 << s.applied[i])
        applied = _put(s.applied, i, action.index + 1)
        return LogState(s.entries, applied, _put(s.held, i, s.held[i] | gap))

    def _askers(self, s: LogState) -> Iterator[CatchUp]:
        names = self.parameters.nodes
        return (CatchUp(a, b) for a in names for b in names if a != b)

    def _has_more(self, s: LogState, action: CatchUp) -> Refusal | None:
        if s.applied[self.index[action.peer]] > s.applied[self.index[action.node]]:
            return None
        return Refusal(f"{action.peer} knows no epoch that {action.node} does not")

    def _catch_up(self, s: LogState, action: CatchUp) -> LogState:
        """What a peer has may not be all there is, but it is a part of the one log."""
        i, peer = self.index[action.node], self.index[action.peer]
        while s.applied[i] < s.applied[peer]:
            s = self._applied(s, Apply(action.node))
        return s

    def answered(self, s: LogState, action: CatchUp) -> tuple[int, ...]:
        """The epochs that the peer sends: those it has applied above the asker's own."""
        first, last = s.applied[self.index[action.node]], s.applied[self.index[action.peer]]
        return tuple(range(self.epoch(first + 1), self.epoch(last + 1)))

    def _edits(self, s: LogState) -> Iterator[Rewrite]:
        if len(s.entries):
            yield Rewrite(len(s.entries) - 1)

    def _immutable(self, s: LogState, action: Rewrite) -> Refusal | None:
        epoch = self.epoch(action.index + 1)
        return Refusal(f"epoch {epoch} is committed: an entry never changes, moves or goes away")

    def _never(self, s: LogState, action: Rewrite) -> LogState:
        return s

    def _appended(self, s: LogState, action: Append) -> LogState:
        return LogState(s.entries.append(action.event), s.applied, s.held)

    def verb(self, action: Any) -> str:
        """``apply B`` and so on."""
        match action:
            case Apply(node):
                return f"apply {node}"
            case Deliver(node, index):
                return f"deliver {self.epoch(index + 1)} to {node}"
            case CatchUp(node, peer):
                return f"ask {peer} for {node}"
            case Rewrite(index):
                return f"edit epoch {self.epoch(index + 1)}"
            case _:
                return f"append {action.event}"


def _put(values: tuple[int, ...], i: int, value: int) -> tuple[int, ...]:
    if values[i] == value:
        return values
    changed = list(values)  # a quarter quicker than slices put together
    changed[i] = value
    return tuple(changed)


def _still(held: int, s: LogState, i: int, applied: int) -> int:
    """What is held after node ``i`` applied up to ``applied``: what is above, and old gaps."""
    return held >> applied << applied | skipped(s, i)


def skipped(s: LogState, i: int) -> int:
    """The entries below its newest one that node ``i`` has not applied (a mask)."""
    return s.held[i] & ((1 << s.applied[i]) - 1)


def gaps(s: LogState) -> Iterator[tuple[int, int]]:
    """The nodes that skipped entries, each with these (a mask); few hold any back or skip one."""
    if s.held.count(0) < len(s.held):  # twice as quick as any(): this is asked of every state
        yield from ((i, gap) for i in range(len(s.held)) if (gap := skipped(s, i)))


def _is_prefix(s: LogState) -> str | None:
    """Each node's applied log is a prefix of the one log: no gap, and never ahead of it."""
    if max(set(s.applied)) > len(s.entries):  # few differ: twice as quick for a thousand nodes
        ahead = next(i for i, applied in enumerate(s.applied) if applied > len(s.entries))
        return f"node {ahead} is ahead of the log"
    gap = next((i for i, _ in gaps(s)), None)
    return None if gap is None else f"node {gap} has applied an entry above a gap"
