"""Cluster metadata: one immutable value per epoch, with every plan that is still under way.

The steps that an operation has yet to do are kept *in the metadata*, so that a node that failed
between two steps reads there what comes next. An operation becomes a list of steps, each with its
delta, once and for all; plans start from the ring of *finished* operations, not from what is in
flight: two made side by side are sound because their locked ranges are disjoint. ``enact`` is a
pure function, so every node that applies the same log has the same metadata and the same
placements, which are computed there and nowhere else; ``permit`` says what may not begin, and why.
Source: CEP-21, "Bootstrap", "Node Level Changes", "Event Submission Protocol" (locks), "Mapping
Cluster Operations to Metadata Transitions".
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from collections.abc import Sequence as Several
from functools import cached_property, lru_cache, reduce
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kit.errors import Refusal, are, counted
from kit.protocols.tcm.rules import operations as ops
from kit.ring.applying import Spans, apply, settle
from kit.ring.columns import np
from kit.ring.deltas import Delta, invert, merge
from kit.ring.movement import Movement, movement
from kit.ring.natural import replicas
from kit.ring.placements import Placement, members, stable_placement
from kit.ring.ranges import Range, first_overlap
from kit.ring.replication import (
    Keyspace,
    LocalStrategy,
    NetworkTopologyStrategy,
    Replication,
    SimpleStrategy,
)
from kit.ring.topology import Ring


class Begin(Struct, frozen=True, tag="begin"):
    """Event: an operation is planned, takes its locks and does its first step."""

    operation: ops.Operation

    @property
    def written(self) -> Begin:
        """The event in the words of the first traces, of which the log's digest is made."""
        kind: Any = ops.WRITTEN.get(self.operation.kind, self.operation.kind)
        return Begin(replace(self.operation, kind=kind))


class Advance(Struct, frozen=True, tag="advance"):
    """Event: the operation of ``node`` does its next step."""

    node: str


class Cancel(Struct, frozen=True, tag="cancel"):
    """Event: the operation of ``node`` is undone by compensation, as an operator asked."""

    node: str


class AutomaticCancel(Cancel, frozen=True, tag="give-up"):
    """Event: the same, because the node ``by`` lost sight of it. Nobody asked."""

    by: str


Event = Begin | Advance | Cancel | AutomaticCancel
"""What the log holds; nodes go by their names."""
ResolvedEvent = ops.ResolvedOperation | Advance | Cancel | AutomaticCancel
"""An event as rules take it: what begins is known by node codes."""


class PlannedStep(Struct, frozen=True):
    """A step computed beforehand: its name, and one delta a replication group.

    ``switches`` says that this step changes the read replicas, ``drops`` that old write replicas
    go: after it there is no way back.
    """

    name: str
    deltas: tuple[Delta, ...]
    switches: bool = False
    drops: bool = False


class Transfer(Struct, frozen=True):
    """Data that must be on ``target`` before the read switch.

    ``displaced`` is the replica whose place it takes in ``range``, None where nobody goes;
    ``old_replicas`` are the read replicas of the range before the operation. Nodes are codes.
    """

    group: int
    range: Range
    target: int
    displaced: int | None
    old_replicas: tuple[int, ...]


class StreamTask(Struct, frozen=True):
    """All that one node receives in place of one other; the unit in which streaming goes on."""

    target: int
    displaced: int | None
    transfers: tuple[Transfer, ...]


class Plan(Struct, frozen=True, dict=True):
    """All that an operation will do, computed once when it begins."""

    resolved: ops.ResolvedOperation
    steps: tuple[PlannedStep, ...]
    movements: tuple[Movement, ...]
    transfers: tuple[Transfer, ...]

    @property
    def operation(self) -> ops.Operation:
        """The operation as it was written."""
        return self.resolved.operation

    @cached_property
    def tasks(self) -> tuple[StreamTask, ...]:
        """The streaming, in a stable order."""
        pairs: dict[tuple[int, int | None], list[Transfer]] = {}
        for t in self.transfers:
            pairs.setdefault((t.target, t.displaced), []).append(t)
        return tuple(
            StreamTask(target, displaced, tuple(ranges))
            for (target, displaced), ranges in pairs.items()
        )

    @cached_property
    def places(self) -> dict[tuple[int, int | None], int]:
        """The place of each task among them, by its target and whom that displaces."""
        return {(task.target, task.displaced): at for at, task in enumerate(self.tasks)}

    @cached_property
    def concerned(self) -> tuple[tuple[int, Range, tuple[int, ...]], ...]:
        """Group, locked range, and its old and new replicas that are not gone for good."""
        dead = self.resolved.dead
        return tuple(
            (group, locked, union if dead is None else tuple([c for c in union if c != dead]))
            for group, moved in enumerate(self.movements)
            for locked, union in zip(moved.locked, moved.affected, strict=True)
        )


class Sequence(Struct, frozen=True):
    """An operation under way: its plan, how many steps are done, the epoch of the last one.

    While ``undoing`` holds steps, those compensate what was done and come instead of the plan's.
    """

    plan: Plan
    done: int
    epoch: int
    undoing: tuple[PlannedStep, ...] = ()

    @property
    def node(self) -> str:
        """The node that names the sequence; there is at most one sequence a node."""
        return self.plan.operation.node

    @property
    def steps(self) -> tuple[PlannedStep, ...]:
        """The steps it follows now: the plan's, or those that undo it."""
        return self.undoing or self.plan.steps

    @property
    def next(self) -> PlannedStep:
        """The pending step."""
        return self.steps[self.done]


class Metadata(Struct, frozen=True, dict=True):
    """The metadata of every node at ``epoch``: ring, keyspaces, operations in flight.

    The ring holds the tokens of finished operations only; a joining node is registered in it
    without tokens. ``cancels`` counts the cancellations so far.
    """

    epoch: int
    ring: Ring
    keyspaces: tuple[Keyspace, ...]
    sequences: tuple[Sequence, ...] = ()
    cancels: int = 0

    @cached_property
    def groups(self) -> tuple[Replication, ...]:
        """The distinct replications, of which keyspaces share placements; local ones have none."""
        replications = (keyspace.replication for keyspace in self.keyspaces)
        return tuple(dict.fromkeys(r for r in replications if not isinstance(r, LocalStrategy)))

    def group_of(self, keyspace: str) -> int | None:
        """The index of a keyspace's placements; None for a local keyspace."""
        replication = next(k.replication for k in self.keyspaces if k.name == keyspace)
        return None if isinstance(replication, LocalStrategy) else self.groups.index(replication)

    def keyspaces_of(self, group: int) -> tuple[str, ...]:
        """The names of the keyspaces that share one group of placements."""
        return tuple(k.name for k in self.keyspaces if k.replication == self.groups[group])

    def sequence(self, node: str) -> Sequence | None:
        """The operation of ``node`` that is under way."""
        # Its node's name is its key, which is all that an event of the log says of it: what the
        # event does depends on the steps done before, which the log alone puts in order.
        return next((s for s in self.sequences if s.node == node), None)


class Snapshot(Struct, frozen=True):
    """Metadata with its placements, one per replication group: computed once, when applied."""

    metadata: Metadata
    placements: tuple[Placement, ...]


def locks(sequence: Sequence) -> tuple[tuple[int, Range], ...]:
    """The ranges that an operation locks until it ends, each with its replication group."""
    return tuple(
        (group, locked)
        for group, movement in enumerate(sequence.plan.movements)
        for locked in movement.locked
    )


MOST_PLANS = 16  # remembered; each holds the ring as it will be


def plan(metadata: Metadata, given: ops.ResolvedOperation, switches: ops.ProtocolSwitches) -> Plan:
    """Every step of an operation from the metadata in which it begins.

    It is worked out once for as long as no other operation is finished: of a large ring a plan
    takes a tenth of a second.
    """
    return _planned(metadata.ring, metadata.groups, given, switches)


@lru_cache(MOST_PLANS)
def _planned(
    ring: Ring,
    groups: tuple[Replication, ...],
    given: ops.ResolvedOperation,
    switches: ops.ProtocolSwitches,
) -> Plan:
    kind = given.operation.kind
    before = ops.placed(ring, given)
    after = ops.ring_after(before, given)
    movements = tuple(movement(before, after, group) for group in groups)

    def joined(moved: Movement, parts: tuple[ops.Part, ...]) -> Delta:
        deltas = (merging(moved, switches) if p == "merge" else getattr(moved, p) for p in parts)
        return reduce(merge, deltas, Delta.empty)

    steps = tuple(
        PlannedStep(
            name, tuple(joined(m, parts) for m in movements), "switch" in parts, "drop" in parts
        )
        for name, parts in ops.step_table(kind, switches)
    )
    if switches.edition == "documents":
        # An event that would change no row is left out; one is kept, to commit the membership.
        changing = tuple(step for step in steps if any(d != Delta.empty for d in step.deltas))
        last = ops.usual_steps(kind, switches.edition)[-1]
        steps = changing or tuple(step for step in steps if step.name == last)
    return Plan(given, steps, movements, _transfers(groups, before, movements, kind))


def merging(moved: Movement, switches: ops.ProtocolSwitches) -> Delta:
    """The bounds that a merge removes: tokens given up; without the equality check, all inside."""
    if switches.safeguards.merge_equality or moved.merge == Delta.empty:
        return moved.merge
    inner = {locked.left for locked in moved.locked} & {locked.right for locked in moved.locked}
    return Delta(merges=tuple(sorted(inner)))


def _transfers(
    replications: tuple[Replication, ...],
    before: Ring,
    movements: tuple[Movement, ...],
    kind: ops.Kind,
) -> tuple[Transfer, ...]:
    if not ops.OPERATION_SPECS[kind].streams:
        return ()
    transfers = []
    for group, (replication, moved) in enumerate(zip(replications, movements, strict=True)):
        rights = np.array([s.range.right for s in moved.streams], dtype=np.int64)
        groups = replicas(before, replication, rights).tolist() if len(rights) else ()
        for stream, row in zip(moved.streams, groups, strict=True):
            place = stream.range, stream.gains, stream.loses
            transfers.append(Transfer(group, *place, members(row)))
    return tuple(transfers)


def compensation(sequence: Sequence, switches: ops.ProtocolSwitches) -> tuple[PlannedStep, ...]:
    """The steps that undo what a sequence has done, newest first.

    Before the read switch one event restores everything. After it two are needed: reads back
    first, then (after a barrier) writes. One event for both would let a coordinator that knows
    it write to the old replicas while another still reads from the new ones (the safeguard
    *two-event-cancel*).
    Source: CEP-21, "Cancelling Committed Events".
    """
    done = sequence.steps[: sequence.done][::-1]

    def undo(name: str, steps: tuple[PlannedStep, ...]) -> PlannedStep:
        groups = range(len(sequence.plan.movements))
        inverted = ((invert(step.deltas[group]) for step in steps) for group in groups)
        return PlannedStep(name, tuple(reduce(merge, d, Delta.empty) for d in inverted))

    switched = [i for i, step in enumerate(done) if step.switches]
    if not switched or not switches.safeguards.two_event_cancel:
        return (undo("cancel", done),)
    cut = switched[0] + 1
    return (undo("cancel-reads", done[:cut]), undo("cancel-writes", done[cut:]))


def initial(ring: Ring, keyspaces: tuple[Keyspace, ...], epoch: int) -> Snapshot:
    """A stable cluster."""
    metadata = Metadata(epoch, ring, keyspaces)
    return Snapshot(metadata, tuple(stable_placement(ring, group) for group in metadata.groups))


def enact(snapshot: Snapshot, event: ResolvedEvent, switches: ops.ProtocolSwitches) -> Snapshot:
    """The next epoch's snapshot. Trusts its caller: the event was valid and permitted."""
    metadata, step = advance(snapshot.metadata, event, switches)
    checked = switches.safeguards.merge_equality
    ring = reading_ring(metadata)
    # Elsewhere than the operation works groups keep their order. None is everywhere: an operation
    # that ends as it begins, and any where safeguards are off: they may get into each other's way.
    sequence = metadata.sequence(node_of(event)) or snapshot.metadata.sequence(node_of(event))
    areas: tuple[Spans | None, ...] = (None,) * len(metadata.groups)
    if sequence is not None and switches.safeguards == ops.TcmSafeguards():
        areas = tuple(movement.area for movement in sequence.plan.movements)
    placements = tuple(
        settle(apply(placement, delta, merge_check=checked), ring, replication, area)
        for placement, delta, replication, area in zip(
            snapshot.placements, step.deltas, metadata.groups, areas, strict=True
        )
    )
    return Snapshot(metadata, placements)


def advance(
    metadata: Metadata, event: ResolvedEvent, switches: ops.ProtocolSwitches
) -> tuple[Metadata, PlannedStep]:
    """The next epoch's metadata, and the step that the event does to every placement."""
    if isinstance(event, ops.ResolvedOperation):
        sequence = Sequence(plan(metadata, event, switches), 0, metadata.epoch)
        metadata = replace(metadata, ring=ops.placed(metadata.ring, event))
    else:
        begun = metadata.sequence(event.node)
        assert begun is not None, f"{event.node} has nothing under way"
        sequence = begun
        if not isinstance(event, Advance):
            sequence = replace(sequence, done=0, undoing=compensation(sequence, switches))
            metadata = replace(metadata, cancels=metadata.cancels + 1)
    epoch, done = metadata.epoch + 1, sequence.done + 1
    by_node, ring = {each.node: each for each in metadata.sequences}, metadata.ring
    if done < len(sequence.steps):  # it is kept, in its place, while steps are pending
        by_node[sequence.node] = replace(sequence, done=done, epoch=epoch)
    else:  # its locks are released
        by_node.pop(sequence.node, None)
        if not sequence.undoing:
            ring = ops.ring_after(ring, sequence.plan.resolved)
    under_way = tuple(by_node.values())
    return replace(metadata, epoch=epoch, sequences=under_way, ring=ring), sequence.next


def reading_ring(metadata: Metadata) -> Ring:
    """The ring of finished operations and switched reads, whose walks order the read groups."""
    ring = metadata.ring
    for sequence in metadata.sequences:
        if has_switched(sequence):
            ring = ops.ring_after(ring, sequence.plan.resolved)
    return ring


def has_switched(sequence: Sequence) -> bool:
    """Whether the operation's read switch is committed (and not compensated)."""
    return any(step.switches for step in sequence.steps[: sequence.done])


def finished_step(sequence: Sequence) -> PlannedStep:
    """The step that the sequence did last."""
    return sequence.steps[sequence.done - 1]


def state_of(sequence: Sequence) -> str:
    """The state of an operation in its diagram."""
    return "reads back" if sequence.undoing else finished_step(sequence).name


class Committed(Struct, frozen=True):
    """The effect of one event: it committed ``step`` of ``operation``, as ``epoch``.

    ``before`` and ``after`` are the operation under way before and after it: None before it began,
    and None once it is over. ``step`` is a name of ``rules.operations.SENTENCES``.
    """

    epoch: int
    operation: ops.Operation
    step: str
    before: Sequence | None
    after: Sequence | None
    cancelled: bool
    """Whether the operation ended here by being undone."""

    @property
    def text(self) -> str:
        """``add write replicas``."""
        return ops.SENTENCES[self.step]


def committed(
    before: Metadata, event: ResolvedEvent, after: Metadata, switches: ops.ProtocolSwitches
) -> Committed:
    """The effect of an event, between the metadata of two epochs."""
    former, now = before.sequence(node_of(event)), after.sequence(node_of(event))
    undone = isinstance(event, Cancel) or (former is not None and bool(former.undoing))
    if isinstance(event, ops.ResolvedOperation):
        operation = event.operation
        done = now.plan if now else plan(before, event, switches)
        step = done.steps[0].name
    else:
        assert former is not None, f"{event.node} has nothing under way"
        operation = former.plan.operation
        step = former.next.name
        if isinstance(event, Cancel):
            step = finished_step(now).name if now else "cancel"
    return Committed(after.epoch, operation, step, former, now, undone and now is None)


def node_of(event: Event | ResolvedEvent) -> str:
    """The node whose operation an event belongs to."""
    return event.operation.node if isinstance(event, (Begin, ops.ResolvedOperation)) else event.node


SHRINKS = ("decommission", "removenode", "assassinate")


class LockConflict(Struct, frozen=True):
    """A range of ours that stands in the way of another operation, which has it locked."""

    group: int
    ours: Range
    operation: ops.Operation


def permit(metadata: Metadata, planned: Plan, switches: ops.ProtocolSwitches) -> Refusal | None:
    """Why the operation of a plan may not begin now; None when it may."""
    given, others = planned.resolved, [s.plan.operation for s in metadata.sequences]
    return (
        busy(given.operation, others)
        or _claimed(given.operation, others)
        or _last_node(metadata, given)
        or _too_few_left(metadata, given, switches)
        or _locked(metadata, planned, switches)
    )


def busy(operation: ops.Operation, others: Iterable[ops.Operation]) -> Refusal | None:
    """A node takes part in one operation at a time; ``others`` are in flight."""
    for other in others:
        if both := [name for name in operation.involved if name in other.involved]:
            return Refusal(f"{both[0]} already takes part in an operation: {other.title}")
    return None


def _claimed(operation: ops.Operation, others: Iterable[ops.Operation]) -> Refusal | None:
    """A token that a node is about to own is nobody else's, whatever else is switched off."""
    for other in others:
        if both := [token for token in operation.tokens if token in other.tokens]:
            return Refusal(f"token {both[0]} will belong to {other.node}: {other.title}")
    return None


def _leaving(metadata: Metadata) -> set[int]:
    plans = (sequence.plan for sequence in metadata.sequences)
    return {p.resolved.node for p in plans if p.operation.kind in SHRINKS}


def _last_node(metadata: Metadata, given: ops.ResolvedOperation) -> Refusal | None:
    alone = _members(metadata.ring, None, _leaving(metadata)) == 1
    if given.operation.kind in SHRINKS and alone:
        return Refusal(
            f"{given.operation.node} is the last node: no node is left to own its ranges"
        )
    return None


def _too_few_left(
    metadata: Metadata, given: ops.ResolvedOperation, switches: ops.ProtocolSwitches
) -> Refusal | None:
    """The safeguard *replication-check*: what stays must be able to hold every replica."""
    if switches.forces(given.operation) or not switches.safeguards.replication_check:
        return None
    ring, shrinks = metadata.ring, given.operation.kind in SHRINKS
    code = given.node if shrinks else given.target
    if code is None:
        return None
    if not shrinks and given.operation.dc in (None, ring.nodes[code].dc):
        return None  # another one takes its place
    why = too_few_left(ring, metadata.keyspaces, _leaving(metadata), code, shrinks=shrinks)
    return Refusal(f"{why} (force overrides this)") if why else None


def too_few_left(
    ring: Ring, keyspaces: Iterable[Keyspace], leaving: Set[int], code: int, *, shrinks: bool = True
) -> str:
    """Whether a keyspace would want more replicas than there are nodes without one of them (code)
    and those that are ``leaving``; empty: none. With ``shrinks`` the ring has a node less, too.
    """
    going = ring.nodes[code]
    for keyspace in keyspaces:
        for dc, factor in _demands(keyspace.replication):
            if dc != going.dc and (dc is not None or not shrinks):
                continue
            if (left := _members(ring, dc, leaving | {code})) < factor:
                where = f" in {dc}" if dc else ""
                return (
                    f"without {going.name} only {counted(left, 'node')} {are(left)} left{where}, "
                    f"but keyspace {keyspace.name} keeps {factor} replicas"
                )
    return ""


def _demands(replication: Replication) -> tuple[tuple[str | None, int], ...]:
    if isinstance(replication, SimpleStrategy):
        return ((None, replication.replication_factor),)
    return replication.factors if isinstance(replication, NetworkTopologyStrategy) else ()


def _members(ring: Ring, dc: str | None, without: Set[int]) -> int:
    return sum(
        bool(node.tokens) and code not in without and dc in (None, node.dc)
        for code, node in enumerate(ring.nodes)
    )


def under_replicated(
    ring: Ring, replication: Replication
) -> tuple[tuple[str | None, int, int], ...]:
    """The keyspaces that want more replicas than there are nodes: (dc, wanted, nodes)."""
    rows = ((dc, factor, _members(ring, dc, set())) for dc, factor in _demands(replication))
    return tuple(row for row in rows if row[1] > row[2])


def _locked(metadata: Metadata, planned: Plan, switches: ops.ProtocolSwitches) -> Refusal | None:
    """The safeguard *range-locks*: operations in flight keep to disjoint ranges."""
    if not switches.safeguards.range_locks:
        return None
    if not (taken := conflicts(metadata, planned, switches)):
        return None
    space, first, more = metadata.ring.space, taken[0], len(taken) - 1
    evidence = tuple(
        f"{', '.join(metadata.keyspaces_of(c.group))} {c.ours.label(space)} is locked by "
        f"{c.operation.title}"
        for c in taken
    )
    others = f" ({counted(more, 'more range')} {are(more)} locked)" if more else ""
    return Refusal(
        f"range {first.ours.label(space)} is locked by an operation in flight, "
        f"{first.operation.title}{others}",
        evidence,
        tuple(dict.fromkeys(c.operation.node for c in taken)),
    )


def conflicts(
    metadata: Metadata, planned: Plan, switches: ops.ProtocolSwitches
) -> tuple[LockConflict, ...]:
    """Every range of the plan that an operation in flight has locked."""
    return tuple(
        LockConflict(group, ours, sequence.plan.operation)
        for sequence in metadata.sequences
        for group, moved in enumerate(planned.movements)
        for ours in moved.locked
        if _clash(metadata, ours, sequence.plan.movements[group].locked, switches)
    )


def _clash(
    metadata: Metadata, ours: Range, held: Several[Range], switches: ops.ProtocolSwitches
) -> bool:
    """Whether any of the held ranges (ascending, disjoint) shares a token with ours.

    In edition ``server`` two ranges that both touch an end of the line clash too: they are
    neighbours on the wrapped ring of the published code.
    """
    space = metadata.ring.space

    def at_an_end(range_: Range) -> bool:
        return range_.left == space.low or range_.right == space.high

    wrapped = switches.edition == "server" and at_an_end(ours)
    touched = wrapped and any(map(at_an_end, held))
    return touched or first_overlap(held, ours) is not None


def together(
    metadata: Metadata,
    first: ops.ResolvedOperation,
    second: ops.ResolvedOperation,
    switches: ops.ProtocolSwitches,
) -> Refusal | None:
    """Why ``second`` may not begin once ``first`` has; None when both may be under way at once."""
    begun, _ = advance(metadata, first, switches)
    return permit(begun, plan(begun, second, switches), switches)


def no_way_back(sequence: Sequence) -> Refusal | None:
    """Why an operation can no longer be cancelled: once writes were dropped, old replicas lag."""
    if any(step.drops for step in sequence.steps[: sequence.done]):
        return Refusal("the old replicas no longer get writes: it is too late to go back")
    return None
