"""Cluster metadata: one immutable value per epoch, with every plan that is still under way.

The steps that an operation has yet to do are kept *in the metadata*, so that a node that failed
between two steps reads there what comes next. Source: CEP-21, "Bootstrap", "Node Level Changes".
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kit.protocols.tcm.rules.operations import WRITTEN, Operation, ResolvedOperation
from kit.ring.deltas import Delta
from kit.ring.movement import Movement
from kit.ring.placements import Placement
from kit.ring.ranges import Range
from kit.ring.replication import Keyspace, LocalStrategy, Replication
from kit.ring.topology import Ring


class Begin(Struct, frozen=True, tag="begin"):
    """Event: an operation is planned, takes its locks and does its first step."""

    operation: Operation

    @property
    def written(self) -> Begin:
        """The event in the words of the first traces, of which the log's digest is made."""
        kind: Any = WRITTEN.get(self.operation.kind, self.operation.kind)
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

ResolvedEvent = ResolvedOperation | Advance | Cancel | AutomaticCancel
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

    resolved: ResolvedOperation
    steps: tuple[PlannedStep, ...]
    movements: tuple[Movement, ...]
    transfers: tuple[Transfer, ...]

    @property
    def operation(self) -> Operation:
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
    """What every node at ``epoch`` knows: ring, keyspaces, operations in flight.

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
        """The distinct replications: keyspaces with equal ones share their placements.

        Local keyspaces have none: each node keeps its own.
        """
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
