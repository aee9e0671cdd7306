"""What the steps of group 0 are called, and what is said of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kit.protocols.group0.actions import (
    ApplyCommand,
    BeginOperation,
    CommitCommand,
    CrashNode,
    Elect,
    FetchSchema,
    InstallSnapshot,
    LoseCommand,
    MakeStateId,
    PassHour,
    ReadBarrier,
    ReadStateId,
    Reconfigure,
    Replicate,
    RestartNode,
    Retry,
    SendRequest,
    ServeTableRequest,
    StepDown,
    Submit,
    Validate,
)
from kit.protocols.group0.rules.commands import Command
from kit.protocols.group0.rules.history import takes_effect
from kit.protocols.group0.rules.versions import version_of
from kit.protocols.group0.setup import Setup
from kit.protocols.group0.state import Group0State, prefix, tables_after

if TYPE_CHECKING:
    from kit.protocols.group0.model import Group0


def verb(setup: Setup, action: Any) -> str:
    """The action as a line of a scenario file."""
    match action:
        case BeginOperation(operation):
            return setup.operations[operation].text
        case CommitCommand(state_id, by):
            return f"commit {state_id} by {' '.join(by)}"
        case LoseCommand(state_id):
            return f"lose {state_id}"
        case Reconfigure(voters):
            return f"reconfigure {' '.join(voters)}"
        case PassHour():
            return "pass an hour"
        case SendRequest(request):
            return setup.requests[request].text
        case FetchSchema(request) | ServeTableRequest(request):
            return f"{type(action).__struct_config__.tag}: {setup.requests[request].text}"
    return f"{type(action).__struct_config__.tag} {action.node}"


def label(setup: Setup, s: Group0State, action: Any) -> str:
    """The text of a button: the verb, and what one has to know of it."""
    words = verb(setup, action)
    match action:
        case CommitCommand(state_id) | LoseCommand(state_id):
            return f"{words}: {change(in_flight(s, state_id))}"
        case ApplyCommand(node):
            index = s.indexes[setup.number(node)].applied
            return f"{words}: index {index + 1}"
    return words


def in_flight(s: Group0State, state_id: int) -> Command:
    """The command on its way with this state id."""
    return next(command for command in s.in_flight if command.new == state_id)


def change(command: Command) -> str:
    """What a command changes, by whom: ``create keyspace ks of A``."""
    return f"{command.change.text} of {command.creator}"


def sentence(m: Group0, before: Group0State, action: Any, after: Group0State) -> str:
    """One or two sentences: what happened, and why."""
    match action:
        case BeginOperation(operation):
            asked_for = m.setup.operations[operation]
            name = m.setup.names[asked_for.node]
            return f"A client asks {name}: {asked_for.statement.text}. {name} takes its local lock."
        case CommitCommand(by=by):
            command = after.log[len(after.log) - 1]
            stored = _list(by)
            return f"{stored} store {change(command)}: it is committed at index {len(after.log)}."
        case Replicate(node) | InstallSnapshot(node):
            return _caught_up(node, after.indexes[m.setup.number(node)].commit, action)
        case ApplyCommand(node):
            return _applied(m, before, node)
        case Elect(node):
            return f"A majority votes for {node}: it leads in term {after.term}."
        case StepDown(node):
            return f"{node} hears of term {after.term} and leads no more."
        case Reconfigure(voters):
            return f"The voters are now {_list(voters)}."
        case CrashNode(node):
            return f"{node} crashes. What it stored stays; what it was doing is gone."
        case RestartNode(node):
            index = after.indexes[m.setup.number(node)].applied
            return f"{node} is up again, with what it had applied: index {index}."
        case LoseCommand(state_id):
            return f"{change(in_flight(before, state_id))} is lost on its way; nobody is told."
        case PassHour():
            return f"An hour passes: state ids up to {after.expired} are too old for the history."
        case SendRequest() | FetchSchema() | ServeTableRequest():
            return _request(m, before, action, after)
    return _step(m, before, action, after)


def _request(m: Group0, before: Group0State, action: Any, after: Group0State) -> str:
    """A step of a read or write."""
    request, carried = m.setup.requests[action.request], after.requests[action.request]
    source, target = m.setup.names[request.coordinator], m.setup.names[request.replica]
    table = f"{request.keyspace}.{request.table}"
    match action:
        case SendRequest():
            return f"{source} sends {request.text} with its version of {table}: {carried.version}."
        case FetchSchema():
            index = carried.index
            return f"{target} goes through the log up to index {index}, as far as {source} has."
    own = version_of(m.tables(before, request.replica).schema, request.keyspace, request.table)
    return f"{target} serves {request.text} with version {own} of {table}."


def _list(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _caught_up(node: str, index: int, action: Replicate | InstallSnapshot) -> str:
    if isinstance(action, InstallSnapshot):
        return f"{node} lacks entries that the leader has dropped: it gets the state at {index}."
    return f"{node} stores the log up to index {index}, and knows it is committed."


def _applied(m: Group0, before: Group0State, node: str) -> str:
    index = before.indexes[m.setup.number(node)].applied
    command = before.log[index]
    newest = tables_after(prefix(before.log, index), m.setup.safeguards).history.newest
    if takes_effect(newest, command, m.setup.safeguards):
        return f"{node} applies {change(command)}: state {newest} becomes {command.new}."
    return (
        f"{node} goes through {change(command)}: it was built on state {command.previous}, the "
        f"newest is {newest}. It does nothing."
    )


def _step(m: Group0, before: Group0State, action: Any, after: Group0State) -> str:
    """A step of the guard."""
    node = m.setup.number(action.node)
    name, held, now = action.node, before.guards[node], after.guards[node]
    assert held is not None
    match action:
        case ReadBarrier():
            count, leads = len(before.log), before.leader == node
            asks = "leads, and a majority still follows" if leads else "asks the leader"
            return f"{name} {asks}: index {count} is committed, and {name} has applied it."
        case ReadStateId():
            assert now is not None
            return f"{name} reads its newest state id: {now.observed}."
        case MakeStateId():
            assert now is not None
            return f"{name} makes a greater state id: {now.new}."
        case Validate():
            why = m.guards.objection(before, node)
            if why is None:
                return f"{name} finds that the change makes sense and builds its command."
            return f"{name} answers its client: {why}. Nothing is sent."
        case Submit():
            return f"{name} submits its command: state {held.observed} is to become {held.new}."
        case Retry():
            assert now is not None
            if now.new == held.new:
                return f"{name} does not know what became of its command, and submits it again."
            return f"{name} submits its change again, under a new state id: {now.new}."
    answer = after.answers[held.operation]
    if answer == "success":
        return f"{name} finds state {held.new} in its history: the change was made."
    if answer == "unknown":
        return f"{name} finds no state {held.new}, and rows that old are gone: nobody can tell."
    return f"{name} finds no state {held.new}: it was a no-op. {name} starts again from step 1."
