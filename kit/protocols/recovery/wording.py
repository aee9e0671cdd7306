"""What the model of a recovery says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.recovery import actions as act
from kit.protocols.recovery import groups
from kit.protocols.recovery.properties import is_recovered
from kit.protocols.recovery.state import NO_GROUP, NOBODY, RecoveryNode, RecoveryState

if TYPE_CHECKING:
    from kit.protocols.recovery.model import Recovery

SENTENCES: dict[type, str] = {
    act.IsolateDead: "A firewall lies between the nodes that are given up and the others.",
    act.ReadIndexes: "The operator reads commit_idx of every live node.",
    act.ChooseLeader: "{node} is to lead: it knows of {known}.",
    act.DeleteGroupId: "{node} has no group id any more; it runs in its group until it restarts.",
    act.SetOption: "The configuration of {node} names {leader} as recovery_leader.",
    act.RemoveNode: "{node} is removed{others}.",
    act.ReplaceNode: "A new node takes the place of {node}, and gets the group's state.",
    act.UnsetOption: "{node} has no recovery_leader any more: ids of groups have to agree again.",
    act.CleanRows: "{node} has no Raft rows of the old group any more.",
    act.AddColumn: "{group} adds column {entries}; its members that are up apply it.",
    act.StoreData: "{node} stores data in column {column}.",
    act.CrashLiveNode: "{node} is down; what it persisted stays.",
    act.LoseNode: "{node} dies for good.",
    act.ReturnNode: "{node}, which was given up, is back, and runs in {group}.",
}


def entries(count: int) -> str:
    """So many entries of the log."""
    return "1 entry" if count == 1 else f"{count} entries"


def verb(action: Any) -> str:
    """The word, the node and the column if there are any."""
    words = [type(action).__struct_config__.tag, getattr(action, "node", "")]
    if isinstance(action, act.StoreData):
        words.append(f"column {action.column}")
    if isinstance(action, act.RemoveNode) and not action.ignoring:
        words.append("ignoring nobody")
    return " ".join(filter(None, words))


def milestone(m: Recovery, before: RecoveryState, after: RecoveryState) -> str | None:
    """The dead cut off, ids deleted, a leader, a new group, all in it, a removal, the end."""
    if after.isolated and not before.isolated:
        return "the dead are cut off"
    if not _has_ids(after) and _has_ids(before):
        return "no live node has a group id"
    if after.leader not in (before.leader, NOBODY):
        return f"{m.names[after.leader]} is to lead"
    if len(after.groups) > len(before.groups):
        return f"{m.group_name(len(after.groups) - 1)} is created"
    if groups.is_together(after) and not groups.is_together(before):
        return "all are in the new group"
    gone = [name for name in m.names if _is_gone(m, before, name) < _is_gone(m, after, name)]
    if gone:
        return f"{gone[0]} is out of the cluster"
    return "the recovery is done" if is_recovered(m, after) else None


def _has_ids(s: RecoveryState) -> bool:
    return any(node.takes_part and node.group_id != NO_GROUP for node in s.nodes)


def _is_gone(m: Recovery, s: RecoveryState, name: str) -> bool:
    return s.nodes[m.number(name)].status == "removed"


def describe(m: Recovery, before: RecoveryState, action: Any, after: RecoveryState) -> str:
    """What the step did, and why."""
    if isinstance(action, act.EndOperation):
        if after.operation == "done":
            return "The operation had passed its last barrier: the coordinator finishes it."
        return "A barrier fails on a dead node: the operation that was under way is rolled back."
    if isinstance(action, act.RestartLiveNode):
        return _restarted(m, before, m.number(action.node), after)
    name = getattr(action, "node", "")
    node = after.nodes[m.number(name)] if name else None
    index = node.index if node else 0
    return SENTENCES[type(action)].format(
        node=name,
        known=entries(index),
        others="; other dead nodes are ignored" if groups.dead(after) else "",
        leader=m.names[after.leader] if after.leader != NOBODY else "nobody",
        group=m.group_name(node.group) if node else "",
        entries=after.entries,
        column=getattr(action, "column", 0),
    )


def _restarted(m: Recovery, before: RecoveryState, number: int, after: RecoveryState) -> str:
    name, was, node = m.names[number], before.nodes[number], after.nodes[number]
    if node.group == NO_GROUP:
        return f"{name} refuses to start: it has neither a group id nor recovery_leader."
    if was.group_id == node.group:
        return f"{name} starts with its own state, and runs in {m.group_name(node.group)}."
    if len(after.groups) > len(before.groups):
        why = "is the recovery leader" if node.option == number else "finds no group to join"
        return f"{name} {why} and creates {m.group_name(node.group)}."
    lost = was.columns & ~node.columns
    back = f" Its schema loses column {next(nodes_in(lost)) + 1}." if lost else ""
    return f"{name} joins {m.group_name(node.group)} and takes its state by snapshot.{back}"


def readable(m: Recovery, s: RecoveryState) -> dict[str, str]:
    """The operator's view, and every node."""
    leader = m.names[s.leader] if s.leader != NOBODY else "not chosen"
    return {
        "recovery leader": leader,
        "dead nodes": "cut off" if s.isolated else "not cut off",
        "commit indexes": "read" if s.indexes_read else "not read",
        "operation": s.operation,
        **{name: node_text(m, node) for name, node in zip(m.names, s.nodes, strict=True)},
    }


def node_text(m: Recovery, node: RecoveryNode) -> str:
    """A node in a line."""
    if node.status == "removed":
        return "removed"
    runs = f"runs in {m.group_name(node.group)}" if node.group != NO_GROUP else node.status
    back = "back, " if node.status == "returned" else ""
    stored = "no group id" if node.group_id == NO_GROUP else f"id of {m.group_name(node.group_id)}"
    option = f", recovery_leader {m.names[node.option]}" if node.option != NOBODY else ""
    data = ", ".join(str(i + 1) for i in nodes_in(node.data))
    return f"{back}{runs}, {stored}, commit index {node.index}{option}" + (
        f", data in column {data}" if data else ""
    )
