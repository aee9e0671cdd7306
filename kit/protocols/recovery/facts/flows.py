"""What travels in the steps of a recovery: snapshots, entries, barriers."""

from __future__ import annotations

from kit.engine.flows import Flow, FlowTable
from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.recovery import actions as act
from kit.protocols.recovery import groups, steps
from kit.protocols.recovery.model import Recovery
from kit.protocols.recovery.state import RecoveryState
from kit.protocols.recovery.wording import entries


def spot(name: str) -> str:
    """The key of a node in the picture."""
    return f"node:{name}"


def _joined(
    m: Recovery,
    before: RecoveryState,
    action: act.RestartLiveNode | act.ReplaceNode,
    after: RecoveryState,
) -> tuple[Flow, ...]:
    """The snapshot of who joins a group, from a member that has its newest state."""
    number = m.number(action.node)
    group = after.nodes[number].group
    was_member = group < len(before.groups) and before.groups[group] >> number & 1
    others = groups.running(after, group) & ~(1 << number) if group >= 0 else 0
    if was_member or not others:
        return ()
    newest = steps.latest(before, others)
    holders = [i for i in nodes_in(others) if before.nodes[i].columns == newest]
    source = m.names[after.leader if after.leader in holders else holders[0]]
    index = after.nodes[number].index
    text = f"{source} → {action.node}: snapshot of {m.group_name(group)}, {entries(index)}"
    return (Flow("data", spot(source), spot(action.node), "snapshot", text),)


def _entry(
    m: Recovery, before: RecoveryState, action: act.AddColumn, after: RecoveryState
) -> tuple[Flow, ...]:
    node = m.number(action.node)
    column = f"column {after.entries}"
    others = [m.names[i] for i in nodes_in(steps.company(before, node) & ~(1 << node))]
    return tuple(
        Flow("entry", spot(action.node), spot(name), column, f"{action.node} → {name}: {column}")
        for name in others
    )


def _barrier(
    m: Recovery, before: RecoveryState, action: act.EndOperation, after: RecoveryState
) -> tuple[Flow, ...]:
    """The barrier asks every node; the dead do not answer. Where none is left, nobody is asked."""
    if m.parameters.past_barriers:
        return ()
    leader = m.names[before.leader]
    others = [n for n in m.named(before, lambda node: node.status != "removed") if n != leader]
    silent = {m.names[i] for i in groups.dead(before)}
    asks = (
        Flow("request", spot(leader), spot(name), "barrier", f"{leader} → {name}: barrier")
        for name in others
    )
    answers = (
        Flow("answer", spot(n), spot(leader), "done", f"{n} → {leader}: done", 1)
        for n in others
        if n not in silent
    )
    return (*asks, *answers)


FLOWS = FlowTable(
    {
        act.RestartLiveNode: _joined,
        act.ReplaceNode: _joined,
        act.AddColumn: _entry,
        act.EndOperation: _barrier,
    },
    # The operator works on each node where it is; data are stored, and nodes fail, there as well.
    (
        *(act.IsolateDead, act.ReadIndexes, act.ChooseLeader, act.DeleteGroupId, act.SetOption),
        *(act.RemoveNode, act.UnsetOption, act.CleanRows, act.StoreData),
        *(act.CrashLiveNode, act.LoseNode, act.ReturnNode),
    ),
)
