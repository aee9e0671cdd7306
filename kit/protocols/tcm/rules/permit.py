"""Whether an operation may begin: what the metadata service declines, and why.

Source: CEP-21, "Event Submission Protocol" and "Coordinating Range Movements" (locks).
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from collections.abc import Sequence as Several

from msgspec import Struct

from kit.errors import Refusal, are, counted
from kit.protocols.tcm.rules.metadata import Metadata, Plan, Planner, Sequence, advance, plan
from kit.protocols.tcm.rules.operations import Operation, ProtocolSwitches, ResolvedOperation
from kit.ring.ranges import Range, first_overlap
from kit.ring.replication import NetworkTopologyStrategy, Replication, SimpleStrategy
from kit.ring.topology import Ring

SHRINKS = ("decommission", "removenode", "assassinate")


class LockConflict(Struct, frozen=True):
    """Two locked ranges that stand in each other's way: ours, theirs, and whose theirs is."""

    group: int
    ours: Range
    theirs: Range
    operation: Operation


def permit(metadata: Metadata, planned: Plan, switches: ProtocolSwitches) -> Refusal | None:
    """Why the operation of a plan may not begin now; None when it may."""
    given, others = planned.resolved, [s.plan.operation for s in metadata.sequences]
    return (
        busy(given.operation, others)
        or _claimed(given.operation, others)
        or _last_node(metadata, given)
        or _too_few_left(metadata, given, switches)
        or _locked(metadata, planned, switches)
    )


def busy(operation: Operation, others: Iterable[Operation]) -> Refusal | None:
    """A node takes part in one operation at a time; ``others`` are in flight."""
    for other in others:
        both = [name for name in operation.involved if name in other.involved]
        if both:
            return Refusal(f"{both[0]} already takes part in an operation: {other.title}")
    return None


def _claimed(operation: Operation, others: Iterable[Operation]) -> Refusal | None:
    """A token that a node is about to own is nobody else's, whatever else is switched off."""
    for other in others:
        both = [token for token in operation.tokens if token in other.tokens]
        if both:
            return Refusal(f"token {both[0]} is about to be owned by {other.node}: {other.title}")
    return None


def _leaving(metadata: Metadata) -> set[int]:
    plans = (sequence.plan for sequence in metadata.sequences)
    return {p.resolved.node for p in plans if p.operation.kind in SHRINKS}


def _last_node(metadata: Metadata, given: ResolvedOperation) -> Refusal | None:
    """The last node that stays cannot go: nobody would own the tokens."""
    staying = _members(metadata.ring, None, _leaving(metadata))
    if given.operation.kind in SHRINKS and staying == 1:
        return Refusal(f"{given.operation.node} is the last node: nobody is left to own its ranges")
    return None


def _too_few_left(
    metadata: Metadata, given: ResolvedOperation, switches: ProtocolSwitches
) -> Refusal | None:
    """The safeguard *replication-check*: what stays must be able to hold every replica."""
    if given.operation.force or not switches.safeguards.replication_check:
        return None
    code = _going(metadata.ring, given)
    if code is None:
        return None
    going = metadata.ring.nodes[code]
    for keyspace in metadata.keyspaces:
        for dc, factor in _demands(keyspace.replication):
            if dc != going.dc and (dc is not None or given.operation.kind not in SHRINKS):
                continue
            left = _members(metadata.ring, dc, _leaving(metadata) | {code})
            if left < factor:
                where = f" in {dc}" if dc else ""
                return Refusal(
                    f"without {going.name} only {nodes(left)} {are(left)} left{where}, but "
                    f"keyspace {keyspace.name} keeps {factor} replicas (force overrides)"
                )
    return None


def _going(ring: Ring, given: ResolvedOperation) -> int | None:
    """The node that its datacenter loses: a replacement elsewhere takes one from it too."""
    if given.operation.kind in SHRINKS:
        return given.node
    if given.target is None:
        return None
    return None if given.operation.dc in (None, ring.nodes[given.target].dc) else given.target


def _demands(replication: Replication) -> tuple[tuple[str | None, int], ...]:
    """How many replicas a keyspace wants, a datacenter or (None) in all."""
    if isinstance(replication, SimpleStrategy):
        return ((None, replication.replication_factor),)
    return replication.factors if isinstance(replication, NetworkTopologyStrategy) else ()


def _members(ring: Ring, dc: str | None, without: Set[int]) -> int:
    return sum(
        bool(node.tokens) and code not in without and dc in (None, node.dc)
        for code, node in enumerate(ring.nodes)
    )


def nodes(count: int) -> str:
    """How many nodes, in words."""
    return counted(count, "node")


def under_replicated(
    ring: Ring, replication: Replication
) -> tuple[tuple[str | None, int, int], ...]:
    """Where a keyspace wants more replicas than there are nodes: (dc, wanted, nodes)."""
    counted = ((dc, factor, _members(ring, dc, set())) for dc, factor in _demands(replication))
    return tuple(row for row in counted if row[1] > row[2])


def _locked(metadata: Metadata, planned: Plan, switches: ProtocolSwitches) -> Refusal | None:
    """The safeguard *range-locks*: operations in flight keep to disjoint ranges."""
    if not switches.safeguards.range_locks:
        return None
    taken = conflicts(metadata, planned, switches)
    if not taken:
        return None
    space, first, more = metadata.ring.space, taken[0], len(taken) - 1
    evidence = tuple(
        f"{', '.join(metadata.keyspaces_of(c.group))} {c.ours.label(space)} is locked by "
        f"{c.operation.title}"
        for c in taken
    )
    others = f", and {more} more of its ranges are locked" if more else ""
    return Refusal(
        f"range {first.ours.label(space)} is locked by an operation in flight, "
        f"{first.operation.title}{others}",
        evidence,
        tuple(dict.fromkeys(c.operation.node for c in taken)),
    )


def conflicts(
    metadata: Metadata, planned: Plan, switches: ProtocolSwitches
) -> tuple[LockConflict, ...]:
    """Every range of the plan that an operation in flight has locked."""
    clashes = []
    for sequence in metadata.sequences:
        for group, moved in enumerate(planned.movements):
            held = sequence.plan.movements[group].locked
            for ours in moved.locked:
                theirs = _clash(metadata, ours, held, switches)
                if theirs is not None:
                    clashes.append(LockConflict(group, ours, theirs, sequence.plan.operation))
    return tuple(clashes)


def _clash(
    metadata: Metadata, ours: Range, held: Several[Range], switches: ProtocolSwitches
) -> Range | None:
    """The first of the held ranges (ascending, disjoint) that shares a token with ours.

    In edition ``server`` two ranges that both touch an end of the line clash too: they are
    neighbours on the wrapped ring of the published code.
    """
    space, shared = metadata.ring.space, first_overlap(held, ours)

    def at_an_end(range_: Range) -> bool:
        return range_.left == space.low or range_.right == space.high

    if switches.edition != "server" or not at_an_end(ours):
        return shared
    ends = filter(at_an_end, (*held[:1], *held[-1:]))
    return min([*ends, *([shared] if shared else [])], default=None)


def together(
    metadata: Metadata,
    first: ResolvedOperation,
    second: ResolvedOperation,
    switches: ProtocolSwitches,
    planner: Planner = plan,
) -> Refusal | None:
    """Why ``second`` may not begin once ``first`` has; None when both may be under way at once.

    ``first`` may begin now: whether it does is for ``permit`` to say.
    """
    begun, _ = advance(metadata, first, switches, planner)
    return permit(begun, planner(begun, second, switches), switches)


def overlapping(sequences: tuple[Sequence, ...]) -> tuple[Sequence, Sequence, Range] | None:
    """Two operations in flight that lock a common range, if any."""
    for i, sequence in enumerate(sequences):
        for other in sequences[i + 1 :]:
            for ours, theirs in zip(sequence.plan.movements, other.plan.movements, strict=True):
                for locked in ours.locked:
                    if first_overlap(theirs.locked, locked):
                        return sequence, other, locked
    return None


def no_way_back(sequence: Sequence) -> Refusal | None:
    """Why an operation can no longer be cancelled: once writes were dropped, old replicas lag."""
    if any(step.drops for step in sequence.steps[: sequence.done]):
        return Refusal("old write replicas are dropped already: there is no way back")
    return None
