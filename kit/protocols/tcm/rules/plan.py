"""Planning: an operation becomes a list of steps, each with its delta, once and for all.

Plans start from the ring of *finished* operations, not from what is in flight. Two plans made
side by side are sound because their locked ranges are disjoint. Source: CEP-21, "Mapping Cluster
Operations to Metadata Transitions"; the four deltas are those of the published code.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, reduce
from typing import TypeAlias

import numpy as np

from kit.protocols.tcm.rules.metadata import Metadata, Plan, PlannedStep, Sequence, Transfer
from kit.protocols.tcm.rules.operations import Kind, ResolvedOperation, placed, ring_after
from kit.protocols.tcm.rules.steps import (
    OPERATION_SPECS,
    Part,
    ProtocolSwitches,
    step_table,
    usual_steps,
)
from kit.ring.deltas import Delta, invert, merge
from kit.ring.movement import Movement, movement
from kit.ring.natural import replicas
from kit.ring.placements import members
from kit.ring.replication import Replication
from kit.ring.topology import Ring


def plan(metadata: Metadata, given: ResolvedOperation, switches: ProtocolSwitches) -> Plan:
    """Compute every step of an operation from the metadata in which it begins."""
    return plan_on(metadata.ring, metadata.groups, given, switches)


Planner: TypeAlias = Callable[[Metadata, ResolvedOperation, ProtocolSwitches], Plan]
"""``plan``, or one that remembers: of a large ring a plan takes a tenth of a second."""
MOST_PLANS = 16  # remembered; each holds the ring as it will be


def remembering_planner() -> Planner:
    """A planner that works out a plan once for as long as no other operation is finished."""
    known = lru_cache(MOST_PLANS)(plan_on)
    return lambda metadata, given, switches: known(metadata.ring, metadata.groups, given, switches)


def plan_on(
    ring: Ring,
    groups: tuple[Replication, ...],
    given: ResolvedOperation,
    switches: ProtocolSwitches,
) -> Plan:
    """Compute every step of an operation from all that a plan depends on."""
    kind = given.operation.kind
    before = placed(ring, given)
    after = ring_after(before, given)
    movements = tuple(movement(before, after, group) for group in groups)
    steps = tuple(
        PlannedStep(
            name,
            tuple(_joined(m, before, after, parts, switches) for m in movements),
            switches="switch" in parts,
            drops="drop" in parts,
        )
        for name, parts in step_table(kind, switches)
    )
    if switches.edition == "documents":
        # An event that would change no row is left out; one is kept, to commit the membership.
        changing = tuple(
            step for step in steps if any(delta != Delta.empty for delta in step.deltas)
        )
        last = usual_steps(kind, switches.edition)[-1]
        steps = changing or tuple(step for step in steps if step.name == last)
    return Plan(given, steps, movements, _transfers(groups, before, movements, kind))


def _joined(
    moved: Movement, before: Ring, after: Ring, parts: tuple[Part, ...], switches: ProtocolSwitches
) -> Delta:
    """The delta of a step: its parts one after the other."""
    deltas = [
        merging(moved, before, after, switches) if p == "merge" else getattr(moved, p)
        for p in parts
    ]
    return reduce(merge, deltas, Delta.empty)


def merging(moved: Movement, before: Ring, after: Ring, switches: ProtocolSwitches) -> Delta:
    """The bounds that a merge removes: those of tokens given up, whose neighbours are equal.

    Without the equality check, every bound inside the locked area goes.
    """
    if switches.safeguards.merge_equality or moved.merge == Delta.empty:
        return moved.merge
    rights = {locked.right for locked in moved.locked}
    inner = {locked.left for locked in moved.locked} & rights
    return Delta(merges=tuple(sorted(inner)))


def _transfers(
    replications: tuple[Replication, ...], before: Ring, movements: tuple[Movement, ...], kind: Kind
) -> tuple[Transfer, ...]:
    """Every range that some node must receive, with the replica whose place it takes there."""
    if not OPERATION_SPECS[kind].streams:
        return ()
    transfers = []
    for group, (replication, moved) in enumerate(zip(replications, movements, strict=True)):
        rights = np.array([s.range.right for s in moved.streams], dtype=np.int64)
        groups = replicas(before, replication, rights).tolist() if len(rights) else ()
        for stream, row in zip(moved.streams, groups, strict=True):
            place = stream.range, stream.gains, stream.loses
            transfers.append(Transfer(group, *place, members(row)))
    return tuple(transfers)


def compensation(sequence: Sequence, switches: ProtocolSwitches) -> tuple[PlannedStep, ...]:
    """The steps that undo what a sequence has done, newest first.

    Before the read switch one event restores everything. After it two are needed: reads back
    first, then (after a barrier) writes. One event for both would let a coordinator that knows
    it write to the old replicas while another still reads from the new ones (the safeguard
    *two-event-cancel*).
    Source: CEP-21, "Cancelling Committed Events".
    """
    done = sequence.steps[: sequence.done]
    undo = [tuple(invert(delta) for delta in step.deltas) for step in reversed(done)]
    switched = [i for i, step in enumerate(reversed(done)) if step.switches]
    if not switched or not switches.safeguards.two_event_cancel:
        return (PlannedStep("cancel", _sum(undo, sequence)),)
    cut = switched[0] + 1
    return (
        PlannedStep("cancel-reads", _sum(undo[:cut], sequence)),
        PlannedStep("cancel-writes", _sum(undo[cut:], sequence)),
    )


def _sum(deltas: list[tuple[Delta, ...]], sequence: Sequence) -> tuple[Delta, ...]:
    """One delta a group: all of ``deltas`` one after the other."""
    groups = range(len(sequence.plan.movements))
    return tuple(reduce(merge, (d[g] for d in deltas), Delta.empty) for g in groups)
