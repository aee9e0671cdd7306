"""What must hold of the metadata, of who applied it, and of each event that is committed.

Placements alone are judged by :mod:`kit.tcm.rules_quorums`; their verdicts are kept a log prefix.
Source: CEP-21, "Data Range", "Event Submission Protocol", "Consistency Guarantees".
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from kit.errors import BadInput
from kit.log import InstantLog, Log, skipped
from kit.model import Property, always, goal, sometimes, step
from kit.ring.replication import EverywhereStrategy
from kit.tcm.model import Tcm
from kit.tcm.rules_barrier import barriers
from kit.tcm.rules_history import enact
from kit.tcm.rules_metadata import Advance, Begin, GiveUp, Snapshot
from kit.tcm.rules_operations import validate
from kit.tcm.rules_permit import invalid
from kit.tcm.rules_quorums import (
    covered,
    locks_disjoint,
    quorums_meet,
    reads_in_writes,
    replicated,
    settled,
)
from kit.tcm.rules_steps import Switches

_MOST_VERDICTS = 4096


class Judges:
    """The properties of a cluster: its state machine and its log."""

    def __init__(self, tcm: Tcm, log: InstantLog) -> None:
        """Judges of the two parts of one cluster."""
        self.tcm, self.log = tcm, log
        self.codes = {name: code for code, name in enumerate(tcm.names)}
        self.floor = self._floor()
        self._verdict = lru_cache(_MOST_VERDICTS)(self._judged)

    def properties(self) -> tuple[Property, ...]:
        """All of them, the placements' first."""
        kept = tcm_keeps_barriers(self.tcm)
        return (
            self._lamp("valid", "INV-VALID", "Each event makes sense where it is committed"),
            self._lamp("replicas", "INV-RF", "Each range has its replicas"),
            self._lamp("quorums", "INV-QI", "Every read majority meets every write majority"),
            self._lamp("cover", "INV-COVER", "Every token is owned, exactly once"),
            self._lamp("reads-in-writes", "INV-RF", "Reads are covered by writes"),
            self._lamp("locks", "INV-LOCK", "Operations in flight keep to disjoint ranges"),
            self._lamp("settled", "INV-RESUME", "Nothing is left half done"),
            self._lamp("asked-for", "INV-CANCEL", "Nothing is undone that no operator cancelled"),
            always(
                "same-state",
                "Nodes at one epoch have the same tables",
                self._same_state,
                "INV-SAMESTATE",
            ),
            *(
                (
                    step(
                        "one-step",
                        "A step waits until a majority knows the last one",
                        self._one_step,
                        "INV-ONESTEP",
                    ),
                )
                * kept
            ),
            sometimes(
                "in-transition",
                "Some range is read and written by different groups",
                self._in_transition,
            ),
            sometimes("done", "An operation is finished", self._done),
            goal("at-rest", "Nothing is in flight", self._at_rest),
        )

    def _floor(self) -> tuple[int, ...]:
        """The fewest read replicas that each group of placements has at the start.

        Where every node is a replica there is no such number: groups shrink with the ring.
        """
        first = self.tcm.snapshot(self.tcm.start().events)
        return tuple(
            1
            if isinstance(group, EverywhereStrategy)
            else int((placement.reads.groups >= 0).sum(axis=1).min())
            for group, placement in zip(first.metadata.groups, first.placements, strict=True)
        )

    def _lamp(self, name: str, invariant: str, title: str) -> Property:
        """A property of the committed events alone."""

        def judge(s: Any) -> str | None:
            forgotten = frozenset(s.tcm.forgotten) if name == "settled" else frozenset()
            return self._verdict(name, s.tcm.events, forgotten)

        return always(name, title, judge, invariant)

    def _judged(self, name: str, events: Log, forgotten: frozenset[str]) -> str | None:
        now = self.tcm.snapshot(events)
        match name:
            case "valid":
                return self._invalid(events)
            case "replicas":
                return replicated(now, self.floor)
            case "quorums":
                if not events:
                    return quorums_meet(now, None)
                previous = self.tcm.snapshot(events.shorter())
                return quorums_meet(now, previous, self._gone(previous, events))
            case "cover":
                return covered(now)
            case "reads-in-writes":
                return reads_in_writes(now)
            case "locks":
                return locks_disjoint(now)
            case "asked-for":
                return self._unasked(events)
            case _:
                return settled(now, forgotten)

    def _gone(self, previous: Snapshot, events: Log) -> frozenset[int]:
        """The nodes that the newest event, or an operation under way, takes to be dead."""
        last = events[len(events) - 1]
        begun = [last.operation] if isinstance(last, Begin) else []
        operations = [x.plan.operation for x in previous.metadata.sequences] + begun
        return frozenset(self.codes[x.dead] for x in operations if x.dead is not None)

    # -- of events --------------------------------------------------------------------------------

    def _invalid(self, events: Log) -> str | None:
        """The newest event was valid in the state that all events before it make."""
        last = events[len(events) - 1] if events else None
        if not isinstance(last, Begin):
            return None
        metadata = self.tcm.snapshot(events.shorter()).metadata
        title = last.operation.title
        try:
            validate(metadata.ring, metadata.keyspaces, last.operation)
        except BadInput as error:
            return f"{title} is committed at epoch {metadata.epoch + 1}, but {error}"
        refusal = invalid(metadata, last.operation)
        if refusal is None:
            return None
        return f"{title} is committed at epoch {metadata.epoch + 1}, but {refusal.reason}"

    def _unasked(self, events: Log) -> str | None:
        last = events[len(events) - 1] if events else None
        if not isinstance(last, GiveUp):
            return None
        epoch = self.tcm.snapshot(events).metadata.epoch
        return (
            f"epoch {epoch} undoes the operation of {last.node} because {last.by} lost sight of it"
        )

    def _one_step(self, before: Any, action: Any, after: Any) -> str | None:
        """Each majority that the barrier asks for knew the step before."""
        event = action.action
        if not isinstance(event, Advance):
            return None
        snapshot = self.tcm.snapshot(before.tcm.events)
        sequence = self.tcm.sequence(before.tcm, event.node)
        assert sequence is not None
        first = self.tcm.parameters.epoch
        applied = {code: first + n for code, n in enumerate(before.log.learned)}
        for barrier in barriers(snapshot, sequence, Switches(self.tcm.switches.shape)):
            if not barrier.met(applied):
                there = ", ".join(self.tcm.names[code] for code in barrier.replicas)
                return (
                    f"{sequence.next.name} is committed while {len(barrier.acked(applied))} of "
                    f"{there} have applied epoch {barrier.epoch}, and {barrier.needed} are needed"
                )
        return None

    # -- of nodes ---------------------------------------------------------------------------------

    def _same_state(self, s: Any) -> str | None:
        """A node that skipped an epoch does not have the tables of its newest one."""
        for i, learned in enumerate(s.log.learned):
            gap = skipped(s.log, i)
            if gap:
                return self._differs(self.tcm.names[i], s.tcm.events, learned, gap)
        return None

    def _differs(self, name: str, events: Log, learned: int, gap: int) -> str:
        missing = gap.bit_length()
        text = (
            f"{name} has applied epoch {self.log.epoch(learned)} without {self.log.epoch(missing)}"
        )
        while len(events) > learned:
            events = events.shorter()
        applied = self.tcm.snapshot(Log())
        for i, event in enumerate(events):
            if gap >> i & 1:
                continue
            begun = isinstance(event, Begin)
            if not begun and applied.metadata.sequence(event.node) is None:
                return (
                    f"{text}, which makes no sense to it: it knows of no operation of {event.node}"
                )
            applied = enact(applied, event, self.tcm.switches)
        same = applied.placements == self.tcm.snapshot(events).placements
        return (
            f"{text}; its tables are {'the same by chance' if same else 'not those of the others'}"
        )

    # -- what is reached --------------------------------------------------------------------------

    def _in_transition(self, s: Any) -> bool:
        return any(p.reads != p.writes for p in self.tcm.snapshot(s.tcm.events).placements)

    def _at_rest(self, s: Any) -> bool:
        """No operation is under way; one that nobody remembers still is."""
        return not self.tcm.snapshot(s.tcm.events).metadata.sequences

    def _done(self, s: Any) -> bool:
        metadata = self.tcm.snapshot(s.tcm.events).metadata
        return bool(s.tcm.events) and not metadata.sequences and not metadata.cancels


def tcm_keeps_barriers(tcm: Tcm) -> bool:
    """Whether steps are meant to wait at all: not in a configuration without barriers."""
    return tcm.parameters.barrier
