"""What each step of the old procedure does."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.recovery.old import actions as act
from kit.protocols.recovery.old import cluster, discovery
from kit.protocols.recovery.old.state import MODES, OldNode, OldState
from kit.protocols.recovery.rules.quorum import voters_of_groups
from kit.protocols.recovery.state import NO_GROUP, OLD

if TYPE_CHECKING:
    from kit.protocols.recovery.old.model import RecoveryMode


def changed(s: OldState, node: int, **fields: Any) -> OldState:
    """The state with one node changed."""
    return _put(s, node, replace(s.nodes[node], **fields))


def _put(s: OldState, node: int, after: OldNode) -> OldState:
    return replace(s, nodes=(*s.nodes[:node], after, *s.nodes[node + 1 :]))


def stop(m: RecoveryMode, s: OldState, action: act.StopServer) -> OldState:
    """What a node has persisted stays."""
    return changed(s, m.number(action.node), mode="down", group=NO_GROUP)


def start(m: RecoveryMode, s: OldState, action: act.StartServer) -> OldState:
    """The node runs as the value of ``group0_upgrade_state`` says.

    Outside RECOVERY mode a persisted group id starts the Raft server of that group.
    """
    return started(s, m.number(action.node))


def started(s: OldState, node: int) -> OldState:
    """A node reads its value and its group id."""
    was = s.nodes[node]
    mode = MODES[was.value]
    group = NO_GROUP if mode == "recovery" else was.group_id
    return caught_up(changed(s, node, mode=mode, group=group), node)


def caught_up(s: OldState, node: int) -> OldState:
    """With a majority all members that run in a node's group go through its log."""
    if not cluster.may_commit(s, node):
        return s
    group, company = s.nodes[node].group, cluster.running(s, node)
    known = max(s.nodes[i].applied for i in nodes_in(company))
    for member in nodes_in(company):
        at = s.nodes[member]
        for before, own in s.logs[group][at.applied : known]:
            at = applying(at, before, own)
        s = _put(s, member, replace(at, applied=known))
    return s


def applying(node: OldNode, before: int, own: int) -> OldNode:
    """A command takes effect where the newest state id is the one that it builds on."""
    if node.history != before:
        return node
    return replace(node, history=own, columns=node.columns | 1 << own - 1, version=own)


def merged(s: OldState, node: int, source: int) -> OldState:
    """The mutations of two schemas are merged; of ``group0_schema_version`` the newest stays."""
    mine, theirs = s.nodes[node], s.nodes[source]
    version = max(mine.version, theirs.version, key=abs)
    return changed(s, node, columns=mine.columns | theirs.columns, version=version)


def pull(m: RecoveryMode, s: OldState, action: act.PullLegacySchema) -> OldState:
    """The schema of the other node is merged into this one's."""
    return merged(s, m.number(action.node), m.number(action.source))


def enter(m: RecoveryMode, s: OldState, action: act.EnterNewGroup) -> OldState:
    """The node joins the group that discovery finds, by snapshot; else it creates one."""
    node = m.number(action.node)
    group = discovery.found_group(s, node)
    s = changed(s, node, discovery=cluster.peers(s))
    if group == NO_GROUP:
        return _created(s, node)
    source = next(i for i in discovery.contacts(s, node) if s.nodes[i].group == group)
    members = (*s.groups[:group], s.groups[group] | 1 << node, *s.groups[group + 1 :])
    newest = max(s.nodes[node].history, s.nodes[source].history)
    s = merged(replace(s, groups=members), node, source)
    applied = s.nodes[source].applied
    return changed(s, node, group=group, group_id=group, history=newest, applied=applied)


def _created(s: OldState, node: int) -> OldState:
    """The group takes the first number that no node knows."""
    known = {OLD, *(n.group_id for n in s.nodes), *(n.group for n in s.nodes)}
    group = next(number for number in count() if number not in known)
    members = (*s.groups[:group], 1 << node, *s.groups[group + 1 :])
    s = replace(s, groups=members, logs=(*s.logs[:group], (), *s.logs[group + 1 :]))
    return changed(s, node, group=group, group_id=group, applied=0)


def voting(m: RecoveryMode, s: OldState) -> OldState:
    """The state in which those vote who are to, where not all members do (edition ``server``).

    A side of the firewall with a majority of a group's voters chooses again.
    """
    if m.parameters.edition == "documents":
        return s

    def sides(group: int) -> tuple[int, ...]:
        running = (i for i in nodes_in(s.groups[group]) if s.nodes[i].group == group)
        return tuple(sorted({cluster.running(s, i) for i in running}))

    return replace(s, voters=voters_of_groups(m.places, s.groups, s.voters, sides))


def forgetting(s: OldState) -> OldState:
    """The state without what is known of groups that no node knows any more.

    Else an operator who begins again for ever would lead to ever new states.
    """
    known = {OLD, *(n.group_id for n in s.nodes), *(n.group for n in s.nodes)}
    if all(group in known or not members for group, members in enumerate(s.groups)):
        return s
    groups = tuple(members if i in known else 0 for i, members in enumerate(s.groups))
    voters = tuple(those if i in known else 0 for i, those in enumerate(s.voters))
    logs = tuple(log if i in known else () for i, log in enumerate(s.logs))
    last = max(known) + 1
    return replace(s, groups=groups[:last], voters=voters[:last], logs=logs[:last])


def synchronize(m: RecoveryMode, s: OldState, action: act.BeginSynchronize) -> OldState:
    """Schema changes are refused from now on."""
    return changed(s, m.number(action.node), value="synchronize", mode="synchronize")


def finish(m: RecoveryMode, s: OldState, action: act.FinishRaftUpgrade) -> OldState:
    """Group 0 manages the schema from now on."""
    return changed(s, m.number(action.node), value="use_post_raft_procedures", mode="group 0")


def remove(m: RecoveryMode, s: OldState, action: act.RemoveDead) -> OldState:
    """The node leaves the cluster; a group 0 that does it takes it out of its members, too."""
    node = m.number(action.node)
    by = removing(s)
    s = changed(s, node, standing="removed", mode="down", group=NO_GROUP)
    if by is None or s.nodes[by].mode == "recovery":
        return s
    group = s.nodes[by].group
    members = (*s.groups[:group], s.groups[group] & ~(1 << node), *s.groups[group + 1 :])
    return replace(s, groups=members)


def removing(s: OldState) -> int | None:
    """The live node that can remove others: one in RECOVERY mode, or of a group with a majority."""
    nodes = [i for i in cluster.live(s) if s.nodes[i].is_up]
    legacy = (i for i in nodes if s.nodes[i].mode == "recovery")
    by_group = (i for i in nodes if s.nodes[i].mode == "group 0" and cluster.may_commit(s, i))
    return next(legacy, next(by_group, None))


def alter(m: RecoveryMode, s: OldState, action: act.AddAColumn) -> OldState:
    """Group 0 commits an entry; without it the node changes its own schema, with a tombstone for
    ``group0_schema_version``.
    """
    node = m.number(action.node)
    at, own = s.nodes[node], s.entries + 1
    s = replace(s, entries=own, changes=s.changes - 1)
    if at.mode != "group 0":
        return changed(s, node, columns=at.columns | 1 << own - 1, version=-own)
    log = (*s.logs[at.group][: at.applied], (at.history, own))
    logs = (*s.logs[: at.group], log, *s.logs[at.group + 1 :])
    heard = 0 if cluster.is_walled_off(s, at) else 1 << own - 1
    s = replace(s, logs=logs, answered=s.answered | heard)
    return caught_up(_put(s, node, replace(applying(at, at.history, own), applied=len(log))), node)


def crash(m: RecoveryMode, s: OldState, action: act.CrashServer) -> OldState:
    """As a stop that nobody asked for."""
    s = changed(s, m.number(action.node), mode="down", group=NO_GROUP)
    return replace(s, crashes=s.crashes - 1)


def lose(m: RecoveryMode, s: OldState, action: act.LoseServer) -> OldState:
    """The node is given up as the others; what nobody else knows has died with it."""
    s = changed(s, m.number(action.node), standing="dead", mode="down", group=NO_GROUP)
    left = 0
    for i in cluster.live(s):
        left |= s.nodes[i].columns
    return replace(s, deaths=s.deaths - 1, answered=s.answered & left)


def come_back(m: RecoveryMode, s: OldState, action: act.ReviveDead) -> OldState:
    """The node runs by what it has persisted."""
    node = m.number(action.node)
    s = replace(changed(s, node, standing="returned"), returns=s.returns - 1)
    return started(s, node)
