"""What an operator asks of each step: bytes per node, quorums after one more death, what may begin.

As in ``kit.protocols.tcm.facts.moment``, every function takes the model and a state, and is
pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import partial
from itertools import combinations
from typing import Any, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from kit.engine.log import Log
from kit.errors import Refusal
from kit.protocols.tcm.cluster import TcmCluster
from kit.protocols.tcm.facts.memo import memo
from kit.protocols.tcm.rules.levels import Level, Mask, levels
from kit.protocols.tcm.rules.metadata import Begin, Cancel, Sequence, Snapshot, StreamTask, Transfer
from kit.protocols.tcm.rules.operations import Operation
from kit.protocols.tcm.rules.permit import together
from kit.protocols.tcm.rules.streams import is_done, tasks
from kit.ring.placements import Table
from kit.ring.ranges import Range
from kit.ring.replication import NetworkTopologyStrategy
from kit.ring.sizes import Sizes, sizes_of
from kit.ring.topology import Ring

Side = Literal["reads", "writes", "reads and writes"]
Status = Literal["planned", "under way", "done"]


class RangeCopy(Struct, frozen=True):
    """One range that one node streams to another; ``bytes`` is None when no size is known."""

    keyspace: str
    source: str
    target: str
    bytes: int | None
    done: bool


class Load(Struct, frozen=True):
    """What a node sends and receives, of all operations begun so far: streams and bytes.

    A stream is one range from one source. Bytes are None when no size of any of them is known.
    """

    node: str
    sends: int
    sent: int
    sends_bytes: int | None
    receives: int
    received: int
    receives_bytes: int | None


class Loss(Struct, frozen=True):
    """What of a level would break with one more node, and what is broken as it is.

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

    operation: Operation
    status: Status
    refusal: Refusal | None = None


class OperationPair(Struct, frozen=True):
    """Two operations that have not begun: why they may not be under way at once, or None."""

    first: Operation
    second: Operation
    refusal: Refusal | None


def is_dry_run(m: TcmCluster) -> bool:
    """Whether the model is of somebody's own ring."""
    return m.parameters.stored is not None


def sizes(m: TcmCluster) -> Sizes | None:
    """What is known of the bytes that the ring holds."""
    stored = m.parameters.stored
    if stored is None or not (stored.nodes or stored.ranges):
        return None
    cluster = m.tcm.cluster
    return memo(m, "sizes", lambda: sizes_of(stored, cluster.ring, cluster.keyspaces))


# -- bytes and streams ----------------------------------------------------------------------------


def copies(m: TcmCluster, s: Any) -> tuple[RangeCopy, ...]:
    """All that the operations begun so far stream, done or not; not what was cancelled."""
    key = ("copies", s.tcm.events, s.tcm.streamed, s.tcm.down)
    return memo(m, key, lambda: tuple(_copies(m, s)))


def _copies(m: TcmCluster, s: Any) -> Iterator[RangeCopy]:
    for sequence, mask in _begun(m, s):
        key = ("to copy", _begun_by(m, s, sequence), s.tcm.down)
        for i, copy in memo(m, key, partial(_to_copy, m, s, sequence)):
            yield replace(copy, done=True) if is_done(mask, i) else copy


def _begun_by(m: TcmCluster, s: Any, sequence: Sequence) -> Log:
    """The events up to the one that began an operation: its plan follows from them."""
    events: Log = s.tcm.events
    while m.parameters.epoch + len(events) > sequence.epoch:
        events = events.shorter()
    return events


def _to_copy(m: TcmCluster, s: Any, sequence: Sequence) -> list[tuple[int, RangeCopy]]:
    """All that an operation streams, each with the number of its task, as if none were done."""
    return list(_tasked(m, s, sequence))


def _tasked(m: TcmCluster, s: Any, sequence: Sequence) -> Iterator[tuple[int, RangeCopy]]:
    known = sizes(m)
    for i, task in enumerate(tasks(sequence)):
        for transfer in task.transfers:
            names = sources(m, s, sequence, transfer)
            left, right = transfer.range.left, transfer.range.right
            for keyspace in m.snapshot(s).metadata.keyspaces_of(transfer.group):
                size = known.of(keyspace, left, right, names) if known else None
                for name in names:
                    yield i, RangeCopy(keyspace, name, m.names[transfer.target], size, False)


def sources(m: TcmCluster, s: Any, sequence: Sequence, transfer: Transfer) -> tuple[str, ...]:
    """Who streams one range, as things stand."""
    task = StreamTask(transfer.target, transfer.displaced, (transfer,))
    return tuple(m.tcm.sent(s.tcm, sequence, task))


def _begun(m: TcmCluster, s: Any) -> Iterator[tuple[Sequence, int]]:
    """Every operation begun and not taken back, with the bit mask of the tasks it has done."""
    later: set[str] = set()
    taken_back: set[str] = set()
    operations = []
    for at in reversed(range(len(s.tcm.events))):
        event = s.tcm.events[at]
        if isinstance(event, Cancel):
            taken_back.add(event.node)
        if not isinstance(event, Begin):
            continue
        node = event.operation.node
        begun = m.snapshot(s, m.parameters.epoch + at + 1).metadata.sequence(node)
        if begun is not None and node not in taken_back:
            now = None if node in later else m.tcm.sequence(s.tcm, node)
            switched = now is None or any(step.switches for step in now.steps[: now.done])
            operations.append((begun, -1 if switched else m.tcm.streamed(s.tcm, node)))
        later.add(node)
        taken_back.discard(node)
    return reversed(operations)


def traffic(m: TcmCluster, s: Any) -> tuple[Load, ...]:
    """What each node sends and receives: who sends the most bytes (or streams) comes first."""
    key = ("traffic", s.tcm.events, s.tcm.streamed, s.tcm.down)
    return memo(m, key, lambda: traffic_of(copies(m, s)))


def traffic_of(copies: Iterable[RangeCopy]) -> tuple[Load, ...]:
    """What each node sends and receives of these copies, who sends the most first."""
    sums: dict[str, list[int]] = {}
    known = False
    for copy in copies:
        known = known or copy.bytes is not None
        for name, at in ((copy.source, 0), (copy.target, 3)):
            node = sums.setdefault(name, [0] * 6)
            node[at] += 1
            node[at + 1] += copy.done
            node[at + 2] += copy.bytes or 0
    loads = [
        Load(name, a, b, c if known else None, d, e, f if known else None)
        for name, (a, b, c, d, e, f) in sums.items()
    ]
    return tuple(sorted(loads, key=lambda x: (-(x.sends_bytes or 0), -x.sends, -x.receives)))


# -- one more death -------------------------------------------------------------------------------


def losses(m: TcmCluster, s: Any) -> tuple[Loss, ...]:
    """Which quorums one more death would break, for every keyspace that has replicas.

    QUORUM everywhere, and LOCAL_QUORUM in each datacenter that has its own factor. Nodes that are
    down answer nobody, but count as replicas.
    """
    return memo(
        m, ("losses", s.tcm.events, s.tcm.down), lambda: losses_of(m.snapshot(s), s.tcm.down)
    )


def losses_of(snapshot: Snapshot, down: Collection[str]) -> tuple[Loss, ...]:
    """The same of one epoch, with these nodes down."""
    return tuple(_losses(snapshot, down))


def _losses(snapshot: Snapshot, down: Collection[str]) -> Iterator[Loss]:
    ring = snapshot.metadata.ring
    dead = np.array([name in down for name in ring.names], np.bool_)
    for group, placement in enumerate(snapshot.placements):
        local = _datacenters(snapshot, group)
        names = snapshot.metadata.keyspaces_of(group)
        reads = _of_table(ring, placement.reads, local, dead, names, "reads")
        if placement.reads == placement.writes:
            yield from (replace(loss, side="reads and writes") for loss in reads)
            continue
        writes = _of_table(ring, placement.writes, local, dead, names, "writes")
        for of_reads, of_writes in zip(reads, writes, strict=True):
            if replace(of_writes, side="reads") == of_reads:
                yield replace(of_reads, side="reads and writes")
            else:
                yield from (of_reads, of_writes)


def _datacenters(snapshot: Snapshot, group: int) -> dict[str, Mask]:
    """The nodes (by code) of each datacenter for which the group has a factor of its own."""
    replication = snapshot.metadata.groups[group]
    if not isinstance(replication, NetworkTopologyStrategy):
        return {}
    dcs = np.array([node.dc for node in snapshot.metadata.ring.nodes])
    return {dc: dcs == dc for dc, factor in replication.factors if factor}


def _of_table(
    ring: Ring, table: Table, local: dict[str, Mask], dead: Mask, names: tuple[str, ...], side: Side
) -> list[Loss]:
    slots = np.ascontiguousarray(table.groups.T)
    return [
        _loss(ring, table, level, names, side)
        for level in levels(slots, local, dead)
        if level.name != "ONE"
    ]


def _loss(ring: Ring, table: Table, level: Level, names: tuple[str, ...], side: Side) -> Loss:
    nodes, rows = level.lost_with_one()
    counts = np.bincount(nodes, minlength=len(ring.names))
    order = [int(code) for code in np.argsort(-counts, kind="stable") if counts[code]]
    broken = np.flatnonzero(level.spare < 0)
    first = rows[nodes == order[0]].min() if order else None
    return Loss(
        names,
        side,
        level.name,
        tuple((ring.names[code], int(counts[code])) for code in order),
        None if first is None else _label(ring, table, int(first)),
        len(broken),
        _label(ring, table, int(broken[0])) if len(broken) else None,
    )


def _label(ring: Ring, table: Table, row: int) -> str:
    return Range(int(table.lefts[row]), int(table.rights[row])).label(ring.space)


# -- what may begin -------------------------------------------------------------------------------


def planned(m: TcmCluster, s: Any) -> tuple[Planned, ...]:
    """Every operation of the dry run: whether it may begin now, is under way, or is done."""
    return memo(m, ("planned", s.tcm.events, s.tcm.down), lambda: tuple(_planned(m, s)))


def _planned(m: TcmCluster, s: Any) -> Iterator[Planned]:
    begun = {event.operation for event in s.tcm.events if isinstance(event, Begin)}
    for operation in m.tcm.cluster.operations:
        sequence = m.tcm.sequence(s.tcm, operation.node)
        if sequence is not None and sequence.plan.operation == operation:
            yield Planned(operation, "under way")
        elif operation in begun:
            yield Planned(operation, "done")
        else:
            yield Planned(operation, "planned", m.refusal(s, m.wrap["tcm"](Begin(operation))))


def pairs(m: TcmCluster, s: Any) -> tuple[OperationPair, ...]:
    """Whether two operations may be under way at once, for all that may begin now."""
    return memo(m, ("pairs", s.tcm.events, s.tcm.down), lambda: tuple(_pairs(m, s)))


def _pairs(m: TcmCluster, s: Any) -> Iterator[OperationPair]:
    metadata, resolved = m.snapshot(s).metadata, m.tcm.cluster.resolved
    free = [row.operation for row in planned(m, s) if row.status == "planned" and not row.refusal]
    for first, second in combinations(free, 2):
        refusal = together(metadata, resolved[first], resolved[second], m.tcm.switches, m.tcm.plan)
        yield OperationPair(first, second, refusal)
