"""The tcm state machine at the protocol grain: what is committed, copied, down and forgotten.

It is driven by the log (see ``kit.protocols.tcm.cluster``): each commit here is one entry there.
Who has applied what is the log's business; barriers are a condition over both. Source: CEP-21.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kit.engine.log import Log
from kit.engine.model import Model
from kit.engine.pairs import paired
from kit.errors import BadInput, Refusal
from kit.protocols.tcm.parameters import TcmParameters, cluster
from kit.protocols.tcm.rules.history import Committed, committed, enact, initial
from kit.protocols.tcm.rules.metadata import (
    Advance,
    AutomaticCancel,
    Begin,
    Cancel,
    Event,
    ResolvedEvent,
    Sequence,
    Snapshot,
    StreamTask,
)
from kit.protocols.tcm.rules.operations import Operation, validate
from kit.protocols.tcm.rules.permit import no_way_back, permit
from kit.protocols.tcm.rules.plan import remembering_planner
from kit.protocols.tcm.rules.safeguards import TcmSafeguards
from kit.protocols.tcm.rules.steps import ALL_ON, OPERATION_SPECS, SENTENCES, ProtocolSwitches
from kit.protocols.tcm.rules.streams import (
    awaits_streams,
    enough,
    must_stream,
    pending,
    sources,
    tasks,
)

_MOST_SNAPSHOTS = 4096


class TcmState(Struct, frozen=True, cache_hash=True):
    """The committed events, and what happened beside them.

    ``streamed`` holds (node, bit mask of the streaming tasks done) for operations under way;
    ``down`` and ``forgotten`` are sorted node names; ``crashes`` counts the crashes so far.
    """

    events: Log
    streamed: tuple[tuple[str, int], ...] = ()
    down: tuple[str, ...] = ()
    forgotten: tuple[str, ...] = ()
    crashes: int = 0


class Stream(Struct, frozen=True, tag="stream"):
    """One streaming task of the operation of ``node`` completes.

    ``displaced`` is the replica whose place ``target`` takes; None where a quorum streams.
    """

    node: str
    displaced: str | None
    target: str


class Crash(Struct, frozen=True, tag="crash"):
    """A node stops. What it has on disk stays."""

    node: str


class Restart(Struct, frozen=True, tag="restart"):
    """A node comes back; it reads in the metadata what was left to do."""

    node: str


class Tcm(Model[TcmState, Any]):
    """The metadata service and the nodes that carry operations out."""

    name = "tcm"
    title = "Transactional cluster metadata"
    State = TcmState
    Action = Begin | Advance | Cancel | AutomaticCancel | Stream | Crash | Restart

    def __init__(
        self, parameters: TcmParameters, safeguards: TcmSafeguards = ALL_ON.safeguards
    ) -> None:
        """A model of the cluster that the parameters describe."""
        self.parameters: TcmParameters = parameters
        self.cluster = cluster(parameters)
        barrier = safeguards.progress_barrier and parameters.barrier
        self.safeguards_on = replace(safeguards, progress_barrier=barrier)
        self.switches = ProtocolSwitches(
            parameters.edition, self.safeguards_on, merge=parameters.merge
        )
        self.names = self.cluster.names
        self.codes = {name: code for code, name in enumerate(self.names)}
        self.computations = 0
        self.snapshot = lru_cache(_MOST_SNAPSHOTS)(self._enacted)
        self._possible = lru_cache(_MOST_SNAPSHOTS)(self._sensible)
        self.plan = remembering_planner()
        self.permission = lru_cache(_MOST_SNAPSHOTS)(self._permit)
        self.rules = (
            paired(Begin, "begin", self._operations, self._may_begin, self._commit),
            paired(Stream, "stream", self._tasks, self._may_stream, self._stream),
            paired(Advance, "commit", self._pending, self._may_advance, self._commit),
            paired(Cancel, "cancel", self._cancellable, self._may_cancel, self._commit),
            paired(AutomaticCancel, "cancel", self._out_of_sight, self._may_give_up, self._commit),
            paired(Crash, "crash", self._upright, self._may_crash, self._crash),
            paired(Restart, "restart", self._fallen, lambda s, a: None, self._restart),
        )

    def start(self) -> TcmState:
        """A stable ring, an empty log."""
        return TcmState(Log())

    # -- the metadata of a log prefix, computed once when its last event is applied ---------------

    def _enacted(self, events: Log) -> Snapshot:
        self.computations += 1
        if not len(events):
            return initial(self.cluster.ring, self.cluster.keyspaces, self.parameters.epoch)
        return self.enact(self.snapshot(events.shorter()), events[len(events) - 1])

    def enact(self, snapshot: Snapshot, event: Event) -> Snapshot:
        """The next epoch's snapshot, after an event of the log."""
        return enact(snapshot, self.resolved(event), self.switches, self.plan)

    def resolved(self, event: Event) -> ResolvedEvent:
        """An event of the log as rules take it."""
        return self.cluster.resolved[event.operation] if isinstance(event, Begin) else event

    def committed(self, events: Log) -> Committed:
        """What the last event of a log prefix did."""
        before, after = (self.snapshot(log).metadata for log in (events.shorter(), events))
        event = self.resolved(events[len(events) - 1])
        return committed(before, event, after, self.switches, self.plan)

    def sequences(self, s: TcmState) -> tuple[Sequence, ...]:
        """The operations under way that somebody remembers."""
        known = self.snapshot(s.events).metadata.sequences
        return tuple(sequence for sequence in known if sequence.node not in s.forgotten)

    def sequence(self, s: TcmState, node: str) -> Sequence | None:
        """The operation of ``node`` that is under way and remembered."""
        return next((sequence for sequence in self.sequences(s) if sequence.node == node), None)

    # -- begin ------------------------------------------------------------------------------------

    def _operations(self, s: TcmState) -> Iterator[Begin]:
        return iter(self._possible(s.events))

    def _sensible(self, events: Log) -> tuple[Begin, ...]:
        """Operations that still make sense and are not under way."""
        metadata = self.snapshot(events).metadata
        begins = []
        for operation, resolved in self.cluster.resolved.items():
            if metadata.sequence(operation.node) is not None:
                continue
            try:
                validate(metadata.ring, metadata.keyspaces, resolved)
            except BadInput:
                continue
            begins.append(Begin(operation))
        return tuple(begins)

    def _may_begin(self, s: TcmState, action: Begin) -> Refusal | None:
        """A member that is to leave or move does so itself; newcomers may still have to start."""
        operation = action.operation
        if operation.kind in ("decommission", "move") and operation.node in s.down:
            return self._idle(operation)
        if not self.safeguards_on.validate_committed:
            return None  # the cluster asks what the submitter knows
        return self.permission(s.events, operation)

    def _idle(self, operation: Operation) -> Refusal:
        node = operation.node
        return Refusal(f"{node} is down: it drives its own {operation.kind}", missing=(node,))

    def _permit(self, events: Log, operation: Operation) -> Refusal | None:
        """The metadata service validates and permits, by what is committed alone."""
        metadata = self.snapshot(events).metadata
        planned = self.plan(metadata, self.cluster.resolved[operation], self.switches)
        return permit(metadata, planned, self.switches)

    # -- streaming --------------------------------------------------------------------------------

    def _tasks(self, s: TcmState) -> Iterator[Stream]:
        for sequence in self.sequences(s):
            if awaits_streams(sequence):
                todo = tasks(sequence)
                for i in pending(sequence, self.streamed(s, sequence.node)):
                    yield self.stream_of(sequence, todo[i])

    def stream_of(self, sequence: Sequence, task: StreamTask) -> Stream:
        """The action that does one task of an operation."""
        displaced = None if task.displaced is None else self.names[task.displaced]
        return Stream(sequence.node, displaced, self.names[task.target])

    def _may_stream(self, s: TcmState, action: Stream) -> Refusal | None:
        if action.target in s.down:
            return Refusal(f"{action.target} is down: it cannot receive", missing=(action.target,))
        sequence, task = self.task(s, action)
        down, dead = self.absent(s, sequence)
        if all(enough(transfer, down, dead) for transfer in task.transfers):
            return None
        missing = tuple(n for n in s.down if n != sequence.plan.operation.dead)
        return Refusal("too few of the old replicas are up to stream from", missing=missing)

    def task(self, s: TcmState, action: Stream) -> tuple[Sequence, StreamTask]:
        """The operation and the task that a streaming action stands for."""
        sequence = self.sequence(s, action.node)
        assert sequence is not None
        return sequence, tasks(sequence)[self._place(sequence, action)]

    def _place(self, sequence: Sequence, action: Stream) -> int:
        displaced = None if action.displaced is None else self.codes[action.displaced]
        return sequence.plan.places[self.codes[action.target], displaced]

    def absent(self, s: TcmState, sequence: Sequence) -> tuple[frozenset[int], frozenset[int]]:
        """The codes of nodes that are down, and of those that will never come back."""
        code = sequence.plan.resolved.dead
        dead = frozenset[int]() if code is None else frozenset((code,))
        return dead.union(self.codes[name] for name in s.down), dead

    def task_sources(self, s: TcmState, sequence: Sequence, task: StreamTask) -> tuple[str, ...]:
        """The nodes that stream a task as things stand."""
        down, _ = self.absent(s, sequence)
        codes = (
            code for transfer in task.transfers for code in sources(transfer, down, self.switches)
        )
        return tuple(self.names[code] for code in dict.fromkeys(codes))

    def _stream(self, s: TcmState, action: Stream) -> TcmState:
        sequence = self.sequence(s, action.node)
        assert sequence is not None
        mask = self.streamed(s, action.node) | 1 << self._place(sequence, action)
        rest = [(node, done) for node, done in s.streamed if node != action.node]
        return replace(s, streamed=tuple(sorted([*rest, (action.node, mask)])))

    def streamed(self, s: TcmState, node: str) -> int:
        """The bit mask of the streaming tasks that an operation has done."""
        return dict(s.streamed).get(node, 0)

    # -- commits ----------------------------------------------------------------------------------

    def _pending(self, s: TcmState) -> Iterator[Advance]:
        return (Advance(sequence.node) for sequence in self.sequences(s))

    def _may_advance(self, s: TcmState, action: Advance) -> Refusal | None:
        """The driver is up, and what the read switch relies on has been streamed."""
        sequence = self.sequence(s, action.node)
        assert sequence is not None
        operation = sequence.plan.operation
        driven = OPERATION_SPECS[operation.kind].driver == "node" and not sequence.undoing
        if driven and operation.node in s.down:
            return self._idle(operation)
        if not must_stream(sequence, self.switches):
            return None
        todo = tasks(sequence)
        left = [todo[i] for i in pending(sequence, self.streamed(s, sequence.node))]
        if not left:
            return None
        targets = tuple(dict.fromkeys(self.names[task.target] for task in left))
        return Refusal(
            f"streaming to {', '.join(targets)} is not complete: "
            f"{len(todo) - len(left)} of {len(todo)} done",
            tuple(self._task_text(s, sequence, task) for task in left),
            targets,
        )

    def _task_text(self, s: TcmState, sequence: Sequence, task: StreamTask) -> str:
        space = self.cluster.ring.space
        ranges = ", ".join(t.range.label(space) for t in task.transfers[:4])
        more = f" and {len(task.transfers) - 4} more" if len(task.transfers) > 4 else ""
        names = ", ".join(self.task_sources(s, sequence, task)) or "nobody"
        return f"{names} to {self.names[task.target]}: {ranges}{more}"

    def _cancellable(self, s: TcmState) -> Iterator[Cancel]:
        if self.parameters.cancels:
            yield from (Cancel(x.node) for x in self.sequences(s) if not x.undoing)

    def _may_cancel(self, s: TcmState, action: Cancel) -> Refusal | None:
        """An operator may cancel until writes were dropped: then the old replicas lag for good."""
        sequence = self.sequence(s, action.node)
        assert sequence is not None
        refusal = no_way_back(sequence)
        if refusal is not None:
            return refusal
        if self.snapshot(s.events).metadata.cancels >= self.parameters.cancels:
            return Refusal("the run's budget of cancellations is used up")
        return None

    def _out_of_sight(self, s: TcmState) -> Iterator[AutomaticCancel]:
        """Somebody who does not hear of a node would like to have its operation undone."""
        for cancel in self._cancellable(s):
            others = [name for name in self.present(s) if name not in {cancel.node, *s.down}]
            if others:
                yield AutomaticCancel(cancel.node, others[0])

    def _may_give_up(self, s: TcmState, action: AutomaticCancel) -> Refusal | None:
        """The safeguard *operator-cancel*: being out of sight is no reason to undo anything."""
        if self.safeguards_on.operator_cancel:
            why = f"{action.by} may have lost sight of {action.node}: only operators cancel"
            return Refusal(why)
        return self._may_cancel(s, action)

    def _commit(self, s: TcmState, event: Event) -> TcmState:
        """The event is in the log: metadata moves on."""
        events = s.events.append(event)
        under_way = {x.node for x in self.snapshot(events).metadata.sequences if not x.undoing}
        streamed = tuple(entry for entry in s.streamed if entry[0] in under_way)
        dead = event.operation.dead if isinstance(event, Begin) else None
        down = s.down if dead is None else tuple(sorted({*s.down, dead}))
        return replace(s, events=events, streamed=streamed, down=down)

    # -- crashes ----------------------------------------------------------------------------------

    def _upright(self, s: TcmState) -> Iterator[Crash]:
        if self.parameters.crashes:
            yield from (Crash(name) for name in self.present(s) if name not in s.down)

    def present(self, s: TcmState) -> tuple[str, ...]:
        """Members, and newcomers with an operation under way."""
        metadata = self.snapshot(s.events).metadata
        busy = {sequence.node for sequence in metadata.sequences}
        return tuple(n.name for n in metadata.ring.nodes if n.tokens or n.name in busy)

    def _may_crash(self, s: TcmState, action: Crash) -> Refusal | None:
        if s.crashes < self.parameters.crashes:
            return None
        return Refusal("the run's budget of crashes is used up")

    def _crash(self, s: TcmState, action: Crash) -> TcmState:
        """Pending steps are in the metadata; without that safeguard they die with the driver."""
        forgotten = set(s.forgotten)
        sequence = self.sequence(s, action.node)
        driven = (
            sequence is not None and OPERATION_SPECS[sequence.plan.operation.kind].driver == "node"
        )
        if driven and not self.safeguards_on.pending_in_metadata:
            forgotten.add(action.node)
        return replace(
            s,
            down=tuple(sorted({*s.down, action.node})),
            forgotten=tuple(sorted(forgotten)),
            crashes=s.crashes + 1,
        )

    def _fallen(self, s: TcmState) -> Iterator[Restart]:
        """Nodes that may come back: not those that an operation takes to be dead."""
        dead = {sequence.plan.operation.dead for sequence in self.sequences(s)}
        return (Restart(name) for name in s.down if name in self.present(s) and name not in dead)

    def _restart(self, s: TcmState, action: Restart) -> TcmState:
        return replace(s, down=tuple(name for name in s.down if name != action.node))

    # -- words ------------------------------------------------------------------------------------

    def verb(self, action: Any) -> str:
        """``bootstrap X --tokens 150``, ``commit X``, ``stream X: C to X`` and so on."""
        match action:
            case Begin(operation):
                return operation.text
            case Advance(node):
                return f"commit {node}"
            case AutomaticCancel(node, by):
                return f"give-up {node} by {by}"
            case Stream(node, displaced, target):
                return f"stream {node}: {displaced or 'quorum'} to {target}"
            case _:
                return f"{type(action).__struct_config__.tag} {action.node}"

    def label(self, s: TcmState, action: Any) -> str:
        """A commit's button names the step it will commit."""
        if isinstance(action, Advance):
            sequence = self.sequence(s, action.node)
            if sequence is not None:
                name = sequence.next.name
                return f"{SENTENCES[name]} ({sequence.plan.operation.title})"
        if isinstance(action, Begin):
            return action.operation.title
        return self.verb(action)
