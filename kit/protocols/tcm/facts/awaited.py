"""What an operation under way waits for: a barrier a range, and the ranges that are copied.

What stays while nodes apply an epoch, or tasks are done one by one, is worked out once.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as Several
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kit.protocols.tcm.cluster import TcmCluster
from kit.protocols.tcm.facts.dry_run import sizes, sources
from kit.protocols.tcm.facts.memo import memo
from kit.protocols.tcm.rules.barrier import Barrier
from kit.protocols.tcm.rules.metadata import Sequence
from kit.protocols.tcm.rules.streams import is_done, tasks

MOST_TOLD = 256
"""Barriers of an operation that are told one by one."""


class BarrierRow(Struct, frozen=True):
    """The barrier of one range before the next step, with its evidence."""

    keyspace: str
    left: int
    right: int
    label: str
    dc: str | None
    replicas: tuple[str, ...]
    needed: int
    acked: tuple[str, ...]
    missing: tuple[str, ...]
    met: bool
    epoch: int


class StreamRow(Struct, frozen=True):
    """One range that must be on ``target`` before the read switch, and who streams it."""

    keyspace: str
    left: int
    right: int
    label: str
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


def awaiting(m: TcmCluster, s: Any, sequence: Sequence, most: int | None = MOST_TOLD) -> Awaiting:
    """What the sequence's next step waits for, a row per keyspace and range; None: every row."""
    every, known, metadata = m.barriers(s, sequence), m.applied(s), m.snapshot(s).metadata
    alike = [metadata.keyspaces_of(group) for group in range(len(metadata.groups))]
    unmet, met = list[Barrier](), list[Barrier]()
    for barrier in every:
        (met if barrier.met(known) else unmet).append(barrier)
    chosen = every if most is None or len(every) <= most else (*unmet, *met)[:most]
    rows = tuple(
        _barrier(m, keyspace, barrier, known)
        for barrier in chosen
        for keyspace in alike[barrier.group]
    )
    count, lacking = (sum(len(alike[each.group]) for each in some) for some in (every, unmet))
    return Awaiting(rows, count, lacking)


def _barrier(m: TcmCluster, keyspace: str, barrier: Barrier, known: Several[int]) -> BarrierRow:
    acked = barrier.acked(known)
    names = m.names
    return BarrierRow(
        keyspace,
        barrier.range.left,
        barrier.range.right,
        barrier.range.label(m.tcm.cluster.ring.space),
        barrier.dc,
        tuple([names[code] for code in barrier.replicas]),
        barrier.needed,
        tuple([names[code] for code in acked]),
        tuple([names[code] for code in barrier.replicas if code not in acked]),
        len(acked) >= barrier.needed,
        barrier.epoch,
    )


def streams(m: TcmCluster, s: Any, sequence: Sequence) -> tuple[StreamRow, ...]:
    """All that the operation copies, done or not; empty once reads have switched."""
    if sequence.undoing or any(step.switches for step in sequence.steps[: sequence.done]):
        return ()
    mask = m.tcm.streamed(s.tcm, sequence.node)
    plan = sequence.plan
    key = ("to stream", id(plan), s.tcm.down)  # the plan is kept, so that no other has its identity
    return tuple(
        replace(row, done=True) if is_done(mask, i) else row
        for i, row in memo(m, key, lambda: (plan, tuple(_to_stream(m, s, sequence))))[1]
    )


def _to_stream(m: TcmCluster, s: Any, sequence: Sequence) -> Iterator[tuple[int, StreamRow]]:
    """All that an operation copies, each with the number of its task, as if none were done."""
    metadata, known = m.snapshot(s).metadata, sizes(m)
    for i, task in enumerate(tasks(sequence)):
        for transfer in task.transfers:
            names = sources(m, s, sequence, transfer)
            left, right = transfer.range.left, transfer.range.right
            bounds = (left, right, transfer.range.label(m.tcm.cluster.ring.space))
            for keyspace in metadata.keyspaces_of(transfer.group):
                size = known.of(keyspace, left, right, names) if known else None
                target = m.names[task.target]
                yield i, StreamRow(keyspace, *bounds, names, target, False, size)
