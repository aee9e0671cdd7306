"""Enacting events: from one epoch's metadata and placements to the next.

``enact`` is a pure function, so every node that applies the same log has the same metadata and
the same placements. Placements are computed here, when an event is applied, and nowhere else.
Source: CEP-21, "Node Level Changes".
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from kit.errors import counted
from kit.protocols.tcm.rules.metadata import (
    Advance,
    Begin,
    Cancel,
    Event,
    Metadata,
    PlannedStep,
    ResolvedEvent,
    Sequence,
    Snapshot,
    StreamTask,
)
from kit.protocols.tcm.rules.operations import Operation, ResolvedOperation, placed, ring_after
from kit.protocols.tcm.rules.plan import Planner, compensation, plan
from kit.protocols.tcm.rules.safeguards import TcmSafeguards
from kit.protocols.tcm.rules.steps import BEFORE, SENTENCES, ProtocolSwitches
from kit.ring.applying import Spans, apply, settle
from kit.ring.placements import stable_placement
from kit.ring.replication import Keyspace
from kit.ring.topology import Ring


def initial(ring: Ring, keyspaces: tuple[Keyspace, ...], epoch: int) -> Snapshot:
    """A stable cluster."""
    metadata = Metadata(epoch, ring, keyspaces)
    return Snapshot(metadata, tuple(stable_placement(ring, group) for group in metadata.groups))


def enact(
    snapshot: Snapshot, event: ResolvedEvent, switches: ProtocolSwitches, planner: Planner = plan
) -> Snapshot:
    """The next epoch's snapshot. Trusts its caller: the event was valid and permitted."""
    metadata, step = advance(snapshot.metadata, event, switches, planner)
    checked = switches.safeguards.merge_equality
    ring = reading_ring(metadata)
    placements = tuple(
        settle(apply(placement, delta, merge_check=checked), ring, replication, area)
        for placement, delta, replication, area in zip(
            snapshot.placements,
            step.deltas,
            metadata.groups,
            _areas(snapshot.metadata, metadata, event, switches),
            strict=True,
        )
    )
    return Snapshot(metadata, placements)


def _areas(
    before: Metadata, after: Metadata, event: ResolvedEvent, switches: ProtocolSwitches
) -> tuple[Spans | None, ...]:
    """Where the event's operation works, a group each: elsewhere groups keep their order.

    None is everywhere: an operation that ends as it begins, and any where safeguards are off, so
    that operations may get into each other's way.
    """
    node = event.operation.node if isinstance(event, ResolvedOperation) else event.node
    sequence = after.sequence(node) or before.sequence(node)
    if sequence is None or switches.safeguards != TcmSafeguards():
        return (None,) * len(after.groups)
    return tuple(movement.area for movement in sequence.plan.movements)


def advance(
    metadata: Metadata, event: ResolvedEvent, switches: ProtocolSwitches, planner: Planner = plan
) -> tuple[Metadata, PlannedStep]:
    """The next epoch's metadata, and the step that the event does to every placement."""
    if isinstance(event, ResolvedOperation):
        sequence = Sequence(planner(metadata, event, switches), 0, metadata.epoch)
        metadata = replace(metadata, ring=placed(metadata.ring, event))
    else:
        begun = metadata.sequence(event.node)
        assert begun is not None, f"{event.node} has nothing under way"
        sequence = begun
        if not isinstance(event, Advance):
            undoing = compensation(sequence, switches)
            sequence = replace(sequence, done=0, undoing=undoing)
            metadata = replace(metadata, cancels=metadata.cancels + 1)
    epoch = metadata.epoch + 1
    advanced = replace(sequence, done=sequence.done + 1, epoch=epoch)
    return _remember(metadata, advanced, epoch), sequence.next


def _remember(metadata: Metadata, advanced: Sequence, epoch: int) -> Metadata:
    """Keep the sequence, in its place, while steps are pending; else release its locks."""
    by_node = {sequence.node: sequence for sequence in metadata.sequences}
    ring = metadata.ring
    if advanced.done < len(advanced.steps):
        by_node[advanced.node] = advanced
    else:
        by_node.pop(advanced.node, None)
        if not advanced.undoing:
            ring = ring_after(ring, advanced.plan.resolved)
    return replace(metadata, epoch=epoch, sequences=tuple(by_node.values()), ring=ring)


def reading_ring(metadata: Metadata) -> Ring:
    """The ring whose walks give the read groups their order.

    It is the ring of finished operations, with the tokens of those whose reads have switched.
    """
    ring = metadata.ring
    for sequence in metadata.sequences:
        if has_switched(sequence):
            ring = ring_after(ring, sequence.plan.resolved)
    return ring


def has_switched(sequence: Sequence) -> bool:
    """Whether the operation's read switch is committed (and not compensated)."""
    return not sequence.undoing and any(s.switches for s in sequence.steps[: sequence.done])


def finished_step(sequence: Sequence) -> PlannedStep:
    """The step that the sequence did last."""
    return sequence.steps[sequence.done - 1]


def state_of(sequence: Sequence) -> str:
    """The state of an operation in its diagram."""
    if sequence.undoing:
        return "reads back"
    if sequence.done == 0:
        return BEFORE[sequence.plan.operation.kind]
    return finished_step(sequence).name


class Committed(Struct, frozen=True):
    """What one event did: it committed ``step`` of ``operation``, as ``epoch``.

    ``before`` and ``after`` are the operation under way before and after it: None before it began,
    and None once it is over. ``step`` is a name of ``kit.protocols.tcm.rules.steps.SENTENCES``.
    """

    epoch: int
    operation: Operation
    step: str
    before: Sequence | None
    after: Sequence | None
    cancelled: bool
    """Whether the operation ended here by being undone."""

    @property
    def text(self) -> str:
        """``add write replicas``."""
        return SENTENCES[self.step]


def committed(
    before: Metadata,
    event: ResolvedEvent,
    after: Metadata,
    switches: ProtocolSwitches,
    planner: Planner = plan,
) -> Committed:
    """What an event did, between the metadata of two epochs."""
    node = event.operation.node if isinstance(event, ResolvedOperation) else event.node
    former, now = before.sequence(node), after.sequence(node)
    undone = isinstance(event, Cancel) or (former is not None and bool(former.undoing))
    if isinstance(event, ResolvedOperation):
        operation = event.operation
        done = now.plan if now else planner(before, event, switches)
        step = done.steps[0].name
    else:
        assert former is not None, f"{node} has nothing under way"
        operation = former.plan.operation
        step = former.next.name
        if isinstance(event, Cancel):
            step = finished_step(now).name if now else "cancel"
    return Committed(after.epoch, operation, step, former, now, undone and now is None)


def node_of(event: Event) -> str:
    """The node whose operation an event belongs to."""
    return event.operation.node if isinstance(event, Begin) else event.node


class Completion(Struct, frozen=True):
    """The end of an operation: its epochs, the ranges it moved, the epochs at which quorums missed.

    ``epochs`` are those that it committed itself; ``missed`` may be others' between them. One that
    was ``undone`` moved nothing.
    """

    operation: Operation
    epochs: int
    moved: int
    missed: tuple[int, ...] = ()
    undone: bool = False

    @property
    def text(self) -> str:
        """``X is a member: 4 epochs, 3 ranges moved, nothing missed``, as a sentence."""
        moved = "all is as before" if self.undone else f"{counted(self.moved, 'range')} moved"
        parts = (counted(self.epochs, "epoch"), moved, _missed(self.missed))
        return f"{self._became}: {', '.join(parts)}."

    @property
    def _became(self) -> str:
        node, title = self.operation.node, self.operation.title
        if self.undone:
            return f"{title[0].upper()}{title[1:]} is undone"
        match self.operation.kind:
            case "bootstrap":
                return f"{node} is a member"
            case "decommission":
                return f"{node} has left"
            case "move":
                return f"{node} has moved"
            case "replace":
                return f"{node} is a member in place of {self.operation.target}"
            case _:
                return f"{node} is removed"


def moved_ranges(tasks: tuple[StreamTask, ...]) -> int:
    """How many ranges got a new replica: each once for every group of keyspaces."""
    return len({(part.group, part.range) for task in tasks for part in task.transfers})


def _missed(epochs: tuple[int, ...]) -> str:
    if not epochs:
        return "nothing missed"
    named = ", ".join(map(str, epochs))
    return f"but a read could miss a write at epoch{'s' * (len(epochs) > 1)} {named}"
