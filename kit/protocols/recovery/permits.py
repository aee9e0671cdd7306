"""Why a step of a recovery may not happen now: the documents' order, and what servers refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kit.errors import Refusal
from kit.protocols.recovery import actions as act
from kit.protocols.recovery import groups, steps
from kit.protocols.recovery.state import NO_GROUP, NOBODY, RecoveryState

if TYPE_CHECKING:
    from kit.protocols.recovery.model import Recovery


def read(m: Recovery, s: RecoveryState, action: act.ReadIndexes) -> Refusal | None:
    """Every node that is counted on answers."""
    down = m.named(s, lambda node: node.status == "down")
    return Refusal("nodes that live are down: start them first", missing=down) if down else None


def choose(m: Recovery, s: RecoveryState, action: act.ChooseLeader) -> Refusal | None:
    """Only a node with the latest commit index may lead (S-47); a group that goes on keeps on."""
    if not s.indexes_read:
        return Refusal("commit indexes have not been read")
    node = s.nodes[m.number(action.node)]
    group = groups.recoverable(s)
    if group != NO_GROUP:
        if node.group_id == group:
            return None
        return Refusal(f"{m.group_name(group)} can go on: one of its members is named")
    newest = max(each.index for each in s.nodes if each.takes_part)
    if node.index < newest and m.guarded.latest_index:
        said = f"its commit index is {node.index}, another live node has {newest}"
        return Refusal("the leader needs the latest commit index", evidence=(said,))
    return None


def delete(m: Recovery, s: RecoveryState, action: act.DeleteGroupId) -> Refusal | None:
    """The dead are cut off first (S-50); in edition ``server`` indexes are read first."""
    if m.guarded.isolation and not s.isolated:
        return Refusal("nodes that are given up are not cut off")
    if m.parameters.edition == "server" and not s.indexes_read:
        return Refusal("commit_idx is read while the group id is there to find it by")
    return None


def restart(m: Recovery, s: RecoveryState, action: act.RestartLiveNode) -> Refusal | None:
    """The leader restarts first (S-49): others need a group that they can join.

    A server of edition ``server`` waits for one itself, and starts without the option only to fail.
    """
    number = m.number(action.node)
    node = s.nodes[number]
    forgotten = m.parameters.edition == "server" and node.option == NOBODY
    if node.group_id != NO_GROUP or forgotten:
        return None
    group = steps.to_join(s, number)
    if group != NO_GROUP:
        can = groups.may_commit(s, group)
        return None if can else Refusal(f"{m.group_name(group)} has no majority to let it in")
    leads = number == s.leader == node.option
    if not leads and (m.parameters.edition == "server" or m.guarded.leader_first):
        return Refusal("the recovery leader has not created its group yet")
    return None


def together(m: Recovery, s: RecoveryState, action: Any) -> Refusal | None:
    """All nodes that are counted on are in the new group, and a majority of it is up."""
    missing = m.named(s, lambda node: node.takes_part and node.group <= s.abandoned)
    if groups.is_together(s):
        return None
    return Refusal("not all live nodes are in the new group", missing=missing)


def remove(m: Recovery, s: RecoveryState, action: act.RemoveNode) -> Refusal | None:
    """A removal waits for the half-done operation, refuses who lives, and needs the others."""
    others = tuple(m.names[i] for i in groups.dead(s) if m.names[i] != action.node)
    first = replace(m, s, action)
    if first is None and others and not action.ignoring:
        return Refusal("other nodes are dead, and not ignored", missing=others)
    return first


def replace(
    m: Recovery, s: RecoveryState, action: act.RemoveNode | act.ReplaceNode
) -> Refusal | None:
    """As a removal that ignores the other dead nodes."""
    return together(m, s, action) or _free(s) or _unheard(m, s, m.number(action.node))


def _free(s: RecoveryState) -> Refusal | None:
    busy = s.operation == "under way"
    return Refusal("a topology operation is under way") if busy else None


def _unheard(m: Recovery, s: RecoveryState, number: int) -> Refusal | None:
    heard = any(number in pair for pair in groups.talking(s) if s.nodes[pair[0]].takes_part)
    return Refusal("the node is alive", missing=(m.names[number],)) if heard else None


def alter(m: Recovery, s: RecoveryState, action: act.AddColumn) -> Refusal | None:
    """A schema change needs a majority of the group."""
    node = s.nodes[m.number(action.node)]
    can = groups.may_commit(s, node.group, groups.is_walled_off(s, node))
    return None if can else Refusal("its group 0 has no majority")


def store(m: Recovery, s: RecoveryState, action: act.StoreData) -> Refusal | None:
    """A replica persists a write once it has persisted the schema that it needs (S-48)."""
    known = s.nodes[m.number(action.node)].columns >> action.column - 1 & 1
    if known or not m.guarded.causality:
        return None
    return Refusal(f"the entry of column {action.column} is not persisted there")


def coordinate(m: Recovery, s: RecoveryState, action: act.EndOperation) -> Refusal | None:
    """The coordinator runs on a group that can commit."""
    can = groups.may_commit(s, groups.new_group(s))
    return None if can else Refusal("no new group with a majority has a coordinator")


def clean(m: Recovery, s: RecoveryState, action: act.CleanRows) -> Refusal | None:
    """Rows of the old group go at the end."""
    left = tuple(m.names[i] for i in groups.dead(s))
    if left:
        return Refusal("dead nodes are neither removed nor replaced", missing=left)
    return together(m, s, action)
