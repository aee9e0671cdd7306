"""Questions about a state of the Raft upgrade: who reaches whom, who is waited for."""

from __future__ import annotations

from collections.abc import Iterator

from kit.protocols.group0.rules.voters import is_majority
from kit.protocols.upgrade.raft.state import NO_GROUP, PROBLEM, RaftUpgradeState, UpgradingNode
from kit.protocols.upgrade.rules.upgrade_state import POST, RECOVERY, SYNCHRONIZE


def is_linked(s: RaftUpgradeState, first: int, second: int) -> bool:
    """Whether two nodes are up and reach each other."""
    pair = (min(first, second), max(first, second))
    return s.nodes[first].is_up and s.nodes[second].is_up and pair not in s.cut


def linked_to(s: RaftUpgradeState, node: int) -> list[int]:
    """The other nodes that a node reaches, from the next one on."""
    return [other for other in others(s, node) if is_linked(s, node, other)]


def others(s: RaftUpgradeState, node: int) -> Iterator[int]:
    """All nodes but one, from the next one on."""
    size = len(s.nodes)
    return ((node + step) % size for step in range(1, size))


def peers(s: RaftUpgradeState, node: int, all_alive: bool) -> list[int]:
    """The nodes that a node waits for: all others; without S-62 those that it reaches."""
    return list(others(s, node)) if all_alive else linked_to(s, node)


def versions_of(node: UpgradingNode) -> tuple[int, int]:
    """The version of a node's schema: what came by gossip, how many commands of its group."""
    return node.schema, node.applied


def unready(s: RaftUpgradeState, node: int, all_alive: bool) -> list[int]:
    """Peers that are not ready to start."""
    return [
        i
        for i in peers(s, node, all_alive)
        if not (is_linked(s, node, i) and s.nodes[i].has_feature and s.nodes[i].state != RECOVERY)
    ]


def outside(s: RaftUpgradeState, node: int, all_alive: bool) -> list[int]:
    """Peers that are not known as members of the node's group."""
    group = s.nodes[node].group
    return [
        i
        for i in peers(s, node, all_alive)
        if not is_linked(s, node, i) or s.nodes[i].group != group
    ]


def mismatched(s: RaftUpgradeState, node: int, all_alive: bool) -> list[int]:
    """Peers whose schema version is another one, or cannot be read."""
    own = versions_of(s.nodes[node])
    return [
        i
        for i in peers(s, node, all_alive)
        if not is_linked(s, node, i) or versions_of(s.nodes[i]) != own
    ]


def unsynchronized(s: RaftUpgradeState, node: int, all_alive: bool) -> list[int]:
    """Peers that are not known to be in ``synchronize`` or past it."""
    return [
        i
        for i in peers(s, node, all_alive)
        if not is_linked(s, node, i) or s.nodes[i].state not in (SYNCHRONIZE, POST)
    ]


def awaited(s: RaftUpgradeState, node: int, all_alive: bool, equal: bool) -> list[int]:
    """For whom a node waits in its phase; ``equal``: it asks for equal schema (S-52)."""
    was = s.nodes[node]
    if not was.is_up or not was.has_feature or was.state == RECOVERY:
        return []
    match was.position:
        case 0:
            return unready(s, node, all_alive)
        case 1:
            missing = outside(s, node, all_alive)
        case 3:
            missing = unsynchronized(s, node, all_alive)
        case _:
            return []
    return missing or (mismatched(s, node, all_alive) if equal else [])


def company(s: RaftUpgradeState, node: int) -> int:
    """The members of a node's group that it reaches, and itself (a mask)."""
    group = s.nodes[node].group
    mask = 1 << node
    for other in linked_to(s, node):
        if s.nodes[other].group == group and s.nodes[other].state != RECOVERY:
            mask |= 1 << other
    return mask


def has_majority(s: RaftUpgradeState, node: int) -> bool:
    """Whether a node reaches a majority of its group."""
    group = s.nodes[node].group
    members = sum(1 << i for i, each in enumerate(s.nodes) if each.group == group)
    return group != NO_GROUP and is_majority(company(s, node), members)


def to_pull(s: RaftUpgradeState, node: int, source: int) -> int:
    """The schema changes that gossip would bring from another node (a mask)."""
    was = s.nodes[node]
    if was.has_finished or not is_linked(s, node, source):
        return 0
    return s.nodes[source].schema & ~was.schema & ~PROBLEM


def is_finished(s: RaftUpgradeState) -> bool:
    """Whether every node that is not lost runs by Raft, and serves."""
    return all(n.has_finished and n.is_up and n.serves for n in s.nodes if n.status != "lost")


def needs_recovery(s: RaftUpgradeState) -> bool:
    """Whether only manual recovery leads on: nodes are lost, there are two groups, or it began."""
    lost = any(n.status == "lost" for n in s.nodes)
    begun = any(n.state == RECOVERY for n in s.nodes)
    return (
        begun
        or len(s.entries) > 1
        or (lost and not all(n.has_finished for n in s.nodes if n.status != "lost"))
    )
