"""What travels in the steps of the topology upgrade: rows, requests, what group 0 committed."""

from __future__ import annotations

from kit.engine.flows import Flow, FlowKind, FlowTable
from kit.protocols.upgrade.rules.topology_state import join_way
from kit.protocols.upgrade.topology import state as act
from kit.protocols.upgrade.topology.model import TopologyUpgrade
from kit.protocols.upgrade.topology.state import TopologyUpgradeRun

GENERATIONS = "generations"
"""The key of what ``system.cdc_generations_v3`` holds."""


def spot(name: str) -> str:
    """The key of a node in the picture."""
    return f"node:{name}"


def _flow(kind: FlowKind, source: str, target: str, label: str, leg: int = 0) -> Flow:
    return Flow(kind, spot(source), spot(target), label, f"{source} → {target}: {label}", leg)


def _posted(
    m: TopologyUpgrade, before: TopologyUpgradeRun, action: act.PostUpgrade, after: object
) -> tuple[Flow, ...]:
    """From the node that was asked to the leader, whose command it is."""
    leader = m.names[before.leader]
    return () if leader == action.node else (_flow("request", action.node, leader, "POST"),)


def _built(
    m: TopologyUpgrade, before: TopologyUpgradeRun, action: act.BuildRow, after: object
) -> tuple[Flow, ...]:
    name = action.node
    text = f"gossip state of {name} → its row in system.topology"
    return (Flow("data", f"gossip:{name}", f"topology:{name}", name, text),)


def _inserted(
    m: TopologyUpgrade, before: TopologyUpgradeRun, action: act.InsertGeneration, after: object
) -> tuple[Flow, ...]:
    leader = m.names[before.leader]
    text = f"{leader} → system.cdc_generations_v3: a generation"
    return (Flow("data", spot(leader), GENERATIONS, "generation", text),)


def _applied(
    m: TopologyUpgrade, before: TopologyUpgradeRun, action: act.ApplyUpgradeState, after: object
) -> tuple[Flow, ...]:
    label = before.upgrade_state
    return (_flow("entry", m.names[before.leader], action.node, label),)


def _queried(
    m: TopologyUpgrade, before: TopologyUpgradeRun, action: act.StartJoining, after: object
) -> tuple[Flow, ...]:
    """The query and its answer, then what follows from that."""
    member, name = m.names[before.leader], action.node
    way = join_way(True, before.upgrade_state)
    follows = "GROUP0_MODIFY_CONFIG" if way == "old way" else "JOIN_NODE_REQUEST"
    return (
        _flow("request", name, member, "JOIN_NODE_QUERY"),
        _flow("answer", member, name, before.upgrade_state, 1),
        _flow("request", name, member, follows, 2),
    )


def _ended(
    m: TopologyUpgrade, before: TopologyUpgradeRun, action: act.EndOldJoin, after: object
) -> tuple[Flow, ...]:
    """Gossip tells it to every member."""
    others = m.named(before, lambda node: node.standing == "normal" and node.is_up)
    return tuple(_flow("message", action.node, name, "NORMAL") for name in others)


def _served(
    m: TopologyUpgrade, before: TopologyUpgradeRun, action: act.ServeJoin, after: object
) -> tuple[Flow, ...]:
    return (_flow("answer", m.names[before.leader], action.node, "JOIN_NODE_RESPONSE"),)


FLOWS = FlowTable(
    {
        act.PostUpgrade: _posted,
        act.BuildRow: _built,
        act.InsertGeneration: _inserted,
        act.ApplyUpgradeState: _applied,
        act.StartJoining: _queried,
        act.EndOldJoin: _ended,
        act.ServeJoin: _served,
    },
    # A restart and a crash happen on the node; the leader sets the state, others apply it later;
    # how Raft elects is the matter of another model.
    (
        *(act.UpgradeMember, act.EndUpgrade, act.ElectBuilder),
        *(act.CrashMemberOfUpgrade, act.RestartMemberOfUpgrade),
    ),
)
