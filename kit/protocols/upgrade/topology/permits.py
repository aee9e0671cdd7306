"""Why a step of the topology upgrade may not happen now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kit.errors import Refusal
from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.upgrade.rules.topology_state import BUILDING, DONE, FEATURE, NOT_UPGRADED
from kit.protocols.upgrade.topology import members
from kit.protocols.upgrade.topology.state import TopologyUpgradeRun

if TYPE_CHECKING:
    from kit.protocols.upgrade.topology.model import TopologyUpgrade


def free(m: TopologyUpgrade, s: TopologyUpgradeRun, action: Any) -> None:
    """Nothing is asked."""


def commit(m: TopologyUpgrade, s: TopologyUpgradeRun, action: Any) -> Refusal | None:
    """A command of group 0 needs a leader and a majority."""
    return None if members.may_commit(s) else Refusal("group 0 has no leader with a majority")


def elect(m: TopologyUpgrade, s: TopologyUpgradeRun, action: Any) -> Refusal | None:
    """A majority elects."""
    return None if members.has_majority(s) else Refusal("no majority of group 0 is up")


def post(m: TopologyUpgrade, s: TopologyUpgradeRun, action: Any) -> Refusal | None:
    """All nodes support the feature, and no topology operation runs."""
    if s.upgrade_state != NOT_UPGRADED:
        return Refusal(f"the upgrade has begun: upgrade_state is {s.upgrade_state}")
    older = m.named(s, lambda node: node.standing != "outside" and not node.is_new)
    if older:
        return Refusal(f"{FEATURE} is not enabled: not every node is upgraded", missing=older)
    joining = m.named(s, lambda node: node.standing == "joining")
    if joining:
        return Refusal("a topology operation is running", missing=joining)
    return commit(m, s, action)


def generation(m: TopologyUpgrade, s: TopologyUpgradeRun, action: Any) -> Refusal | None:
    """The generation is made of the tokens of all members."""
    unread = members.normal(s) & ~s.rows
    if unread:
        missing = tuple(m.names[i] for i in nodes_in(unread))
        return Refusal("system.topology is not complete", missing=missing)
    return commit(m, s, action)


def end(m: TopologyUpgrade, s: TopologyUpgradeRun, action: Any) -> Refusal | None:
    """The table is complete, and the generation is there."""
    if not s.has_generation:
        return Refusal("the new CDC generation has not been inserted")
    return commit(m, s, action)


def serve(m: TopologyUpgrade, s: TopologyUpgradeRun, action: Any) -> Refusal | None:
    """Only after ``done`` (S-63)."""
    if s.upgrade_state != DONE and m.guarded.requests_after_done:
        return Refusal(f"upgrade_state is {BUILDING}: requests wait until it is done")
    return commit(m, s, action)
