"""Questions about a state of the topology upgrade: members, majority, rings."""

from __future__ import annotations

from collections.abc import Callable

from kit.protocols.group0.rules.voters import is_majority
from kit.protocols.upgrade.rules.topology_state import DONE
from kit.protocols.upgrade.topology.state import NOBODY, TopologyNode, TopologyUpgradeRun


def where(s: TopologyUpgradeRun, holds: Callable[[TopologyNode], bool]) -> int:
    """The nodes for which something holds (a mask)."""
    return sum(1 << i for i, node in enumerate(s.nodes) if holds(node))


def normal(s: TopologyUpgradeRun) -> int:
    """The nodes that gossip tells as normal: the members (a mask)."""
    return where(s, lambda node: node.standing == "normal")


def has_majority(s: TopologyUpgradeRun) -> bool:
    """Whether a majority of the members is up."""
    return is_majority(where(s, lambda node: node.is_up), normal(s))


def may_commit(s: TopologyUpgradeRun) -> bool:
    """Whether group 0 has a leader, and a majority of its members is up."""
    return s.leader != NOBODY and has_majority(s)


def ring_of(s: TopologyUpgradeRun, node: TopologyNode) -> int:
    """The nodes of the ring that a node goes by (a mask): those of the table, or gossip's."""
    return s.rows if node.reads_table else normal(s)


def is_ended(s: TopologyUpgradeRun) -> bool:
    """Whether all members know that it is done, and nobody waits to join."""
    inside = [node for node in s.nodes if node.standing != "outside"]
    return all(n.standing == "normal" and n.is_up and n.view == DONE for n in inside)
