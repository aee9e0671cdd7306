"""What the control model says: verbs, what a step did, a state as a person reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kit.protocols.group0.rules.commands import Command
from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.topology import actions as act
from kit.protocols.topology import coordinator as work
from kit.protocols.topology.addresses import address_of
from kit.protocols.topology.faults import racks_against
from kit.protocols.topology.rules.cluster import NO_ROW, NOBODY, Mutation
from kit.protocols.topology.serving import is_truncating, let_in, served
from kit.protocols.topology.state import ControlState, view_of
from kit.protocols.topology.words import COMMANDS, request_text

if TYPE_CHECKING:
    from kit.protocols.topology.model import Topology

PLAIN = {
    act.TakeDecision: "decide",
    act.CommitDecision: "commit",
    act.CommitDeposed: "commit deposed",
    act.DoWork: "work",
    act.FailWork: "fail",
    act.PauseWork: "pause",
    act.PublishGeneration: "publish",
    act.UnlockTopology: "unlock",
    act.LeaveBehind: "leave behind",
    act.EndLeftover: "end leftover",
    act.FindImbalance: "imbalance",
}
"""The verbs of actions that name nothing."""


def verb(model: Topology, action: Any) -> str:
    """``join D``, ``decide``, ``answer B``: the action as one line of a scenario."""
    if isinstance(action, act.MakeRequest):
        return request_text(model.plan.requests[action.number], model.names)
    if isinstance(action, act.MoveTablets):
        where = [] if action.on is None else ["to", *action.on]
        return " ".join(["move tablets", *where, *["and more"] * action.more])
    plain = PLAIN.get(type(action))
    if plain is not None:
        return plain
    name = action.replica if isinstance(action, act.ServeRequest) else action.node
    return f"{type(action).__struct_config__.tag} {name}"


def label(model: Topology, s: ControlState, action: Any) -> str:
    """The text of a button: the command asked with; what is decided, committed or worked on."""
    words = verb(model, action)
    match action:
        case act.MakeRequest(number) if model.plan.requests[number].kind in COMMANDS:
            return f"{words}: {COMMANDS[model.plan.requests[number].kind]}"
        case act.CommitDecision() if s.attempted.command is not None:
            return f"{words}: {changes(model, s.attempted.command)}"
        case act.CommitDeposed() if s.deposed is not None:
            return f"{words}: {changes(model, s.deposed)}"
        case act.DoWork() | act.FailWork():
            words = "fail this step" if isinstance(action, act.FailWork) else words
            piece = work.task_of(s, model.setting).work if s.started else None
            return words if piece is None else f"{words}: {piece.name}"
        case act.CrashMember(node) if model.number[node] == s.coordinator:
            return f"kill the coordinator, {node}"
        case act.ExcludeNode(node):
            return f"{words}: nodetool excludenode"
        case act.CutOff(node):
            return f"cut off {node}"
        case act.RestartElsewhere(node):
            return f"restart {node} with another address"
        case act.HearAddress(node):
            return f"{words}: the others hear where {node} is"
        case act.LeaveBehind():
            return "this RPC is late: it stays behind"
    return words


COLUMNS = {
    "transition": "transition_state",
    "state": "node_state",
    "request": "topology_request",
    "cleanup": "cleanup_status",
    "replaced": "replaced_id",
    "queue": "global_requests",
    "running": "global_topology_request",
    "ignored": "ignore_nodes",
}
"""The columns that cells of the compact tables stand for, where the names differ."""


def changes(model: Topology, command: Command) -> str:
    """What a command sets, in words: its cells; a start marker sets none."""
    mutation: Mutation = command.change
    cells = [_cell(*cell) for cell in mutation.static]
    cells += [f"{model.names[node]}.{_cell(*cell)}" for node, row in mutation.nodes for cell in row]
    cells += [
        f"request {number + 1} {name}"
        for number, row in mutation.requests
        for name, value in row
        if value is True
    ]
    return ", ".join(cells) or "nothing but a new state id"


def _cell(name: str, value: Any) -> str:
    said = "null" if value in ("", ()) or (name == "session" and not value) else str(value)
    return f"{COLUMNS.get(name, name)} = {said.lower()}"


def milestone(before: ControlState, after: ControlState) -> str | None:
    """The transition state that a step enters, or the end of an operation."""
    if before.topology.transition != after.topology.transition:
        return after.topology.transition or "no transition"
    states = [
        new.state
        for old, new in zip(before.topology.nodes, after.topology.nodes, strict=True)
        if old.state != new.state
    ]
    return states[0] if states else None


def describe(model: Topology, before: ControlState, action: Any, after: ControlState) -> str:
    """What the step did, and why."""
    coordinator = "The coordinator"
    if before.coordinator != NOBODY:
        coordinator = f"The coordinator on {model.names[before.coordinator]}"
    match action:
        case act.MakeRequest(number):
            text = request_text(model.plan.requests[number], model.names)
            return f"The request {text} is written into the tables (state {after.state_id})."
        case act.TakeDecision():
            command = after.attempted.command
            said = "" if command is None else changes(model, command)
            decision = work.decision_of(before, model.setting)
            why = f" ({decision.reason})" if decision.kind == "refuse" else ""
            return f"{coordinator} decides on state {before.state_id}{why}: {said}."
        case act.CommitDecision():
            return _committed(model, before.attempted.command, before, after)
        case act.CommitDeposed():
            said = _committed(model, before.deposed, before, after)
            return f"What an earlier coordinator had decided is committed late. {said}"
        case act.DoWork():
            return _worked(model, before, after, coordinator)
        case act.FailWork():
            task = work.task_of(before, model.setting)
            name = "work" if task.work is None else task.work.name
            racks = racks_against(before, task, model)
            return f"{coordinator} cannot finish {name}{f': {racks}' if racks else ''}."
        case act.AnswerBarrier(node):
            return f"{node} has applied all{_drained(model, before)}: it answers the barrier."
        case act.ApplyTopology(node):
            view = view_of(after, model.number[node])
            return f"{node} now goes by version {view.version}, fence {view.fence_version}."
        case act.RestartElsewhere(node) | act.HearAddress(node):
            return _moved(model, before, action, after)
        case act.ServeRequest(replica):
            ok = served(before, model.number[replica], model.setting)
            version = before.client_version
            return f"{replica} {'serves' if ok else 'refuses'} a request by version {version}."
        case act.LateArrival(node):
            ok = let_in(before, model.number[node], model.setting)
            said = "lets it in" if ok else "knows no such session and refuses it"
            return f"A late part of session {before.leftover} reaches {node}: it {said}."
    return _plainly(model, before, action)


def _plainly(model: Topology, before: ControlState, action: Any) -> str:
    """A sentence on an action that says all by itself."""
    if isinstance(action, act.LeaveBehind) and is_truncating(before, model.setting):
        return "The coordinator waits no longer for an RPC of the truncate: it stays behind."
    return SENTENCES[type(action)].format(node=getattr(action, "node", ""))


def _moved(model: Topology, before: ControlState, action: Any, after: ControlState) -> str:
    """A change of a node's address, or the others' hearing of it."""
    node = model.number[action.node]
    if isinstance(action, act.HearAddress):
        at = address_of(after, node)
        return f"The others hear that {action.node}, the same host id, is at {at} now."
    old, new = address_of(before, node), address_of(after, node)
    row = after.topology.nodes[node].state
    return (
        f"{action.node} is restarted: it was at {old}, and is at {new}. Its host id and its row "
        f"({row}) stay; the others still look for it at {old}."
    )


SENTENCES: dict[type, str] = {
    act.PauseWork: "The coordinator pauses until old requests are over, and goes on.",
    act.MoveTablets: "The tablet transitions come to their end.",
    act.ReportClean: "{node} has deleted what it does not own.",
    act.PublishGeneration: "A CDC generation is published to those who read streams.",
    act.UnlockTopology: "The lock is taken away.",
    act.ElectCoordinator: "{node} leads group 0 and starts a coordinator, which reads the tables.",
    act.CrashMember: "{node} dies; its disk stays.",
    act.RestartMember: "{node} comes back and catches up if it can.",
    act.ExcludeNode: "{node} is excluded: it counts as dead for good, and barriers pass over it.",
    act.CutOff: "{node} is cut off from the others.",
    act.Reconnect: "{node} hears from the others again.",
    act.BeginRequest: "A client's request begins at {node}, by the version that it goes by.",
    act.LeaveBehind: "A part of the stream stays behind in the network.",
    act.EndLeftover: "What was let in late has run to its end.",
    act.FindImbalance: "The load of tablets has become uneven.",
}


def _committed(
    model: Topology, command: Command | None, before: ControlState, after: ControlState
) -> str:
    assert command is not None
    if after.state_id == before.state_id:
        built_on = command.new - 1
        return f"The command was decided on state {built_on}, not on {before.state_id}: no effect."
    return f"State {after.state_id}: {changes(model, command)}."


def _drained(model: Topology, s: ControlState) -> str:
    """What an answer says beside that its node has caught up: a plain barrier asks no more."""
    drains = work.drains(s, work.task_of(s, model.setting))
    waits = drains and model.setting.safeguards.barrier_drains
    return ", nothing older runs there" if waits else ""


def _worked(model: Topology, before: ControlState, after: ControlState, coordinator: str) -> str:
    piece = work.task_of(before, model.setting).work
    assert piece is not None
    begun = after.attempted.streaming and not before.attempted.streaming
    said = "begins" if begun else "is done with"
    return f"{coordinator} {said} {piece.name}."


def readable(model: Topology, s: ControlState) -> dict[str, str]:
    """The state as a person reads it: the tables' static cells, the coordinator, every node."""
    topology = s.topology
    leader = "nobody" if s.coordinator == NOBODY else model.names[s.coordinator]
    decision, command = work.decision_of(s, model.setting), s.attempted.command
    return {
        "transition state": topology.transition or "null",
        "version": f"{topology.version}, fence {topology.fence_version}",
        "session": str(topology.session or "none"),
        "group 0": f"state {s.state_id}, members {' '.join(model.named(topology.members))}",
        "coordinator": f"{leader}: {decision.kind}, {decision.reason}",
        "in hand": "nothing" if command is None else changes(model, command),
        "left behind": "nothing" if not s.leftover else f"work of session {s.leftover}",
        **{name: _node(s, i) for i, name in enumerate(model.names)},
    }


def _node(s: ControlState, node: int) -> str:
    entry = s.topology.nodes[node]
    if entry.state == NO_ROW:
        return "no row yet"
    words = [entry.state, *(["asks to " + entry.request] if entry.request else [])]
    if node in nodes_in(s.topology.members):
        words.append(f"goes by version {view_of(s, node).version}")
    words += ["down"] * (not s.up >> node & 1) + ["cut off"] * (s.cut >> node & 1)
    words += [f"is at {address_of(s, node)}"] * bool(s.addresses and s.addresses[node])
    words += ["not heard there"] * (s.unheard >> node & 1)
    words += [f"cleanup {entry.cleanup}"] * (entry.cleanup != "clean")
    words += [f"a request by version {s.client_version} runs"] * (s.client == node)
    return ", ".join(words)
