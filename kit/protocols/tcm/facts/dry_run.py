"""What an operator asks of each step: bytes per node, quorums after one more death, what may begin.

As in ``kit.protocols.tcm.facts.moment``, every function takes the model and a state, and is
pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import combinations
from typing import Any, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from kit.errors import Refusal
from kit.protocols.tcm.cluster import TcmCluster
from kit.protocols.tcm.facts.moment import kept, kept_rows, to_stream
from kit.protocols.tcm.rules.metadata import Begin, Cancel, Sequence, Snapshot
from kit.protocols.tcm.rules.operations import Operation
from kit.protocols.tcm.rules.permit import together
from kit.protocols.tcm.rules.quorums import Mask, levels
from kit.ring.placements import Table
from kit.ring.replication import NetworkTopologyStrategy
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


# -- bytes and streams ----------------------------------------------------------------------------


@kept_rows("tcm.events", "tcm.streamed", "tcm.down")
def copies(m: TcmCluster, s: Any) -> Iterator[RangeCopy]:
    """All that the operations begun so far stream, done or not; not what was cancelled."""
    for sequence, mask in _begun(m, s):
        for row in to_stream(m, s, sequence, mask):
            for name in row.sources:
                yield RangeCopy(row.keyspace, name, row.target, row.bytes, row.done)


def _begun(m: TcmCluster, s: Any) -> Iterator[tuple[Sequence, int]]:
    """Every operation begun and not taken back, with the bit mask of the tasks it has done."""
    begun: list[Sequence] = []
    for epoch, event in enumerate(s.tcm.events, m.parameters.epoch + 1):
        if isinstance(event, Begin):
            sequence = m.snapshot(s, epoch).metadata.sequence(event.operation.node)
            begun += [sequence] if sequence is not None else []
        elif isinstance(event, Cancel):
            begun.pop(max(i for i, taken_back in enumerate(begun) if taken_back.node == event.node))
    latest = {sequence.node: sequence for sequence in begun}
    for sequence in begun:
        node = sequence.node
        now = m.tcm.sequence(s.tcm, node) if latest[node] is sequence else None
        switched = now is None or any(step.switches for step in now.steps[: now.done])
        yield sequence, -1 if switched else m.tcm.streamed(s.tcm, node)


@kept("tcm.events", "tcm.streamed", "tcm.down")
def traffic(m: TcmCluster, s: Any) -> tuple[Load, ...]:
    """What each node sends and receives: who sends the most bytes (or streams) comes first."""
    return traffic_of(copies(m, s))


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


@kept("tcm.events", "tcm.down")
def losses(m: TcmCluster, s: Any) -> tuple[Loss, ...]:
    """Which quorums one more death would break, for every keyspace that has replicas.

    QUORUM everywhere, and LOCAL_QUORUM in each datacenter that has its own factor. Nodes that are
    down answer nobody, but count as replicas.
    """
    return losses_of(m.snapshot(s), s.tcm.down)


def losses_of(snapshot: Snapshot, down: Collection[str]) -> tuple[Loss, ...]:
    """The same of one epoch, with these nodes down."""
    ring = snapshot.metadata.ring
    dead = np.array([name in down for name in ring.names], np.bool_)
    lost: list[Loss] = []
    for group, placement in enumerate(snapshot.placements):
        local = _datacenters(snapshot, group)
        names = snapshot.metadata.keyspaces_of(group)
        reads = _of_table(ring, placement.reads, local, dead, names, "reads")
        writes = reads
        if placement.reads != placement.writes:
            writes = _of_table(ring, placement.writes, local, dead, names, "writes")
        for of_reads, of_writes in zip(reads, writes, strict=True):
            same = replace(of_writes, side="reads") == of_reads
            lost += [replace(of_reads, side="reads and writes")] if same else [of_reads, of_writes]
    return tuple(lost)


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
    def label(row: int) -> str:
        return table.range_of(row).label(ring.space)

    lost = []
    for level in levels(np.ascontiguousarray(table.groups.T), local, dead):
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
    """Every operation of the dry run: whether it may begin now, is under way, or is done."""
    begun = {event.operation for event in s.tcm.events if isinstance(event, Begin)}
    for operation in m.tcm.cluster.operations:
        sequence = m.tcm.sequence(s.tcm, operation.node)
        if sequence is not None and sequence.plan.operation == operation:
            yield Planned(operation, "under way")
        elif operation in begun:
            yield Planned(operation, "done")
        else:
            yield Planned(operation, "planned", m.refusal(s, m.wrap["tcm"](Begin(operation))))


@kept_rows("tcm.events", "tcm.down")
def pairs(m: TcmCluster, s: Any) -> Iterator[OperationPair]:
    """Whether two operations may be under way at once, for all that may begin now."""
    metadata, resolved = m.snapshot(s).metadata, m.tcm.cluster.resolved
    free = [row.operation for row in planned(m, s) if row.status == "planned" and not row.refusal]
    for first, second in combinations(free, 2):
        refusal = together(metadata, resolved[first], resolved[second], m.tcm.switches, m.tcm.plan)
        yield OperationPair(first, second, refusal)
