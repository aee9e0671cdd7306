"""What the model of the old procedure says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.recovery.old import actions as act
from kit.protocols.recovery.old import cluster
from kit.protocols.recovery.old.state import OldNode, OldState
from kit.protocols.recovery.state import NO_GROUP

if TYPE_CHECKING:
    from kit.protocols.recovery.old.model import RecoveryMode

SENTENCES: dict[type, str] = {
    act.CutOffDead: "A firewall lies between the nodes that are given up and the others.",
    act.SetRecovery: "On {node} group0_upgrade_state is recovery, from its next start on.",
    act.MistypeValue: "On {node} group0_upgrade_state is no known value: its next start takes it "
    "for recovery.",
    act.StopServer: "{node} is stopped.",
    act.ReadLogs: "The log of every live node says RECOVERY mode.",
    act.RemoveDead: "{node} is removed from the cluster.",
    act.TruncateDiscovery: "On {node} system.discovery is empty: it keeps no peers of old.",
    act.TruncateHistory: "On {node} system.group0_history is empty: it keeps no state id.",
    act.DropGroupId: "On {node} raft_group0_id has no value.",
    act.CompareVersions: "nodetool describecluster: the live nodes have one schema version.",
    act.DeleteStateRow: "On {node} there is no row group0_upgrade_state any more.",
    act.PullLegacySchema: "{node} pulls the schema of {source}: their versions differ.",
    act.BeginSynchronize: "{node} sees all peers in its group with one schema and enters "
    "synchronize: schema changes are refused.",
    act.FinishRaftUpgrade: "{node} has finished the Raft upgrade.",
    act.LoseServer: "{node} dies for good; it is given up, too.",
    act.CrashServer: "{node} is down; what it persisted stays.",
}
STARTS = {
    "recovery": "{node} starts in RECOVERY mode, without group 0.",
    "upgrade": "{node} starts, and begins the Raft upgrade{there}.",
    "synchronize": "{node} starts in the midst of the Raft upgrade{there}.",
    "group 0": "{node} starts{there}.",
}


def verb(action: Any) -> str:
    """The word and the nodes."""
    words = (getattr(action, name, "") for name in ("node", "source"))
    return " ".join(filter(None, (type(action).__struct_config__.tag, *words)))


def milestone(m: RecoveryMode, before: OldState, action: Any, after: OldState) -> str | None:
    """All in RECOVERY mode, nobody dead any more, a new group, the end."""
    if cluster.is_whole(after) and not cluster.is_whole(before):
        return "the cluster is whole"
    if isinstance(action, act.EnterNewGroup):
        group = after.nodes[m.number(action.node)].group
        if after.groups[group].bit_count() == 1:
            return f"{m.group_name(group)} is created"
    if after.logs_read and not before.logs_read:
        return "all are in RECOVERY mode"
    if cluster.given_up(before) and not cluster.given_up(after):
        return "no dead node is left"
    return None


def describe(m: RecoveryMode, before: OldState, action: Any, after: OldState) -> str:
    """What the step did, and why."""
    name = getattr(action, "node", "")
    node = after.nodes[m.number(name)] if name else None
    source = getattr(action, "source", "")
    if node is None or type(action) in SENTENCES:
        return SENTENCES[type(action)].format(node=name, source=source)
    if isinstance(action, act.AddAColumn):
        return _changed(m, name, node, after)
    if isinstance(action, act.EnterNewGroup):
        group = m.group_name(node.group)
        if after.groups[node.group] == 1 << m.number(name):
            return f"{name} finds no group 0 among its peers and creates {group}."
        return f"{name} joins {group}, and gets its state by snapshot."
    there = f", in {m.group_name(node.group)}" if node.group != NO_GROUP else ", in no group 0"
    there = "" if node.mode == "upgrade" and node.group == NO_GROUP else there
    back = "It was given up: " if isinstance(action, act.ReviveDead) else ""
    return back + STARTS[node.mode].format(node=name, there=there)


def _changed(m: RecoveryMode, name: str, node: OldNode, after: OldState) -> str:
    column = after.entries
    if node.mode == "group 0":
        return f"{m.group_name(node.group)} adds column {column}; its members that are up apply it."
    return (
        f"{name} adds column {column} without group 0: a tombstone for group0_schema_version, "
        "committed_by_group0 false; its schema version is a hash again."
    )


def readable(m: RecoveryMode, s: OldState) -> dict[str, str]:
    """The operator's view, and every node."""
    return {
        "dead nodes": "cut off" if s.isolated else "not cut off",
        "logs": "RECOVERY mode on all" if s.logs_read else "not looked at",
        "describecluster": "one version" if s.compared else "not looked at",
        **{name: node_text(m, node) for name, node in zip(m.names, s.nodes, strict=True)},
    }


def node_text(m: RecoveryMode, node: OldNode) -> str:
    """A node in a line."""
    if node.standing == "removed":
        return "removed"
    group = f" of {m.group_name(node.group)}" if node.group != NO_GROUP else ""
    parts = (
        "back" if node.standing == "returned" else "",
        "dead" if node.standing == "dead" else f"{mode_text(node)}{group}",
        f"row {node.value}" if node.value else "no row",
        f"id of {m.group_name(node.group_id)}" if node.group_id != NO_GROUP else "no group id",
        f"discovery {', '.join(m.names_of(nodes_in(node.discovery)))}" if node.discovery else "",
        f"history up to {node.history}" if node.history else "no history",
        f"schema version {version_text(node)}",
    )
    return ", ".join(filter(None, parts))


def mode_text(node: OldNode) -> str:
    """The mode that a node runs in."""
    return {"recovery": "RECOVERY mode", "upgrade": "Raft upgrade"}.get(node.mode, node.mode)


def version_text(node: OldNode) -> str:
    """A schema version and where it comes from: of the columns' hash, or written by group 0."""
    columns = "+".join(str(i + 1) for i in nodes_in(node.columns)) or "none"
    return f"hash of columns {columns}" if node.hashed else f"v{node.version} of group 0"
