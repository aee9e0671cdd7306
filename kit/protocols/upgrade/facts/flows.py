"""What travels in the steps of the Raft upgrade: schema, questions to peers, entries."""

from __future__ import annotations

from kit.engine.flows import Flow, FlowKind, FlowTable
from kit.protocols.upgrade.facts.schema import version_text
from kit.protocols.upgrade.raft import peers
from kit.protocols.upgrade.raft import state as act
from kit.protocols.upgrade.raft.model import RaftUpgrade
from kit.protocols.upgrade.raft.state import RaftUpgradeState


def spot(name: str) -> str:
    """The key of a node in the picture."""
    return f"node:{name}"


def _flow(kind: FlowKind, source: str, target: str, label: str, leg: int = 0) -> Flow:
    return Flow(kind, spot(source), spot(target), label, f"{source} → {target}: {label}", leg)


def _pulled(
    m: RaftUpgrade, before: RaftUpgradeState, action: act.PullSchema, after: RaftUpgradeState
) -> tuple[Flow, ...]:
    return (_flow("data", action.source, action.node, "schema"),)


def _joined(
    m: RaftUpgrade, before: RaftUpgradeState, action: act.JoinGroup, after: RaftUpgradeState
) -> tuple[Flow, ...]:
    """To a member that it reaches, and back; nothing where it creates the group."""
    number = m.number(action.node)
    group = after.nodes[number].group
    there = (i for i in peers.linked_to(before, number) if before.nodes[i].group == group)
    member = next(there, None)
    if member is None:
        return ()
    name = m.names[member]
    asks = _flow("request", action.node, name, "discovery")
    return asks, _flow("answer", name, action.node, f"group {group}", 1)


def _compared(
    m: RaftUpgrade, before: RaftUpgradeState, action: act.CompareSchema, after: RaftUpgradeState
) -> tuple[Flow, ...]:
    """Every peer that it reaches is asked for its version."""
    reached = peers.linked_to(before, m.number(action.node))
    asks = (_flow("request", action.node, m.names[i], "version?") for i in reached)
    answers = (
        _flow("answer", m.names[i], action.node, version_text(before.nodes[i]), 1) for i in reached
    )
    return (*asks, *answers)


def _awaited(
    m: RaftUpgrade, before: RaftUpgradeState, action: act.AwaitPeers, after: RaftUpgradeState
) -> tuple[Flow, ...]:
    """Every peer that it waits for is asked; only those in reach answer."""
    number = m.number(action.node)
    equal, alive = m.guarded.schema_synchronization, m.guarded.all_alive
    missing = peers.awaited(before, number, alive, equal)
    asks = (_flow("request", action.node, m.names[i], "state?") for i in missing)
    answers = (
        _flow("answer", m.names[i], action.node, before.nodes[i].state, 1)
        for i in missing
        if peers.is_linked(before, number, i)
    )
    return (*asks, *answers)


def _caught_up(
    m: RaftUpgrade, before: RaftUpgradeState, action: act.FetchNewestSchema, after: RaftUpgradeState
) -> tuple[Flow, ...]:
    """The newest schema, from a member that has it; nothing where there is nothing newer."""
    number = m.number(action.node)
    was, now = before.nodes[number], after.nodes[number]
    if was.applied == now.applied:
        return ()
    reached = peers.linked_to(before, number)
    newest = max(reached, key=lambda i: before.nodes[i].applied)
    return (_flow("data", m.names[newest], action.node, "newest schema"),)


def _altered(
    m: RaftUpgrade, before: RaftUpgradeState, action: act.ChangeSchema, after: RaftUpgradeState
) -> tuple[Flow, ...]:
    """An entry to each member in reach; by gossip nothing travels yet."""
    number = m.number(action.node)
    pairs = enumerate(zip(before.nodes, after.nodes, strict=True))
    heard = [i for i, (was, now) in pairs if now.applied > was.applied and i != number]
    label = f"command {after.nodes[number].applied}"
    return tuple(_flow("entry", action.node, m.names[i], label) for i in heard)


FLOWS = FlowTable(
    {
        act.PullSchema: _pulled,
        act.JoinGroup: _joined,
        act.CompareSchema: _compared,
        act.AwaitPeers: _awaited,
        act.FetchNewestSchema: _caught_up,
        act.ChangeSchema: _altered,
    },
    # The operator works on each node where it is; a node persists its state, and fails, there too.
    (
        *(act.InstallVersion, act.TurnOptionOn, act.TurnOptionOff, act.RestartUpgrading),
        *(act.EnterSynchronize, act.FinishUpgrade, act.WriteRow),
        *(act.CrashUpgrading, act.LoseUpgrading, act.CutPair, act.HealPair),
    ),
)
