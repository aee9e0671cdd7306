"""The progress barrier: a step waits until a majority of everyone concerned knows the last one.

Each step must be acknowledged, in every affected range, by a majority of the current and the
proposed replicas before the next may be committed: 3 of {A, B, C, X}. Any two majorities then
meet, so that the replica group itself tells a lagging coordinator that it lags.
Source: CEP-21, "Consistency Guarantees".
"""

from __future__ import annotations

from collections.abc import Sequence as Several

from msgspec import Struct

from kit.protocols.tcm.rules.metadata import Sequence, Snapshot
from kit.protocols.tcm.rules.steps import OPERATION_SPECS, ProtocolSwitches
from kit.ring.placements import Placement
from kit.ring.ranges import Range


class Barrier(Struct, frozen=True):
    """``needed`` of ``replicas`` must have applied ``epoch``, for one range.

    ``dc`` is set where the majority is counted a datacenter. Replicas are node codes.
    """

    group: int
    range: Range
    dc: str | None
    replicas: tuple[int, ...]
    needed: int
    epoch: int

    def acked(self, applied: Several[int]) -> tuple[int, ...]:
        """The replicas that have applied the epoch; only what is applied counts."""
        return tuple([code for code in self.replicas if applied[code] >= self.epoch])

    def met(self, applied: Several[int]) -> bool:
        """Whether enough of them have."""
        return len(self.acked(applied)) >= self.needed


def majority(count: int) -> int:
    """More than half of ``count``."""
    return count // 2 + 1


def barriers(
    snapshot: Snapshot, sequence: Sequence, switches: ProtocolSwitches
) -> tuple[Barrier, ...]:
    """What must hold before the sequence's next step: a barrier per locked range.

    Nodes that are gone for good are not counted: they can never answer.
    """
    if sequence.done == 0 or not switches.safeguards.progress_barrier:
        return ()
    spec = OPERATION_SPECS[sequence.plan.operation.kind]
    if switches.edition == "server":
        # Between prepare and start owners are the same; decommission and removenode alone wait.
        if sequence.done == 1 and not sequence.undoing and not spec.waits_for_prepare:
            return ()
        return _by_datacenter(snapshot, sequence)
    return _by_range(sequence)


def _by_range(sequence: Sequence) -> tuple[Barrier, ...]:
    """Edition ``documents``: a majority of the old and new replicas of each locked range."""
    return tuple(
        Barrier(group, locked, None, counted, majority(len(counted)), sequence.epoch)
        for group, locked, counted in sequence.plan.concerned
        if counted
    )


def _by_datacenter(snapshot: Snapshot, sequence: Sequence) -> tuple[Barrier, ...]:
    """Edition ``server``: a majority, in each datacenter, of today's replicas."""
    dead = sequence.plan.resolved.dead
    nodes = snapshot.metadata.ring.nodes
    barriers = []
    for group, moved in enumerate(sequence.plan.movements):
        for locked in moved.locked:
            counted = [c for c in _present(snapshot.placements[group], locked) if c != dead]
            for dc in sorted({nodes[code].dc for code in counted}):
                there = tuple(code for code in counted if nodes[code].dc == dc)
                needed = majority(len(there))
                barriers.append(Barrier(group, locked, dc, there, needed, sequence.epoch))
    return tuple(barriers)


def _present(placement: Placement, locked: Range) -> Several[int]:
    """The read and write replicas of the row that holds the range's last token."""
    groups = (*placement.reads.groups_of(locked.right), *placement.writes.groups_of(locked.right))
    return tuple(dict.fromkeys(code for group in groups for code in group))
