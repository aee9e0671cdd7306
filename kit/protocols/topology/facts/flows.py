"""What travels in a step: commands into group 0 and to the nodes, answers, streams, requests."""

from __future__ import annotations

from typing import Any

from kit.engine.flows import Flow, FlowTable
from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.topology import actions as act
from kit.protocols.topology import coordinator as work
from kit.protocols.topology.addresses import address_of
from kit.protocols.topology.model import Topology
from kit.protocols.topology.rules.cluster import NOBODY
from kit.protocols.topology.rules.effects import owners
from kit.protocols.topology.serving import let_in, served
from kit.protocols.topology.state import ControlState, view_of
from kit.protocols.topology.words import request_text

LOG, NETWORK = "group0", "network"


def spot(name: str) -> str:
    """The key of a node's part of the frame."""
    return f"n:{name}"


def state_spot(state: str) -> str:
    """The key of a state in the diagram."""
    return f"states:state:{state}"


def _leader(m: Topology, s: ControlState) -> str:
    return LOG if s.coordinator == NOBODY else spot(m.names[s.coordinator])


def _requested(
    m: Topology, before: ControlState, action: act.MakeRequest, after: ControlState
) -> tuple[Flow, ...]:
    request = m.plan.requests[action.number]
    text = request_text(request, m.names)
    source = NETWORK if request.node == NOBODY else spot(m.names[request.node])
    said = "somebody" if request.node == NOBODY else m.names[request.node]
    return (Flow("request", source, LOG, request.kind, f"{said} → group 0: {text}"),)


def _committed(
    m: Topology, before: ControlState, action: Any, after: ControlState
) -> tuple[Flow, ...]:
    effect = after.state_id != before.state_id
    label = f"state {after.state_id}" if effect else "no effect"
    text = f"coordinator → group 0: {label}"
    return (Flow("entry", _leader(m, before), LOG, label, text), *_moved(before, after))


def _moved(before: ControlState, after: ControlState) -> tuple[Flow, ...]:
    """Along the diagram, where the transition state is another one."""
    old, new = before.topology.transition, after.topology.transition
    if old == new or not old or not new:
        return ()
    label = f"version {after.topology.version}"
    return (Flow("entry", state_spot(old), state_spot(new), label, f"{old} → {new}", 1),)


def _applied(
    m: Topology, before: ControlState, action: act.ApplyTopology, after: ControlState
) -> tuple[Flow, ...]:
    version = view_of(after, m.number[action.node]).version
    text = f"group 0 → {action.node}: version {version}"
    return (Flow("entry", LOG, spot(action.node), f"version {version}", text),)


def _answered(
    m: Topology, before: ControlState, action: act.AnswerBarrier, after: ControlState
) -> tuple[Flow, ...]:
    version = before.topology.version
    asks = f"coordinator → {action.node}: barrier at version {version}"
    text = f"{action.node} → coordinator: drained up to version {version}"
    leader = _leader(m, before)
    return (
        Flow("request", leader, spot(action.node), "barrier", asks),
        Flow("answer", spot(action.node), leader, "drained", text, leg=1),
    )


def _worked(
    m: Topology, before: ControlState, action: act.DoWork, after: ControlState
) -> tuple[Flow, ...]:
    task = work.task_of(before, m.setting)
    operation, piece = task.decision.operation, task.work
    assert piece is not None
    if piece.name == "stream" and operation is not None:
        return _streamed(m, before, operation.node) if before.attempted.streaming else ()
    return tuple(
        Flow(
            "message",
            _leader(m, before),
            spot(m.names[node]),
            piece.name,
            f"coordinator → {m.names[node]}: {piece.name}",
        )
        for node in nodes_in(task.needs)
    )


def _streamed(m: Topology, s: ControlState, node: int) -> tuple[Flow, ...]:
    """Data goes to a node that comes or is rebuilt, else from it; from a dead one it cannot."""
    name, state = m.names[node], s.topology.nodes[node].state
    others = [i for i in nodes_in(owners(s.topology) & s.reachable) if i != node]
    if state == "decommissioning":
        pairs = [(name, m.names[other]) for other in others]
    elif state == "removing":
        pairs = [(m.names[others[0]], m.names[other]) for other in others[1:]]
    else:
        pairs = [(m.names[other], name) for other in others]
    return tuple(
        Flow("data", spot(source), spot(target), "ranges", f"{source} → {target}: ranges")
        for source, target in pairs
    )


def _served(
    m: Topology, before: ControlState, action: act.ServeRequest, after: ControlState
) -> tuple[Flow, ...]:
    name, version = m.names[before.client], before.client_version
    ok = served(before, m.number[action.replica], m.setting)
    text = f"{name} → {action.replica}: a request by version {version}"
    back = f"{action.replica} → {name}: {'done' if ok else 'stale version'}"
    return (
        Flow("request", spot(name), spot(action.replica), f"version {version}", text),
        Flow(
            "answer" if ok else "refusal",
            spot(action.replica),
            spot(name),
            "done" if ok else "stale",
            back,
            leg=1,
        ),
    )


def _late(
    m: Topology, before: ControlState, action: act.LateArrival, after: ControlState
) -> tuple[Flow, ...]:
    label = f"session {before.leftover}"
    kind = "" if let_in(before, m.number[action.node], m.setting) else " (refused)"
    text = f"network → {action.node}: late work of {label}{kind}"
    return (Flow("data", NETWORK, spot(action.node), label, text),)


def _heard(
    m: Topology, before: ControlState, action: act.HearAddress, after: ControlState
) -> tuple[Flow, ...]:
    """Gossip: from the node to everyone who is heard."""
    node = m.number[action.node]
    others = (m.names[i] for i in nodes_in(after.reachable & after.topology.members) if i != node)
    at = address_of(after, node)
    return tuple(
        Flow(
            "message", spot(action.node), spot(other), at, f"{action.node} → {other}: I am at {at}"
        )
        for other in others
    )


def _clean(
    m: Topology, before: ControlState, action: act.ReportClean, after: ControlState
) -> tuple[Flow, ...]:
    return (Flow("entry", spot(action.node), LOG, "clean", f"{action.node} → group 0: clean"),)


FLOWS = FlowTable(
    {
        act.MakeRequest: _requested,
        act.CommitDecision: _committed,
        act.CommitDeposed: _committed,
        act.ApplyTopology: _applied,
        act.AnswerBarrier: _answered,
        act.DoWork: _worked,
        act.ServeRequest: _served,
        act.LateArrival: _late,
        act.ReportClean: _clean,
        act.HearAddress: _heard,
    },
    # Reading one's own tables, failing and waiting move nothing; nor do what dies or comes back.
    (
        act.TakeDecision,
        act.FailWork,
        act.PauseWork,
        act.MoveTablets,
        act.ExcludeNode,
        act.PublishGeneration,
        act.UnlockTopology,
        act.ElectCoordinator,
        act.CrashMember,
        act.RestartMember,
        act.RestartElsewhere,
        act.CutOff,
        act.Reconnect,
        act.BeginRequest,
        act.LeaveBehind,
        act.EndLeftover,
        act.FindImbalance,
    ),
)
