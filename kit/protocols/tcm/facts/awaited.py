"""What an operation under way waits for: a barrier a range, and the ranges that are copied.

What stays while nodes apply an epoch, or tasks are done one by one, is worked out once.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as Several
from itertools import compress
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kit.protocols.tcm.cluster import TcmCluster
from kit.protocols.tcm.facts.dry_run import sizes, sources
from kit.protocols.tcm.facts.memo import memo
from kit.protocols.tcm.rules.barrier import Barrier
from kit.protocols.tcm.rules.metadata import Sequence
from kit.protocols.tcm.rules.streams import is_done, tasks


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


def barriers(m: TcmCluster, s: Any, sequence: Sequence) -> tuple[BarrierRow, ...]:
    """The barriers before the sequence's next step, a row per keyspace and range."""
    known = m.applied(s)
    key = ("barred", s.tcm.events, sequence.node)
    return tuple(
        _barrier(each, known) for each in memo(m, key, lambda: tuple(_barred(m, s, sequence)))
    )


class _Barred(Struct, frozen=True):
    """What of a barrier's row stays while nodes apply its epoch."""

    barrier: Barrier
    where: tuple[str, int, int, str, str | None]
    replicas: tuple[str, ...]


def _barred(m: TcmCluster, s: Any, sequence: Sequence) -> Iterator[_Barred]:
    metadata, line = m.snapshot(s).metadata, m.tcm.cluster.ring.space
    for barrier in m.barriers(s, sequence):
        replicas = tuple([m.names[code] for code in barrier.replicas])
        left, right, label = barrier.range.left, barrier.range.right, barrier.range.label(line)
        for keyspace in metadata.keyspaces_of(barrier.group):
            yield _Barred(barrier, (keyspace, left, right, label, barrier.dc), replicas)


def _barrier(barred: _Barred, known: Several[int]) -> BarrierRow:
    barrier, names = barred.barrier, barred.replicas
    knowing = [known[code] >= barrier.epoch for code in barrier.replicas]
    count = sum(knowing)
    acked = names if count == len(names) else tuple(compress(names, knowing))
    missing = tuple([name for name, knows in zip(names, knowing, strict=True) if not knows])
    met = count >= barrier.needed
    return BarrierRow(*barred.where, names, barrier.needed, acked, missing, met, barrier.epoch)


def streams(m: TcmCluster, s: Any, sequence: Sequence) -> tuple[StreamRow, ...]:
    """All that the operation copies, done or not; empty once reads have switched."""
    if sequence.undoing or any(step.switches for step in sequence.steps[: sequence.done]):
        return ()
    mask = m.tcm.streamed(s.tcm, sequence.node)
    key = ("to stream", s.tcm.events, sequence.node, s.tcm.down)
    return tuple(
        replace(row, done=True) if is_done(mask, i) else row
        for i, row in memo(m, key, lambda: tuple(_to_stream(m, s, sequence)))
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
