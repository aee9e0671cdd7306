"""How a node that upgrades finds its group: whom it asks, what they answer.

Discovery begins with the peers of the cluster and those that ``system.discovery`` has kept, and
goes on to all that they know. Sources: Raft in Scylla, "Discovery"; the published code of the
servers that still had this upgrade.
"""

from __future__ import annotations

from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.recovery.old import cluster
from kit.protocols.recovery.old.state import OldState
from kit.protocols.recovery.state import NO_GROUP, OLD


def contacts(s: OldState, node: int) -> tuple[int, ...]:
    """All nodes that a node's discovery asks, itself apart: its peers, and whom they name."""
    reached, waiting = 1 << node, [node]
    while waiting:
        at = waiting.pop()
        named = s.nodes[at].discovery | cluster.peers(s)
        for other in nodes_in(named & ~reached):
            reached |= 1 << other
            if cluster.hears(s, node, other) and s.nodes[other].waits_for_group:
                waiting.append(other)
    return tuple(i for i in nodes_in(reached) if i != node)


def found_group(s: OldState, node: int) -> int:
    """The group of the first one that answers, a new one before the old; ``NO_GROUP``: no group.

    Who answers first no document says. Numbers of groups are no ages, so that they decide nothing.
    """
    answering = (i for i in contacts(s, node) if cluster.hears(s, node, i))
    there = [s.nodes[i].group for i in answering if s.nodes[i].group != NO_GROUP]
    return next((group for group in there if group != OLD), there[0] if there else NO_GROUP)


def silent(s: OldState, node: int) -> tuple[int, ...]:
    """Those that are asked and do not take part in discovery: down, cut off, or in another mode."""
    return tuple(
        i
        for i in contacts(s, node)
        if not (cluster.hears(s, node, i) and s.nodes[i].waits_for_group)
    )
