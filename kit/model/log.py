"""The log: one event an epoch, appended once, applied by each node in order.

This is the small model that consensus refines. Here the *atomic log* appends in one step; Paxos
and Raft do the same in many. Source: CEP-21, "Epoch" and "Node Level Changes".
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from itertools import permutations
from typing import Annotated, Any

from msgspec import Struct, field

from kit.errors import Refusal
from kit.model import declared
from kit.model.declared import Each, Node, NodeModel, Travel, action, parameter, purpose, refused
from kit.model.model import Refinement, content

_CHUNK = 64


class Log:
    """An immutable sequence of events that knows the digest of what it holds.

    Two logs are equal when their digests are; ``append`` shares everything but the last chunk,
    so that neither comparing nor extending a long log costs its length. A full chunk stands with
    the digest of what was before it, and the log that it fills holds no shorter one: no chain of
    logs is longer than a chunk. An event whose words have changed since the first traces gives the
    former ones as ``written``: digests are made of those.
    """

    __slots__ = ("_full", "_prefix", "_tail", "digest", "length")
    _full: tuple[tuple[bytes, tuple[Any, ...]], ...]
    _tail: tuple[Any, ...]
    _prefix: Log | None
    digest: bytes
    length: int

    def __init__(
        self,
        _full: tuple[tuple[bytes, tuple[Any, ...]], ...] = (),
        _tail: tuple[Any, ...] = (),
        _digest: bytes = b"",
        _prefix: Log | None = None,
    ) -> None:
        """The empty log; the arguments are for ``append`` alone."""
        values = _full, _prefix, _tail, _digest, len(_full) * _CHUNK + len(_tail)
        for name, value in zip(self.__slots__, values, strict=True):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a log never changes; append returns a new one")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("a log never changes")

    def append(self, event: Any) -> Log:
        """This log with ``event`` at its end."""
        written = getattr(event, "written", event)
        digest = hashlib.blake2b(self.digest + content(written), digest_size=16).digest()
        tail = (*self._tail, event)
        if len(tail) == _CHUNK:
            first = self
            while first._prefix is not None:
                first = first._prefix
            return Log((*self._full, (first.digest, tail)), (), digest)
        return Log(self._full, tail, digest, self)

    def shorter(self) -> Log:
        """The log without its last event."""
        if not self.length:
            raise IndexError("the empty log has no prefix")
        if self._prefix is not None:
            return self._prefix
        *full, (digest, events) = self._full
        return reduce(Log.append, events[:-1], Log(tuple(full), (), digest))

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        if not 0 <= index < self.length:
            raise IndexError(index)
        chunk, offset = divmod(index, _CHUNK)
        return (self._full[chunk][1] if chunk < len(self._full) else self._tail)[offset]

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


Entry = Annotated[int, Each(())]
"""An entry of the log, by its index; which ones there are a state says."""


class AtomicLog(NodeModel[LogState]):
    """A log that takes an event in one step."""

    name = "log"
    title = "The log: one event per epoch, applied in order"
    State = LogState

    nodes: tuple[str, ...] = parameter(("A", "B", "C"), "which nodes apply the log")
    window: int = parameter(1, "how far ahead of the next entry another one can arrive")
    epoch: int = parameter(0, "the epoch that the log starts from")
    peers: bool = parameter(False, "whether nodes can also ask each other for what they lack")

    def __init__(self, parameters: Any = None, *, in_order: bool = True) -> None:
        """A log for the nodes of ``parameters``.

        Without the safeguard ``in_order`` a node applies what reaches it at once, gap or not.
        """
        self.in_order = in_order
        super().__init__(parameters)

    def set_up(self) -> None:
        """Each node has a place."""
        self.names = self.nodes

    def start(self) -> LogState:
        """Nothing appended, nothing applied."""
        count = len(self.names)
        return LogState(Log(), (0,) * count, (0,) * count)

    def epoch_of(self, count: int) -> int:
        """The epoch of a log prefix of ``count`` entries."""
        return self.epoch + count

    def called(self, place: str) -> str:
        """The place without a name is the log itself."""
        return place or "log"

    def spot(self, place: str) -> str:
        """The key of a node in the picture, or of the log."""
        return super().spot(place) if place else "log"

    def words(self, before: LogState, action: Any, after: LogState) -> dict[str, str]:
        """The epoch of the entry that an action names, or those that a node gets or applies."""
        if type(action) in (Apply, CatchUp):
            node = self.index[action.node]
            had, last = (self.epoch_of(s.applied[node]) for s in (before, after))
            new = range(had + 1, last + 1)
            if type(action) is Apply:
                return {"epoch": str(last), "epochs": _epochs(new)}
            listed, sent = ", ".join(map(str, new)), _epochs(self.answered(before, action))
            return {"had": str(had), "new": listed, "epochs": sent}
        return {"epoch": str(self.epoch_of(action.index + 1))} if type(action) is Deliver else {}

    @action(
        tag="apply",
        says="{node} applies {epochs}.",
        travels=[Travel("entry", "", "{node}", "{epochs}")],
    )
    @purpose("A node knows the cluster only as far as it has applied the log.")
    def apply_next(self, s: LogState, node: Node) -> LogState | Refusal:
        """{node} applies its next epoch, and the epochs held back right behind it."""
        if s.applied[node] == len(s.entries):
            return refused(f"{self.names[node]} has applied every committed epoch")
        return _applied(s, node)

    def early(self, s: LogState) -> Iterator[tuple[int, int]]:
        """Entries that may reach a node before the one that it applies next."""
        for place, applied in enumerate(s.applied):
            last = min(applied + self.window, len(s.entries))
            yield from ((place, index) for index in range(applied + 1, last))

    def arrived(self, before: LogState, action: Any, after: LogState) -> str:
        """The fate of an entry that came too early."""
        held = "held back until the gap is filled" if self.in_order else "applied at once"
        return f"Epoch {{epoch}} reaches {{node}} above a gap and is {held}."

    @action(each=early, says=arrived, travels=[Travel("entry", "", "{node}", "epoch {epoch}")])
    @purpose("The network does not keep the order, but the epoch numbers in the log do.")
    def deliver(self, s: LogState, node: Node, index: Entry) -> LogState | Refusal:
        """An entry reaches {node} out of order: it is held back until the gap below is filled.

        Applied at once, it leaves the gap behind for good.
        """
        if s.held[node] >> index & 1:
            epoch = self.epoch_of(index + 1)
            return refused(f"{self.names[node]} already holds back epoch {epoch} above a gap")
        if self.in_order:
            return LogState(s.entries, s.applied, _put(s.held, node, s.held[node] | 1 << index))
        gap = (1 << index) - (1 << s.applied[node])
        applied = _put(s.applied, node, index + 1)
        return LogState(s.entries, applied, _put(s.held, node, s.held[node] | gap))

    def answered(self, s: LogState, action: Any) -> tuple[int, ...]:
        """The epochs that the peer sends: those it has applied above the asker's own."""
        first, last = s.applied[self.index[action.node]], s.applied[self.index[action.peer]]
        return tuple(range(self.epoch_of(first + 1), self.epoch_of(last + 1)))

    @action(
        kind="apply",
        verb="ask {peer} for {node}",
        each=lambda m, s: permutations(range(len(m.names)), 2),
        when=lambda m: m.peers,
        says="{node} asks {peer} for everything above epoch {had} and applies {new}.",
        travels=[
            Travel(
                "request",
                "n:{node}",
                "n:{peer}",
                "above {had}?",
                "{node} → {peer}: asks for epochs above {had}",
            ),
            Travel("entry", "{peer}", "{node}", "{epochs}"),
        ],
    )
    @purpose("There is one log, so any peer can fill the gap.")
    def catch_up(self, s: LogState, node: Node, peer: Node) -> LogState | Refusal:
        """{node} asks {peer} for the entries above its own epoch and applies what it gets.

        What a peer has may not be all there is, but it is a part of the one log.
        """
        if s.applied[peer] <= s.applied[node]:
            names = self.names
            return refused(f"{names[peer]} knows no epoch that {names[node]} lacks")
        while s.applied[node] < s.applied[peer]:
            s = _applied(s, node)
        return s

    @action(kind="edit", each=lambda m, s: range(len(s.entries))[-1:])
    @purpose("Nodes at the same epoch must know the same things, so the log can only grow.")
    def rewrite(self, s: LogState, index: Entry) -> Refusal:
        """Someone tries to change an entry that the log already has."""
        epoch = self.epoch_of(index + 1)
        return refused(f"epoch {epoch} is committed: an entry never changes, moves or disappears")

    @action(kind="commit", each=lambda m, s: ())
    @purpose("One log gives each change its place, the same for all nodes.")
    def append(self, s: LogState, event: Any) -> LogState:
        """The log takes one more event, which gets the next epoch."""
        return LogState(s.entries.append(event), s.applied, s.held)

    def verb(self, action: Any) -> str:
        """``apply B`` and so on; entries go by their epochs."""
        if isinstance(action, Deliver):
            return f"deliver {self.epoch_of(action.index + 1)} to {action.node}"
        if isinstance(action, Rewrite):
            return f"edit epoch {self.epoch_of(action.index + 1)}"
        return super().verb(action)

    @declared.always()
    def log_prefix(self, s: LogState) -> str | None:
        """Each node's applied log is a prefix of the one log: no gap, and never ahead of it."""
        if max(set(s.applied)) > len(s.entries):  # few differ: twice as quick for a thousand nodes
            ahead = next(i for i, applied in enumerate(s.applied) if applied > len(s.entries))
            return f"{self.names[ahead]} is ahead of the log"
        gap = next((i for i, _ in gaps(s)), None)
        return None if gap is None else f"{self.names[gap]} has applied an entry above a gap"


class OpenLog(AtomicLog):
    """The log, to which what is ``offered`` for the next epoch may be appended, from ``begun`` on.

    It is what a finer model refines that says who appends what.
    """

    offered: Callable[[int], Iterable[Any]]
    begun: LogState

    def start(self) -> LogState:
        """The first state of the finer model."""
        return self.begun

    @action(struct=AtomicLog.append.struct, each=lambda m, s: tuple(m.offered(len(s.entries) + 1)))
    def append(self, s: LogState, event: Any) -> LogState:
        """The log takes one more event, which gets the next epoch."""
        return LogState(s.entries.append(event), s.applied, s.held)

    @action(each=lambda m, s: [()])
    @purpose("No one can recover what only the lost nodes knew.")
    def lose(self, s: LogState) -> LogState:
        """Every node that held a part of the log is lost, and the log begins again."""
        return self.begun


def refined_by_logs(
    fine: Any,
    known: Callable[[Any], Sequence[Sequence[Any]]],
    offered: Iterable[Any],
    losing: tuple[type, ...] = (),
) -> Refinement:
    """How a model refines the log where each node knows a beginning of it, in a log of its own.

    ``known`` are these logs in a state, in the order of ``fine.names``; the longest is the log, and
    who knows another one has applied -1 entries of it, which no step leads to. What is new there is
    appended, then applied, entry by entry, by each node whose log has grown. Only an action of the
    types ``losing`` may make it shorter: nobody has any of it then, and another one may begin.
    """

    def project(s: Any) -> LogState:
        logs = known(s)
        longest = max(logs, key=len)
        lengths = tuple(len(log) if log == longest[: len(log)] else -1 for log in logs)
        return LogState(log_of(longest), lengths, (0,) * len(logs))

    def image(before: Any, action: Any, after: Any) -> tuple[Any, ...]:
        was, now = project(before), project(after)
        if isinstance(action, losing) and len(now.entries) < len(was.entries):
            return (OpenLog.lose(),)
        new = tuple(now.entries)[len(was.entries) :]
        counts = zip(fine.names, was.applied, now.applied, strict=True)
        applied = (name for name, old, index in counts for _ in range(old, index))
        return (*map(AtomicLog.append, new), *map(AtomicLog.apply_next, applied))

    coarse, all_of_them = OpenLog(AtomicLog.Parameters(nodes=fine.names)), tuple(offered)
    coarse.offered, coarse.begun = lambda epoch: all_of_them, project(fine.start())
    return Refinement(fine, coarse, project, image)


Apply, Deliver, CatchUp, Rewrite, Append = AtomicLog.acts
LogParameters = AtomicLog.Parameters


def _epochs(epochs: Sequence[int]) -> str:
    return f"epoch {epochs[0]}" if len(epochs) == 1 else f"epochs {epochs[0]} to {epochs[-1]}"


def _applied(s: LogState, node: int) -> LogState:
    applied, held = s.applied[node] + 1, s.held[node]
    while held >> applied & 1:
        applied += 1
    still = held >> applied << applied | skipped(s, node)  # what is above, and old gaps
    return LogState(s.entries, _put(s.applied, node, applied), _put(s.held, node, still))


def _put(values: tuple[int, ...], i: int, value: int) -> tuple[int, ...]:
    if values[i] == value:
        return values
    changed = list(values)  # a quarter quicker than slices put together
    changed[i] = value
    return tuple(changed)


def skipped(s: LogState, i: int) -> int:
    """The entries below its newest one that node ``i`` has not applied (a mask)."""
    return s.held[i] & ((1 << s.applied[i]) - 1)


def gaps(s: LogState) -> Iterator[tuple[int, int]]:
    """The nodes that skipped entries, each with these (a mask); few hold any back or skip one."""
    if s.held.count(0) < len(s.held):  # twice as quick as any(): this is asked of every state
        yield from ((i, gap) for i in range(len(s.held)) if (gap := skipped(s, i)))
