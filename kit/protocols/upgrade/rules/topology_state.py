"""``upgrade_state`` of ``system.topology``, and the way in which a new node joins.

Source: Topology over Raft, "Upgrade from legacy topology to raft-based topology", "Choosing how to
join".
"""

from __future__ import annotations

from typing import Literal

TopologyUpgradeState = Literal["not_upgraded", "build_coordinator_state", "done"]
NOT_UPGRADED: TopologyUpgradeState = "not_upgraded"
BUILDING: TopologyUpgradeState = "build_coordinator_state"
DONE: TopologyUpgradeState = "done"
ORDER: tuple[TopologyUpgradeState, ...] = (NOT_UPGRADED, BUILDING, DONE)
FEATURE = "SUPPORTS_CONSISTENT_TOPOLOGY_CHANGES"
ROUTE = "/storage_service/raft_topology/upgrade"

JoinWay = Literal["creates the cluster", "old way", "request"]


def follows(before: TopologyUpgradeState, after: TopologyUpgradeState) -> bool:
    """Whether ``after`` is the next state, or the same."""
    return ORDER.index(after) - ORDER.index(before) in (0, 1)


def join_way(has_group: bool, state: TopologyUpgradeState) -> JoinWay:
    """How a new node joins: discovery finds a group or none, a member tells its state.

    A new cluster is in the new mode at once. The old way is ``GROUP0_MODIFY_CONFIG``; what comes
    once the upgrade has begun is a request, and waits until it is done.
    """
    if not has_group:
        return "creates the cluster"
    return "old way" if state == NOT_UPGRADED else "request"
