"""The guard: what a node does for a change that a client asks of it, in eight steps.

Steps 3 to 6 look at one state of the node: meanwhile it applies nothing (published code: the
*read_apply* lock). Source: "Using Group 0 to perform schema changes", the eight steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Any

from msgspec import Struct

from kit.masks import where
from kit.model.declared import Each, Node, Travel, Words, action, purpose, refused
from kit.model.model import Monitor
from kit.protocols.group0 import state
from kit.protocols.group0.rules import commands
from kit.protocols.group0.rules.schema import objection
from kit.protocols.group0.state import Group0State, HeldGuard, Members, Next, put

Operation = Annotated[int, Each(lambda m: range(len(m.clients)))]
COMMITTED = "committed up to index {index}"


def after_step(*steps: int) -> Callable[[Any, Group0State], int]:
    """The nodes whose guard did one of these steps last, as a bit mask."""

    def holding(m: Any, s: Group0State) -> int:
        return where(bool(held and held.step in steps) for held in s.guards)

    return holding


after_locking, after_barrier = after_step(state.LOCKED), after_step(state.CAUGHT_UP)


def _answer_travels(m: Guards, before: Group0State, a: Any, after: Group0State) -> Iterable[Travel]:
    operation = m.guard(before, m.number(a.node)).operation
    if (answer := after.answers[operation]) in state.ANSWERED:
        yield Travel("answer", a.node, f"op:{operation}", answer)


def _command_travels(m: Guards, _: Group0State, a: Any, after: Group0State) -> Iterable[Travel]:
    guard = m.guard(after, m.number(a.node))
    at = max(i for i, command in enumerate(after.in_flight) if command.new == guard.new)
    text = f"{{node}} → {{leader}}: {state.command_text(after.in_flight[at])}"
    yield Travel("entry", "n:{node}", state.key_of(after.in_flight, at), "command", text)


def _validate_says(m: Guards, before: Group0State, a: Any, after: Group0State) -> str:
    if why := m.objection(before, m.number(a.node)):
        return f"{{node}} answers its client: {why}. It submits nothing."
    return "{node} finds that the change makes sense and builds its command."


def _look_up_says(m: Guards, before: Group0State, a: Any, after: Group0State) -> str:
    answer = after.answers[m.guard(before, m.number(a.node)).operation]
    if answer == "success":
        return "{node} finds state {held.new} in its history: the change took effect."
    if answer == "unknown":
        return (
            "{node} finds no state {held.new}, and rows that old have expired: the outcome is "
            "unknown."
        )
    return (
        "{node} finds no state {held.new}: the command was a no-op. The node starts again from "
        "step 1."
    )


class Guards(Members):
    """The guards of nodes for the changes that clients ask of them."""

    read_barrier: bool

    def guard(self, s: Group0State, node: int) -> HeldGuard:
        """The guard that a node holds."""
        guard = s.guards[node]
        assert guard is not None
        return guard

    @action(
        tag="begin",
        each=lambda m, s: where(each == "waiting" for each in s.answers),
        verb=lambda m, a: m.clients[a.operation].text,
        travels=[Travel("request", "op:{operation}", "{name}", "{what}")],
    )
    @purpose("The local lock lets a node work on only one change at a time.")
    def begin_operation(self, s: Group0State, operation: Operation) -> Next:
        """A client asks {name} to {what}. {name} takes its local lock."""
        node = self.clients[operation].node
        name, guard = self.names[node], s.guards[node]
        if not s.up >> node & 1:
            return refused(f"{name} is down", (name,))
        if guard is not None:
            other = self.clients[guard.operation].statement.text
            return refused(f"{name} holds the lock for another change: {other}", (name,))
        s = s.guarded(node, HeldGuard(operation))
        return s.but(answers=put(s.answers, operation, "running"))

    @action(
        tag="barrier",
        each=after_locking,
        when=lambda m: m.read_barrier,
        says=lambda m, s, a, _: (
            "{node} "
            + ("learns from the leader", "leads, still has a majority, and knows")[
                s.leader == m.number(a.node)
            ]
            + " that index {index} is committed. {node} has applied it."
        ),
        travels=[
            Travel("request", "{node}", "{leader}", "barrier", tells="read barrier"),
            Travel("answer", "{leader}", "{node}", "index {index}", tells=COMMITTED),
        ],
    )
    @purpose("A change should start from the newest state, not an old one.")
    def await_barrier(self, s: Group0State, node: Node) -> Next:
        """The node has applied everything that was committed when it asked the leader."""
        name, applied = self.names[node], s.indexes[node].applied
        if s.deposed >> node & 1:
            return refused(f"{name} believes that it leads, but no majority answers it")
        if why := self.no_leader(s):
            return why
        if applied < len(s.log):
            why_not = f"{name} has applied {applied} of {len(s.log)} committed commands"
            return refused(why_not, (name,))
        return s.guarded(node, self.guard(s, node).but(step=state.CAUGHT_UP))

    @action(
        tag="read", each=lambda m, s: (after_barrier if m.read_barrier else after_locking)(m, s)
    )
    @purpose("The change will count only if this is still the newest state.")
    def read_state_id(self, s: Group0State, node: Node) -> Next:
        """{node} reads its newest state id: {now.observed}."""
        newest = self.tables(s, node).history.newest
        return s.guarded(node, self.guard(s, node).but(step=state.READ, observed=newest))

    @action(tag="make-id", each=after_step(state.READ))
    @purpose("The id names the state that the change produces; ids only grow.")
    def make_state_id(self, s: Group0State, node: Node) -> Next:
        """{node} creates a greater state id: {now.new}."""
        guard = self.guard(s, node)
        return s.guarded(node, guard.but(step=state.MADE, new=self.fresh_id(s, node)))

    def fresh_id(self, s: Group0State, node: int) -> int:
        """An id above what the node observed, which no command has that anybody may still meet."""
        guard, name = self.guard(s, node), self.names[node]
        met = [command.new for command in (*s.log, *s.in_flight) if command.creator == name]
        given = max((*met, guard.new, s.expired))
        return commands.next_state_id(guard.observed, given, node, len(self.names))

    def objection(self, s: Group0State, node: int) -> str | None:
        """The fault of the statement that a node works on, by the node's own schema."""
        statement = self.clients[self.guard(s, node).operation].statement
        return objection(self.tables(s, node).schema, statement)

    @action(each=after_step(state.MADE), says=_validate_says, travels=_answer_travels)
    @purpose("A change that makes no sense is refused before it reaches the log.")
    def validate(self, s: Group0State, node: Node) -> Next:
        """The node checks whether the change makes sense in its own state."""
        if self.objection(s, node) is not None:
            return self.answered_with(s, node, "error")
        return s.guarded(node, self.guard(s, node).but(step=state.VALID))

    def answered_with(self, s: Group0State, node: int, answer: state.Answer) -> Group0State:
        """The guard ends, and its client is told."""
        answers = put(s.answers, self.guard(s, node).operation, answer)
        return s.guarded(node, None).but(answers=answers)

    @action(each=after_step(state.VALID), travels=_command_travels)
    @purpose("A command in the log is the same for every node.")
    def submit(self, s: Group0State, node: Node) -> Next:
        """{node} submits its command: state {held.observed} → {held.new}."""
        if why := self.no_leader(s):
            return why
        forgets = s.expired + 1 if s.expired else 0
        held = self.guard(s, node).but(step=state.SUBMITTED, term=s.term, forgets=forgets)
        return _sent(s.guarded(node, held), self.command(held))

    def command(self, guard: HeldGuard) -> commands.Command:
        """The command of a guard."""
        client = self.clients[guard.operation]
        made = client.statement, guard.observed, guard.new, self.names[client.node]
        return commands.command_of(*made, self.switches, guard.forgets)

    @action(
        each=after_step(state.SUBMITTED, state.APPLIED), says=_look_up_says, travels=_answer_travels
    )
    @purpose("A command in the log may still be a no-op; the history shows whether it was.")
    def look_up(self, s: Group0State, node: Node) -> Next:
        """The node has processed the command; the history shows what happened to it."""
        guard, name = self.guard(s, node), self.names[node]
        if guard.step != state.APPLIED:
            return refused(f"{name} has not applied its command yet", (name,))
        became = commands.outcome(self.tables(s, node).history, guard.new, s.expired)
        if became == "no-op":
            return s.guarded(node, HeldGuard(guard.operation))
        return self.answered_with(s, node, "success" if became == "applied" else "unknown")

    @action(
        each=after_step(state.SUBMITTED),
        says=lambda m, before, a, after: (
            "{node} does not know what happened to its command, and submits it again."
            if before.guards[m.number(a.node)].new == after.guards[m.number(a.node)].new
            else "{node} submits its change again, under a new state id: {now.new}."
        ),
        travels=_command_travels,
    )
    @purpose("Silence does not show whether the command was lost, so the node submits it again.")
    def retry(self, s: Group0State, node: Node) -> Next:
        """The node hears nothing about its command, so it submits the command again."""
        guard = self.guard(s, node)
        if why := self.no_leader(s):
            return why
        under_way = (*s.in_flight, *s.log)
        if guard.term >= s.term and any(command.new == guard.new for command in under_way):
            return refused("the command is on its way, and the same leader still leads")
        command = commands.retried(self.command(guard), self.fresh_id(s, node), self.switches)
        return _sent(s.guarded(node, guard.but(new=command.new, term=s.term)), command)

    def words(self, before: Any, action: Any, after: Any) -> Words:
        """Of what a client asks for the node, and the statement."""
        more = super().words(before, action, after)
        if not isinstance(action, BeginOperation):
            return more
        client = self.clients[action.operation]
        return {**more, "name": self.names[client.node], "what": client.statement.text}


def _sent(s: Group0State, command: commands.Command) -> Group0State:
    in_flight = sorted((*s.in_flight, command), key=lambda other: other.new)
    return s.but(in_flight=tuple(in_flight))


BeginOperation, ReadBarrier, ReadStateId, MakeStateId, Validate, Submit, LookUp, Retry = Guards.acts


class Places(Struct, frozen=True, cache_hash=True):
    """The memory of the monitor: the latest place of an answered operation, and where it stood
    when each operation that is under way began (-1: none is).
    """

    answered: int
    begun: tuple[int, ...]
    broken: str | None = None


def linearizability(m: Members) -> Monitor:
    """The monitor for these clients' operations."""

    def watch(memory: Places, before: Group0State, action: Any, after: Group0State) -> Places:
        if memory.broken is not None:
            return memory
        answered, begun = memory.answered, memory.begun
        if isinstance(action, BeginOperation):
            return Places(answered, put(begun, action.operation, answered))
        guard = before.guards[m.number(action.node)]
        assert guard is not None
        number, answer = guard.operation, after.answers[guard.operation]
        if answer == "running":
            return memory
        ended = put(begun, number, -1)
        if answer == "unknown":
            return Places(answered, ended)
        place = _place(m, begun[number], before, action, guard)
        if place is None:
            return Places(answered, ended, _witness(m, before, action, number))
        return Places(max(answered, place), ended)

    return Monitor(
        "linearizable",
        "A change that begins after another has succeeded sees the other's effect",
        lambda: Places(0, (-1,) * len(m.clients)),
        watch,
        lambda memory: memory.broken,
        invariant="INV-LIN",
        on=(BeginOperation, Validate, LookUp),
    )


def _place(m: Members, begun: int, s: Group0State, action: Any, guard: HeldGuard) -> int | None:
    node, number = m.number(action.node), guard.operation
    if isinstance(action, Validate):
        why = objection(m.tables(s, node).schema, m.clients[number].statement)
        places = range(begun, len(s.log) + 1)
        return next((at for at in places if _refuses(m, s, at, number) == why), None)
    # Its command was committed behind all that was answered before it began. Once it has taken
    # effect, it has none where it is in the log again.
    at = next(at for at, command in enumerate(s.log) if command.new == guard.new)
    return at + 1 if _refuses(m, s, at, number) is None else None


def _refuses(m: Members, s: Group0State, place: int, number: int) -> str | None:
    return objection(m.tables_at(s, place).schema, m.clients[number].statement)


def _witness(m: Members, s: Group0State, action: Any, number: int) -> str:
    text = m.clients[number].text
    if isinstance(action, Validate):
        applied = s.indexes[m.number(action.node)].applied
        why = _refuses(m, s, applied, number)
        return (
            f"{text} is refused ({why}) although another client's success had removed that reason"
        )
    return f"{text} succeeds although the previous state did not allow it"
