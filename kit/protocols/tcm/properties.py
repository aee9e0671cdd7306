"""What must hold of the metadata, of who applied it, and of each event that is committed.

Placements alone are judged by ``kit.protocols.tcm.rules.quorums``; their verdicts are kept a log
prefix. Source: CEP-21, "Data Range", "Event Submission Protocol", "Consistency Guarantees".
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from kit.engine.log import AtomicLog, Log, gaps
from kit.engine.model import Property, always, goal, sometimes, step
from kit.protocols.tcm.model import Tcm, TcmState
from kit.protocols.tcm.rules.metadata import (
    Advance,
    AutomaticCancel,
    Begin,
    Cancel,
    Snapshot,
)
from kit.protocols.tcm.rules.quorums import (
    covered,
    locks_disjoint,
    quorums_meet,
    reads_in_writes,
    replicated,
    settled,
)
from kit.ring.replication import EverywhereStrategy

_MOST_VERDICTS = 4096


class Judges:
    """The properties of a cluster: its state machine and its log."""

    def __init__(self, tcm: Tcm, log: AtomicLog) -> None:
        """Judges of the two parts of one cluster."""
        self.tcm, self.log = tcm, log
        self.floor = self._floor()
        self._verdict = lru_cache(_MOST_VERDICTS)(self._judged)

    def properties(self) -> tuple[Property, ...]:
        """All of them, the placements' first."""
        kept = tcm_keeps_barriers(self.tcm)
        return (
            self._of_events("valid", "INV-VALID", "Each event makes sense where it is committed"),
            self._of_events("replicas", "INV-RF", "Each range has its replicas"),
            self._of_events("quorums", "INV-QI", "Every read majority meets every write majority"),
            self._of_events("cover", "INV-COVER", "Every token is owned, exactly once"),
            self._of_events("reads-in-writes", "INV-RF", "Reads are covered by writes"),
            self._of_events("locks", "INV-LOCK", "Operations in flight keep to disjoint ranges"),
            self._of_events("settled", "INV-RESUME", "Nothing is left half done"),
            self._of_events(
                "asked-for", "INV-CANCEL", "Nothing is undone that no operator cancelled"
            ),
            always(
                "same-state",
                "Nodes at one epoch have the same tables",
                self._same_state,
                "INV-SAMESTATE",
            ),
            always(
                "log-prefix", "What a node applied is a prefix of the log", self._prefix, "INV-LOG"
            ),
            *(
                (
                    step(
                        "one-step",
                        "Each event waits until a majority has applied the last one",
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
            goal("stable", "Nothing is in flight", self._stable, "INV-PROGRESS"),
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

    def _of_events(self, name: str, invariant: str, title: str) -> Property:
        """A property of the committed events alone."""

        def judge(s: TcmState) -> str | None:
            forgotten = frozenset(s.forgotten) if name == "settled" else frozenset()
            return self._verdict(name, s.events, forgotten)

        return always(name, title, judge, invariant, of=_events)

    def _judged(self, name: str, events: Log, forgotten: frozenset[str]) -> str | None:
        now = self.tcm.snapshot(events)
        match name:
            case "valid":
                return self._invalid(events)
            case "replicas":
                return replicated(now, self.floor)
            case "quorums":
                return quorums_meet(*self.neighbours(events))
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

    def missed(self, events: Log) -> bool:
        """Whether a read majority could miss a write majority at the newest epoch."""
        return self._verdict("quorums", events, frozenset()) is not None

    def neighbours(self, events: Log) -> tuple[Snapshot, Snapshot | None, frozenset[int]]:
        """The newest epoch and the one before, between which quorums must meet; who is dead."""
        now = self.tcm.snapshot(events)
        if not events:
            return now, None, frozenset()
        previous = self.tcm.snapshot(events.shorter())
        return now, previous, self._gone(previous, events)

    def _gone(self, previous: Snapshot, events: Log) -> frozenset[int]:
        """The nodes that the newest event, or an operation under way, takes to be dead."""
        last = events[len(events) - 1]
        begun = [self.tcm.cluster.resolved[last.operation]] if isinstance(last, Begin) else []
        operations = [x.plan.resolved for x in previous.metadata.sequences] + begun
        return frozenset(x.dead for x in operations if x.dead is not None)

    # -- of events --------------------------------------------------------------------------------

    def _invalid(self, events: Log) -> str | None:
        """No node has a part in two operations, no token two future owners."""
        metadata = self.tcm.snapshot(events).metadata
        under_way = [sequence.plan.operation for sequence in metadata.sequences]
        for i, operation in enumerate(under_way):
            for other in under_way[i + 1 :]:
                both = [name for name in operation.involved if name in other.involved]
                if both:
                    return f"{both[0]} has a part in {operation.title} and in {other.title}"
                claimed = [token for token in operation.tokens if token in other.tokens]
                if claimed:
                    return (
                        f"token {claimed[0]} is promised by {operation.title} and by {other.title}"
                    )
        return None

    def _unasked(self, events: Log) -> str | None:
        """Every operation that was undone was undone by an operator's command."""
        undone = self.tcm.snapshot(events).metadata.cancels
        commands = sum(type(event) is Cancel for event in events)
        if undone == commands:
            return None
        node = [event.node for event in events if isinstance(event, AutomaticCancel)][-1]
        undoing = f"undone: {undone}, cancelled by an operator: {commands}"
        return f"{undoing}; nobody asked {node} to go back"

    def _one_step(self, before: Any, action: Any, after: Any) -> str | None:
        """A majority of the old and new replicas of each range that moves knew the step before."""
        event = action.action
        if not isinstance(event, Advance):
            return None
        sequence = self.tcm.sequence(before.tcm, event.node)
        assert sequence is not None
        known = [self.log.epoch_of(count) for count in before.log.applied]
        dead = sequence.plan.resolved.dead
        for moved in sequence.plan.movements:
            for range_, union in zip(moved.locked, moved.affected, strict=True):
                members = [code for code in union if code != dead]
                knowing = [code for code in members if known[code] >= sequence.epoch]
                if 2 * len(knowing) <= len(members):
                    there = ", ".join(self.tcm.names[code] for code in members)
                    label = range_.label(self.tcm.cluster.ring.space)
                    return (
                        f"{sequence.next.name} is committed while {len(knowing)} of {there} have "
                        f"applied epoch {sequence.epoch}: no majority of {label}"
                    )
        return None

    # -- of nodes ---------------------------------------------------------------------------------

    def _same_state(self, s: Any) -> str | None:
        """A node that skipped an epoch does not have the tables of its newest one."""
        for i, gap in gaps(s.log):
            witness = self._differs(self.tcm.names[i], s.tcm.events, s.log.applied[i], gap)
            if witness is not None:
                return witness
        return None

    def _differs(self, name: str, events: Log, count: int, gap: int) -> str | None:
        """How the tables differ of a node that applied all but the gap; None: they do not."""
        newest, without = self.log.epoch_of(count), self.log.epoch_of(gap.bit_length())
        text = f"{name} has applied epoch {newest} without {without}"
        while len(events) > count:
            events = events.shorter()
        applied = self.tcm.snapshot(Log())
        for i, event in enumerate(events):
            if gap >> i & 1:
                continue
            if not isinstance(event, Begin) and applied.metadata.sequence(event.node) is None:
                return f"{text}: it knows of no operation of {event.node}"
            applied = self.tcm.enact(applied, event)
        if applied.placements == self.tcm.snapshot(events).placements:
            return None
        return f"{text}: its tables are not those of the others"

    def _prefix(self, s: Any) -> str | None:
        """Nobody has a gap in what it applied."""
        (whole,) = self.log.properties
        broken = whole.check(s.log)
        return None if broken is None else str(broken)

    # -- what is reached --------------------------------------------------------------------------

    def _in_transition(self, s: Any) -> bool:
        return any(p.reads != p.writes for p in self.tcm.snapshot(s.tcm.events).placements)

    def _stable(self, s: Any) -> bool:
        """No operation is under way; one that nobody remembers still is."""
        return not self.tcm.snapshot(s.tcm.events).metadata.sequences

    def _done(self, s: Any) -> bool:
        metadata = self.tcm.snapshot(s.tcm.events).metadata
        return bool(s.tcm.events) and not metadata.sequences and not metadata.cancels


def _events(s: Any) -> TcmState:
    """The part of a cluster's state that holds the committed events."""
    part: TcmState = s.tcm
    return part


def tcm_keeps_barriers(tcm: Tcm) -> bool:
    """Whether steps wait for majorities of old and new: in the text's edition, unless left out."""
    return tcm.parameters.barrier and tcm.parameters.edition == "documents"
