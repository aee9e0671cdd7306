"""Transactional Cluster Metadata as one model: the state machine, driven by the log.

A commit is two things in one atomic step: an entry in the log and a change of the metadata. The
barrier is a condition on both parts: how far each node has applied the log, and which replicas the
next step concerns. Source: CEP-21, "Event Submission Protocol", "Consistency Guarantees".
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from kit.engine.compose import Product
from kit.engine.log import Append, Apply, AtomicLog, CatchUp, Deliver, LogParameters, Rewrite
from kit.errors import Refusal
from kit.protocols.tcm.hold import Hold, Holding, Release
from kit.protocols.tcm.model import Crash, Restart, Stream, Tcm
from kit.protocols.tcm.parameters import TcmParameters
from kit.protocols.tcm.properties import Judges
from kit.protocols.tcm.rules.barrier import Barrier, barriers
from kit.protocols.tcm.rules.history import finished_step
from kit.protocols.tcm.rules.metadata import (
    Advance,
    Begin,
    Cancel,
    Event,
    GiveUp,
    Sequence,
    Snapshot,
)
from kit.protocols.tcm.rules.operations import Operation
from kit.protocols.tcm.rules.steps import COURSES, SENTENCES
from kit.protocols.tcm.rules.streams import end_barriers, known_first
from kit.protocols.tcm.safeguards import SAFEGUARDS

MOST_GATES = 4096


class Unmet(Struct, frozen=True):
    """Barriers that are not met, with the evidence in words and the nodes that are missing."""

    barriers: tuple[Barrier, ...]
    evidence: tuple[str, ...]
    missing: tuple[str, ...]


class TcmCluster(Product):
    """The tcm state machine over the atomic log."""

    title = "Transactional cluster metadata (CEP-21)"
    safeguards = SAFEGUARDS

    def __init__(self, parameters: TcmParameters | None = None, off: tuple[str, ...] = ()) -> None:
        """A model of the cluster that ``parameters`` describe, without the safeguards ``off``.

        Raises:
            BadInput: naming the parameter that is out of its limits.
        """
        given = parameters or TcmParameters()
        self.tcm = Tcm(given, off)
        names = self.tcm.names
        self.log = AtomicLog(
            LogParameters(names, given.window, given.epoch, given.peers),
            in_order="apply-in-order" not in off,
        )
        commits = dict.fromkeys(f"commit {one.node}" for one in self.tcm.cluster.operations)
        self.test = Holding((*commits, *(f"apply {name}" for name in names)))
        super().__init__(
            "tcm",
            {"tcm": self.tcm, "log": self.log, **({"test": self.test} if given.holds else {})},
            link=_commit_is_decided,
            conditions=(self._let, self._present, self._past_barrier),
            passive=(Append,),
        )
        self.parameters: TcmParameters = given
        self.off = off
        self.names = names
        self.codes = {name: code for code, name in enumerate(names)}
        self._applied: tuple[Any, dict[int, int]] = (None, {})
        self._enabled: tuple[Any, tuple[Any, ...]] = (None, ())
        self._asked: tuple[Any, dict[str, tuple[Unmet, Refusal | None]]] = (None, {})
        self._gates: OrderedDict[tuple[Any, str], tuple[Barrier, ...]] = OrderedDict()
        self.properties = Judges(self.tcm, self.log).properties()

    # -- what both parts know together ------------------------------------------------------------

    def snapshot(self, s: Any, epoch: int | None = None) -> Snapshot:
        """The metadata and placements of the newest epoch, or of an earlier one."""
        events = s.tcm.events
        back = 0 if epoch is None else self.parameters.epoch + len(events) - epoch
        for _ in range(back):
            events = events.shorter()
        return self.tcm.snapshot(events)

    def applied(self, s: Any) -> dict[int, int]:
        """The epoch that each node (by code) has applied."""
        learned, known = self._applied
        if learned is not s.log.learned:  # every condition of a state asks for the same
            known = {code: self.parameters.epoch + n for code, n in enumerate(s.log.learned)}
            self._applied = s.log.learned, known
        return known

    def barriers(self, s: Any, sequence: Sequence) -> tuple[Barrier, ...]:
        """What must hold before the sequence's next step."""
        key = s.tcm.events, sequence.node
        if key not in self._gates:
            if len(self._gates) >= MOST_GATES:
                self._gates.popitem(last=False)
            self._gates[key] = barriers(self.snapshot(s), sequence, self.tcm.switches)
        return self._gates[key]

    def _end_barriers(self, s: Any, action: Stream) -> tuple[Barrier, ...]:
        """What must hold before a streaming task, beside the barriers of the operation."""
        sequence, task = self.tcm.task(s.tcm, action)
        down, _ = self.tcm.absent(s.tcm, sequence.plan.operation)
        return end_barriers(sequence, task.transfers, down, self.tcm.switches)

    def actions(self, s: Any) -> Iterator[Any]:
        """What is enabled now; a frame and its suggestion ask for the same state's."""
        if self._enabled[0] is not s:
            self._enabled = s, tuple(super().actions(s))
        return iter(self._enabled[1])

    # -- conditions over both parts ----------------------------------------------------------------

    def _let(self, s: Any, part: str, action: Any) -> Refusal | None:
        """What a test holds back may not happen, if this cluster is one for tests."""
        if not self.parameters.holds:
            return None
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
            case Begin(operation) if "validate-committed" in self.off:
                return self._permitted_as_known(s, operation)
            case _:
                return None

    def _permitted_as_known(self, s: Any, operation: Operation) -> Refusal | None:
        """Without *validate-committed*: judged by what the submitter has applied alone."""
        events = s.tcm.events
        while len(events) > s.log.learned[self.codes[operation.node]]:
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
        driven = COURSES[sequence.plan.operation.kind].driver == "node" and not sequence.undoing
        if not driven or self.applied(s)[self.codes[node]] >= sequence.epoch:
            return None
        return Refusal(
            f"{node} drives the operation, and has not applied epoch {sequence.epoch} itself",
            missing=(node,),
        )

    def _barred(self, s: Any, node: str, ends: tuple[Barrier, ...] = ()) -> Refusal | None:
        """The progress barrier: a majority of everyone concerned must know the last step."""
        sequence = self.tcm.sequence(s.tcm, node)
        assert sequence is not None
        whole, waiting = self._of_operation(s, sequence)
        own = self._unmet(ends, self.applied(s))
        if not own.barriers:
            return waiting
        missing = tuple(dict.fromkeys(whole.missing + own.missing))
        unmet = Unmet(whole.barriers + own.barriers, whole.evidence + own.evidence, missing)
        return self._at_the_barrier(s, sequence, unmet)

    def _of_operation(self, s: Any, sequence: Sequence) -> tuple[Unmet, Refusal | None]:
        """The unmet barriers of an operation; all its streaming tasks ask for the same ones."""
        if self._asked[0] is not s:
            self._asked = s, {}
        known = self._asked[1]
        if sequence.node not in known:
            unmet = self._unmet(self.barriers(s, sequence), self.applied(s))
            known[sequence.node] = unmet, self._at_the_barrier(s, sequence, unmet)
        return known[sequence.node]

    def _at_the_barrier(self, s: Any, sequence: Sequence, unmet: Unmet) -> Refusal | None:
        if not unmet.barriers:
            return None
        first, applied = unmet.barriers[0], self.applied(s)
        return Refusal(
            f"waiting at the barrier: epoch {sequence.epoch} is applied by "
            f"{len(first.acked(applied))} of {len(first.replicas)} replicas of "
            f"{first.range.label(self.tcm.cluster.ring.space)}, {first.needed} are needed",
            unmet.evidence,
            unmet.missing,
        )

    def _unmet(self, asked: tuple[Barrier, ...], applied: dict[int, int]) -> Unmet:
        unmet = tuple(b for b in asked if not b.met(applied))
        missing = dict.fromkeys(
            self.names[code] for b in unmet for code in b.replicas if applied[code] < b.epoch
        )
        evidence = tuple(self._evidence(b, applied) for b in unmet)
        return Unmet(unmet, evidence, tuple(missing))

    def _evidence(self, barrier: Barrier, applied: dict[int, int]) -> str:
        acked = barrier.acked(applied)
        label = barrier.range.label(self.tcm.cluster.ring.space)
        where = f"{label} in {barrier.dc}" if barrier.dc else label
        has = ", ".join(self.names[code] for code in acked) or "nobody"
        lacks = ", ".join(self.names[code] for code in barrier.replicas if code not in acked)
        return f"{where}: needs {barrier.needed}; applied by {has}; missing {lacks}"

    # -- the default schedule ---------------------------------------------------------------------

    def suggest(self, s: Any) -> Any | None:
        """Bring everybody up to date, stream, commit; then begin what is next on the list.

        Of several operations under way the one goes on that has waited longest.
        """
        wanted = (Apply, Restart, Stream, Advance, Begin)
        best: tuple[tuple[int, int], Any] | None = None
        for action in self.actions(s):
            own = action.action
            if type(own) not in wanted or (isinstance(own, Begin) and self._tried(s, own)):
                continue
            under_way = self.tcm.sequence(s.tcm, own.node) if isinstance(own, Advance) else None
            rank = (wanted.index(type(own)), under_way.epoch if under_way else 0)
            if best is None or rank < best[0]:
                best = (rank, action)
        return best[1] if best else None

    def _tried(self, s: Any, begin: Begin) -> bool:
        """Whether the operation was begun before, or is only on the menu."""
        listed = self.parameters.operations or (self.tcm.cluster.operations[0].text,)
        return begin in tuple(s.tcm.events) or begin.operation.text not in listed

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
                opening = f"{title[0].upper()}{title[1:]} begins. "
                return self._committed(after, operation.node, opening)
            case Advance(node):
                return self._committed(after, node, "", self.tcm.sequence(before.tcm, node))
            case GiveUp(node, by):
                opening = f"{by} has lost sight of {node} and gives the operation up. "
                return self._committed(after, node, opening, self.tcm.sequence(before.tcm, node))
            case Cancel(node):
                before_it = self.tcm.sequence(before.tcm, node)
                return self._committed(after, node, "An operator cancels. ", before_it)
            case Apply(node):
                return f"{node} applies epoch {self.applied(after)[self.codes[node]]}."
            case CatchUp(node, peer):
                epochs = ", ".join(map(str, self.log.answered(before.log, own)))
                return f"{node} asks {peer} for what is above its own epoch and applies {epochs}."
            case Deliver(node, index):
                epoch = self.log.epoch(index + 1)
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

    def _committed(
        self, after: Any, node: str, opening: str, before: Sequence | None = None
    ) -> str:
        """``Epoch 101: add write replicas (join X at 150). …``."""
        epoch = self.snapshot(after).metadata.epoch
        now = self.snapshot(after).metadata.sequence(node)
        if now is not None:
            step, title = finished_step(now), now.plan.operation.title
            rest = f"Next: {SENTENCES[now.next.name]}."
        elif before is not None:
            cancelled = before.undoing or node in self._cancelled_at_once(after, node)
            title = before.plan.operation.title
            step = before.steps[-1]
            rest = (
                "All is as before." if cancelled else "The operation is done; locks are released."
            )
            if cancelled and not before.undoing:
                return f"{opening}Epoch {epoch}: {SENTENCES['cancel']} ({title}). {rest}"
        else:
            return f"{opening}Epoch {epoch} does all of it, without streaming."
        return f"{opening}Epoch {epoch}: {SENTENCES[step.name]} ({title}). {rest}"

    def _cancelled_at_once(self, after: Any, node: str) -> tuple[str, ...]:
        last = after.tcm.events[len(after.tcm.events) - 1]
        return (node,) if isinstance(last, Cancel) else ()

    def _crashed(self, after: Any, node: str) -> str:
        if node in after.tcm.forgotten:
            return f"{node} crashes, and with it goes all knowledge of what was left to do."
        if self.tcm.sequence(after.tcm, node) is not None:
            return f"{node} crashes; the pending steps are kept in the metadata."
        return f"{node} crashes."


def _commit_is_decided(s: Any, part: str, action: Any) -> tuple[tuple[str, Any], ...]:
    """Every commit is the log's next entry, in the same atomic step."""
    if isinstance(action, Event):
        return (("log", Append(action)),)
    return ()
