"""What a picture needs to know of a moment, as plain data: rows, epochs, barriers, streams, locks.

And what an operator asks: bytes per node, quorums after one more death, what may begin. Every
function takes the model and a state and is pure. Epochs are absolute.
"""

import re
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from collections.abc import Sequence as Several
from functools import partial, wraps
from itertools import combinations
from operator import attrgetter
from typing import Any, Literal, ParamSpec, TypeAlias, TypeVar, cast
from weakref import WeakKeyDictionary

from msgspec import Struct
from msgspec.structs import replace

from kit.errors import BadInput, Refusal
from kit.model.registry import check_one_of
from kit.protocols.tcm.cluster import LevelState, PauseState, TcmCluster
from kit.protocols.tcm.rules import metadata as rules
from kit.protocols.tcm.rules import operations as ops
from kit.protocols.tcm.rules.barrier import Barrier, is_done
from kit.protocols.tcm.rules.quorums import levels, pending, quorums_apart
from kit.protocols.tcm.tcm import planned_tokens
from kit.ring.columns import np
from kit.ring.placements import Table
from kit.ring.ranges import Range
from kit.ring.replication import by_datacenter
from kit.ring.sizes import Sizes, sizes_of
from kit.ring.tokens import TokenSpace
from kit.ring.topology import Mask, Ring

P = ParamSpec("P")
T = TypeVar("T")
MOST = 4096
"""Facts kept of one model; beyond, the oldest go."""
_MEMOS: WeakKeyDictionary[Any, OrderedDict[Hashable, Any]] = WeakKeyDictionary()


def memo(m: Any, key: Hashable, work: Callable[[], T]) -> T:
    """The result of ``work``, worked out once for a model and key; ``work`` is pure."""
    known = _MEMOS.setdefault(m, OrderedDict())
    if key not in known:
        worked_out = work()
        if len(known) >= MOST:
            known.popitem(last=False)
        known[key] = worked_out
    result: T = known[key]
    return result


def kept(*parts: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """A pure function of a model and a state, worked out once for these parts of the state."""
    of = attrgetter(*parts)

    def keeping(work: Callable[P, T]) -> Callable[P, T]:
        @wraps(work)
        def known(*args: P.args, **kwargs: P.kwargs) -> T:
            m, s, *more = cast(tuple[Any, ...], args)
            return memo(m, (work, of(s), *more), lambda: work(*args, **kwargs))

        return known

    return keeping


def kept_rows(*parts: str) -> Callable[[Callable[P, Iterable[T]]], Callable[P, tuple[T, ...]]]:
    """The same of a function that gives rows one by one."""

    def keeping(work: Callable[P, Iterable[T]]) -> Callable[P, tuple[T, ...]]:
        return kept(*parts)(wraps(work)(lambda *args, **kwargs: tuple(work(*args, **kwargs))))

    return keeping


MOST_TOLD = 256
"""Barriers of an operation that are told one by one."""


class LockRow(Struct, frozen=True):
    """A range of a keyspace: a locked one, or one that more is said of."""

    keyspace: str
    left: int
    right: int
    label: str


class BarrierRow(LockRow, frozen=True):
    """The barrier of one range before the next step, with its evidence."""

    dc: str | None
    replicas: tuple[str, ...]
    needed: int
    acked: tuple[str, ...]
    missing: tuple[str, ...]
    met: bool
    epoch: int

    @property
    def where(self) -> str:
        """The range, and the datacenter if its majority is counted alone."""
        return f"{self.label} {self.dc}" if self.dc else self.label


class StreamRow(LockRow, frozen=True):
    """One range that must be on ``target`` before the read switch, and who streams it."""

    sources: tuple[str, ...]
    target: str
    done: bool
    bytes: int | None = None


class Awaiting(Struct, frozen=True):
    """The barriers before a step: rows, and how many there are in all and are not met.

    Of more than ``MOST_TOLD`` barriers those that are not met come first, as many as there is room.
    """

    rows: tuple[BarrierRow, ...]
    count: int
    unmet: int


def awaiting(
    m: TcmCluster, s: Any, sequence: rules.Sequence, most: int | None = MOST_TOLD
) -> Awaiting:
    """What the sequence's next step waits for, a row per keyspace and range; None: every row."""
    every, known, metadata = m.barriers(s, sequence), m.applied(s), m.snapshot(s).metadata
    alike = [metadata.keyspaces_of(group) for group in range(len(metadata.groups))]
    unmet = [barrier for barrier in every if not barrier.met(known)]
    chosen = every
    if most is not None and len(every) > most:
        chosen = (*unmet, *(barrier for barrier in every if barrier.met(known)))[:most]
    rows = (_barrier(m, name, each, known) for each in chosen for name in alike[each.group])
    count, lacking = (sum(len(alike[each.group]) for each in some) for some in (every, unmet))
    return Awaiting(tuple(rows), count, lacking)


def _barrier(m: TcmCluster, keyspace: str, barrier: Barrier, known: Several[int]) -> BarrierRow:
    names = {code: m.names[code] for code in barrier.replicas}
    acked = barrier.acked(known)
    return BarrierRow(
        *_bounds(m, keyspace, barrier.range),
        barrier.dc,
        tuple(names.values()),
        barrier.needed,
        tuple([names[code] for code in acked]),
        tuple([name for code, name in names.items() if code not in acked]),
        len(acked) >= barrier.needed,
        barrier.epoch,
    )


def _bounds(m: TcmCluster, keyspace: str, range_: Range) -> tuple[str, int, int, str]:
    return keyspace, range_.left, range_.right, range_.label(space(m))


def sizes(m: TcmCluster) -> Sizes | None:
    """The bytes that the ring holds, as far as they are known."""
    if (stored := m.parameters.stored) is None or not (stored.nodes or stored.ranges):
        return None
    cluster = m.tcm.cluster
    return memo(m, "sizes", lambda: sizes_of(stored, cluster.ring, cluster.keyspaces))


def streams(m: TcmCluster, s: Any, sequence: rules.Sequence) -> tuple[StreamRow, ...]:
    """All that the operation copies, done or not; empty once reads have switched."""
    if sequence.undoing or rules.has_switched(sequence):
        return ()
    return tuple(to_stream(m, s, sequence, m.tcm.streamed(s.tcm, sequence.node)))


def to_stream(m: TcmCluster, s: Any, sequence: rules.Sequence, mask: int) -> Iterator[StreamRow]:
    """All that an operation copies; ``mask`` has the tasks that are done."""
    plan = sequence.plan  # it is kept, so that no other has its identity
    key = ("to stream", id(plan), s.tcm.down)
    for i, row in memo(m, key, lambda: (plan, tuple(_tasked(m, s, sequence))))[1]:
        yield replace(row, done=True) if is_done(mask, i) else row


def _tasked(m: TcmCluster, s: Any, sequence: rules.Sequence) -> Iterator[tuple[int, StreamRow]]:
    metadata, known = m.snapshot(s).metadata, sizes(m)
    # In the documents each source sends all of a range; the server copies from any of them.
    each = m.parameters.edition == "documents"
    for i, task in enumerate(sequence.plan.tasks):
        for transfer in task.transfers:
            alone = rules.StreamTask(transfer.target, transfer.displaced, (transfer,))
            names = tuple(m.tcm.sent(s.tcm, sequence, alone))
            for keyspace in metadata.keyspaces_of(transfer.group):
                bounds = _bounds(m, keyspace, transfer.range)
                size = known.of(*bounds[:3], names, each=each) if known else None
                yield i, StreamRow(*bounds, names, m.names[task.target], False, size)


class RangeRow(Struct, frozen=True):
    """One range with its read and write group; ``locked_by`` is the title of what holds it."""

    left: int
    right: int
    label: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    locked_by: str | None = None

    @property
    def key(self) -> str:
        """The key of its picture."""
        return range_key(self.left, self.right)


class AppliedEpochs(Struct, frozen=True):
    """How far a node has applied the log; ``held`` are epochs it holds back above a gap."""

    node: str
    epoch: int
    up: bool
    held: tuple[int, ...] = ()


class StepRow(Struct, frozen=True):
    """A step of an operation: ``done``, ``next`` or ``pending``."""

    name: str
    text: str
    status: str


class OperationRow(Struct, frozen=True):
    """An operation under way, with all that it waits for; ``state`` is that of its diagram.

    ``level`` is that of its barriers, where it is another one than the edition's own.
    """

    node: str
    kind: str
    title: str
    state: str
    steps: tuple[StepRow, ...]
    awaiting: Awaiting
    streams: tuple[StreamRow, ...]
    locks: tuple[LockRow, ...]
    cancelling: bool
    level: ops.Level | Literal[""] = ""

    @property
    def asks(self) -> str:
        """Whose answers its barriers ask for, where it is not what the edition asks for."""
        return f"Barrier at {self.level}: {ops.LEVELS[self.level]}." if self.level else ""

    @property
    def barriers(self) -> tuple[BarrierRow, ...]:
        """The barriers before the next step; of thousands those that are told one by one."""
        return self.awaiting.rows


class NodeRow(Struct, frozen=True):
    """A node: where it is, what it owns, what it is doing.

    ``tokens`` of a newcomer are those that it will own. Of one that moves, ``coming`` are those
    that it will own beside.
    """

    name: str
    dc: str
    rack: str
    tokens: tuple[int, ...]
    status: str
    up: bool
    coming: tuple[int, ...] = ()


def space(m: TcmCluster) -> TokenSpace:
    """The line of tokens."""
    return m.tcm.cluster.ring.space


def focus(m: TcmCluster) -> Range | None:
    """The part of the line that a worked example shows; None for all of it."""
    return m.tcm.cluster.focus


def inside(m: TcmCluster, row: RangeRow) -> bool:
    """Whether a range lies in that part."""
    part = focus(m)
    return part is None or (part.left <= row.left and row.right <= part.right)


def touches(m: TcmCluster, row: RangeRow | LockRow) -> bool:
    """Whether some of a range lies in that part."""
    part = focus(m)
    return part is None or (row.left < part.right and part.left < row.right)


def keyspaces(m: TcmCluster) -> tuple[str, ...]:
    """The names of all keyspaces."""
    return tuple(keyspace.name for keyspace in m.tcm.cluster.keyspaces)


def replication(m: TcmCluster, keyspace: str) -> str:
    """A keyspace's replication in words."""
    return next(k.replication.label for k in m.tcm.cluster.keyspaces if k.name == keyspace)


@kept("tcm.events")
def stable(m: TcmCluster, s: Any) -> bool:
    """Whether every range is read from exactly the nodes it is written to."""
    return all(p.reads == p.writes for p in m.snapshot(s).placements)


def rows(
    m: TcmCluster, s: Any, keyspace: str | None = None, at: int | None = None
) -> tuple[RangeRow, ...]:
    """The ranges of a keyspace with their groups, at the newest epoch or at epoch ``at``.

    Read and write tables have equal ranges, unless a safeguard is off; then a range that only
    one of them has shows an empty group in the other. A local keyspace has no rows.
    """
    names, snapshot = keyspaces(m), m.snapshot(s, at)
    keyspace = names[0] if keyspace is None else keyspace
    check_one_of("keyspace", keyspace, names)
    if (group := snapshot.metadata.group_of(keyspace)) is None:
        return ()
    placement = snapshot.placements[group]
    reads = {(r.left, r.right): r.replicas for r in placement.reads.rows(m.names)}
    writes = {(r.left, r.right): r.replicas for r in placement.writes.rows(m.names)}
    held, line, rows = holders(snapshot, group), space(m), []
    for left, right in sorted({*reads, *writes}):
        owner = next((title for r, title in held if r.left < right and left < r.right), None)
        bounds = (left, right, Range(left, right).label(line))
        pair = (reads.get((left, right), ()), writes.get((left, right), ()))
        rows.append(RangeRow(*bounds, *pair, owner))
    return tuple(rows)


def holders(snapshot: rules.Snapshot, group: int) -> list[tuple[Range, str]]:
    """The locked ranges of a group, each with the title of the operation that holds it."""
    return [
        (locked, sequence.plan.operation.title)
        for sequence in snapshot.metadata.sequences
        for locked in sequence.plan.movements[group].locked
    ]


def owners(m: TcmCluster, s: Any, token: int, keyspace: str | None = None) -> RangeRow:
    """The row that serves a token, looked up; BadInput at the lowest end and outside the line."""
    space(m).check(token, "token")
    for row in rows(m, s, keyspace):
        if row.left < token <= row.right:
            return row
    raise BadInput("token", token, f"a token above {space(m).low} in a replicated keyspace")


def log(m: TcmCluster, s: Any) -> tuple[rules.Committed, ...]:
    """Every committed epoch, oldest first: what the event did, and for which operation."""
    lines, events = [], s.tcm.events
    while len(events):
        lines.append(m.tcm.committed(events))
        events = events.shorter()
    return tuple(reversed(lines))


@kept_rows("log", "tcm.events", "tcm.down")
def applied(m: TcmCluster, s: Any) -> Iterator[AppliedEpochs]:
    """How far each node is that has a part in the cluster now."""
    yield from _applied(m, s, set(m.tcm.present(s.tcm)) | set(s.tcm.down))


def _applied(m: TcmCluster, s: Any, names: Collection[str]) -> Iterator[AppliedEpochs]:
    for name, applied, held in zip(m.names, s.log.applied, s.log.held, strict=True):
        if name in names:
            above = range(applied, held.bit_length()) if held else ()
            waiting = tuple([m.log.epoch_of(i + 1) for i in above if held >> i & 1])
            up = name not in s.tcm.down
            yield AppliedEpochs(name, m.parameters.epoch + applied, up, waiting)


@kept_rows("tcm.events", "tcm.down")
def nodes(m: TcmCluster, s: Any) -> Iterator[NodeRow]:
    """Every node that is, or may come to be, part of the cluster."""
    metadata = m.snapshot(s).metadata
    status = {
        sequence.node: ops.OPERATION_SPECS[sequence.plan.operation.kind].status
        for sequence in metadata.sequences
    }
    for node, begun in zip(metadata.ring.nodes, m.tcm.cluster.ring.nodes, strict=True):
        now = "joined" if node.tokens else ("left" if begun.tokens else "registered")
        own, planned = node.tokens, planned_tokens(metadata.sequences, node.name)
        coming = tuple(token for token in planned if own and token not in own)
        up, place = node.name not in s.tcm.down, (node.name, node.dc, node.rack)
        yield NodeRow(*place, own or planned, status.get(node.name, now), up, coming)


@kept_rows("log", "tcm.events", "tcm.down")
def reached(m: TcmCluster, s: Any) -> Iterator[AppliedEpochs]:
    """How far each node is, also one that has no part in the cluster."""
    yield from _applied(m, s, m.names)


def notices(m: TcmCluster, s: Any) -> Iterator[str]:
    """What a test holds back, whose barrier asks for less than at first."""
    for verb in getattr(s, "test", PauseState()).held:
        yield f"The test holds back: {verb}."
    for node, level in getattr(s, "levels", LevelState()).relaxed:
        yield f"The barrier of {node} asks for {level}: {ops.LEVELS[level]}."


@kept("tcm.events", "tcm.streamed", "tcm.down")
def arriving(m: TcmCluster, s: Any) -> dict[str, str]:
    """The nodes to which operations stream, each with how many ranges have arrived: ``1/3``."""
    done: dict[str, list[bool]] = {}
    for operation in operations(m, s):
        for row in operation.streams:
            done.setdefault(row.target, []).append(row.done)
    return {name: f"{sum(each)}/{len(each)} copied" for name, each in done.items()}


def operations(m: TcmCluster, s: Any) -> tuple[OperationRow, ...]:
    """Every operation under way that somebody remembers."""
    sequences = m.tcm.sequences(s.tcm)
    return memo(m, ("operations", s), lambda: tuple(_operation(m, s, each) for each in sequences))


def _operation(m: TcmCluster, s: Any, sequence: rules.Sequence) -> OperationRow:
    operation = sequence.plan.operation
    known, level = (s.tcm.events, operation.node), m.level(s, operation.node)
    return OperationRow(
        operation.node,
        operation.kind,
        operation.title,
        rules.state_of(sequence),
        tuple(
            StepRow(step.name, ops.SENTENCES[step.name], _standing(i - sequence.done))
            for i, step in enumerate(sequence.steps)
        ),
        memo(m, ("barriers", *known, s.log.applied, level), partial(awaiting, m, s, sequence)),
        memo(m, ("streams", *known, s.tcm.streamed, s.tcm.down), partial(streams, m, s, sequence)),
        memo(m, ("locks", *known), partial(_locks, m, s, sequence)),
        bool(sequence.undoing),
        "" if level == ops.OWN_LEVEL[m.parameters.edition] else level,
    )


def _standing(ahead: int) -> str:
    return "done" if ahead < 0 else "pending" if ahead else "next"


def _locks(m: TcmCluster, s: Any, sequence: rules.Sequence) -> tuple[LockRow, ...]:
    metadata = m.snapshot(s).metadata
    return tuple(
        LockRow(*_bounds(m, keyspace, locked))
        for group, locked in rules.locks(sequence)
        for keyspace in metadata.keyspaces_of(group)
    )


Voters: TypeAlias = tuple[int, tuple[str, ...]]
"""An epoch, and who makes up a majority at it."""


def range_key(left: int, right: int) -> str:
    """The key of a range; that of a node is its name."""
    return f"range:{left}:{right}"


def about(m: TcmCluster, s: Any, witness: str) -> frozenset[str]:
    """The keys of the nodes and ranges that a witness names."""
    words = {word.rstrip(".") for word in re.findall(r"[^\s,;:{}()]+", witness)}
    named = {name for name in m.names if name in words}
    every = (row for keyspace in keyspaces(m) for row in rows(m, s, keyspace))
    ranges = (row.key for row in every if row.label in witness)
    return frozenset(named.union(ranges))


@kept("tcm.events", "log.applied")
def missed(m: TcmCluster, s: Any) -> tuple[int, Voters, Voters] | None:
    """The first majorities that miss each other, of this epoch, the one before or any in use: the
    last token of a range, who reads and who is written to, without a common node.
    """
    if m.quorums_meet(s) is None:  # a verdict that is kept; the search below is not
        return None
    apart = quorums_apart(m.pairings(s.tcm.events, s.log.applied))
    assert apart is not None, "the verdict is of the same majorities"
    reads, writes = (tuple(m.names[code] for code in side) for side in (apart.reads, apart.writes))
    epochs = apart.reader.metadata.epoch, apart.writer.metadata.epoch
    return apart.token, (epochs[0], reads), (epochs[1], writes)


Side = Literal["reads", "writes", "reads and writes"]
Status = Literal["planned", "under way", "done", "cancelled"]


RangeCopy: TypeAlias = tuple[str, StreamRow]
"""A range that is streamed, after one of the nodes that stream it."""


class Load(Struct, frozen=True):
    """The streams (a range from one source) and bytes of a node; None: no size of any is known."""

    node: str
    sends: int
    sent: int
    sends_bytes: int | None
    receives: int
    received: int
    receives_bytes: int | None


class Loss(Struct, frozen=True):
    """The parts of a level that would break with one more node, and those that are broken as it is.

    ``nodes`` are (name, ranges) whose death takes the quorum from ranges that have one, the most
    ranges first; ``first`` is a range that the first of them breaks. ``broken`` counts the ranges
    that have no quorum now, ``broken_first`` is one.
    """

    keyspaces: tuple[str, ...]
    side: Side
    level: str
    nodes: tuple[tuple[str, int], ...]
    first: str | None
    broken: int
    broken_first: str | None

    @property
    def ok(self) -> bool:
        """Whether every range has its quorum and keeps it whichever one node dies."""
        return not self.nodes and not self.broken


class Planned(Struct, frozen=True):
    """An operation of the dry run as it stands; ``refusal`` is why it may not begin now."""

    operation: ops.Operation
    status: Status
    refusal: Refusal | None = None


class OperationPair(Struct, frozen=True):
    """Two operations that have not begun: why they may not be under way at once, or None."""

    first: ops.Operation
    second: ops.Operation
    refusal: Refusal | None


# -- bytes and streams ----------------------------------------------------------------------------


@kept_rows("tcm.events", "tcm.streamed", "tcm.down")
def copies(m: TcmCluster, s: Any) -> Iterator[RangeCopy]:
    """All that the operations begun so far stream, done or not; not what was cancelled."""
    for sequence, mask in _begun(m, s):
        for row in to_stream(m, s, sequence, mask):
            yield from ((name, row) for name in row.sources)


def _begun(m: TcmCluster, s: Any) -> Iterator[tuple[rules.Sequence, int]]:
    begun: list[rules.Sequence] = []
    for epoch, event in enumerate(s.tcm.events, m.parameters.epoch + 1):
        if isinstance(event, rules.Begin):
            sequence = m.snapshot(s, epoch).metadata.sequence(event.operation.node)
            begun += [sequence] if sequence is not None else []
        elif isinstance(event, rules.Cancel):
            begun.pop(max(i for i, taken_back in enumerate(begun) if taken_back.node == event.node))
    latest = {sequence.node: sequence for sequence in begun}
    for sequence in begun:
        node = sequence.node
        now = m.tcm.sequence(s.tcm, node) if latest[node] is sequence else None
        moved = now is None or rules.has_switched(now)
        yield sequence, -1 if moved else m.tcm.streamed(s.tcm, node)


@kept("tcm.events", "tcm.streamed", "tcm.down")
def traffic(m: TcmCluster, s: Any) -> tuple[Load, ...]:
    """What each node sends and receives: who sends the most bytes (or streams) comes first."""
    return traffic_of(copies(m, s))


def traffic_of(copies: Iterable[RangeCopy]) -> tuple[Load, ...]:
    """The load of each node that sends or receives these copies, the one that sends most first.

    The bytes of a node are not known where those of one of its copies are not.
    """
    given = tuple(copies)
    known = any(copy.bytes is not None for _, copy in given)
    sent, received = (
        defaultdict[str, list[StreamRow]](list),
        defaultdict[str, list[StreamRow]](list),
    )
    for source, copy in given:
        sent[source].append(copy)
        received[copy.target].append(copy)

    def sums(some: list[StreamRow]) -> tuple[int, int, int | None]:
        sizes = [copy.bytes for copy in some if copy.bytes is not None]
        size = sum(sizes) if known and len(sizes) == len(some) else None
        return len(some), sum(copy.done for copy in some), size

    names = dict.fromkeys(name for source, copy in given for name in (source, copy.target))
    loads = [Load(name, *sums(sent[name]), *sums(received[name])) for name in names]
    return tuple(sorted(loads, key=lambda x: (-(x.sends_bytes or 0), -x.sends, -x.receives)))


# -- one more death -------------------------------------------------------------------------------


@kept("tcm.events", "tcm.down")
def losses(m: TcmCluster, s: Any) -> tuple[Loss, ...]:
    """Which quorums one more death would break: QUORUM, and LOCAL_QUORUM by datacenter."""
    return losses_of(m.snapshot(s), s.tcm.down)


def losses_of(snapshot: rules.Snapshot, down: Collection[str]) -> tuple[Loss, ...]:
    """The same of one epoch, with these nodes down."""
    ring = snapshot.metadata.ring
    dead = np.array([name in down for name in ring.names], np.bool_)
    dcs = np.array([node.dc for node in ring.nodes])
    lost: list[Loss] = []
    for group, placement in enumerate(snapshot.placements):
        factors = by_datacenter(snapshot.metadata.groups[group], ring)
        local = {dc: dcs == dc for dc, factor in factors.items() if dc and factor}
        names, counting = snapshot.metadata.keyspaces_of(group), (local, dead, factors)
        reads = writes = _of_table(ring, placement.reads, (*counting, None), names, "reads")
        if placement.reads != placement.writes:
            late = _late(placement.writes, placement.reads)
            writes = _of_table(ring, placement.writes, (*counting, late), names, "writes")
        for of_reads, of_writes in zip(reads, writes, strict=True):
            same = replace(of_writes, side="reads") == of_reads
            lost += [replace(of_reads, side="reads and writes")] if same else [of_reads, of_writes]
    return tuple(lost)


def _late(writes: Table, reads: Table) -> Mask | None:
    """The pending replicas of each row; None where reads do not cut the line into pieces."""
    if not (len(reads) and reads.partitions):
        return None
    at = np.searchsorted(reads.rights, writes.rights).clip(max=len(reads) - 1)
    return pending(writes.groups, reads.groups[at])


def _of_table(
    ring: Ring,
    table: Table,
    counting: tuple[dict[str, Mask], Mask, dict[str, int], Mask | None],
    names: tuple[str, ...],
    side: Side,
) -> list[Loss]:
    def label(row: int) -> str:
        return table.range_of(row).label(ring.space)

    lost = []
    for level in levels(np.ascontiguousarray(table.groups.T), *counting):
        if level.name == "ONE":
            continue
        nodes, rows = level.lost_with_one()
        counts = np.bincount(nodes, minlength=len(ring.names))
        order = [int(code) for code in np.argsort(-counts, kind="stable") if counts[code]]
        fragile = tuple((ring.names[code], int(counts[code])) for code in order)
        first = label(int(rows[nodes == order[0]].min())) if order else None
        broken = np.flatnonzero(level.spare < 0).tolist()
        broken_first = label(broken[0]) if broken else None
        lost.append(Loss(names, side, level.name, fragile, first, len(broken), broken_first))
    return lost


# -- what may begin -------------------------------------------------------------------------------


@kept_rows("tcm.events", "tcm.down")
def planned(m: TcmCluster, s: Any) -> Iterator[Planned]:
    """Every operation of the dry run: whether it may begin now, is under way, done or cancelled."""
    of_node, ended = dict[str, ops.Operation](), dict[ops.Operation, Status]()
    for event in s.tcm.events:
        if isinstance(event, rules.Begin):
            of_node[event.operation.node] = event.operation
            ended[event.operation] = "done"
        elif isinstance(event, rules.Cancel):
            ended[of_node[event.node]] = "cancelled"
    for operation in m.tcm.cluster.operations:
        sequence = m.tcm.sequence(s.tcm, operation.node)
        if sequence is not None and sequence.plan.operation == operation:
            yield Planned(operation, "under way")
        elif operation in ended:
            yield Planned(operation, ended[operation])
        else:
            yield Planned(operation, "planned", m.refusal(s, m.wrap["tcm"](rules.Begin(operation))))


@kept_rows("tcm.events", "tcm.down")
def pairs(m: TcmCluster, s: Any) -> Iterator[OperationPair]:
    """Whether two operations may be under way at once, for all that may begin now."""
    metadata, resolved = m.snapshot(s).metadata, m.tcm.cluster.resolved
    free = [row.operation for row in planned(m, s) if row.status == "planned" and not row.refusal]
    for first, second in combinations(free, 2):
        refusal = rules.together(metadata, resolved[first], resolved[second], m.tcm.switches)
        yield OperationPair(first, second, refusal)
