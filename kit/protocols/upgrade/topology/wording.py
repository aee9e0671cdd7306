"""The topology upgrade in words: verbs, milestones, what a step did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kit.protocols.upgrade.rules.topology_state import FEATURE
from kit.protocols.upgrade.topology import state as act
from kit.protocols.upgrade.topology.state import NOBODY, TopologyNode, TopologyUpgradeRun

if TYPE_CHECKING:
    from kit.protocols.upgrade.topology.model import TopologyUpgrade

SENTENCES: dict[type, str] = {
    act.BuildRow: "{leader} copies what gossip tells of {node} into system.topology.",
    act.InsertGeneration: "{leader} inserts a new generation into system.cdc_generations_v3.",
    act.EndUpgrade: "upgrade_state is done: {leader} serves topology requests from now on.",
    act.ApplyUpgradeState: "{node} applies what group 0 committed: upgrade_state is {state}.",
    act.EndOldJoin: "{node} tells by gossip that it is normal, and joins group 0.",
    act.ElectBuilder: "{node} leads group 0; its coordinator goes on with what it finds.",
    act.RestartMemberOfUpgrade: "{node} comes back; it still knows upgrade_state {view}.",
}


def verb(action: Any) -> str:
    """The word, and the node if any."""
    return " ".join([str(type(action).__struct_config__.tag), getattr(action, "node", "")]).strip()


def milestone(
    m: TopologyUpgrade, before: TopologyUpgradeRun, after: TopologyUpgradeRun
) -> str | None:
    """The feature, each state of the upgrade, a node that has joined."""
    if after.has_feature and not before.has_feature:
        return "the cluster is ready for the upgrade"
    if after.upgrade_state != before.upgrade_state:
        return f"upgrade_state: {after.upgrade_state}"
    pairs = zip(m.names, before.nodes, after.nodes, strict=True)
    joined = [n for n, was, now in pairs if now.standing == "normal" != was.standing]
    return f"{joined[0]} has joined" if joined else None


def describe(
    m: TopologyUpgrade, before: TopologyUpgradeRun, action: Any, after: TopologyUpgradeRun
) -> str:
    """What the step did, and why."""
    name = getattr(action, "node", "")
    leader = m.names[before.leader] if before.leader != NOBODY else ""
    sentence = SENTENCES.get(type(action))
    if sentence is not None:
        view = after.nodes[m.number(name)].view if name else ""
        return sentence.format(leader=leader, node=name, state=after.upgrade_state, view=view)
    match action:
        case act.UpgradeMember():
            ready = after.has_feature and not before.has_feature
            now = f" {FEATURE} is enabled: the cluster is ready for the upgrade." if ready else ""
            return f"{name} restarts with the newer version.{now}"
        case act.PostUpgrade():
            return (
                f"POST at {name}: upgrade_state is build_coordinator_state, and the coordinator "
                f"on {leader} starts."
            )
        case act.StartJoining():
            if after.nodes[m.number(name)].standing == "joining":
                return (
                    f"{name} hears that the cluster is not upgraded, and joins in the old way: "
                    "GROUP0_MODIFY_CONFIG."
                )
            return f"{name} sends JOIN_NODE_REQUEST; its request is queued."
        case act.ServeJoin():
            return f"{leader} serves the join of {name}: its ring is that of system.topology."
        case _:
            return _crashed(before, after, name, before.nodes[m.number(name)])


def _crashed(
    before: TopologyUpgradeRun, after: TopologyUpgradeRun, name: str, was: TopologyNode
) -> str:
    if was.standing != "normal":
        return f"{name} goes down before it has joined: it has to begin from scratch."
    led = " Group 0 has no leader now." if after.leader != before.leader else ""
    return f"{name} goes down; its disk stays.{led}"


def readable(m: TopologyUpgrade, s: TopologyUpgradeRun) -> dict[str, str]:
    """Group 0 and every node."""
    rows = ", ".join(name for i, name in enumerate(m.names) if s.rows >> i & 1)
    return {
        "upgrade_state": s.upgrade_state,
        "leader": m.names[s.leader] if s.leader != NOBODY else "none",
        "feature": "enabled" if s.has_feature else "not enabled",
        "system.topology": rows or "empty",
        "CDC generation": "inserted" if s.has_generation else "not inserted",
        **{name: node_text(node) for name, node in zip(m.names, s.nodes, strict=True)},
    }


def node_text(node: TopologyNode) -> str:
    """A node in a line."""
    if node.standing == "outside":
        return "outside"
    version = "newer" if node.is_new else "older"
    up = "up" if node.is_up else "down"
    return f"{node.standing}, {up}, {version} version, knows {node.view}"
