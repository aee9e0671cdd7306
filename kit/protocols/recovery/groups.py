"""Questions about a state of a recovery: who runs in which group, which group can commit."""

from __future__ import annotations

from collections.abc import Iterator

from kit.protocols.group0.rules.voters import is_majority
from kit.protocols.recovery.rules.gossip import GossipDigest, is_accepted
from kit.protocols.recovery.state import NO_GROUP, NOBODY, RecoveryNode, RecoveryState


def is_walled_off(s: RecoveryState, node: RecoveryNode) -> bool:
    """Whether the firewall lies between a node and those that recover."""
    return s.isolated and node.status == "returned"


def running(s: RecoveryState, group: int, walled_off: bool = False) -> int:
    """The members of a group that run in it on one side of the firewall (a mask)."""
    there = (n.group == group and is_walled_off(s, n) == walled_off for n in s.nodes)
    return sum(1 << i for i, runs in enumerate(there) if runs) & s.groups[group]


def voters(s: RecoveryState, group: int) -> int:
    """Who votes in a group (a mask)."""
    return s.voters[group] if s.voters else s.groups[group]


def may_commit(s: RecoveryState, group: int, walled_off: bool = False) -> bool:
    """Whether a majority of a group's voters runs in it and can reach one another."""
    has_members = group != NO_GROUP
    return has_members and is_majority(running(s, group, walled_off), voters(s, group))


def taking_part(s: RecoveryState) -> int:
    """The nodes that the operator counts on (a mask)."""
    return sum(1 << i for i, node in enumerate(s.nodes) if node.takes_part)


def recoverable(s: RecoveryState) -> int:
    """The newest group after those abandoned that still can get a majority; else ``NO_GROUP``."""
    for group in range(len(s.groups) - 1, s.abandoned, -1):
        if is_majority(taking_part(s), voters(s, group)):
            return group
    return NO_GROUP


def new_group(s: RecoveryState) -> int:
    """The group that the chosen leader runs in, if it is a new one; else ``NO_GROUP``."""
    leads = s.leader != NOBODY and s.nodes[s.leader].status == "up"
    group = s.nodes[s.leader].group if leads else NO_GROUP
    return group if group > s.abandoned else NO_GROUP


def needs_leader(s: RecoveryState) -> bool:
    """Whether one is to be chosen: at first, after its death, when the new group is lost, too."""
    if s.leader == NOBODY or not s.nodes[s.leader].takes_part:
        return True
    return len(s.groups) - 1 > s.abandoned and recoverable(s) == NO_GROUP


def is_together(s: RecoveryState) -> bool:
    """Whether all nodes that are counted on run in one new group."""
    group = new_group(s)
    return group != NO_GROUP and all(n.group == group for n in s.nodes if n.takes_part)


def dead(s: RecoveryState) -> tuple[int, ...]:
    """The numbers of the nodes that are given up and not removed yet."""
    return tuple(i for i, node in enumerate(s.nodes) if node.status in ("dead", "returned"))


def digest_of(s: RecoveryState, node: RecoveryNode) -> GossipDigest:
    """What a node that is up says of itself."""
    return GossipDigest(node.group, node.option != NOBODY, is_walled_off(s, node))


def talking(s: RecoveryState) -> Iterator[tuple[int, int]]:
    """Every pair of nodes that are up and take each other's gossip."""
    up = [i for i, node in enumerate(s.nodes) if node.group != NO_GROUP]
    for at, first in enumerate(up):
        for second in up[at + 1 :]:
            a, b = s.nodes[first], s.nodes[second]
            if is_accepted(digest_of(s, a), digest_of(s, b)):
                yield first, second


def in_two_groups(s: RecoveryState) -> tuple[int, int] | None:
    """Two nodes that talk to each other in different groups outside a recovery's restarts.

    Tolerated are nodes that take part, of which one still runs in a group that was abandoned.
    """
    for first, second in talking(s):
        a, b = s.nodes[first], s.nodes[second]
        restarts = a.takes_part and b.takes_part and min(a.group, b.group) <= s.abandoned
        if a.group != b.group and not restarts:
            return first, second
    return None
