"""What the actions of the Raft upgrade do to its state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.upgrade.raft import peers
from kit.protocols.upgrade.raft import state as act
from kit.protocols.upgrade.raft.state import NO_GROUP, RaftUpgradeState, UpgradingNode
from kit.protocols.upgrade.rules.upgrade_state import (
    POST,
    PRE,
    SYNCHRONIZE,
    state_at_start,
)

if TYPE_CHECKING:
    from kit.protocols.upgrade.raft.model import RaftUpgrade


def changed(s: RaftUpgradeState, node: int, **fields: Any) -> RaftUpgradeState:
    """The state with one node changed."""
    after = replace(s.nodes[node], **fields)
    return replace(s, nodes=(*s.nodes[:node], after, *s.nodes[node + 1 :]))


def needs_restart(node: UpgradingNode) -> bool:
    """Whether what a node has persisted differs from what it runs by."""
    running = (node.runs_new, node.enabled, node.state)
    return (node.installed, node.configured, state_at_start(node.row)) != running


def restart(m: RaftUpgrade, s: RaftUpgradeState, action: act.RestartUpgrading) -> RaftUpgradeState:
    """A node starts by what it has persisted; the last one fires the upgrade."""
    number = m.number(action.node)
    was = s.nodes[number]
    if was.is_up and not needs_restart(was):
        s = replace(s, restarts=s.restarts - 1)
    state = state_at_start(was.row)
    return with_feature(
        changed(
            *(s, number),
            status="up",
            runs_new=was.installed,
            enabled=was.configured,
            state=state,
            compared=False,
            serves=state != POST,
            tries=0,
        )
    )


def with_feature(s: RaftUpgradeState) -> RaftUpgradeState:
    """The feature is enabled on whoever is up, once every node runs with the option.

    A node that is down counts with what it ran by last. The row is written here (the documents do
    not say when it is).
    """
    if not all(node.enabled for node in s.nodes):
        return s
    nodes = tuple(
        replace(n, has_feature=True, row=n.row or PRE) if n.is_up and not n.has_feature else n
        for n in s.nodes
    )
    return replace(s, nodes=nodes)


def pull(m: RaftUpgrade, s: RaftUpgradeState, action: act.PullSchema) -> RaftUpgradeState:
    """The other's changes are merged with the own ones; the version is a hash of them."""
    node, source = m.number(action.node), m.number(action.source)
    schema = s.nodes[node].schema | peers.to_pull(s, node, source)
    return changed(s, node, schema=schema, by_group0=False)


def join_group(m: RaftUpgrade, s: RaftUpgradeState, action: act.JoinGroup) -> RaftUpgradeState:
    """A node joins the group of one that it reaches; where nobody has one, it creates one."""
    number = m.number(action.node)
    there = [s.nodes[i].group for i in peers.linked_to(s, number)]
    group = max(there, default=NO_GROUP)
    if group == NO_GROUP:
        s = replace(s, entries=(*s.entries, 0))
        group = len(s.entries)
    return changed(s, number, group=group, tries=0)


def enter(m: RaftUpgrade, s: RaftUpgradeState, action: act.EnterSynchronize) -> RaftUpgradeState:
    """The state is persisted before it counts."""
    return changed(
        *(s, m.number(action.node)), row=SYNCHRONIZE, state=SYNCHRONIZE, compared=False, tries=0
    )


def finish(m: RaftUpgrade, s: RaftUpgradeState, action: act.FinishUpgrade) -> RaftUpgradeState:
    """From here on the node changes its schema through group 0."""
    return changed(s, m.number(action.node), row=POST, state=POST, compared=False)


def is_behind(s: RaftUpgradeState, node: UpgradingNode) -> bool:
    """Whether a node's group has commands that the node has not applied."""
    return node.group != NO_GROUP and node.applied < s.entries[node.group - 1]


def catch_up(
    m: RaftUpgrade, s: RaftUpgradeState, action: act.FetchNewestSchema
) -> RaftUpgradeState:
    """The newest schema of the group, where a majority is within reach; else its own (Q-27)."""
    number = m.number(action.node)
    was = s.nodes[number]
    if not peers.has_majority(s, number) or not is_behind(s, was):
        return changed(s, number, serves=True)
    newest = max(
        (s.nodes[i] for i in nodes_in(peers.company(s, number))), key=lambda node: node.applied
    )
    return changed(
        *(s, number),
        serves=True,
        schema=was.schema | newest.schema,
        applied=s.entries[was.group - 1],
        by_group0=True,
    )


def alter(m: RaftUpgrade, s: RaftUpgradeState, action: act.ChangeSchema) -> RaftUpgradeState:
    """By gossip a node changes its own schema; with Raft all members in reach apply a command."""
    number = m.number(action.node)
    was = s.nodes[number]
    s = replace(s, changes=s.changes - 1, made=s.made + 1)
    if not was.has_finished:
        return changed(s, number, schema=was.schema | 1 << s.made, by_group0=False)
    count = s.entries[was.group - 1] + 1
    entries = (*s.entries[: was.group - 1], count, *s.entries[was.group :])
    reached = peers.company(s, number)
    nodes = tuple(
        replace(n, applied=count, by_group0=True) if reached >> i & 1 else n
        for i, n in enumerate(s.nodes)
    )
    return replace(s, nodes=nodes, entries=entries)


def write_row(m: RaftUpgrade, s: RaftUpgradeState, action: act.WriteRow) -> RaftUpgradeState:
    """Only the row changes: the node runs on as it did."""
    return changed(replace(s, edits=s.edits - 1), m.number(action.node), row=action.value)


def crash(m: RaftUpgrade, s: RaftUpgradeState, action: act.CrashUpgrading) -> RaftUpgradeState:
    """What the node remembers is gone."""
    s = replace(s, crashes=s.crashes - 1)
    return changed(s, m.number(action.node), status="down", compared=False, serves=False, tries=0)


def lose(m: RaftUpgrade, s: RaftUpgradeState, action: act.LoseUpgrading) -> RaftUpgradeState:
    """The node is gone with its disk."""
    s = replace(s, deaths=s.deaths - 1)
    return changed(s, m.number(action.node), status="lost", compared=False, serves=False, tries=0)
