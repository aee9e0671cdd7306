"""What the actions of a recovery do to its state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.recovery import actions as act
from kit.protocols.recovery import groups
from kit.protocols.recovery.rules.quorum import voters_of_groups
from kit.protocols.recovery.state import NO_GROUP, NOBODY, RecoveryNode, RecoveryState

if TYPE_CHECKING:
    from kit.protocols.recovery.model import Recovery


def changed(s: RecoveryState, node: int, **fields: Any) -> RecoveryState:
    """The state with one node changed."""
    after = replace(s.nodes[node], **fields)
    return replace(s, nodes=(*s.nodes[:node], after, *s.nodes[node + 1 :]))


def choose(m: Recovery, s: RecoveryState, action: act.ChooseLeader) -> RecoveryState:
    """The leader is chosen; without a new group that can go on, all groups so far are given up."""
    lost = groups.recoverable(s) == NO_GROUP
    abandoned = len(s.groups) - 1 if lost else s.abandoned
    return replace(s, leader=m.number(action.node), abandoned=abandoned)


def restart(m: Recovery, s: RecoveryState, action: act.RestartLiveNode) -> RecoveryState:
    """The node runs in its persisted group; without one it creates one, joins one, or fails."""
    node = m.number(action.node)
    was = s.nodes[node]
    s = changed(s, node, status="up", group=was.group_id)
    if was.group_id != NO_GROUP:
        return synchronized(s, node)
    if was.option == NOBODY and m.parameters.edition == "server":
        return changed(s, node, status="down", group=NO_GROUP)
    group = to_join(s, node)
    return created(s, node) if group == NO_GROUP else joined(s, node, group)


def voting(m: Recovery, s: RecoveryState) -> RecoveryState:
    """The state in which those vote who are to, where not all members do (edition ``server``).

    A side of the firewall with a majority of a group's voters chooses again.
    """
    if m.parameters.edition == "documents":
        return s

    def sides(group: int) -> tuple[int, ...]:
        return tuple(groups.running(s, group, walled_off) for walled_off in (False, True))

    return replace(s, voters=voters_of_groups(m.places, s.groups, s.voters, sides))


def to_join(s: RecoveryState, node: int) -> int:
    """The group that a node without an id joins; ``NO_GROUP`` if it creates one.

    The recovery leader creates one. Others join the group of the node that their option names, or,
    without the option, one that discovery finds.
    """
    option = s.nodes[node].option
    if option == node:
        return NO_GROUP
    known = [s.nodes[option]] if option != NOBODY else [n for n in s.nodes if n.takes_part]
    return max((each.group for each in known if each.group > s.abandoned), default=NO_GROUP)


def created(s: RecoveryState, node: int) -> RecoveryState:
    """A node founds a group of its own; what it has persisted is the group's first state."""
    group = len(s.groups)
    s = replace(s, groups=(*s.groups, 1 << node), acknowledged=(*s.acknowledged, 0))
    return changed(s, node, group=group, group_id=group)


def joined(s: RecoveryState, node: int, group: int) -> RecoveryState:
    """A node joins a group: the group's state reaches it as a snapshot, whatever it had."""
    columns = latest(s, groups.running(s, group))
    members = (*s.groups[:group], s.groups[group] | 1 << node, *s.groups[group + 1 :])
    return changed(replace(s, groups=members), node, group=group, group_id=group, columns=columns)


def latest(s: RecoveryState, nodes: int) -> int:
    """The newest state among nodes (a mask)."""
    return max((s.nodes[i].columns for i in nodes_in(nodes)), key=int.bit_count)


def company(s: RecoveryState, node: int) -> int:
    """The members that run in a node's group and that it can reach, itself among them (a mask)."""
    at = s.nodes[node]
    return groups.running(s, at.group, groups.is_walled_off(s, at))


def synchronized(s: RecoveryState, node: int) -> RecoveryState:
    """With a majority all members that run in the node's group have its newest state."""
    at = s.nodes[node]
    if not groups.may_commit(s, at.group, groups.is_walled_off(s, at)):
        return s
    return _having(s, company(s, node), latest(s, company(s, node)))


def _having(s: RecoveryState, nodes: int, columns: int) -> RecoveryState:
    for each in nodes_in(nodes):
        s = changed(s, each, columns=columns)
    return s


def end_operation(m: Recovery, s: RecoveryState, action: act.EndOperation) -> RecoveryState:
    """A barrier asks every normal node, and some are dead: it fails, and the operation is undone.

    They cannot have been removed, since that waits for the end. Where no barrier is left, the
    coordinator only has to write what it decided. Source: Topology over Raft, "Topology coordinator
    during recovery".
    """
    return replace(s, operation="done" if m.parameters.past_barriers else "rolled back")


def remove(m: Recovery, s: RecoveryState, action: act.RemoveNode) -> RecoveryState:
    """The node leaves the cluster, and every group that goes on."""
    node = m.number(action.node)
    s = _left(s, node)
    gone = RecoveryNode("removed", NO_GROUP, NO_GROUP, NOBODY, 0, 0, False)
    return replace(s, nodes=(*s.nodes[:node], gone, *s.nodes[node + 1 :]))


def replaced(m: Recovery, s: RecoveryState, action: act.ReplaceNode) -> RecoveryState:
    """A new node takes the place of the dead one: it joins the new group, and has no old rows."""
    node = m.number(action.node)
    s = _left(s, node)
    fresh = RecoveryNode("up", NO_GROUP, NO_GROUP, NOBODY, 0, 0, False)
    s = replace(s, nodes=(*s.nodes[:node], fresh, *s.nodes[node + 1 :]))
    return joined(s, node, groups.new_group(s))


def _left(s: RecoveryState, node: int) -> RecoveryState:
    """A node is no member of the groups that are not abandoned."""
    stays = ~(1 << node)
    members = (mask & stays if at > s.abandoned else mask for at, mask in enumerate(s.groups))
    return replace(s, groups=tuple(members))


def add_column(m: Recovery, s: RecoveryState, action: act.AddColumn) -> RecoveryState:
    """A group commits an entry; all members that run in it apply it.

    What is committed behind the firewall reaches no client of the cluster that recovers.
    """
    node = m.number(action.node)
    group, entry = s.nodes[node].group, 1 << s.entries
    heard = 0 if groups.is_walled_off(s, s.nodes[node]) else entry
    s = _having(s, company(s, node), latest(s, company(s, node)) | entry)
    known = s.acknowledged
    acknowledged = (*known[:group], known[group] | heard, *known[group + 1 :])
    return replace(s, acknowledged=acknowledged, entries=s.entries + 1, changes=s.changes - 1)


def store(m: Recovery, s: RecoveryState, action: act.StoreData) -> RecoveryState:
    """Data in a column are on the node's disk."""
    node = m.number(action.node)
    data = s.nodes[node].data | 1 << action.column - 1
    return replace(changed(s, node, data=data), writes=s.writes - 1)


def crash(m: Recovery, s: RecoveryState, action: act.CrashLiveNode) -> RecoveryState:
    """What a node has persisted stays."""
    node = m.number(action.node)
    return replace(changed(s, node, status="down", group=NO_GROUP), crashes=s.crashes - 1)


def lose(m: Recovery, s: RecoveryState, action: act.LoseNode) -> RecoveryState:
    """The node is given up, too, and cut off as the others."""
    node = m.number(action.node)
    return replace(changed(s, node, status="dead", group=NO_GROUP), deaths=s.deaths - 1)


def come_back(m: Recovery, s: RecoveryState, action: act.ReturnNode) -> RecoveryState:
    """The node runs in the group that it knows, with whoever else is there."""
    node = m.number(action.node)
    group = s.nodes[node].group_id
    s = replace(changed(s, node, status="returned", group=group), returns=s.returns - 1)
    return synchronized(s, node)
