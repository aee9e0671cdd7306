"""Transactional Cluster Metadata as one model: the state machine, driven by the log.

A commit is two things in one atomic step: an entry in the log and a change of the metadata. The
barrier is a condition on both parts: how far each node has applied the log, and which replicas the
next step concerns. Source: CEP-21, "Event Submission Protocol", "Consistency Guarantees".
"""

from __future__ import annotations

from collections.abc import Sequence as Several
from functools import lru_cache
from typing import Any

from msgspec import Struct

from kit.engine.compose import Product
from kit.engine.log import (
    Append,
    Apply,
    AtomicLog,
    CatchUp,
    Deliver,
    Log,
    LogParameters,
    Rewrite,
)
from kit.engine.safeguards import switched_off
from kit.errors import Awaited, Refusal, are, counted
from kit.protocols.tcm import schedule
from kit.protocols.tcm.hold import Hold, PauseInjection, Release
from kit.protocols.tcm.model import Crash, Restart, Stream, Tcm
from kit.protocols.tcm.parameters import TcmParameters
from kit.protocols.tcm.properties import Judges
from kit.protocols.tcm.rules.barrier import Barrier, barriers
from kit.protocols.tcm.rules.finish import Completion, moved_ranges
from kit.protocols.tcm.rules.metadata import (
    Advance,
    AutomaticCancel,
    Begin,
    Cancel,
    Event,
    Sequence,
    Snapshot,
)
from kit.protocols.tcm.rules.operations import Operation
from kit.protocols.tcm.rules.safeguards import TcmSafeguards
from kit.protocols.tcm.rules.steps import OPERATION_SPECS, SENTENCES
from kit.protocols.tcm.rules.streams import end_barriers, known_first
from kit.protocols.tcm.safeguards import SAFEGUARDS

MOST_KEPT = 4096
MOST_TOLD = 64
"""Unmet barriers of an operation that are told in words; of a large ring thousands may wait."""


class Unmet(Struct, frozen=True):
    """Barriers that are not met: the first, all in words and as counts, the nodes that are missing.

    ``names`` are these nodes once more, to look them up; ``untold`` counts the barriers left out.
    """

    first: Barrier | None
    evidence: tuple[str, ...]
    missing: tuple[str, ...]
    awaited: tuple[Awaited, ...]
    names: frozenset[str]
    untold: int

    def __add__(self, other: Unmet) -> Unmet:
        more = tuple(name for name in other.missing if name not in self.names)
        return Unmet(
            self.first or other.first,
            self.evidence + other.evidence,
            self.missing + more,
            self.awaited + other.awaited,
            self.names.union(more) if more else self.names,
            self.untold + other.untold,
        )


class TcmCluster(Product):
    """The tcm state machine over the atomic log."""

    title = "Transactional cluster metadata (CEP-21)"
    safeguards = SAFEGUARDS
    faults = ("crash",)

    def __init__(self, parameters: TcmParameters | None = None, off: tuple[str, ...] = ()) -> None:
        """A model of the cluster that ``parameters`` describe, without the safeguards ``off``.

        Raises:
            BadInput: naming the parameter that is out of its limits.
        """
        given = parameters or TcmParameters()
        self.tcm = Tcm(given, switched_off(TcmSafeguards, off))
        names = self.tcm.names
        self.log = AtomicLog(
            LogParameters(names, given.window, given.epoch, given.peers),
            in_order=self.tcm.safeguards_on.apply_in_order,
        )
        commits = dict.fromkeys(
            f"commit {operation.node}" for operation in self.tcm.cluster.operations
        )
        self.test = PauseInjection((*commits, *(f"apply {name}" for name in names)))
        super().__init__(
            "tcm",
            {"tcm": self.tcm, "log": self.log, **({"test": self.test} if given.holds else {})},
            link=_commit_is_decided,
            conditions=(*(self._let,) * given.holds, self._present, self._past_barrier),
            passive=(Append,),
        )
        self.parameters: TcmParameters = given
        self.off = off
        self.names = names
        self.codes = self.tcm.codes
        self._barriers = lru_cache(MOST_KEPT)(self._barriers_of)
        self._of_operation = lru_cache(MOST_KEPT)(self._unmet_of)
        self._epochs = lru_cache(MOST_KEPT)(self._epochs_of)
        self.judges = Judges(self.tcm, self.log)
        self.properties = self.judges.properties()

    # -- what both parts know together ------------------------------------------------------------

    def snapshot(self, s: Any, epoch: int | None = None) -> Snapshot:
        """The metadata and placements of the newest epoch, or of an earlier one."""
        events = s.tcm.events
        back = 0 if epoch is None else self.parameters.epoch + len(events) - epoch
        for _ in range(back):
            events = events.shorter()
        return self.tcm.snapshot(events)

    def applied(self, s: Any) -> tuple[int, ...]:
        """The epoch that each node (by code) has applied."""
        return self._epochs(s.log.applied)

    def _epochs_of(self, counts: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(self.parameters.epoch + count for count in counts)

    def applied_by(self, s: Any, node: str) -> int:
        """The epoch that one node has applied."""
        counts: tuple[int, ...] = s.log.applied
        return self.parameters.epoch + counts[self.codes[node]]

    def barriers(self, s: Any, sequence: Sequence) -> tuple[Barrier, ...]:
        """What must hold before the sequence's next step."""
        return self._barriers(s.tcm.events, sequence.node)

    def _barriers_of(self, events: Log, node: str) -> tuple[Barrier, ...]:
        snapshot = self.tcm.snapshot(events)
        sequence = snapshot.metadata.sequence(node)
        assert sequence is not None
        return barriers(snapshot, sequence, self.tcm.switches)

    def _end_barriers(self, s: Any, action: Stream) -> tuple[Barrier, ...]:
        """What must hold before a streaming task, beside the barriers of the operation."""
        sequence, task = self.tcm.task(s.tcm, action)
        down, _ = self.tcm.absent(s.tcm, sequence)
        return end_barriers(sequence, task.transfers, down, self.tcm.switches)

    # -- conditions over both parts ----------------------------------------------------------------

    def _let(self, s: Any, part: str, action: Any) -> Refusal | None:
        """What a test holds back may not happen; only a cluster for tests has this condition."""
        match action:
            case Apply(node) | Deliver(node) | CatchUp(node):
                return self.test.refuses(s.test, f"apply {node}")
            case Advance(node):
                return self.test.refuses(s.test, f"commit {node}")
            case _:
                return None

    def _present(self, s: Any, part: str, action: Any) -> Refusal | None:
        match action:
            case Apply(node) | Deliver(node):
                return self._reachable(s, node)
            case CatchUp(node, peer):
                return self._reachable(s, node) or self._reachable(s, peer)
            case Advance(node):
                return self._informed(s, node)
            case Begin(operation) if not self.tcm.safeguards_on.validate_committed:
                return self._permitted_as_known(s, operation)
            case _:
                return None

    def _permitted_as_known(self, s: Any, operation: Operation) -> Refusal | None:
        """Without *validate-committed*: judged by what the submitter has applied alone."""
        events = s.tcm.events
        while len(events) > s.log.applied[self.codes[operation.node]]:
            events = events.shorter()
        return self.tcm.permission(events, operation)

    def _past_barrier(self, s: Any, part: str, action: Any) -> Refusal | None:
        match action:
            case Advance(node):
                return self._barred(s, node)
            case Stream(node) if known_first(self.tcm.switches):
                return self._barred(s, node, self._end_barriers(s, action))
            case _:
                return None

    def _reachable(self, s: Any, node: str) -> Refusal | None:
        if node in s.tcm.down:
            return Refusal(f"{node} is down: it applies nothing", missing=(node,))
        return None

    def _informed(self, s: Any, node: str) -> Refusal | None:
        """A driver reads in the metadata what comes next, so it must have applied its last step."""
        sequence = self.tcm.sequence(s.tcm, node)
        assert sequence is not None
        spec = OPERATION_SPECS[sequence.plan.operation.kind]
        driven = spec.driver == "node" and not sequence.undoing
        if not driven or self.applied_by(s, node) >= sequence.epoch:
            return None
        return Refusal(
            f"{node} drives the operation, and has not applied epoch {sequence.epoch} itself",
            missing=(node,),
        )

    def _barred(self, s: Any, node: str, ends: tuple[Barrier, ...] = ()) -> Refusal | None:
        """The progress barrier: a majority of everyone concerned must know the last step."""
        sequence = self.tcm.sequence(s.tcm, node)
        assert sequence is not None
        whole, waiting = self._of_operation(s.tcm.events, s.log.applied, node)
        if not ends:
            return waiting
        applied = self.applied(s)
        own = self._unmet(ends, applied)
        if own.first is None:
            return waiting
        return self._at_the_barrier(sequence, whole + own, applied)

    def _unmet_of(
        self, events: Log, counts: tuple[int, ...], node: str
    ) -> tuple[Unmet, Refusal | None]:
        """The unmet barriers of an operation; all its streaming tasks ask for the same ones."""
        sequence = self.tcm.snapshot(events).metadata.sequence(node)
        assert sequence is not None
        applied = self._epochs(counts)
        unmet = self._unmet(self._barriers(events, node), applied)
        return unmet, self._at_the_barrier(sequence, unmet, applied)

    def _at_the_barrier(
        self, sequence: Sequence, unmet: Unmet, applied: Several[int]
    ) -> Refusal | None:
        first = unmet.first
        if first is None:
            return None
        count, needed = len(first.replicas), first.needed
        return Refusal(
            f"waiting at the barrier: epoch {sequence.epoch} is applied by "
            f"{len(first.acked(applied))} of {counted(count, 'replica')} of "
            f"{first.range.label(self.tcm.cluster.ring.space)}, {needed} {are(needed)} needed",
            unmet.evidence,
            unmet.missing,
            unmet.awaited,
            unmet.untold,
        )

    def _awaited(self, barrier: Barrier, applied: Several[int]) -> Awaited:
        names = tuple(self.names[code] for code in barrier.replicas)
        return Awaited(self._where(barrier), barrier.needed, len(barrier.acked(applied)), names)

    def _where(self, barrier: Barrier) -> str:
        label = barrier.range.label(self.tcm.cluster.ring.space)
        return f"{label} in {barrier.dc}" if barrier.dc else label

    def _unmet(self, barriers: tuple[Barrier, ...], applied: Several[int]) -> Unmet:
        least = min(applied)  # what everybody knows was waited for
        unmet = tuple(b for b in barriers if b.epoch > least and not b.met(applied))
        missing = dict.fromkeys(
            self.names[code] for b in unmet for code in b.replicas if applied[code] < b.epoch
        )
        written = unmet[:MOST_TOLD]
        return Unmet(
            unmet[0] if unmet else None,
            tuple(self._evidence(b, applied) for b in written),
            tuple(missing),
            tuple(self._awaited(b, applied) for b in written),
            frozenset(missing),
            len(unmet) - len(written),
        )

    def _evidence(self, barrier: Barrier, applied: Several[int]) -> str:
        acked = barrier.acked(applied)
        where = self._where(barrier)
        has = ", ".join(self.names[code] for code in acked) or "nobody"
        lacks = ", ".join(self.names[code] for code in barrier.replicas if code not in acked)
        return f"{where}: needs {barrier.needed}; applied by {has}; missing {lacks}"

    # -- what a history shows ----------------------------------------------------------------------

    def suggest(self, s: Any) -> Any | None:
        """The next action of the schedule."""
        return schedule.suggestion(self, s)

    def milestone(self, before: Any, action: Any, after: Any) -> str | None:
        """Each committed epoch."""
        if isinstance(action.action, Event):
            return f"epoch {self.snapshot(after).metadata.epoch}"
        return None

    def describe(self, before: Any, action: Any, after: Any) -> str:
        """What happened, and why, in a sentence or two."""
        own = action.action
        if isinstance(own, Hold | Release):
            return self.test.describe(before.test, own, after.test)
        match own:
            case Begin(operation):
                title = operation.title
                return self._committed(after, f"{title[0].upper()}{title[1:]} begins. ")
            case Advance():
                return self._committed(after)
            case AutomaticCancel(node, by):
                opening = f"{by} has lost sight of {node} and gives the operation up. "
                return self._committed(after, opening)
            case Cancel():
                return self._committed(after, "An operator cancels. ")
            case Apply(node):
                return f"{node} applies epoch {self.applied_by(after, node)}."
            case CatchUp(node, peer):
                epochs = ", ".join(map(str, self.log.answered(before.log, own)))
                return f"{node} asks {peer} for what is above its own epoch and applies {epochs}."
            case Deliver(node, index):
                epoch = self.log.epoch_of(index + 1)
                held = "held back until that fills" if self.log.in_order else "applied at once"
                return f"Epoch {epoch} reaches {node} above a gap; it is {held}."
            case Stream(node, displaced, target):
                source = displaced or "a quorum of the old replicas"
                return f"{source} streams to {target} all that it serves in the ranges handed over."
            case Crash(node):
                return self._crashed(after, node)
            case Restart(node):
                return f"{node} is back; what it has to do next stands in the metadata."
            case Rewrite():
                return "Nothing changed."
        return self.verb(action)

    def _committed(self, after: Any, opening: str = "") -> str:
        """``Epoch 101: add write replicas (bootstrap X at 150). Next: …``."""
        event = self.tcm.committed(after.tcm.events)
        if event.after is not None:
            rest = f"Next: {SENTENCES[event.after.next.name]}."
        elif event.before is None:
            return f"{opening}Epoch {event.epoch} does all of it, without streaming."
        else:
            rest = self.finish(after.tcm.events).text
        return f"{opening}Epoch {event.epoch}: {event.text} ({event.operation.title}). {rest}"

    def finish(self, events: Log) -> Completion:
        """What the operation came to that the newest event ended, of several events."""
        last = self.tcm.committed(events)
        assert last.before is not None, f"{last.operation.title} is a single event"
        own, missed = 0, []
        while len(events):
            event = self.tcm.committed(events)
            is_own = event.operation == last.operation
            own += is_own
            missed += [event.epoch] * self.judges.missed(events)
            events = events.shorter() if not (is_own and event.before is None) else Log()
        moved = moved_ranges(last.before.plan.tasks)
        return Completion(last.operation, own, moved, tuple(reversed(missed)), last.cancelled)

    def _crashed(self, after: Any, node: str) -> str:
        if node in after.tcm.forgotten:
            return f"{node} crashes, and with it goes all knowledge of what was left to do."
        if self.tcm.sequence(after.tcm, node) is not None:
            return f"{node} crashes; what it has still to commit is kept in the metadata."
        return f"{node} crashes."


def _commit_is_decided(s: Any, part: str, action: Any) -> tuple[tuple[str, Any], ...]:
    """Every commit is the log's next entry, in the same atomic step."""
    if isinstance(action, Event):
        return (("log", Append(action)),)
    return ()
