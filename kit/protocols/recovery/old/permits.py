"""Why a step of the old procedure may not happen now: only what a server refuses, or waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kit.errors import Refusal
from kit.protocols.group0.rules.voters import is_majority, nodes_in
from kit.protocols.recovery.old import actions as act
from kit.protocols.recovery.old import cluster, discovery, steps
from kit.protocols.recovery.old.state import OldState
from kit.protocols.recovery.state import NO_GROUP

if TYPE_CHECKING:
    from kit.protocols.recovery.old.model import RecoveryMode

UPGRADING = "the cluster is being upgraded to Raft: schema changes are refused"


def free(m: RecoveryMode, s: OldState, action: Any) -> Refusal | None:
    """Nothing stands against it."""
    return None


def query(m: RecoveryMode, s: OldState, action: Any) -> Refusal | None:
    """A query needs the node's server."""
    up = s.nodes[m.number(action.node)].is_up
    return None if up else Refusal("the node is down", missing=(action.node,))


def read_logs(m: RecoveryMode, s: OldState, action: act.ReadLogs) -> Refusal | None:
    """Every live node has said that it started in RECOVERY mode."""
    others = m.names_of(i for i in cluster.live(s) if s.nodes[i].mode != "recovery")
    return Refusal("nodes are not in RECOVERY mode", missing=others) if others else None


def compare(m: RecoveryMode, s: OldState, action: act.CompareVersions) -> Refusal | None:
    """Every live node answers, with one version."""
    down = m.names_of(i for i in cluster.live(s) if not s.nodes[i].is_up)
    if down:
        return Refusal("nodes do not answer", missing=down)
    if len(cluster.versions(s)) == 1:
        return None
    return Refusal("nodes have different schema versions", missing=m.names_of(cluster.live(s)))


def remove(m: RecoveryMode, s: OldState, action: act.RemoveDead) -> Refusal | None:
    """A removal refuses who is heard, and needs all others; outside RECOVERY mode it needs group 0,
    and waits for the end of a Raft upgrade.
    """
    node = m.number(action.node)
    if any(cluster.hears(s, i, node) for i in cluster.live(s)):
        return Refusal("the node is alive", missing=(action.node,))
    down = m.names_of(i for i in cluster.live(s) if not s.nodes[i].is_up)
    if down:
        return Refusal("nodes that are not ignored are down", missing=down)
    if steps.removing(s) is not None:
        return None
    if any(s.nodes[i].mode in ("upgrade", "synchronize") for i in cluster.live(s)):
        return Refusal("a removal waits until the Raft upgrade has ended")
    return Refusal("group 0 has no majority to take the node out of its members")


def pull(m: RecoveryMode, s: OldState, action: act.PullLegacySchema) -> Refusal | None:
    """Nodes reach each other; group 0 does not pull."""
    node, source = m.number(action.node), m.number(action.source)
    reached = cluster.hears(s, node, source)
    return None if reached else Refusal("the node is not reached", missing=(action.source,))


def enter(m: RecoveryMode, s: OldState, action: act.EnterNewGroup) -> Refusal | None:
    """Every peer answers first; then discovery needs a group with a majority, or all it asks."""
    node = m.number(action.node)
    deaf = m.names_of(cluster.unheard(s, node, cluster.peers(s)))
    if deaf:
        return Refusal("the upgrade waits until every peer answers", missing=deaf)
    group = discovery.found_group(s, node)
    if group != NO_GROUP:
        return _let_in(m, s, node, group)
    silent = m.names_of(discovery.silent(s, node))
    if silent:
        return Refusal("discovery waits for nodes that it knows of", missing=silent)
    first = min((node, *discovery.contacts(s, node)))
    if first == node:
        return None
    return Refusal("another node creates the group", missing=m.names_of((first,)))


def _let_in(m: RecoveryMode, s: OldState, node: int, group: int) -> Refusal | None:
    there = sum(
        1 << i
        for i in nodes_in(s.groups[group])
        if s.nodes[i].group == group and cluster.hears(s, node, i)
    )
    if is_majority(there, cluster.voters(s, group)):
        return None
    return Refusal(f"{m.group_name(group)} has no majority to let it in")


def synchronize(m: RecoveryMode, s: OldState, action: act.BeginSynchronize) -> Refusal | None:
    """Every peer is a member of its group, every member answers, with its schema version."""
    node = m.number(action.node)
    members = s.groups[s.nodes[node].group]
    outside = m.names_of(nodes_in(cluster.peers(s) & ~members))
    if outside:
        return Refusal("peers have not joined group 0", missing=outside)
    return _of_one_schema(m, s, node)


def finish(m: RecoveryMode, s: OldState, action: act.FinishRaftUpgrade) -> Refusal | None:
    """Some member has finished, or all are in ``synchronize`` with one schema version."""
    node = m.number(action.node)
    group = s.nodes[node].group
    others = [i for i in nodes_in(s.groups[group]) if cluster.hears(s, node, i)]
    if any(s.nodes[i].mode == "group 0" and s.nodes[i].group == group for i in others):
        return None
    late = m.names_of(
        i for i in nodes_in(s.groups[group]) if i not in others or s.nodes[i].mode != "synchronize"
    )
    if late:
        return Refusal("members are not in synchronize yet", missing=late)
    return _of_one_schema(m, s, node)


def _of_one_schema(m: RecoveryMode, s: OldState, node: int) -> Refusal | None:
    members = s.groups[s.nodes[node].group]
    deaf = m.names_of(cluster.unheard(s, node, members))
    if deaf:
        return Refusal("members of its group 0 do not answer", missing=deaf)
    mine = s.nodes[node].schema_version
    apart = m.names_of(i for i in nodes_in(members) if s.nodes[i].schema_version != mine)
    return Refusal("schema versions differ", missing=apart) if apart else None


def alter(m: RecoveryMode, s: OldState, action: act.AddAColumn) -> Refusal | None:
    """Group 0 needs its majority; in ``synchronize`` nobody may."""
    node = m.number(action.node)
    mode = s.nodes[node].mode
    if mode == "synchronize":
        return Refusal(UPGRADING)
    if mode == "group 0" and not cluster.may_commit(s, node):
        return Refusal("its group 0 has no majority")
    return None
