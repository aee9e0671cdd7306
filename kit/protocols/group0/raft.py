"""The log: commands are committed, replicated and applied; who leads and votes; what goes wrong.

Raft at the grain of its promises: what is committed is stored by a majority of the voters, and
nobody leads who lacks a part of it. Who is told that it leads is the one node, who believed so
before may not have heard. Source: "Raft application in Scylla", "Intro to Raft".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Annotated, Any

from kit.errors import Refusal
from kit.masks import is_majority, where
from kit.model.declared import Each, Node, Travel, Words, action, off_stage, purpose, refused
from kit.protocols.group0.rules.commands import Command, Indexes, takes_effect
from kit.protocols.group0.rules.voters import majorities_with
from kit.protocols.group0.state import Group0State, Members, Next, change, put

APPLIES = "log → tables of {node}: index {applied}"
UP_TO, SNAPSHOT = "entries up to {index}, committed", "snapshot, the state at index {applied}"
NO_LOSSES, NO_CRASHES, NO_HOURS = (
    refused(f"the budget of {faults} is spent") for faults in ("losses", "crashes", "hours")
)


def names_text(names: tuple[str, ...]) -> str:
    """``A, B and C``."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


Names = Annotated[tuple[str, ...], Each((), names_text)]
StateId = Annotated[int, Each(())]


def in_flight(s: Group0State, state_id: int) -> Command:
    """The command on its way with this state id."""
    return next(command for command in s.in_flight if command.new == state_id)


@lru_cache(1 << 12)  # few differ
def _lagging(indexes: tuple[Indexes, ...]) -> int:
    return where(at.applied < at.commit for at in indexes)


@lru_cache(1 << 12)
def _unaware(indexes: tuple[Indexes, ...], index: int) -> int:
    return where(at.commit < index for at in indexes)


def verb_with_change(m: RaftLog, s: Group0State, a: Any) -> str:
    """The verb, with the change that the command makes."""
    return f"{m.verb(a)}: {change(in_flight(s, a.state_id))}"


def _entry_to(m: RaftLog, after: Group0State, names: Iterable[str], label: str) -> Iterator[Travel]:
    leader = m.names[after.leader]
    for name in names:  # nothing travels to the leader itself
        yield Travel("entry", leader, name, label)


def _apply_says(m: RaftLog, before: Group0State, a: Any, after: Group0State) -> str:
    index = before.indexes[m.number(a.node)].applied
    command, newest = before.log[index], m.tables_at(before, index).history.newest
    if takes_effect(newest, command, m.switches):
        return f"{{node}} applies {change(command)}: state {newest} becomes {command.new}."
    return (
        f"{{node}} applies {change(command)}, a no-op: it was built on state "
        f"{command.previous}, but the newest state is {newest}."
    )


class RaftLog(Members):
    """The actions of the log, and of the nodes that keep it."""

    @action(
        tag="apply",
        each=lambda m, s: s.up & _lagging(s.indexes),
        label=lambda m, s, a: f"{m.verb(a)}: index {s.indexes[m.number(a.node)].applied + 1}",
        says=_apply_says,
        travels=[Travel("entry", "log:{applied}", "n:{node}", "index {applied}", APPLIES)],
    )
    @purpose("All nodes apply the same commands in the same order.")
    def apply_command(self, s: Group0State, node: Node) -> Next:
        """A node applies the next committed command, which takes effect or is a no-op."""
        return self.building(s, node) or s.applied(node)

    def commits(self, s: Group0State) -> Iterator[tuple[int, tuple[str, ...]]]:
        """Each command on its way, by each smallest majority that may store it."""
        majorities = majorities_with(s.leader, s.up, s.voters) or (s.up & s.voters,)
        for state_id in dict.fromkeys(command.new for command in s.in_flight):
            yield from ((state_id, self.named(nodes)) for nodes in majorities)

    @action(
        tag="commit",
        each=commits,
        verb=lambda m, a: f"commit {a.state_id} by {' '.join(a.by)}",
        label=verb_with_change,
        travels=lambda m, _, a, s: _entry_to(m, s, a.by, f"index {len(s.log)}"),
    )
    @purpose("What a majority has stored survives the loss of any minority.")
    def commit_command(self, s: Group0State, state_id: StateId, by: Names) -> Next:
        """{by} store {last}, so it is committed at index {index}."""
        # They are the leader and just enough other voters.
        if why := self.no_leader(s):
            return why
        lacking = self.lacking_dropped(s) & self.mask(by)
        if lacking:
            return self._needs_snapshot(s, lacking)
        s, command = _take_command(s, state_id)
        log, indexes = s.log.append(command), s.indexes
        for node in map(self.number, by):
            indexes = put(indexes, node, indexes[node].storing(len(log)))
        return s.but(log=log, indexes=indexes).knowing(s.leader, len(log))

    def _needs_snapshot(self, s: Group0State, nodes: int) -> Refusal:
        leader = self.names[s.leader]
        dropped = f"{leader}, the leader, has dropped entries up to {self.snapshot(s)}"
        return refused(f"{dropped}: the node needs a snapshot first", self.named(nodes))

    def _leader_down(self, s: Group0State) -> Refusal | None:
        name = self.names[s.leader]
        return None if s.up >> s.leader & 1 else refused(f"{name}, the leader, is down", (name,))

    @action(
        each=lambda m, s: s.up & _unaware(s.indexes, len(s.log)),
        travels=[Travel("entry", "{leader}", "{node}", "up to {index}", tells=UP_TO)],
    )
    @purpose("A node can apply only entries that it has stored and knows are committed.")
    def replicate(self, s: Group0State, node: Node) -> Next:
        """{node} stores the log up to index {index} and knows that it is committed."""
        if why := self._leader_down(s):
            return why
        if self.lacking_dropped(s) >> node & 1:
            return self._needs_snapshot(s, 1 << node)
        return s.knowing(node, len(s.log))

    @action(
        tag="snapshot",
        each=lambda m, s: s.up & m.lacking_dropped(s) if m.kept else 0,
        travels=[Travel("data", "{leader}", "{node}", "snapshot", tells=SNAPSHOT)],
    )
    @purpose("The leader's log no longer has the old entries; the snapshot replaces them.")
    def install_snapshot(self, s: Group0State, node: Node) -> Next:
        """{node} lacks entries that the leader has dropped, so it gets the state at index
        {applied}.

        The snapshot is the state after its last entry: the node has gone through all of them.
        """
        why = self._leader_down(s) or self.building(s, node)
        return why or s.applied_up_to(node, self.snapshot(s))

    # -- who leads, and who votes ------------------------------------------------------------------

    @action(
        each=lambda m, s: s.deposed,
        travels=[Travel("message", "{leader}", "{node}", "term {after.term}")],
    )
    @purpose("A term has one leader, and a newer term ends the old one.")
    def step_down(self, s: Group0State, node: Node) -> Next:
        """{node} hears of term {after.term} and no longer leads."""
        if not s.up >> s.leader & 1:
            return refused("the leader, which knows the new term, is down")
        return s.but(deposed=s.deposed & ~(1 << node))

    @action(tag="restart", each=lambda m, s: m.everybody & ~s.up)
    @purpose("The node still has what is on its disk and gets the rest from the log.")
    def restart_node(self, s: Group0State, node: Node) -> Next:
        """{node} is up again. Its shard 0 starts group 0's server from the last index it had
        applied: {applied}.
        """
        return s.but(up=s.up | 1 << node)

    @action(
        each=lambda m, s: s.up & s.voters & ~(1 << s.leader),
        spends="left.elections",
        travels=lambda m, _, a, s: [
            Travel("answer", name, "{node}", "vote")
            for name in m.named(majorities_with(s.leader, s.up, s.voters)[0])
            if name != a.node
        ],
        fault=True,
    )
    @purpose("A majority can elect another leader at any time, but only one per term.")
    def elect(self, s: Group0State, node: Node) -> Next:
        """A majority votes for {node}: it leads in term {after.term}."""
        if why := self.no_quorum(s):
            return why
        stored = s.indexes[node].stored
        if stored < len(s.log):
            of_all = f"{stored} of {len(s.log)} committed commands"
            return refused(f"{self.names[node]} stores {of_all}")
        believes = s.deposed | (s.up & 1 << s.leader)
        s = s.but(leader=node, term=s.term + 1, deposed=believes & ~(1 << node))
        return s.knowing(node, len(s.log))

    @action(
        each=lambda m, s: [m.named(wanted) for wanted in {m.wanted_voters(s)} - {s.voters}],
        verb=lambda m, a: f"reconfigure {' '.join(a.voters)}",
        travels=lambda m, _, a, s: _entry_to(m, s, m.named(s.up), f"{s.voters.bit_count()} voters"),
    )
    @purpose("Only voters count toward a majority.")
    def reconfigure(self, s: Group0State, voters: Names) -> Next:
        """The voters are now {voters}."""
        if why := self.no_leader(s):
            return why
        wanted = self.mask(voters)
        stores = s.up & where(at.stored == len(s.log) for at in s.indexes)
        if not is_majority(stores, wanted):
            reason = "a majority of the new voters must be up and store the log"
            return self.too_few(reason, stores, wanted)
        return s.but(voters=wanted)

    # -- faults ------------------------------------------------------------------------------------

    @action(
        tag="lose",
        each=lambda m, s: dict.fromkeys(c.new for c in s.in_flight) if m.budget.losses else (),
        label=verb_with_change,
        fault=True,
    )
    @purpose("Networks lose messages without telling anyone.")
    def lose_command(self, s: Group0State, state_id: StateId) -> Next:
        """{lost} is lost on the way; no node is told."""
        if not s.left.losses:
            return NO_LOSSES
        return _take_command(s.spend("left.losses"), state_id)[0]

    @action(
        tag="crash", each=lambda m, s: s.up if m.budget.crashes else 0, fault=True, hand=off_stage
    )
    @purpose("Nodes can stop at any moment; the log must survive that.")
    def crash_node(self, s: Group0State, node: Node) -> Next:
        """{node} crashes. It keeps what it stored, but loses what it was doing."""
        if not s.left.crashes:
            return NO_CRASHES
        guard, others, answers = s.guards[node], ~(1 << node), s.answers
        if guard is not None:
            answers = put(answers, guard.operation, "no answer")
        return s.but(
            up=s.up & others,
            deposed=s.deposed & others,
            guards=put(s.guards, node, None),
            answers=answers,
            left=s.left.spend("crashes"),
        )

    def _newest_id(self, s: Group0State) -> int:
        made: list[int] = [each.new for each in (*s.log, *s.in_flight, *filter(None, s.guards))]
        return max([0, *made])

    @action(
        kind="hour",
        verb="pass an hour",
        each=lambda m, s: int(m.budget.hours > 0 and m._newest_id(s) > s.expired),
        fault=True,
    )
    @purpose("The history is not kept forever.")
    def pass_hour(self, s: Group0State) -> Next:
        """An hour passes: state ids up to {after.expired} expire from the history."""
        if not s.left.hours:
            return NO_HOURS
        return s.spend("left.hours").but(expired=self._newest_id(s))

    def words(self, before: Any, action: Any, after: Any) -> Words:
        """Of a command what it changes."""
        more = super().words(before, action, after)
        if isinstance(action, CommitCommand):
            return {**more, "last": change(after.log[len(after.log) - 1])}
        if isinstance(action, LoseCommand):
            return {**more, "lost": change(in_flight(before, action.state_id))}
        return more


def _take_command(s: Group0State, state_id: int) -> tuple[Group0State, Command]:
    command = in_flight(s, state_id)
    at = s.in_flight.index(command)
    return s.but(in_flight=s.in_flight[:at] + s.in_flight[at + 1 :]), command


ApplyCommand, CommitCommand, Replicate, InstallSnapshot, StepDown, RestartNode, *_rest = (
    RaftLog.acts
)
Elect, Reconfigure, LoseCommand, CrashNode, PassHour = _rest
