"""What the actions of the topology upgrade do to its state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from kit.protocols.upgrade.rules.topology_state import (
    BUILDING,
    DONE,
    TopologyUpgradeState,
    join_way,
)
from kit.protocols.upgrade.topology import state as act
from kit.protocols.upgrade.topology.state import NOBODY, TopologyUpgradeRun

if TYPE_CHECKING:
    from kit.protocols.upgrade.topology.model import TopologyUpgrade


def changed(s: TopologyUpgradeRun, node: int, **fields: Any) -> TopologyUpgradeRun:
    """The state with one node changed."""
    after = replace(s.nodes[node], **fields)
    return replace(s, nodes=(*s.nodes[:node], after, *s.nodes[node + 1 :]))


def knows(s: TopologyUpgradeRun, node: int) -> TopologyUpgradeRun:
    """A node has applied all that group 0 committed; from ``done`` on it reads the table."""
    was = s.nodes[node]
    reads = was.reads_table or s.upgrade_state == DONE
    return changed(s, node, view=s.upgrade_state, reads_table=reads)


def committed(s: TopologyUpgradeRun, state: TopologyUpgradeState) -> TopologyUpgradeRun:
    """The upgrade has another state; the leader knows it first."""
    return knows(replace(s, upgrade_state=state), s.leader)


def with_feature(s: TopologyUpgradeRun) -> TopologyUpgradeRun:
    """The feature is enabled once every node supports it, and stays so."""
    supported = all(node.is_new for node in s.nodes if node.standing != "outside")
    return replace(s, has_feature=True) if supported else s


def upgrade(
    m: TopologyUpgrade, s: TopologyUpgradeRun, action: act.UpgradeMember
) -> TopologyUpgradeRun:
    """A node restarts with the newer version."""
    return with_feature(changed(s, m.number(action.node), is_new=True))


def post(m: TopologyUpgrade, s: TopologyUpgradeRun, action: act.PostUpgrade) -> TopologyUpgradeRun:
    """``build_coordinator_state`` is committed; the node that was asked knows it, too."""
    return knows(committed(s, BUILDING), m.number(action.node))


def build(m: TopologyUpgrade, s: TopologyUpgradeRun, action: act.BuildRow) -> TopologyUpgradeRun:
    """A row more; whoever leads next finds it there."""
    return replace(s, rows=s.rows | 1 << m.number(action.node))


def end(m: TopologyUpgrade, s: TopologyUpgradeRun, action: act.EndUpgrade) -> TopologyUpgradeRun:
    """``done`` is committed."""
    return committed(s, DONE)


def start_joining(
    m: TopologyUpgrade, s: TopologyUpgradeRun, action: act.StartJoining
) -> TopologyUpgradeRun:
    """A member answers by group 0's own state: in the old way, or by a request that is queued."""
    way = join_way(True, s.upgrade_state)
    standing = "joining" if way == "old way" else "queued"
    return changed(s, m.number(action.node), is_up=True, standing=standing, view=s.upgrade_state)


def serve(m: TopologyUpgrade, s: TopologyUpgradeRun, action: act.ServeJoin) -> TopologyUpgradeRun:
    """The node gets its row and its place in the ring that the table gives."""
    number = m.number(action.node)
    s = replace(s, rows=s.rows | 1 << number)
    return changed(s, number, standing="normal", view=s.upgrade_state, reads_table=True)


def crash(
    m: TopologyUpgrade, s: TopologyUpgradeRun, action: act.CrashMemberOfUpgrade
) -> TopologyUpgradeRun:
    """A leader that goes down leads no more; a joiner's data directory has to be deleted."""
    number = m.number(action.node)
    s = replace(s, crashes=s.crashes - 1, leader=NOBODY if s.leader == number else s.leader)
    if s.nodes[number].standing != "normal":
        return changed(s, number, standing="outside")
    return changed(s, number, is_up=False)
