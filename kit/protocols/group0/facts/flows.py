"""What travels in a step of group 0: requests and answers, commands, votes."""

from __future__ import annotations

from typing import Any

from kit.engine.flows import Flow, FlowTable
from kit.protocols.group0.actions import (
    ApplyCommand,
    BeginOperation,
    CommitCommand,
    CrashNode,
    Elect,
    FetchSchema,
    InstallSnapshot,
    LookUp,
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
from kit.protocols.group0.facts import moment as facts
from kit.protocols.group0.model import Group0
from kit.protocols.group0.rules.voters import majorities_with
from kit.protocols.group0.state import ANSWERED, Group0State

Flows = tuple[Flow, ...]


def _requested(m: Group0, before: Group0State, action: BeginOperation, after: Group0State) -> Flows:
    operation = m.setup.operations[action.operation]
    name, what = m.setup.names[operation.node], operation.statement.text
    return (
        Flow("request", f"op:{action.operation}", f"n:{name}", what, f"client → {name}: {what}"),
    )


def _answered(
    m: Group0, before: Group0State, action: Validate | LookUp, after: Group0State
) -> Flows:
    guard = before.guards[m.setup.number(action.node)]
    answer = after.answers[guard.operation] if guard is not None else "running"
    if guard is None or answer not in ANSWERED:
        return ()
    text = f"{action.node} → client: {answer}"
    return (Flow("answer", f"n:{action.node}", f"op:{guard.operation}", answer, text),)


def _barrier(m: Group0, before: Group0State, action: ReadBarrier, after: Group0State) -> Flows:
    leader, name, index = m.setup.names[before.leader], action.node, len(before.log)
    if leader == name:
        return ()
    return (
        Flow("request", f"n:{name}", f"n:{leader}", "barrier", f"{name} → {leader}: read barrier"),
        Flow(
            "answer",
            f"n:{leader}",
            f"n:{name}",
            f"index {index}",
            f"{leader} → {name}: committed up to index {index}",
            leg=1,
        ),
    )


def _submitted(m: Group0, before: Group0State, action: Submit | Retry, after: Group0State) -> Flows:
    guard = after.guards[m.setup.number(action.node)]
    assert guard is not None
    same = [i for i, command in enumerate(after.in_flight) if command.new == guard.new]
    at, leader = same[-1], m.setup.names[after.leader]
    text = f"{action.node} → {leader}: {facts.said(after.in_flight[at])}"
    return (Flow("entry", f"n:{action.node}", facts.key_of(after.in_flight, at), "command", text),)


def _stored(m: Group0, before: Group0State, action: CommitCommand, after: Group0State) -> Flows:
    leader, index = m.setup.names[after.leader], len(after.log)
    label = f"index {index}"
    return tuple(
        Flow("entry", _at(leader, index), _at(name, index), label, f"{leader} → {name}: {label}")
        for name in action.by
        if name != leader
    )


def _replicated(m: Group0, before: Group0State, action: Replicate, after: Group0State) -> Flows:
    leader, name, last = m.setup.names[after.leader], action.node, len(after.log)
    if leader == name:
        return ()
    text = f"{leader} → {name}: entries up to {last}, committed"
    return (Flow("entry", _at(leader, last), _at(name, last), f"up to {last}", text),)


def _installed(
    m: Group0, before: Group0State, action: InstallSnapshot, after: Group0State
) -> Flows:
    leader, name = m.setup.names[before.leader], action.node
    last = after.indexes[m.setup.number(name)].applied
    text = f"{leader} → {name}: snapshot, the state at index {last}"
    return (Flow("data", _at(leader, last), _at(name, last), "snapshot", text),)


def _applied(m: Group0, before: Group0State, action: ApplyCommand, after: Group0State) -> Flows:
    index = after.indexes[m.setup.number(action.node)].applied
    label = f"index {index}"
    text = f"log → tables of {action.node}: {label}"
    return (Flow("entry", f"log:{index}", _at(action.node, index), label, text),)


def _at(name: str, index: int) -> str:
    """Where an entry is in a node's lane."""
    return f"at:{name}:{index}"


def _voted(m: Group0, before: Group0State, action: Elect, after: Group0State) -> Flows:
    voters = majorities_with(after.leader, after.up, after.voters)[0]
    return tuple(
        Flow("answer", f"n:{name}", f"n:{action.node}", "vote", f"{name} → {action.node}: vote")
        for name in m.setup.named(voters)
        if name != action.node
    )


def _informed(m: Group0, before: Group0State, action: StepDown, after: Group0State) -> Flows:
    leader, label = m.setup.names[after.leader], f"term {after.term}"
    text = f"{leader} → {action.node}: {label}"
    return (Flow("message", f"n:{leader}", f"n:{action.node}", label, text),)


def _configured(m: Group0, before: Group0State, action: Reconfigure, after: Group0State) -> Flows:
    leader, label = m.setup.names[after.leader], f"{after.voters.bit_count()} voters"
    return tuple(
        Flow("entry", f"n:{leader}", f"n:{name}", label, f"{leader} → {name}: {label}")
        for name in m.setup.named(after.up)
        if name != leader
    )


def _sent(m: Group0, before: Group0State, action: SendRequest, after: Group0State) -> Flows:
    source, target, label = _ends(m, action, after)
    text = f"{source} → {target}: request with {label}"
    return (Flow("request", f"n:{source}", f"n:{target}", label, text),)


def _fetched(m: Group0, before: Group0State, action: FetchSchema, after: Group0State) -> Flows:
    source, target, label = _ends(m, action, after)
    return (
        Flow("request", f"n:{target}", f"n:{source}", "schema?", f"{target} → {source}: schema?"),
        Flow("data", f"n:{source}", f"n:{target}", label, f"{source} → {target}: {label}", leg=1),
    )


def _served(m: Group0, before: Group0State, action: ServeTableRequest, after: Group0State) -> Flows:
    source, target, _ = _ends(m, action, after)
    return (Flow("answer", f"n:{target}", f"n:{source}", "done", f"{target} → {source}: done"),)


def _ends(m: Group0, action: Any, s: Group0State) -> tuple[str, str, str]:
    request = m.setup.requests[action.request]
    names, version = m.setup.names, s.requests[action.request].version
    return names[request.coordinator], names[request.replica], f"version {version}"


# What a node does with its own tables moves nothing; nor does what happens to a node or a command.
FLOWS = FlowTable(
    {
        BeginOperation: _requested,
        ReadBarrier: _barrier,
        Validate: _answered,
        Submit: _submitted,
        Retry: _submitted,
        LookUp: _answered,
        CommitCommand: _stored,
        Replicate: _replicated,
        InstallSnapshot: _installed,
        ApplyCommand: _applied,
        Elect: _voted,
        StepDown: _informed,
        Reconfigure: _configured,
        SendRequest: _sent,
        FetchSchema: _fetched,
        ServeTableRequest: _served,
    },
    (ReadStateId, MakeStateId, CrashNode, RestartNode, LoseCommand, PassHour),
)
