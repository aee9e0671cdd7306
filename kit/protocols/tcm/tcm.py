"""Transactional Cluster Metadata (CEP-21): what is committed, copied, down and forgotten.

The metadata is a state machine driven by a log of events; each commit here is one entry there. Who
has applied what is the log's business: ``kit.protocols.tcm.cluster`` puts both together, and its
barriers are conditions over both. The rules of events and plans are in
``kit.protocols.tcm.rules``. Source: CEP-21, "Event Submission Protocol", "Bootstrap",
"Decommission", "Cancelling Committed Events".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache, wraps
from itertools import combinations
from typing import Annotated, Any, TypeAlias

from kit.errors import BadInput, Refusal, counted, first_of
from kit.model import declared
from kit.model.declared import State, Travel, action, always, purpose, refused, safeguard, verbatim
from kit.model.log import Log
from kit.model.model import KeptAnyhow
from kit.protocols.tcm.parameters import TcmParameters, cluster, level_of
from kit.protocols.tcm.rules import barrier, quorums
from kit.protocols.tcm.rules import metadata as rules
from kit.protocols.tcm.rules import operations as ops
from kit.ring.ranges import Range
from kit.ring.replication import EverywhereStrategy

MOST_KEPT = 4096
"""Log prefixes whose metadata, permissions and verdicts are kept."""
MOST_RANGES = 4
"""Ranges that a sentence names; the rest is counted."""
LONGEST_LABEL = 16
NEAREST = 8
"""A way along the ring is at least this part of it, where the source has a token so far away."""
LOG, RING = "log", "ring"
CANCELS_SPENT = refused("the run's budget of cancellations is used up")


class TcmState(State, frozen=True, cache_hash=True):
    """The committed events, and what happened beside them.

    ``streamed`` holds (node, bit mask of the streaming tasks done) for operations under way;
    ``down`` and ``forgotten`` are sorted node names; ``crashes`` counts the crashes so far.
    """

    events: Log
    streamed: tuple[tuple[str, int], ...] = ()
    down: tuple[str, ...] = ()
    forgotten: tuple[str, ...] = ()
    crashes: int = 0


Next: TypeAlias = TcmState | Refusal
Listed = Annotated[
    ops.Operation, declared.Each(lambda m: m.cluster.operations, lambda operation: operation.text)
]
"""One of the operations at hand; shown as the line that asks for it."""
Displaced = Annotated[str | None, declared.Each((), lambda name: name or "quorum")]
"""The replica whose place another one takes; None where a quorum of the old replicas streams."""


def of_events(judge: Callable[[Any, Log], str | None]) -> Callable[[Any, TcmState], str | None]:
    """A promise of the committed events alone: it is judged once a log prefix."""

    @wraps(judge)
    def kept(m: Tcm, s: TcmState) -> str | None:
        said: str | None = m.verdict(judge, s.events)
        return said

    return kept


class Tcm(declared.Declared[TcmState]):
    """The metadata service and the nodes that carry operations out."""

    name = "tcm"
    title = "Transactional cluster metadata"
    State = TcmState
    Parameters = TcmParameters
    parameters: TcmParameters

    progress_barrier: bool = safeguard(
        "S-01",
        "Each event waits until a majority of old and new replicas has applied the event before it",
        ("INV-ONESTEP", "INV-QI", "INV-VISIBLE"),
    )
    write_before_read: bool = safeguard(
        "S-05",
        "New replicas are written to before they are read from",
        ("INV-QI", "INV-RF", "INV-VISIBLE"),
        wider={"INV-QI": {"rf": 1}},
    )
    old_writer_stays: bool = safeguard(
        "S-06",
        "The old replica keeps getting writes until the read switch is known",
        ("INV-QI", "INV-VISIBLE"),
    )
    streams_before_switch: bool = safeguard(
        "S-07", "Reads move only when the data has moved", ("INV-STREAM", "INV-VISIBLE")
    )
    known_before_streams: bool = safeguard(
        "S-08",
        "Streaming begins only when the new writers are known",
        ("INV-STREAM", "INV-VISIBLE"),
    )
    range_locks: bool = safeguard(
        "S-09", "Operations in flight lock their ranges", ("INV-LOCK", "INV-RF")
    )
    validate_committed: bool = safeguard(
        "S-10", "A proposed event must make sense in the committed state", ("INV-VALID", "INV-RF")
    )
    replication_check: bool = safeguard(
        "S-11", "No node can leave if too few would remain", ("INV-RF",)
    )
    apply_in_order: bool = safeguard(
        "S-16", "Nodes apply epochs in order, without gaps", ("INV-SAMESTATE", "INV-LOG")
    )
    operator_cancel: bool = safeguard(
        "S-17",
        "Only an operator cancels, never a timeout",
        ("INV-CANCEL",),
        kept=(
            KeptAnyhow(
                "INV-PROGRESS",
                {"cancels": 1},
                3706,
                "an undone operation can begin again, so its end stays reachable",
            ),
        ),
    )
    two_event_cancel: bool = safeguard(
        "S-18",
        "After the read switch, a cancel takes two events with a barrier between them",
        ("INV-QI", "INV-VISIBLE"),
    )
    pending_in_metadata: bool = safeguard(
        "S-53", "The remaining steps are kept in the metadata", ("INV-RESUME", "INV-PROGRESS")
    )
    split_first: bool = safeguard(
        "S-54",
        "Ranges are split before their owners change",
        ("INV-COVER",),
        kept=(KeptAnyhow("INV-SAMESTATE", {}, 79, "rows overlap in the same way on all nodes"),),
    )
    merge_equality: bool = safeguard(
        "S-55", "Only neighbours with equal replica groups are merged", ("INV-RF",)
    )
    stream_from_displaced: bool = safeguard(
        "S-57", "Data comes from the replica that is replaced", ("INV-STREAM", "INV-VISIBLE")
    )

    def set_up(self) -> None:
        """The cluster that the parameters describe, and the switches that rules take."""
        given = self.parameters
        self.cluster = cluster(given)
        on = {name: getattr(self, name) for name in ops.TcmSafeguards.__struct_fields__}
        on["progress_barrier"] = self.progress_barrier and given.barrier
        self.switches = ops.ProtocolSwitches(
            given.edition, ops.TcmSafeguards(**on), merge=given.merge, level=level_of(given)
        )
        self.names = self.cluster.names
        self.codes = {name: code for code, name in enumerate(self.names)}
        self.computations = 0
        self.snapshot = lru_cache(MOST_KEPT)(self._enacted)
        self.permission = lru_cache(MOST_KEPT)(self._permit)
        self.verdict = lru_cache(MOST_KEPT)(lambda judge, events: judge(self, events))
        self.unsettled = lru_cache(MOST_KEPT)(
            lambda events, forgotten: quorums.settled(self.snapshot(events), forgotten)
        )
        self.sensible = lru_cache(MOST_KEPT)(self._sensible)
        self.floor = self._floor()

    def start(self) -> TcmState:
        """A stable ring, an empty log."""
        return TcmState(Log())

    # -- the metadata of a log prefix, computed once when its last event is applied ---------------

    def _enacted(self, events: Log) -> rules.Snapshot:
        self.computations += 1
        if not len(events):
            return rules.initial(self.cluster.ring, self.cluster.keyspaces, self.parameters.epoch)
        return self.enact(self.snapshot(events.shorter()), events[len(events) - 1])

    def enact(self, snapshot: rules.Snapshot, event: rules.Event) -> rules.Snapshot:
        """The next epoch's snapshot, after an event of the log."""
        return rules.enact(snapshot, self.resolved(event), self.switches)

    def resolved(self, event: rules.Event) -> rules.ResolvedEvent:
        """An event of the log as rules take it."""
        return self.cluster.resolved[event.operation] if isinstance(event, rules.Begin) else event

    def committed(self, events: Log) -> rules.Committed:
        """The effect of the last event of a log prefix."""
        before, after = (self.snapshot(log).metadata for log in (events.shorter(), events))
        event = self.resolved(events[len(events) - 1])
        return rules.committed(before, event, after, self.switches)

    def sequences(self, s: TcmState) -> tuple[rules.Sequence, ...]:
        """The operations under way that somebody remembers."""
        known = self.snapshot(s.events).metadata.sequences
        return tuple(sequence for sequence in known if sequence.node not in s.forgotten)

    def sequence(self, s: TcmState, node: str) -> rules.Sequence | None:
        """The operation of ``node`` that is under way and remembered."""
        return next((sequence for sequence in self.sequences(s) if sequence.node == node), None)

    def present(self, s: TcmState) -> tuple[str, ...]:
        """Members, and newcomers with an operation under way."""
        metadata = self.snapshot(s.events).metadata
        busy = {sequence.node for sequence in metadata.sequences}
        return tuple(n.name for n in metadata.ring.nodes if n.tokens or n.name in busy)

    def tokens_of(self, s: TcmState, name: str) -> tuple[int, ...]:
        """The tokens of a node; of a newcomer those that it will own."""
        metadata = self.snapshot(s.events).metadata
        own = metadata.ring.nodes[self.codes[name]].tokens
        return own or planned_tokens(metadata.sequences, name)

    # -- commits: what they have in common ---------------------------------------------------------

    def commit(self, s: TcmState, event: rules.Event) -> TcmState:
        """The event is in the log: metadata moves on."""
        events = s.events.append(event)
        streamed = s.streamed
        if streamed:  # else nobody need work out the next epoch of a commit that is only offered
            under_way = {x.node for x in self.snapshot(events).metadata.sequences if not x.undoing}
            streamed = tuple(entry for entry in streamed if entry[0] in under_way)
        dead = event.operation.dead if isinstance(event, rules.Begin) else None
        down = s.down if dead is None else tuple(sorted({*s.down, dead}))
        return s.but(events=events, streamed=streamed, down=down)

    def in_words(self, events: Log, opening: str = "") -> str:
        """``Epoch 101: add write replicas (bootstrap X at 150). Next: …``, as a template."""
        event = self.committed(events)
        if event.after is not None:
            rest = f"Next: {ops.SENTENCES[event.after.next.name]}."
        elif event.before is None:
            return verbatim(f"{opening}Epoch {event.epoch} does everything, without streaming.")
        else:
            rest = self.came_to(events)
        title = event.operation.title
        return verbatim(f"{opening}Epoch {event.epoch}: {event.text} ({title}). {rest}")

    def came_to(self, events: Log) -> str:
        """The end of the operation that the newest event ended, of several: as a sentence."""
        last = self.committed(events)
        operation = last.operation
        assert last.before is not None, f"{operation.title} is a single event"
        lacks = self.replicas(TcmState(events)) is not None
        own, missed = 0, list[str]()
        while len(events):
            event = self.committed(events)
            is_own = event.operation == operation
            own += is_own
            if self.quorums_meet(TcmState(events)) is not None:
                missed.append(str(event.epoch))
            events = Log() if is_own and event.before is None else events.shorter()
        transfers = last.before.plan.transfers
        parts = {(part.group, part.range) for part in transfers}
        moved = f"{counted(len(parts), 'range')} moved"
        became = ops.OPERATION_SPECS[operation.kind].became.format(operation)
        if last.cancelled:
            title, moved = operation.title, "everything is as before"
            became = f"{title[0].upper()}{title[1:]} is undone"
        missing = "no write could be missed"
        if missed:
            epochs = f"epoch{'s' * (len(missed) > 1)} {', '.join(reversed(missed))}"
            missing = f"but a read could miss a write at {epochs}"
        elif lacks:
            missing = "but a range does not have the replicas that it should have"
        elif any({*each.old_replicas} == {last.before.plan.resolved.dead} for each in transfers):
            missing = f"but what only {operation.dead} had is lost"
        return f"{became} after {counted(own, 'epoch')}: {moved}, {missing}."

    def submitter(self, before: TcmState, action: Any) -> str | None:
        """The node that commits; None where an operator does."""
        if isinstance(action, rules.Begin):
            return driver(action.operation)
        if isinstance(action, rules.Advance):
            sequence = self.under_way(before, action.node)
            return None if sequence.undoing else driver(sequence.plan.operation)
        return getattr(action, "by", None)

    def submits(self, before: TcmState, action: Any, after: TcmState) -> Iterator[Travel]:
        """A node sends its commit to the log; an operator is nowhere in the picture."""
        if (node := self.submitter(before, action)) is not None:
            epoch = f"epoch {self.parameters.epoch + len(after.events)}"
            place, text = verbatim(self.spot(node)), verbatim(f"{node} → log: commits {epoch}")
            yield Travel("request", place, LOG, epoch, text)

    # -- begin ------------------------------------------------------------------------------------

    def _sensible(self, events: Log) -> tuple[ops.Operation, ...]:
        """Operations that still make sense and are not under way."""
        metadata = self.snapshot(events).metadata
        operations = []
        for operation, resolved in self.cluster.resolved.items():
            if metadata.sequence(operation.node) is None:
                with suppress(BadInput):
                    ops.validate(metadata.ring, resolved)
                    operations.append(operation)
        return tuple(operations)

    def _permit(self, events: Log, operation: ops.Operation) -> Refusal | None:
        """The metadata service validates and permits, by what is committed alone."""
        metadata = self.snapshot(events).metadata
        planned = rules.plan(metadata, self.cluster.resolved[operation], self.switches)
        return rules.permit(metadata, planned, self.switches)

    def begins(self, before: TcmState, action: Any, after: TcmState) -> str:
        """``“Bootstrap X at 150” begins. Epoch 100: …``."""
        title = action.operation.title
        return self.in_words(after.events, f"“{title[0].upper()}{title[1:]}” begins. ")

    @action(
        struct=rules.Begin,
        each=lambda m, s: m.sensible(s.events),
        verb="{operation}",
        label=lambda m, s, action: verbatim(action.operation.title),
        says=begins,
        travels=submits,
    )
    @purpose("The plan and its locks are one event, so no other plan can get in between.")
    def begin(self, s: TcmState, operation: Listed) -> Next:
        """An operation is planned, takes its locks and does its first step.

        A member that leaves or moves drives this itself, so it must be up. A newcomer need not be
        up yet.
        """
        if operation.kind in ("decommission", "move") and operation.node in s.down:
            return idle(operation)
        # Without this safeguard the cluster asks what the submitter knows.
        refusal = self.permission(s.events, operation) if self.validate_committed else None
        return refusal or self.commit(s, rules.Begin(operation))

    # -- streaming --------------------------------------------------------------------------------

    def to_stream(self, s: TcmState) -> Iterator[tuple[str, str | None, str]]:
        """Node, displaced replica and target of each streaming task that is still to be done."""
        for sequence in self.sequences(s):
            if sequence.next.switches:  # data must precede the read switch
                for i in barrier.pending(sequence, self.streamed(s, sequence.node)):
                    task = sequence.plan.tasks[i]
                    displaced = None if task.displaced is None else self.names[task.displaced]
                    yield sequence.node, displaced, self.names[task.target]

    def task(self, s: TcmState, action: Any) -> tuple[rules.Sequence, rules.StreamTask]:
        """The operation and the task that a streaming action stands for."""
        sequence = self.under_way(s, action.node)
        return sequence, sequence.plan.tasks[self._place(sequence, action.displaced, action.target)]

    def _place(self, sequence: rules.Sequence, displaced: str | None, target: str) -> int:
        whom = None if displaced is None else self.codes[displaced]
        return sequence.plan.places[self.codes[target], whom]

    def under_way(self, s: TcmState, node: str) -> rules.Sequence:
        """The operation of ``node`` that is under way and remembered; there is one."""
        sequence = self.sequence(s, node)
        assert sequence is not None, f"{node} has nothing under way"
        return sequence

    def absent(
        self, s: TcmState, sequence: rules.Sequence
    ) -> tuple[frozenset[int], frozenset[int]]:
        """The codes of nodes that are down, and of those that will never come back."""
        code = sequence.plan.resolved.dead
        dead = frozenset[int]() if code is None else frozenset((code,))
        return dead.union(self.codes[name] for name in s.down), dead

    def streamed(self, s: TcmState, node: str) -> int:
        """The bit mask of the streaming tasks that an operation has done."""
        return dict(s.streamed).get(node, 0)

    def sent(
        self, s: TcmState, sequence: rules.Sequence, task: rules.StreamTask
    ) -> dict[str, list[Range]]:
        """The nodes that stream a task as things stand, each with the ranges that it sends."""
        down, _ = self.absent(s, sequence)
        ranges_of: dict[str, list[Range]] = {}
        for transfer in task.transfers:
            for code in barrier.sources(transfer, down, self.switches):
                ranges_of.setdefault(self.names[code], []).append(transfer.range)
        return ranges_of

    def sent_in(self, s: TcmState, action: Any) -> dict[str, list[Range]]:
        """The nodes that stream in a step, as things stand, each with the ranges that it sends."""
        return self.sent(s, *self.task(s, action))

    def streams_words(self, before: TcmState, action: Any, after: TcmState) -> str:
        """The nodes that stream, and their ranges: a replica that is not up sends nothing."""
        names, target = list(self.sent_in(before, action)), action.target
        if not names:
            dead = self.under_way(before, action.node).plan.operation.dead
            return verbatim(
                f"Only {dead} had the data that {target} takes over, so nobody streams it."
            )
        verb = "streams" if len(names) == 1 else "stream"
        who = " and ".join(names)
        return verbatim(f"{who} {verb} data to {target} for ranges that {target} takes over.")

    def along_the_ring(self, before: TcmState, action: Any, after: TcmState) -> Iterator[Travel]:
        """Each source sends its ranges along the ring into the new replica."""
        for source, sent in self.sent_in(before, action).items():
            ranges = tuple(dict.fromkeys(sent))
            labels = [part.label(self.cluster.ring.space) for part in ranges]
            named = first_of(labels, MOST_RANGES, "range")
            short = len(ranges) == 1 and len(labels[0]) <= LONGEST_LABEL
            begin, end = self._ends(after, source, action.target, ranges[0])
            yield Travel(
                "data",
                verbatim(spot(source, begin)),
                verbatim(spot(action.target, end)),
                labels[0] if short else counted(len(ranges), "range"),
                verbatim(f"{source} → {action.target}: streams {named}"),
                0,
                RING,
            )

    def _ends(self, s: TcmState, source: str, target: str, first: Range) -> tuple[int, int]:
        line = self.cluster.ring.space
        planned = planned_tokens(self.snapshot(s.events).metadata.sequences, target)
        tokens = planned or self.tokens_of(s, target)
        end = min((token for token in tokens if token >= first.right), default=min(tokens))
        whole = line.high - line.low

        def far(token: int) -> int:
            return min(abs(token - end), whole - abs(token - end))

        begins = self.tokens_of(s, source) or (end,)  # who has left the ring has no place there
        far_enough = (token for token in begins if far(token) * NEAREST >= whole)
        return next(far_enough, max(begins, key=far)), end

    @action(
        each=to_stream,
        verb="stream {node}: {displaced} to {target}",
        label=lambda m, s, action: verbatim(
            f"stream to {action.target} from {' and '.join(m.sent_in(s, action)) or 'nobody'}"
        ),
        says=streams_words,
        travels=along_the_ring,
    )
    @purpose("A new owner also needs the data that was written before it got any writes.")
    def stream(self, s: TcmState, node: str, displaced: Displaced, target: str) -> Next:
        """One streaming task of ``node``'s operation completes.

        ``target`` takes the place of ``displaced``, which is None where a quorum streams.
        """
        if target in s.down:
            return refused(f"{target} is down and cannot receive data", (target,))
        sequence = self.under_way(s, node)
        place = self._place(sequence, displaced, target)
        down, dead = self.absent(s, sequence)
        transfers = sequence.plan.tasks[place].transfers
        if not all(barrier.enough(transfer, down, dead) for transfer in transfers):
            missing = tuple(n for n in s.down if n != sequence.plan.operation.dead)
            return refused("too few of the old replicas are up, so they cannot stream", missing)
        rest = [(name, done) for name, done in s.streamed if name != node]
        mask = self.streamed(s, node) | 1 << place
        return s.but(streamed=tuple(sorted([*rest, (node, mask)])))

    # -- the steps of an operation -----------------------------------------------------------------

    def busy(self, s: TcmState) -> Iterator[str]:
        """The nodes whose operations are under way."""
        return (sequence.node for sequence in self.sequences(s))

    def next_step(self, s: TcmState, action: Any) -> str:
        """A commit's button names the step it will commit."""
        if (sequence := self.sequence(s, action.node)) is None:
            return ""
        return verbatim(f"{ops.SENTENCES[sequence.next.name]} ({sequence.plan.operation.title})")

    @action(
        struct=rules.Advance,
        kind="commit",
        verb="commit {node}",
        label=next_step,
        each=busy,
        says=lambda m, before, action, after: m.in_words(after.events),
        travels=submits,
    )
    @purpose("The steps are small, so that quorums before and after each one still meet.")
    def advance(self, s: TcmState, node: str) -> Next:
        """The operation on ``node`` does its next step.

        Its driver must be up. Before the read switch, all data must have been streamed.
        """
        sequence = self.under_way(s, node)
        operation = sequence.plan.operation
        if driver(operation) in s.down and not sequence.undoing:
            return idle(operation)
        return self._streaming(s, sequence) or self.commit(s, rules.Advance(node))

    def _streaming(self, s: TcmState, sequence: rules.Sequence) -> Refusal | None:
        if not barrier.must_stream(sequence, self.switches):
            return None
        todo = sequence.plan.tasks
        left = [todo[i] for i in barrier.pending(sequence, self.streamed(s, sequence.node))]
        if not left:
            return None
        targets = tuple(dict.fromkeys(self.names[task.target] for task in left))
        evidence = []
        for task in left:
            labels = [t.range.label(self.cluster.ring.space) for t in task.transfers]
            names = ", ".join(self.sent(s, sequence, task)) or "nobody"
            ranges = first_of(labels, MOST_RANGES)
            evidence.append(f"{names} to {self.names[task.target]}: {ranges}")
        return Refusal(
            f"streaming to {', '.join(targets)} is not complete: "
            f"{len(todo) - len(left)} of {len(todo)} done",
            tuple(evidence),
            targets,
        )

    # -- cancel -----------------------------------------------------------------------------------

    def cancellable(self, s: TcmState) -> Iterator[str]:
        """The nodes whose operations are not being undone already."""
        if self.parameters.cancels:
            yield from (x.node for x in self.sequences(s) if not x.undoing)

    def _no_way_back(self, s: TcmState, node: str) -> Refusal | None:
        spent = self.snapshot(s.events).metadata.cancels >= self.parameters.cancels
        return rules.no_way_back(self.under_way(s, node)) or (CANCELS_SPENT if spent else None)

    @action(
        struct=rules.Cancel,
        each=cancellable,
        says=lambda m, before, action, after: m.in_words(after.events, "An operator cancels. "),
    )
    @purpose("Events in the log also undo an operation, so all nodes undo it in the same way.")
    def cancel(self, s: TcmState, node: str) -> Next:
        """An operator cancels the operation on ``node``, and events compensate for what it did.

        This is possible until the old replicas get no more writes: after that, they lag for good.
        """
        return self._no_way_back(s, node) or self.commit(s, rules.Cancel(node))

    def out_of_sight(self, s: TcmState) -> Iterator[tuple[str, str]]:
        """Somebody who does not hear of a node would like to have its operation undone."""
        for node in self.cancellable(s):
            others = (name for name in self.present(s) if name not in {node, *s.down})
            yield from ((node, other) for other in list(others)[:1])

    @action(
        struct=rules.AutomaticCancel,
        kind="cancel",
        each=out_of_sight,
        verb="give-up {node} by {by}",
        says=lambda m, before, action, after: m.in_words(
            after.events, f"{action.by} has lost sight of {action.node} and undoes its operation. "
        ),
        travels=submits,
    )
    @purpose("A node that is out of sight is not always dead: it might still drive its operation.")
    def give_up(self, s: TcmState, node: str, by: str) -> Next:
        """``by`` has lost sight of ``node`` and undoes its operation, although nobody asked for
        that.

        The safeguard *operator-cancel* forbids this: losing sight of a node is no reason to undo
        anything.
        """
        if self.operator_cancel:
            return refused(f"{by} might have lost sight of {node}, but only an operator can cancel")
        return self._no_way_back(s, node) or self.commit(s, rules.AutomaticCancel(node, by))

    # -- crashes ----------------------------------------------------------------------------------

    def upright(self, s: TcmState) -> Iterator[str]:
        """Nodes that may crash."""
        if self.parameters.crashes:
            yield from (name for name in self.present(s) if name not in s.down)

    def crashed(self, before: TcmState, action: Any, after: TcmState) -> str:
        """The data that is lost with the node, and the data that is not."""
        if action.node in after.forgotten:
            return "{node} crashes, and no other node knows what is left to do."
        if self.sequence(after, action.node) is not None:
            return "{node} crashes. The metadata says what {node} still has to commit."
        return "{node} crashes."

    @action(each=upright, says=crashed, fault=True)
    @purpose("A node can stop at any moment, and the plan must survive that.")
    def crash(self, s: TcmState, node: str) -> Next:
        """A node stops but keeps what it has on disk.

        The remaining steps are in the metadata. Without that safeguard, they are lost with the
        driver.
        """
        if s.crashes >= self.parameters.crashes:
            return refused("the run's budget of crashes is used up")
        # Who is up and has something under way drives it: whom an operator removes is dead.
        driven = self.sequence(s, node) is not None
        lost = {node} if driven and not self.pending_in_metadata else set()
        return s.but(
            down=tuple(sorted({*s.down, node})),
            forgotten=tuple(sorted({*s.forgotten, *lost})),
            crashes=s.crashes + 1,
        )

    def fallen(self, s: TcmState) -> Iterator[str]:
        """Nodes that may come back: not those that an operation takes to be dead."""
        dead = {sequence.plan.operation.dead for sequence in self.sequences(s)}
        return (name for name in s.down if name in self.present(s) and name not in dead)

    @action(each=fallen)
    @purpose("A driver continues with the next step that is in the metadata.")
    def restart(self, s: TcmState, node: str) -> Next:
        """{node} is back and reads the metadata again."""
        return s.but(down=tuple(name for name in s.down if name != node))

    # -- what is promised of the committed events --------------------------------------------------

    @always("INV-VALID", title="Each event makes sense where it is committed")
    @of_events
    def valid(self, events: Log) -> str | None:
        """No node takes part in two operations, and no token has two future owners."""
        metadata = self.snapshot(events).metadata
        under_way = [sequence.plan.operation for sequence in metadata.sequences]
        for operation, other in combinations(under_way, 2):
            titles = operation.title, other.title
            if both := [name for name in operation.involved if name in other.involved]:
                return f"{both[0]} takes part in both {titles[0]} and {titles[1]}"
            if claimed := [token for token in operation.tokens if token in other.tokens]:
                return f"token {claimed[0]} is claimed by both {titles[0]} and {titles[1]}"
        return None

    def _floor(self) -> tuple[int, ...]:
        """The fewest read replicas of each group at the start; 1 where it shrinks with the ring."""
        first = self.snapshot(Log())  # in a stable ring all ranges have equally many
        return tuple(
            1 if isinstance(group, EverywhereStrategy) else placement.reads.groups.shape[1]
            for group, placement in zip(first.metadata.groups, first.placements, strict=True)
        )

    @always("INV-RF")
    @of_events
    def replicas(self, events: Log) -> str | None:
        """Each range has its replicas."""
        return quorums.replicated(self.snapshot(events), self.floor)

    @always("INV-QI", name="quorums")
    @of_events
    def quorums_meet(self, events: Log) -> str | None:
        """Every read majority meets every write majority."""
        return quorums.quorums_meet(self.neighbours(events))

    def neighbours(self, events: Log) -> Iterator[quorums.Pairing]:
        """The newest epoch and the one before, whose quorums must meet, and who is dead in them."""
        now, dead = self.snapshot(events), frozenset[int]()
        pairs = [(now, now)]
        if events:
            previous = self.snapshot(events.shorter())
            last = events[len(events) - 1]
            begun = [self.cluster.resolved[last.operation]] if isinstance(last, rules.Begin) else []
            operations = [x.plan.resolved for x in previous.metadata.sequences] + begun
            dead = frozenset(x.dead for x in operations if x.dead is not None)
            pairs += [(previous, now), (now, previous)]
        return ((*pair, dead, dead) for pair in pairs)

    @always("INV-COVER")
    @of_events
    def cover(self, events: Log) -> str | None:
        """Every token is owned exactly once."""
        return quorums.covered(self.snapshot(events))

    @always("INV-RF")
    @of_events
    def reads_in_writes(self, events: Log) -> str | None:
        """Every node that serves reads also gets writes."""
        return quorums.reads_in_writes(self.snapshot(events))

    @always("INV-LOCK")
    @of_events
    def locks(self, events: Log) -> str | None:
        """Operations in flight have no range in common."""
        return quorums.locks_disjoint(self.snapshot(events))

    @always("INV-RESUME", name="settled")
    def whole(self, s: TcmState) -> str | None:
        """No operation is left half done."""
        return self.unsettled(s.events, s.forgotten)

    @always("INV-CANCEL", title="Only operations that an operator cancelled are undone")
    @of_events
    def asked_for(self, events: Log) -> str | None:
        """Operations are only ever undone by an operator's command."""
        undone = self.snapshot(events).metadata.cancels
        commands = sum(type(event) is rules.Cancel for event in events)
        if undone == commands:
            return None
        node = [event.node for event in events if isinstance(event, rules.AutomaticCancel)][-1]
        undoing = f"undone: {undone}, cancelled by an operator: {commands}"
        return f"no operator cancelled the operation of {node} ({undoing})"

    @declared.sometimes()
    def in_transition(self, s: TcmState) -> bool:
        """Some range is read by one group and written by another."""
        return any(p.reads != p.writes for p in self.snapshot(s.events).placements)

    @declared.sometimes()
    def done(self, s: TcmState) -> bool:
        """An operation is finished."""
        metadata = self.snapshot(s.events).metadata
        return bool(s.events) and not metadata.sequences and not metadata.cancels

    @declared.goal("INV-PROGRESS", title="Nothing is in flight")
    def stable(self, s: TcmState) -> bool:
        """No operation is under way, counting those that nobody remembers."""
        return not self.snapshot(s.events).metadata.sequences


_, Stream, _, _, _, Crash, Restart = Tcm.acts
SAFEGUARD = {each.name: each for each in Tcm.safeguards}


def driver(operation: ops.Operation) -> str | None:
    """The node that carries an operation out itself; None where an operator does."""
    return operation.node if ops.OPERATION_SPECS[operation.kind].driver == "node" else None


def idle(operation: ops.Operation) -> Refusal:
    """Nobody goes on with the operation of a node that is down."""
    node = operation.node
    return refused(f"{node} is down: only {node} can drive its {operation.kind}", (node,))


def planned_tokens(sequences: Iterable[rules.Sequence], name: str) -> tuple[int, ...]:
    """The tokens that a node will own once its operation is done; none where they stay or go."""
    for sequence in sequences:
        operation = sequence.plan.operation
        if operation.node == name:
            movements = sequence.plan.movements
            after = movements[0].after if movements else None
            return after.nodes[sequence.plan.resolved.node].tokens if after else operation.tokens
    return ()


def spot(name: str, token: int | str) -> str:
    """The key of a token of a node on the ring; with an empty token, what they all begin with."""
    return f"n:{name}:{token}"
