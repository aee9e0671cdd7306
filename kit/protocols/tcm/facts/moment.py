"""What a picture needs to know of a moment, as plain data: rows, epochs, barriers, streams, locks.

Views, the command line and notebooks show these; they never compute protocol facts themselves.
Every function takes the model and a state and is pure. Epochs are absolute.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from msgspec import Struct

from kit.engine.registry import one_of
from kit.errors import BadInput
from kit.protocols.tcm.cluster import TcmCluster
from kit.protocols.tcm.facts.awaited import Awaiting, BarrierRow, StreamRow, awaiting, streams
from kit.protocols.tcm.facts.memo import memo
from kit.protocols.tcm.rules.history import state_of
from kit.protocols.tcm.rules.metadata import Sequence, Snapshot, locks
from kit.protocols.tcm.rules.steps import OPERATION_SPECS, SENTENCES
from kit.protocols.tcm.tcm import planned_tokens
from kit.ring.ranges import Range
from kit.ring.tokens import TokenSpace


class RangeRow(Struct, frozen=True):
    """One range with its read and write group; labels read as in ``(100, 150]``.

    ``locked_by`` is the title of the operation that holds it.
    """

    left: int
    right: int
    left_label: str
    right_label: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    locked_by: str | None = None

    @property
    def label(self) -> str:
        """``(100, 150]``."""
        return f"({self.left_label}, {self.right_label}]"


class LogLine(Struct, frozen=True):
    """One committed epoch: what the event did, and for which operation."""

    epoch: int
    text: str
    operation: str


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


class LockRow(Struct, frozen=True):
    """A locked range."""

    keyspace: str
    left: int
    right: int
    label: str


class OperationRow(Struct, frozen=True):
    """An operation under way, with all that it waits for.

    ``state`` is its state in the diagram of ``kit.protocols.tcm.rules.steps.transitions``.
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

    @property
    def barriers(self) -> tuple[BarrierRow, ...]:
        """The barriers before the next step; of thousands those that are told one by one."""
        return self.awaiting.rows


class NodeRow(Struct, frozen=True):
    """A node: where it is, what it owns, what it is doing.

    ``tokens`` of a newcomer are those that it will own. Of one that moves, ``coming`` are those
    that it will own beside, ``going`` those that it will give up.
    """

    name: str
    dc: str
    rack: str
    tokens: tuple[int, ...]
    status: str
    up: bool
    coming: tuple[int, ...] = ()
    going: tuple[int, ...] = ()


def space(m: TcmCluster) -> TokenSpace:
    """The line of tokens."""
    return m.tcm.cluster.ring.space


def focus(m: TcmCluster) -> Range | None:
    """The part of the line that a worked example shows; None for all of it."""
    return m.tcm.cluster.focus


def keyspaces(m: TcmCluster) -> tuple[str, ...]:
    """The names of all keyspaces."""
    return tuple(keyspace.name for keyspace in m.tcm.cluster.keyspaces)


def replication(m: TcmCluster, keyspace: str | None = None) -> str:
    """A keyspace's replication in words."""
    replicated = next(k for k in m.tcm.cluster.keyspaces if k.name == _keyspace(m, keyspace))
    return replicated.replication.label


def _keyspace(m: TcmCluster, keyspace: str | None) -> str:
    names = keyspaces(m)
    if keyspace is None:
        return names[0]
    if keyspace not in names:
        raise BadInput("keyspace", keyspace, one_of(keyspace, list(names)))
    return keyspace


def epoch(m: TcmCluster, s: Any) -> int:
    """The newest committed epoch."""
    return m.snapshot(s).metadata.epoch


def computations(m: TcmCluster) -> int:
    """How often this model has computed placements so far, on all the ways it was taken."""
    return m.tcm.computations


def computed(_: TcmCluster, s: Any) -> int:
    """How often placements are computed on the way to a state: at the start and once an epoch."""
    return 1 + len(s.tcm.events)


def stable(m: TcmCluster, s: Any) -> bool:
    """Whether every range is read from exactly where it is written to."""

    def work() -> bool:
        return all(p.reads == p.writes for p in m.snapshot(s).placements)

    return memo(m, ("stable", s.tcm.events), work)


def rows(
    m: TcmCluster, s: Any, keyspace: str | None = None, at: int | None = None
) -> tuple[RangeRow, ...]:
    """The ranges of a keyspace with their groups, at the newest epoch or at epoch ``at``.

    Read and write tables have equal ranges, unless a safeguard is off; then a range that only
    one of them has shows an empty group in the other. A local keyspace has no rows.

    Raises:
        BadInput: for an unknown keyspace.
    """
    return _rows(m, m.snapshot(s, at), _keyspace(m, keyspace))


def _rows(m: TcmCluster, snapshot: Snapshot, keyspace: str) -> tuple[RangeRow, ...]:
    group = snapshot.metadata.group_of(keyspace)
    if group is None:
        return ()
    placement = snapshot.placements[group]
    reads = {(r.left, r.right): r.replicas for r in placement.reads.rows(m.names)}
    writes = {(r.left, r.right): r.replicas for r in placement.writes.rows(m.names)}
    held = [
        (locked, sequence.plan.operation.title)
        for sequence in snapshot.metadata.sequences
        for at, locked in locks(sequence)
        if at == group
    ]
    line = space(m)
    rows = []
    for left, right in sorted({*reads, *writes}):
        owner = next((title for r, title in held if r.left < right and left < r.right), None)
        bounds = (left, right, line.label(left), line.label(right))
        pair = (reads.get((left, right), ()), writes.get((left, right), ()))
        rows.append(RangeRow(*bounds, *pair, owner))
    return tuple(rows)


def owners(m: TcmCluster, s: Any, token: int, keyspace: str | None = None) -> RangeRow:
    """The row that serves a token: a look-up, which computes no placement.

    Raises:
        BadInput: when the token lies in no range: outside the space, or at its lowest end.
    """
    space(m).check(token, "token")
    for row in rows(m, s, keyspace):
        if row.left < token <= row.right:
            return row
    raise BadInput("token", token, f"above {space(m).low}, of a keyspace that is replicated")


def log(m: TcmCluster, s: Any) -> tuple[LogLine, ...]:
    """Every committed epoch, oldest first."""
    lines = []
    events = s.tcm.events
    while len(events):
        event = m.tcm.committed(events)
        lines.append(LogLine(event.epoch, event.text, event.operation.title))
        events = events.shorter()
    return tuple(reversed(lines))


def applied(m: TcmCluster, s: Any) -> tuple[AppliedEpochs, ...]:
    """How far each node is that has a part in the cluster now."""
    key = ("applied", s.log, s.tcm.events, s.tcm.down)
    return memo(m, key, lambda: _applied(m, s))


def _applied(m: TcmCluster, s: Any) -> tuple[AppliedEpochs, ...]:
    present = set(m.tcm.present(s.tcm)) | set(s.tcm.down)
    nodes = []
    for name, applied, held in zip(m.names, s.log.applied, s.log.held, strict=True):
        if name in present:
            above = range(applied, held.bit_length()) if held else ()
            waiting = tuple([m.log.epoch_of(i + 1) for i in above if held >> i & 1])
            up = name not in s.tcm.down
            nodes.append(AppliedEpochs(name, m.parameters.epoch + applied, up, waiting))
    return tuple(nodes)


def nodes(m: TcmCluster, s: Any) -> tuple[NodeRow, ...]:
    """Every node that is, or may come to be, part of the cluster."""
    return memo(m, ("nodes", s.tcm.events, s.tcm.down), lambda: _nodes(m, s))


def token_count(m: TcmCluster, s: Any) -> int:
    """How many tokens the nodes have, those that newcomers will own among them."""
    key = ("tokens", s.tcm.events, s.tcm.down)
    return memo(m, key, lambda: sum(len(node.tokens) for node in nodes(m, s)))


def _nodes(m: TcmCluster, s: Any) -> tuple[NodeRow, ...]:
    metadata = m.snapshot(s).metadata
    status = {
        sequence.node: OPERATION_SPECS[sequence.plan.operation.kind].status
        for sequence in metadata.sequences
    }
    first = m.tcm.cluster.ring
    rows = []
    for node, begun in zip(metadata.ring.nodes, first.nodes, strict=True):
        now = "joined" if node.tokens else ("left" if begun.tokens else "registered")
        own, planned = node.tokens, planned_tokens(metadata.sequences, node.name)
        coming = tuple(token for token in planned if own and token not in own)
        going = tuple(token for token in own if token not in planned) if planned else ()
        up, place = node.name not in s.tcm.down, (node.name, node.dc, node.rack)
        doing = status.get(node.name, now)
        rows.append(NodeRow(*place, own or planned, doing, up, coming, going))
    return tuple(rows)


def operations(m: TcmCluster, s: Any) -> tuple[OperationRow, ...]:
    """Every operation under way that somebody remembers."""
    sequences = m.tcm.sequences(s.tcm)
    return memo(m, ("operations", s), lambda: tuple(_operation(m, s, each) for each in sequences))


def _operation(m: TcmCluster, s: Any, sequence: Sequence) -> OperationRow:
    operation = sequence.plan.operation
    known = s.tcm.events, operation.node
    return OperationRow(
        operation.node,
        operation.kind,
        operation.title,
        state_of(sequence),
        _steps(sequence),
        memo(m, ("barriers", *known, s.log.applied), partial(awaiting, m, s, sequence)),
        memo(m, ("streams", *known, s.tcm.streamed, s.tcm.down), partial(streams, m, s, sequence)),
        memo(m, ("locks", *known), partial(_locks, m, s, sequence)),
        bool(sequence.undoing),
    )


def _steps(sequence: Sequence) -> tuple[StepRow, ...]:
    def status(i: int) -> str:
        return "done" if i < sequence.done else "next" if i == sequence.done else "pending"

    return tuple(
        StepRow(step.name, SENTENCES[step.name], status(i)) for i, step in enumerate(sequence.steps)
    )


def _locks(m: TcmCluster, s: Any, sequence: Sequence) -> tuple[LockRow, ...]:
    metadata = m.snapshot(s).metadata
    return tuple(
        LockRow(keyspace, locked.left, locked.right, locked.label(space(m)))
        for group, locked in locks(sequence)
        for keyspace in metadata.keyspaces_of(group)
    )
