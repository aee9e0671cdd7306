"""What must hold in the topology upgrade."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kit.engine.model import Property, always, goal, sometimes, step
from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.upgrade.rules.topology_state import follows
from kit.protocols.upgrade.topology import members
from kit.protocols.upgrade.topology.state import TopologyUpgradeRun

if TYPE_CHECKING:
    from kit.protocols.upgrade.topology.model import TopologyUpgrade


def properties_of(m: TopologyUpgrade) -> tuple[Property, ...]:
    """The properties of a model."""

    def in_table(s: TopologyUpgradeRun) -> str | None:
        missing = members.normal(s) & ~s.rows
        for name, node in zip(m.names, s.nodes, strict=True):
            if missing and node.reads_table:
                gone = m.names[next(nodes_in(missing))]
                return f"{name} goes by system.topology, and {gone} is missing from it"
        return None

    def same_ring(s: TopologyUpgradeRun) -> str | None:
        inside = [i for i in nodes_in(members.normal(s)) if s.nodes[i].is_up]
        rings = {members.ring_of(s, s.nodes[i]): m.names[i] for i in inside}
        if len(rings) < 2:
            return None
        first, second = list(rings.values())[:2]
        return f"{first} and {second} go by different rings"

    def in_order(before: TopologyUpgradeRun, action: Any, after: TopologyUpgradeRun) -> str | None:
        if follows(before.upgrade_state, after.upgrade_state):
            return None
        return f"upgrade_state went from {before.upgrade_state} to {after.upgrade_state}"

    return (
        always("in-table", "Who goes by system.topology finds every member in it", in_table,
               "INV-MEMBER"),
        always("same-ring", "All members go by the same ring", same_ring, "INV-SAMESTATE"),
        step("state-in-order", "upgrade_state goes in order", in_order),
        sometimes("done", "The upgrade is done", members.is_ended),
        goal("ends", "The upgrade can end", members.is_ended, "INV-PROGRESS"),
    )  # fmt: skip
