"""Whether a keyspace stays RF-rack-valid: as many racks in a datacenter as it has replicas there.

Only then does each rack hold one replica of everything, and a whole rack may be lost. One replica,
or none, needs no racks. Source: published code, ``check_rf_rack_valid`` and the coordinator's
checks before a node leaves and while one joins; the documents say nothing of it.
"""

from __future__ import annotations

from kit.protocols.topology.rules.cluster import ClusterTopology
from kit.protocols.topology.rules.effects import owners

FIRST_RACK = "dc1/r1"
"""Where a node is of which nothing else is said."""


def place_of(rack: str) -> tuple[str, str]:
    """The datacenter and the rack of a node, of its cell (empty: nothing is said of it)."""
    datacenter, _, name = (rack or FIRST_RACK).partition("/")
    return datacenter, name


def invalid_racks(topology: ClusterTopology, *, joins: int = 0, leaves: int = 0) -> str:
    """The first datacenter that would have a wrong number of racks, and why; empty: none.

    ``joins`` and ``leaves`` are masks of nodes that become, and that are no more, owners of tokens.
    """
    if topology.rf < 2:
        return ""
    after = (owners(topology) | joins) & ~leaves
    racks: dict[str, set[str]] = {}
    for node, entry in enumerate(topology.nodes):
        datacenter, rack = place_of(entry.rack)
        held = racks.setdefault(datacenter, set())
        if after >> node & 1:
            held.add(rack)
    for datacenter, held in sorted(racks.items()):
        if held and len(held) != topology.rf:
            return f"{datacenter} would have {len(held)} racks for {topology.rf} replicas"
    return ""
