"""One range of a vnode keyspace while a node operation moves it: its replicas, and its history."""

from collections.abc import Collection, Iterator
from itertools import takewhile
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from kit.masks import mask_of
from kit.protocols.storage.rules.conditions import AllKnow, Condition, NothingBelow
from kit.protocols.storage.rules.exchange import Admission
from kit.protocols.storage.rules.history import CopyTask, Edge, RangeEpoch, RangeHistory
from kit.protocols.storage.rules.view import Acknowledgement, View
from kit.protocols.topology.rules import machines
from kit.ring.columns import np
from kit.ring.movement import Movement, movement
from kit.ring.natural import replicas
from kit.ring.ranges import Range
from kit.ring.replication import SimpleStrategy
from kit.ring.tokens import small
from kit.ring.topology import Node, Ring

Operation = Literal["bootstrap", "replace", "decommission", "removenode"]
MACHINE_OF: dict[Operation, str] = {
    "bootstrap": "bootstrapping",
    "replace": "replacing",
    "decommission": "decommissioning",
    "removenode": "removing",
}
"""The transition table of an operation, by the verb of the operator."""

STEP = 100
MOST_NODES = 23
_NAMES = "ABCDEFGHIJKLMNOPQRSTUVW"
_NEWCOMER = "X"
_SUBJECT = 1  # the code of B


class MovedRange(Struct, frozen=True):
    """A range with its replicas before and after an operation, by name.

    ``subject`` is the node that joins or leaves, ``joins`` which of the two; ``title`` is the
    operation in words; ``dead`` are the replicas that are gone when it begins. ``copies`` are pairs
    of source and target.
    """

    label: str
    left: int
    right: int
    subject: str
    joins: bool
    title: str
    old: tuple[str, ...]
    new: tuple[str, ...]
    dead: tuple[str, ...]
    copies: tuple[tuple[str, str], ...]


class _Change(Struct, frozen=True):
    """A ring before and after an operation of the node ``subject`` (its code), and it in words."""

    before: Ring
    after: Ring
    subject: int
    joins: bool
    title: str
    dead: tuple[int, ...] = ()


def moved(
    operation: Operation, nodes: int, factor: int, *, from_displaced: bool = True
) -> MovedRange:
    """The range worth watching of a ring of ``nodes`` nodes (2 at least), for one operation.

    It is the one with the most replicas old and new; of several, one that ends at a token of the
    operation's node. Without ``from_displaced`` some other old replica is streamed from.
    """
    return _of_range(_changed(operation, nodes), factor, from_displaced)


def moved_again(
    operation: Operation, nodes: int, factor: int, *, from_displaced: bool = True
) -> tuple[Operation, MovedRange]:
    """The same range in the operation that comes next, and that operation's verb.

    Who has joined leaves; who was to leave, and stayed, is to leave again.
    """
    first = moved(operation, nodes, factor, from_displaced=from_displaced)
    if not first.joins:
        return operation, first
    joined = _changed(operation, nodes)
    change = _leaving(joined.after, joined.subject, "decommission")
    place = Range(first.left, first.right)
    return "decommission", _of_range(change, factor, from_displaced, place)


def rings(operation: Operation, nodes: int) -> tuple[Ring, Ring]:
    """The ring before the operation, and after it."""
    change = _changed(operation, nodes)
    return change.before, change.after


def _changed(operation: Operation, nodes: int) -> _Change:
    named = (Node(name, (STEP * (i + 1),)) for i, name in enumerate(_NAMES[:nodes]))
    ring = Ring.of(named, small(STEP * (nodes + 1)))
    if operation == "bootstrap":
        after = ring.join(Node(_NEWCOMER, (STEP * 3 // 2,)))
        return _Change(ring, after, nodes, True, f"bootstrap {_NEWCOMER}")
    if operation == "replace":
        after = ring.join(Node(_NEWCOMER, ())).replace(_SUBJECT, nodes)
        title = f"replace {ring.names[_SUBJECT]} with {_NEWCOMER}"
        return _Change(ring, after, nodes, True, title, (_SUBJECT,))
    dead = (_SUBJECT,) if operation == "removenode" else ()
    return _leaving(ring, _SUBJECT, operation, dead)


def _leaving(ring: Ring, code: int, verb: Operation, dead: tuple[int, ...] = ()) -> _Change:
    return _Change(ring, ring.leave(code), code, False, f"{verb} {ring.names[code]}", dead)


def _widest(change: _Change, moves: Movement) -> Range:
    ring = change.after if change.joins else change.before
    own = ring.nodes[change.subject].tokens
    return min(
        (-len(both), place.right not in own, place)
        for place, both in zip(moves.locked, moves.affected, strict=True)
    )[-1]


def _of_range(
    change: _Change, factor: int, from_displaced: bool, place: Range | None = None
) -> MovedRange:
    moves = movement(change.before, change.after, SimpleStrategy(factor))
    place = place or _widest(change, moves)
    at, names = np.array([place.right], dtype=np.int64), change.after.names
    old, new = (
        tuple(names[code] for row in replicas(ring, moves.replication, at) for code in row)
        for ring in (change.before, change.after)
    )
    dead = tuple(names[code] for code in change.dead)  # of the widest range
    where = place.label(change.before.space), place.left, place.right
    what = names[change.subject], change.joins, change.title
    copies = tuple(_copies(moves, place, old, dead, from_displaced))
    return MovedRange(*where, *what, old, new, dead, copies)


def _copies(
    moves: Movement, place: Range, old: tuple[str, ...], dead: tuple[str, ...], from_displaced: bool
) -> list[tuple[str, str]]:
    names, live = moves.after.names, tuple(name for name in old if name not in dead)
    copies = []
    for stream in moves.streams:
        if stream.range.overlaps(place):
            displaced = None if stream.loses is None else names[stream.loses]
            sources = (displaced,) if displaced is not None and displaced in live else live
            others = tuple(name for name in live if name != displaced)
            if not from_displaced and others:
                sources = others[:1]
            copies += [(source, names[stream.gains]) for source in sources]
    return copies


ACKNOWLEDGEMENT: dict[machines.Edition, Acknowledgement] = {
    "documents": "joint",
    "server": "quorum-plus-pending",
}
"""What acknowledges a write while replicas are pending, by edition (Q-48)."""
STREAM, SHUT_DOWN = "stream", "shut_down"
OVER = ""
"""The name of no state: what stands behind an operation's end."""
_AT_REST = machines.StateRow(machines.BOUNDARY, ())


def guarded_table(machine: machines.Machine, off: Collection[str]) -> machines.Machine:
    """The table as it is without these safeguards; with all of them, as it stands."""
    rows = tuple(_row(row, off) for row in machine.states)
    back = _ways_back(machine) if "no-rollback-after-switch" in off else ()
    return replace(machine, states=rows, edges=(*machine.edges, *back))


def _row(row: machines.StateRow, off: Collection[str]) -> machines.StateRow:
    if "write-before-read" in off and (row.reads, row.writes) == ("old", "both"):
        row = replace(row, reads="new", writes="old")
    if "old-writer-stays" in off and (row.reads, row.writes) == ("new", "both"):
        row = replace(row, writes="new")
    if "drain-before-leaving" in off and any(work.name == SHUT_DOWN for work in row.work):
        row = replace(row, work=tuple(work for work in row.work if not work.barrier))
    return row


def _ways_back(machine: machines.Machine) -> list[machines.EdgeRow]:
    switched = {row.name for row in machine.states if (row.reads, row.writes) == ("new", "both")}
    return [
        replace(back, source=edge.target)
        for edge in machine.edges
        if edge.target in switched
        for back in (machine.edge(edge.source, "rollback"),)
        if back is not None
    ]


class ProjectionOptions(Struct, frozen=True):
    """How a table is read: the first version, what may fail, which safeguards are ``off``.

    ``barrier_fails``: where the table says *proceed*, the next edge may be taken without it. Some
    safeguards change the table (``guarded_table``); the others change what is waited for.
    """

    version: int = 1
    drain_fails: bool = False
    barrier_fails: bool = False
    off: tuple[str, ...] = ()


class RangeOperation(Struct, frozen=True):
    """One operation on a range: its transition table, and what it moves."""

    machine: machines.Machine
    moving: MovedRange


class _Standing(Struct, frozen=True):
    """The state of the operation: states that requests cannot tell apart, and how it came here.

    ``at`` counts the events so far; ``since`` and ``fence`` are those of the events that gave it
    its version and the version that is the fence. ``fenced``: that was set here, without a drain.
    ``dead`` are the replicas that are shut down. ``quiet``: no version was raised to come here.
    ``session`` is the open one's number, 0 for none, and ``opened`` how many there were.
    """

    states: tuple[machines.StateRow, ...]
    title: str
    version: int
    at: int = 0
    since: int = 0
    fence: int = 0
    dead: int = 0
    quiet: bool = False
    fenced: bool = False
    session: int = 0
    opened: int = 0

    def then(self, **changes: Any) -> "_Standing":
        """One event later, with these changes."""
        return replace(self, at=self.at + 1, **changes)


def project(
    edition: machines.Edition, options: ProjectionOptions, *operations: RangeOperation
) -> RangeHistory:
    """The history of a range while the operations of these tables move it, one after the other."""
    first = operations[0].moving
    everybody = (name for each in operations for name in (*each.moving.old, *each.moving.new))
    replicas = tuple(sorted(set(everybody)))
    epochs: list[RangeEpoch] = []
    _RangeProjection(operations, options, replicas, epochs).begin()
    place, dcs = (first.label, first.left, first.right), ("dc1",) * len(replicas)
    admission: Admission = "all" if "fencing" in options.off else "fence"
    how = admission, ACKNOWLEDGEMENT[edition]
    history = RangeHistory(*place, replicas, dcs, tuple(epochs), *how, unit="version")
    return replace(history, sessions="sessions" not in options.off)


class _RangeProjection:
    """The epochs found so far; a tree, for the past of an epoch decides what its fence bars."""

    def __init__(
        self,
        operations: tuple[RangeOperation, ...],
        options: ProjectionOptions,
        replicas: tuple[str, ...],
        epochs: list[RangeEpoch],
    ) -> None:
        self.machine = guarded_table(operations[0].machine, options.off)
        self.moving, self.options, self.epochs = operations[0].moving, options, epochs
        self.code = {name: i for i, name in enumerate(replicas)}
        self.old, self.new = self._mask(self.moving.old), self._mask(self.moving.new)
        rest = operations[1:]
        self.next = _RangeProjection(rest, options, replicas, epochs) if rest else None

    def begin(self) -> None:
        dead = self._mask(self.moving.dead)
        self._add(_Standing(self._joined(_AT_REST), "stable", self.options.version, dead=dead))

    def _mask(self, names: tuple[str, ...]) -> int:
        return mask_of(self.code[name] for name in names)

    # -- the table, as a range sees it ------------------------------------------------------------

    def _joined(self, row: machines.StateRow) -> tuple[machines.StateRow, ...]:
        rows = [row]
        for each in rows:  # grows while it is walked along
            for edge in self._edges(each):
                target = self._target(edge, each)
                if not _is_seen(edge, each, target) and target not in rows:
                    rows.append(target)
        return tuple(rows)

    def _edges(self, row: machines.StateRow) -> tuple[machines.EdgeRow, ...]:
        return tuple(edge for edge in self.machine.edges if edge.source == row.name)

    def _target(self, edge: machines.EdgeRow, source: machines.StateRow) -> machines.StateRow:
        """The state behind an edge; behind the operation's end all use the ring as it is then.

        That is told by what the node becomes, not by what a row of the table lets requests use.
        """
        for row in self.machine.states:
            if row.name == edge.target:
                return row
        has_changed = (edge.becomes == "normal") is self.moving.joins
        ring: machines.Selector = (
            ("new" if has_changed else "old") if edge.becomes else source.reads
        )
        return machines.StateRow(OVER, (), ring, ring)

    def _moves(self, row: machines.StateRow, met: frozenset[str] = frozenset()) -> bool:
        if (row.reads, row.writes) != (_AT_REST.reads, _AT_REST.writes):
            return True
        return row.name not in met and any(
            self._moves(self._target(edge, row), met | {row.name}) for edge in self._edges(row)
        )

    # -- epochs -----------------------------------------------------------------------------------

    def _add(self, place: _Standing) -> int:
        number, view = len(self.epochs), self._view(place)
        copies, waits = tuple(self._copies(place)), self._drain(place)
        more = place.dead, place.quiet, place.session, waits
        epoch = RangeEpoch(place.version, place.title, view, (), copies, *more)
        self.epochs.append(epoch)
        self.epochs[number] = replace(epoch, edges=tuple(self._behind(place, view)))
        return number

    def _view(self, place: _Standing) -> View:
        row = place.states[0]
        groups = {"old": self.old, "new": self.new, "both": self.old | self.new}
        reads, writes = groups[row.reads], groups[row.writes]
        owners = (reads, reads) if row.reads == row.writes else (self.old, self.new)
        return View(reads, writes, *owners, fence=place.at - place.fence)

    def _behind(self, place: _Standing, now: View) -> Iterator[Edge]:
        for row in place.states:
            if self._drained(row) and self.options.drain_fails and not place.fenced:
                title = f"fence_version is {place.version}"
                fenced = place.then(title=title, fence=place.since, quiet=True, fenced=True)
                yield self._event(now, (), fenced, "commit fence_version")
            if any(work.name == SHUT_DOWN for work in row.work):
                yield self._shut_down(place, row, now)
        yield from self._leads(place, now, first=not place.at)
        over = any(row.name == OVER for row in place.states)
        is_member = (place.states[0].reads == "new") is self.moving.joins  # it joined, or stayed
        if self.next is not None and over and is_member:
            yield from self.next.follow(place, now)

    def follow(self, place: _Standing, now: View) -> Iterator[Edge]:
        waits = tuple(wait for row in place.states for wait in self._barrier(place, row))
        drained = any(self._drained(row) for row in place.states)
        stable = replace(
            place, states=self._joined(_AT_REST), fence=place.since if drained else place.fence
        )
        yield from self._leads(stable, now, first=True, waits=tuple(dict.fromkeys(waits)))

    def _leads(
        self, place: _Standing, now: View, *, first: bool, waits: tuple[Condition, ...] = ()
    ) -> Iterator[Edge]:
        for row in place.states:
            for edge in self._edges(row):
                target = self._target(edge, row)
                if _is_seen(edge, row, target) and not (first and not self._moves(target)):
                    yield self._edge(place, row, edge, target, now, waits)
                    goes_on = any(  # after a pause, where a barrier fails
                        work.barrier == "global" and work.on_failure == "proceed"
                        for work in row.work
                    )
                    if self.options.barrier_fails and edge.kind == "happy" and goes_on:
                        yield self._edge(place, row, edge, target, now, failed=True)

    def _edge(
        self,
        place: _Standing,
        row: machines.StateRow,
        edge: machines.EdgeRow,
        target: machines.StateRow,
        now: View,
        waits: tuple[Condition, ...] = (),
        *,
        failed: bool = False,
    ) -> Edge:
        happy, opens = edge.kind == "happy", edge.session == "opens"
        title = target.name or f"{self.moving.subject} is {edge.becomes}"
        after = place.then(
            states=self._joined(target),
            title=f"{title} ({self.moving.title})",
            version=place.version + 1,
            since=place.at + 1,
            fence=place.since if happy and self._drained(row) else place.fence,
            quiet=False,
            fenced=False,
            session=place.opened + 1 if opens else 0 if edge.session else place.session,
            opened=place.opened + opens,
        )
        waits += self._barrier(place, row) if happy and not failed else ()
        does = "go on to" if failed else "commit" if happy else "roll back to"
        verb = f"{does} {target.name or edge.becomes}"
        awaited = happy and "streams-before-switch" not in self.options.off
        streamed = awaited and any(work.name == STREAM for work in row.work)
        return self._event(now, waits, after, verb, streamed=streamed, aside=failed or not happy)

    def _shut_down(self, place: _Standing, row: machines.StateRow, now: View) -> Edge:
        subject = self.moving.subject
        states = (machines.StateRow(OVER, (), row.reads, row.writes),)
        title, dead = f"{subject} is shut down ({self.moving.title})", self._mask((subject,))
        shut_down = place.then(states=states, title=title, dead=place.dead | dead, quiet=True)
        waits = self._barrier(place, row, SHUT_DOWN)
        return self._event(now, waits, shut_down, f"shut down {subject}")

    def _event(
        self,
        now: View,
        waits: tuple[Condition, ...],
        after: _Standing,
        verb: str,
        *,
        streamed: bool = False,
        aside: bool = False,
    ) -> Edge:
        then = self._view(after)
        switches = then.reads != now.reads and not aside
        regains = 0 if "cleanup-first" in self.options.off else then.writes & ~now.writes
        to = self._add(after)
        return Edge(verb, after.title, to, waits, streamed, switches, regains, aside)

    # -- what is waited for -----------------------------------------------------------------------

    def _drained(self, row: machines.StateRow) -> bool:
        return any(work.barrier == "global" for work in row.work)

    def _barrier(
        self, place: _Standing, row: machines.StateRow, until: str = ""
    ) -> tuple[Condition, ...]:
        before = takewhile(lambda work: work.name != until, row.work)
        barriers, drain = {work.barrier for work in before} - {""}, self._drain(place)
        return drain if "global" in barriers else drain[: len(barriers)]

    def _drain(self, place: _Standing) -> tuple[Condition, ...]:
        everyone = AllKnow(((1 << len(self.code)) - 1) & ~place.dead)
        drains = not place.fenced and "barrier-drains" not in self.options.off
        return (everyone, NothingBelow()) if drains else (everyone,)

    def _copies(self, place: _Standing) -> Iterator[CopyTask]:
        for row in place.states:
            if any(work.name == STREAM for work in row.work):
                is_off = "known-before-streams" in self.options.off
                known = () if is_off else self._barrier(place, row, STREAM)
                for source, target in self.moving.copies:
                    yield CopyTask(self.code[source], self.code[target], known)


def _is_seen(edge: machines.EdgeRow, source: machines.StateRow, target: machines.StateRow) -> bool:
    moved = (source.reads, source.writes) != (target.reads, target.writes)
    return edge.version or moved
