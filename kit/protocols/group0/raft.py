"""The log's side of the model: commit, replicate, apply, elect, and what goes wrong.

Raft at the grain of its promises: what is committed is stored by a majority of the voters, and
nobody leads who lacks a part of it. Who is told that it leads is the one node, who believed so
before may not have heard. Source: "Raft application in Scylla", "Intro to Raft".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from kit.engine.model import Rule
from kit.engine.pairs import paired
from kit.errors import Refusal
from kit.protocols.group0.actions import (
    ApplyCommand,
    CommitCommand,
    CrashNode,
    Elect,
    InstallSnapshot,
    LoseCommand,
    PassHour,
    Reconfigure,
    Replicate,
    RestartNode,
    StepDown,
)
from kit.protocols.group0.guards import APPLIED, LOOKING, SUBMITTED
from kit.protocols.group0.rules.voters import is_majority, majorities_with, nodes_in
from kit.protocols.group0.setup import Setup, each, put
from kit.protocols.group0.state import FaultsLeft, Group0State


class RaftRules:
    """What happens to the log, and to the nodes that keep it."""

    def __init__(self, setup: Setup, faults: FaultsLeft) -> None:
        """The rules for these nodes; a fault that has no budget at the start is never offered."""
        self.setup, self.faults = setup, faults
        names = setup.names
        self._replicate, self._apply = each(Replicate, names), each(ApplyCommand, names)
        self._snapshot = each(InstallSnapshot, names)
        self._elect, self._step_down = each(Elect, names), each(StepDown, names)
        self._crash, self._restart = each(CrashNode, names), each(RestartNode, names)

    def rules(self) -> tuple[Rule[Group0State, Any], ...]:
        """The table: the log's own steps first, then faults and what mends them."""
        return (
            paired(ApplyCommand, "apply", self._lagging, self._may_apply, self.applies),
            paired(CommitCommand, "commit", self._commits_of, self._may_commit, self._commits),
            paired(Replicate, "replicate", self._followers, self._may_replicate, self._replicates),
            paired(
                InstallSnapshot, "snapshot", self._far_behind, self._may_install, self._installs
            ),
            paired(StepDown, "step down", self._deposed, self._may_hear, self._hears),
            paired(RestartNode, "restart", self._down, _free, self._restarts),
            paired(Elect, "elect", self._candidates, self._may_lead, self._leads),
            paired(Reconfigure, "reconfigure", self._changes, self._may_change, self._change),
            paired(LoseCommand, "lose", self._on_the_way, self._may_lose, self._loses),
            paired(CrashNode, "crash", self._running, self._may_crash, self._crashes),
            paired(PassHour, "hour", self._hours, self._may_pass, self._passes),
        )

    # -- the log -----------------------------------------------------------------------------------

    def _commits_of(self, s: Group0State) -> Iterator[CommitCommand]:
        majorities = majorities_with(s.leader, s.up, s.voters) or (s.up & s.voters,)
        for state_id in dict.fromkeys(command.new for command in s.in_flight):
            yield from (CommitCommand(state_id, self.setup.named(nodes)) for nodes in majorities)

    def _may_commit(self, s: Group0State, action: CommitCommand) -> Refusal | None:
        refusal = self.setup.no_leader(s)
        if refusal is not None:
            return refusal
        behind = [n for n in action.by if self.setup.lacks_dropped(s, self.setup.number(n))]
        return self._needs_snapshot(s, behind) if behind else None

    def _needs_snapshot(self, s: Group0State, behind: Sequence[str]) -> Refusal:
        leader = self.setup.names[s.leader]
        dropped = f"{leader}, the leader, has dropped entries up to {self.setup.snapshot(s)}"
        return Refusal(f"{dropped}: a snapshot comes first", missing=tuple(behind))

    def _commits(self, s: Group0State, action: CommitCommand) -> Group0State:
        at = next(i for i, command in enumerate(s.in_flight) if command.new == action.state_id)
        log, indexes = s.log.append(s.in_flight[at]), s.indexes
        for node in map(self.setup.number, action.by):
            indexes = put(indexes, node, indexes[node].storing(len(log)))
        indexes = put(indexes, s.leader, indexes[s.leader].knowing(len(log)))
        in_flight = s.in_flight[:at] + s.in_flight[at + 1 :]
        return replace(s, log=log, indexes=indexes, in_flight=in_flight)

    def _followers(self, s: Group0State) -> list[Replicate]:
        return [
            self._replicate[i]
            for i, indexes in enumerate(s.indexes)
            if indexes.commit < len(s.log) and s.up >> i & 1
        ]

    def _may_replicate(self, s: Group0State, action: Replicate) -> Refusal | None:
        if s.up >> s.leader & 1:
            behind = self.setup.lacks_dropped(s, self.setup.number(action.node))
            return self._needs_snapshot(s, (action.node,)) if behind else None
        return self._leader_down(s)

    def _leader_down(self, s: Group0State) -> Refusal:
        name = self.setup.names[s.leader]
        return Refusal(f"{name}, the leader, is down", missing=(name,))

    def _far_behind(self, s: Group0State) -> list[InstallSnapshot]:
        if not self.setup.kept:
            return []
        return [self._snapshot[i] for i in nodes_in(s.up) if self.setup.lacks_dropped(s, i)]

    def _may_install(self, s: Group0State, action: InstallSnapshot) -> Refusal | None:
        return self._may_apply(s, action) if s.up >> s.leader & 1 else self._leader_down(s)

    def _installs(self, s: Group0State, action: InstallSnapshot) -> Group0State:
        """The snapshot is the state after its last entry: the node has gone through all of them."""
        node, last = self.setup.number(action.node), self.setup.snapshot(s)
        s = replace(s, indexes=put(s.indexes, node, s.indexes[node].knowing(last)))
        while s.indexes[node].applied < last:
            s = self.applies(s, action)
        return s

    def _replicates(self, s: Group0State, action: Replicate) -> Group0State:
        node = self.setup.number(action.node)
        return replace(s, indexes=put(s.indexes, node, s.indexes[node].knowing(len(s.log))))

    def _lagging(self, s: Group0State) -> list[ApplyCommand]:
        return [
            self._apply[i]
            for i, indexes in enumerate(s.indexes)
            if indexes.applied < indexes.commit and s.up >> i & 1
        ]

    def _may_apply(self, s: Group0State, action: ApplyCommand | InstallSnapshot) -> Refusal | None:
        guard = s.guards[self.setup.number(action.node)]
        if guard is None or guard.step not in LOOKING:
            return None
        return Refusal(
            f"{action.node} builds a command on the state that it has", (), (action.node,)
        )

    def applies(self, s: Group0State, action: ApplyCommand | InstallSnapshot) -> Group0State:
        """The node goes through one more command; its own ends step 7 of its guard."""
        node = self.setup.number(action.node)
        indexes, guard = s.indexes[node].applying(), s.guards[node]
        s = replace(s, indexes=put(s.indexes, node, indexes))
        if guard is None or guard.step != SUBMITTED:
            return s
        if s.log[indexes.applied - 1].new != guard.new:
            return s
        return replace(s, guards=put(s.guards, node, replace(guard, step=APPLIED)))

    # -- who leads ---------------------------------------------------------------------------------

    def _candidates(self, s: Group0State) -> list[Elect]:
        if not s.left.elections:
            return []
        return [self._elect[i] for i in nodes_in(s.up & s.voters) if i != s.leader]

    def _may_lead(self, s: Group0State, action: Elect) -> Refusal | None:
        if not is_majority(s.up, s.voters):
            down = self.setup.named(s.voters & ~s.up)
            return Refusal("no quorum: more than half of the voters must be up", missing=down)
        stored = s.indexes[self.setup.number(action.node)].stored
        if stored == len(s.log):
            return None
        return Refusal(f"{action.node} stores {stored} of {len(s.log)} committed commands")

    def _leads(self, s: Group0State, action: Elect) -> Group0State:
        node = self.setup.number(action.node)
        believes = s.deposed | (s.up & 1 << s.leader)
        return replace(
            s,
            leader=node,
            term=s.term + 1,
            deposed=believes & ~(1 << node),
            indexes=put(s.indexes, node, s.indexes[node].knowing(len(s.log))),
            left=replace(s.left, elections=s.left.elections - 1),
        )

    def _deposed(self, s: Group0State) -> list[StepDown]:
        return [self._step_down[i] for i in nodes_in(s.deposed)]

    def _may_hear(self, s: Group0State, action: StepDown) -> Refusal | None:
        return None if s.up >> s.leader & 1 else Refusal("nobody is up who could tell it", ())

    def _hears(self, s: Group0State, action: StepDown) -> Group0State:
        return replace(s, deposed=s.deposed & ~(1 << self.setup.number(action.node)))

    def _changes(self, s: Group0State) -> tuple[Reconfigure, ...]:
        wanted = self.setup.wanted_voters(s)
        return () if wanted == s.voters else (Reconfigure(self.setup.named(wanted)),)

    def _may_change(self, s: Group0State, action: Reconfigure) -> Refusal | None:
        refusal = self.setup.no_leader(s)
        if refusal is not None:
            return refusal
        wanted = self.setup.wanted_voters(s)
        stores = sum(1 << i for i, each in enumerate(s.indexes) if each.stored == len(s.log))
        if is_majority(s.up & stores, wanted):
            return None
        return Refusal(
            "a majority of the new voters must be up and store the log",
            missing=self.setup.named(wanted & ~(s.up & stores)),
        )

    def _change(self, s: Group0State, action: Reconfigure) -> Group0State:
        return replace(s, voters=self.setup.wanted_voters(s))

    # -- faults ------------------------------------------------------------------------------------

    def _on_the_way(self, s: Group0State) -> list[LoseCommand]:
        if not self.faults.losses:
            return []
        return [LoseCommand(new) for new in dict.fromkeys(c.new for c in s.in_flight)]

    def _may_lose(self, s: Group0State, action: LoseCommand) -> Refusal | None:
        return None if s.left.losses else Refusal("the budget of losses is spent")

    def _loses(self, s: Group0State, action: LoseCommand) -> Group0State:
        at = next(i for i, command in enumerate(s.in_flight) if command.new == action.state_id)
        left = replace(s.left, losses=s.left.losses - 1)
        return replace(s, in_flight=s.in_flight[:at] + s.in_flight[at + 1 :], left=left)

    def _running(self, s: Group0State) -> list[CrashNode]:
        return [self._crash[i] for i in nodes_in(s.up)] if self.faults.crashes else []

    def _may_crash(self, s: Group0State, action: CrashNode) -> Refusal | None:
        return None if s.left.crashes else Refusal("the budget of crashes is spent")

    def _crashes(self, s: Group0State, action: CrashNode) -> Group0State:
        node = self.setup.number(action.node)
        guard, bit = s.guards[node], 1 << node
        answers = s.answers
        if guard is not None:
            answers = put(answers, guard.operation, "no answer")
        return replace(
            s,
            up=s.up & ~bit,
            deposed=s.deposed & ~bit,
            guards=put(s.guards, node, None),
            answers=answers,
            left=replace(s.left, crashes=s.left.crashes - 1),
        )

    def _down(self, s: Group0State) -> list[RestartNode]:
        return [self._restart[i] for i in nodes_in(self.setup.everybody & ~s.up)]

    def _restarts(self, s: Group0State, action: RestartNode) -> Group0State:
        return replace(s, up=s.up | 1 << self.setup.number(action.node))

    def _hours(self, s: Group0State) -> tuple[PassHour, ...]:
        if not self.faults.hours or self._newest(s) <= s.expired:
            return ()
        return (PassHour(),)

    def _newest(self, s: Group0State) -> int:
        """The greatest state id that was made so far."""
        made: list[int] = [command.new for command in (*s.log, *s.in_flight)]
        return max([0, *made, *(guard.new for guard in s.guards if guard is not None)])

    def _may_pass(self, s: Group0State, action: PassHour) -> Refusal | None:
        return None if s.left.hours else Refusal("the budget of hours is spent")

    def _passes(self, s: Group0State, action: PassHour) -> Group0State:
        left = replace(s.left, hours=s.left.hours - 1)
        return replace(s, expired=self._newest(s), left=left)


def _free(s: Group0State, action: Any) -> Refusal | None:
    return None
