"""What travels in the steps of the old procedure: schema, snapshots, entries."""

from __future__ import annotations

from kit.engine.flows import Flow, FlowTable
from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.recovery.facts.flows import spot
from kit.protocols.recovery.old import actions as act
from kit.protocols.recovery.old import cluster
from kit.protocols.recovery.old.model import RecoveryMode
from kit.protocols.recovery.old.state import OldState


def _pulled(
    m: RecoveryMode, before: OldState, action: act.PullLegacySchema, after: OldState
) -> tuple[Flow, ...]:
    text = f"{action.source} → {action.node}: schema mutations"
    return (Flow("data", spot(action.source), spot(action.node), "schema", text),)


def _joined(
    m: RecoveryMode, before: OldState, action: act.EnterNewGroup, after: OldState
) -> tuple[Flow, ...]:
    """The snapshot of who joins, from the first member that is up."""
    node = m.number(action.node)
    others = [i for i in nodes_in(cluster.running(after, node)) if i != node]
    if not others:
        return ()
    source = m.names[others[0]]
    group = m.group_name(after.nodes[node].group)
    text = f"{source} → {action.node}: snapshot of {group}"
    return (Flow("data", spot(source), spot(action.node), "snapshot", text),)


def _entry(
    m: RecoveryMode, before: OldState, action: act.AddAColumn, after: OldState
) -> tuple[Flow, ...]:
    node = m.number(action.node)
    if before.nodes[node].mode != "group 0":
        return ()
    column = f"column {after.entries}"
    others = [m.names[i] for i in nodes_in(cluster.running(before, node)) if i != node]
    return tuple(
        Flow("entry", spot(action.node), spot(name), column, f"{action.node} → {name}: {column}")
        for name in others
    )


FLOWS = FlowTable(
    {
        act.PullLegacySchema: _pulled,
        act.EnterNewGroup: _joined,
        act.AddAColumn: _entry,
    },
    # The operator works on each node where it is; nodes start, stop and fail there as well.
    (
        *(act.CutOffDead, act.SetRecovery, act.MistypeValue, act.StopServer, act.StartServer),
        *(act.ReadLogs, act.RemoveDead, act.TruncateDiscovery, act.TruncateHistory),
        *(act.DropGroupId, act.CompareVersions, act.DeleteStateRow, act.BeginSynchronize),
        *(act.FinishRaftUpgrade, act.CrashServer, act.LoseServer),
        act.ReviveDead,
    ),
)
