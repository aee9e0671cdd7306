"""Rehearsing an operation on a ring: every step, its tables, what it copies and waits for.

The rehearsal drives the same tcm model that the player shows: it begins the operation, lets every
node catch up, streams, commits, and notes what it sees. Bounds at the ends of the line are None.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from kit.errors import BadInput, Refusal
from kit.importers.ringfile import RingFile
from kit.importers.sizes import Sizes
from kit.log import Learn
from kit.ring.replication import LocalStrategy
from kit.ring.tokens import MURMUR3, TokenSpace
from kit.tcm import facts
from kit.tcm.cluster import TcmCluster
from kit.tcm.model import Stream
from kit.tcm.parameters import TcmParameters
from kit.tcm.rules_metadata import Advance, Begin, Sequence
from kit.tcm.rules_operations import Operation
from kit.tcm.rules_permit import conflicts, under_replicated
from kit.tcm.rules_plan import plan
from kit.tcm.rules_steps import Shape
from kit.tcm.rules_streams import awaits_streams

Bounds = tuple[int | None, int | None]
Line = tuple[int | None, int | None, tuple[str, ...]]


class Tables(Struct, frozen=True):
    """The read and the write table of one keyspace: (left, right, replicas) rows."""

    reads: tuple[Line, ...]
    writes: tuple[Line, ...]


class Copy(Struct, frozen=True, rename={"sources": "from", "target": "to"}):
    """One range that must be copied; ``bytes`` is None when no size is known."""

    keyspace: str
    range: Bounds
    sources: tuple[str, ...]
    target: str
    bytes: int | None


class Wait(Struct, frozen=True):
    """``needed`` of ``replicas`` must have applied the step before, for one range."""

    keyspace: str
    range: Bounds
    dc: str | None
    replicas: tuple[str, ...]
    needed: int


class RehearsedStep(Struct, frozen=True):
    """One log event: the tables after it, and what must be done before it is committed."""

    name: str
    epoch: int
    keyspaces: dict[str, Tables]
    streams: tuple[Copy, ...]
    barriers: tuple[Wait, ...]


class Conflict(Struct, frozen=True):
    """A range that the operation would lock, and the operation in flight that holds it."""

    keyspace: str
    range: Bounds
    operation: str


class Rehearsal(Struct, frozen=True):
    """What an operation would do, or why it may not begin."""

    operation: str
    accepted: bool
    reason: str | None
    warnings: tuple[str, ...]
    locks: dict[str, tuple[Bounds, ...]]
    conflicts: tuple[Conflict, ...]
    steps: tuple[RehearsedStep, ...]


def bounds(space: TokenSpace, left: int, right: int) -> Bounds:
    """A range's bounds; None at either end of the line."""
    return (None if left == space.low else left, None if right == space.high else right)


def model_for(
    ring_file: RingFile, operations: tuple[Operation, ...], shape: Shape = "cep"
) -> TcmCluster:
    """The tcm model of somebody's own ring; all but the last operation are in flight already.

    Raises:
        BadInput: when an operation does not speak of this ring.
    """
    space = ring_file.ring.space
    ends = (None, None) if space == MURMUR3 else (space.low, space.high)
    return TcmCluster(
        TcmParameters(
            members=ring_file.ring.nodes,
            keyspaces=ring_file.keyspaces,
            low=ends[0],
            high=ends[1],
            operations=tuple(operation.text for operation in operations),
            shape=shape,
            epoch=ring_file.epoch - (len(operations) - 1),
        )
    )


def rehearse(
    ring_file: RingFile,
    operation: Operation,
    *,
    in_flight: tuple[Operation, ...] = (),
    shape: Shape = "cep",
    sizes: Sizes | None = None,
) -> Rehearsal:
    """Run an operation on a ring through all its steps, everybody following.

    ``in_flight`` are operations that are prepared already: their first event is committed, at an
    epoch up to the ring file's.

    Raises:
        BadInput: when an operation does not speak of this ring, or those in flight exclude each
            other.
    """
    m = model_for(ring_file, (*in_flight, operation), shape)
    s = m.start()
    for other in in_flight:
        s = _begun(m, s, other)
    refusal = m.refusal(s, _action(m, Begin(operation)))
    if refusal is not None:
        return _refused(m, s, operation, refusal)
    steps = []
    sequence: Sequence | None = None
    locks: dict[str, tuple[Bounds, ...]] = {}
    warnings = _warnings(m, s, operation)
    while sequence is not None or not steps:
        streams, waits = _before(m, s, sequence, sizes)
        s = _committed(m, s, operation, sequence)
        name = _step_name(m, s, operation, sequence)
        if not steps:
            locks = _locks(m, s, operation)
        warnings += tuple(
            f"nobody who is alive holds {c.keyspace} {_text(c.range)}: its data is lost"
            for c in streams
            if not c.sources
        )
        steps.append(RehearsedStep(name, facts.epoch(m, s), tables(m, s), streams, waits))
        sequence = m.tcm.sequence(s.tcm, operation.node)
    return Rehearsal(operation.text, True, None, warnings, locks, (), tuple(steps))


def tables(m: TcmCluster, s: Any) -> dict[str, Tables]:
    """The tables of every keyspace as they stand."""
    space = facts.space(m)
    found = {}
    for keyspace in facts.keyspaces(m):
        rows = facts.rows(m, s, keyspace)
        reads, writes = (
            tuple((*bounds(space, r.left, r.right), getattr(r, side)) for r in rows)
            for side in ("reads", "writes")
        )
        found[keyspace] = Tables(reads, writes)
    return found


def _action(m: TcmCluster, own: Any) -> Any:
    return m.wrap["tcm"](own)


def _begun(m: TcmCluster, s: Any, operation: Operation) -> Any:
    action = _action(m, Begin(operation))
    refusal = m.refusal(s, action)
    if refusal is not None:
        raise BadInput(
            "operation in flight", operation.text, f"one that may begin ({refusal.reason})"
        )
    return m.apply(s, action)


def _refused(m: TcmCluster, s: Any, operation: Operation, refusal: Refusal) -> Rehearsal:
    metadata = m.snapshot(s).metadata
    space = facts.space(m)
    planned = plan(metadata, operation, m.tcm.switches)
    found = tuple(
        Conflict(keyspace, bounds(space, c.ours.left, c.ours.right), c.operation.text)
        for c in conflicts(metadata, planned, m.tcm.switches)
        for keyspace in metadata.keyspaces_of(c.group)
    )
    return Rehearsal(operation.text, False, refusal.reason, (), {}, found, ())


def _before(
    m: TcmCluster, s: Any, sequence: Sequence | None, sizes: Sizes | None
) -> tuple[tuple[Copy, ...], tuple[Wait, ...]]:
    """What must be complete, and which barriers met, before the next step."""
    if sequence is None:
        return (), ()
    space = facts.space(m)
    waits = tuple(
        Wait(b.keyspace, bounds(space, b.left, b.right), b.dc, b.replicas, b.needed)
        for b in facts.barriers(m, s, sequence)
    )
    if not awaits_streams(sequence):
        return (), waits
    copies = tuple(
        Copy(
            row.keyspace,
            bounds(space, row.left, row.right),
            row.sources,
            row.target,
            sizes.of(row.keyspace, row.left, row.right, row.sources) if sizes else None,
        )
        for row in facts.streams(m, s, sequence)
    )
    return tuple(sorted(copies, key=lambda c: (c.keyspace, c.range[0] or space.low))), waits


def _committed(m: TcmCluster, s: Any, operation: Operation, sequence: Sequence | None) -> Any:
    """Everybody catches up, data is streamed, the next step is committed."""
    if sequence is None:
        return m.apply(s, _action(m, Begin(operation)))
    behind = len(s.log.entries)
    for name, learned in zip(m.names, s.log.learned, strict=True):
        if name not in s.tcm.down:
            for _ in range(behind - learned):
                s = m.apply(s, m.wrap["log"](Learn(name)))
    for action in tuple(m.actions(s)) if awaits_streams(sequence) else ():
        if isinstance(action.action, Stream) and action.action.node == operation.node:
            s = m.act(s, action)
    return m.act(s, _action(m, Advance(operation.node)))


def _step_name(m: TcmCluster, s: Any, operation: Operation, before: Sequence | None) -> str:
    if before is not None:
        return before.next.name
    now = m.tcm.sequence(s.tcm, operation.node)
    if now is not None:
        return now.steps[0].name
    earlier = m.snapshot(s, facts.epoch(m, s) - 1).metadata
    return plan(earlier, operation, m.tcm.switches).steps[0].name


def _locks(m: TcmCluster, s: Any, operation: Operation) -> dict[str, tuple[Bounds, ...]]:
    """The ranges that the operation holds after its first event (none when that was its last)."""
    space = facts.space(m)
    metadata = m.snapshot(s, facts.epoch(m, s) - 1).metadata
    planned = plan(metadata, operation, m.tcm.switches)
    found: dict[str, tuple[Bounds, ...]] = {name: () for name in facts.keyspaces(m)}
    for group, moved in enumerate(planned.movements):
        for keyspace in metadata.keyspaces_of(group):
            found[keyspace] = tuple(bounds(space, r.left, r.right) for r in moved.locked)
    return found


def _warnings(m: TcmCluster, s: Any, operation: Operation) -> tuple[str, ...]:
    metadata = m.snapshot(s).metadata
    found = []
    for keyspace in metadata.keyspaces:
        if isinstance(keyspace.replication, LocalStrategy):
            continue
        for dc, wanted, there in under_replicated(metadata.ring, keyspace.replication):
            where = f" in {dc}" if dc else ""
            found.append(f"keyspace {keyspace.name} wants {wanted} replicas{where}: {there} nodes")
    if operation.kind == "assassinate":
        found.append("assassinate streams nothing: run a repair afterwards")
    if operation.force:
        found.append("forced: the replication check was not made")
    return tuple(found)


def _text(range_: Bounds) -> str:
    left, right = ("min" if range_[0] is None else range_[0]), range_[1]
    return f"({left}, {'max' if right is None else right}]"


def as_json(rehearsal: Rehearsal) -> str:
    """A rehearsal as JSON; ``conflicts`` only where it was refused."""
    plain = msgspec.to_builtins(rehearsal)
    if rehearsal.accepted:
        del plain["conflicts"]
    return msgspec.json.encode(plain).decode()
