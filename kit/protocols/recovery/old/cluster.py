"""Questions about a state of the old procedure: who hears whom, which group can commit."""

from __future__ import annotations

from collections.abc import Iterator

from kit.protocols.group0.rules.voters import is_majority, nodes_in
from kit.protocols.recovery.old.state import OldNode, OldState
from kit.protocols.recovery.state import NO_GROUP


def is_walled_off(s: OldState, node: OldNode) -> bool:
    """Whether the firewall lies between a node and those that are live."""
    return s.isolated and node.standing == "returned"


def hears(s: OldState, node: int, other: int) -> bool:
    """Whether two nodes reach each other: both are up, on one side of the firewall."""
    a, b = s.nodes[node], s.nodes[other]
    return a.is_up and b.is_up and is_walled_off(s, a) == is_walled_off(s, b)


def live(s: OldState) -> tuple[int, ...]:
    """The nodes that the operator counts on."""
    return tuple(i for i, node in enumerate(s.nodes) if node.standing == "live")


def given_up(s: OldState) -> tuple[int, ...]:
    """The nodes that are given up and not removed yet."""
    return tuple(i for i, node in enumerate(s.nodes) if node.standing in ("dead", "returned"))


def peers(s: OldState) -> int:
    """The nodes of the cluster, as ``system.peers`` has them: all but those removed (a mask)."""
    return sum(1 << i for i, node in enumerate(s.nodes) if node.standing != "removed")


def running(s: OldState, node: int) -> int:
    """The members that run in a node's group and that it hears, itself among them (a mask)."""
    group = s.nodes[node].group
    there = (i for i, other in enumerate(s.nodes) if other.group == group and hears(s, node, i))
    return sum(1 << i for i in there) & s.groups[group]


def voters(s: OldState, group: int) -> int:
    """Who votes in a group (a mask)."""
    return s.voters[group] if s.voters else s.groups[group]


def may_commit(s: OldState, node: int) -> bool:
    """Whether a node runs in a group and hears a majority of it."""
    group = s.nodes[node].group
    return group != NO_GROUP and is_majority(running(s, node), voters(s, group))


def unheard(s: OldState, node: int, others: int) -> tuple[int, ...]:
    """Those of ``others`` (a mask) that a node does not reach."""
    return tuple(i for i in nodes_in(others) if i != node and not hears(s, node, i))


def in_two_groups(s: OldState) -> tuple[int, int] | None:
    """Two nodes that reach each other and run in different groups."""
    for first, second in pairs(s):
        groups = {s.nodes[first].group, s.nodes[second].group} - {NO_GROUP}
        if len(groups) > 1:
            return first, second
    return None


def pairs(s: OldState) -> Iterator[tuple[int, int]]:
    """Every two nodes that reach each other and are in the cluster."""
    there = [i for i, node in enumerate(s.nodes) if node.standing != "removed"]
    for at, first in enumerate(there):
        for second in there[at + 1 :]:
            if hears(s, first, second):
                yield first, second


def in_recovery_mode(s: OldState) -> bool:
    """Whether every live node runs in RECOVERY mode."""
    return all(s.nodes[i].mode == "recovery" for i in live(s))


def versions(s: OldState) -> set[tuple[bool, int]]:
    """The schema versions of the live nodes that are up."""
    return {s.nodes[i].schema_version for i in live(s) if s.nodes[i].is_up}


def is_whole(s: OldState) -> bool:
    """Whether all live nodes run in one group 0 that has nobody dead, after the Raft upgrade."""
    nodes = [s.nodes[i] for i in live(s)]
    groups = {node.group for node in nodes}
    upgraded = all(
        node.mode == "group 0" and node.value == "use_post_raft_procedures" for node in nodes
    )
    return upgraded and len(groups) == 1 and not given_up(s) and may_commit(s, live(s)[0])
