"""Which nodes hold which range, of a ring in which each node has one token."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from kit.protocols.recovery.rules.quorum import Place
from kit.ring.natural import replicas
from kit.ring.ranges import Range
from kit.ring.replication import NetworkTopologyStrategy
from kit.ring.tokens import small
from kit.ring.topology import Node, Ring

APART = 100  # tokens between two nodes

PlacedRange = tuple[str, tuple[str, ...]]
"""A range by its bounds, and the names of its replicas."""


RACKS = 3


def usual_place(number: int) -> Place:
    """Where a node stands of which nothing else is said: one datacenter, three racks in turn."""
    return "dc1", f"r{number % RACKS + 1}"


def places_of(size: int, given: Sequence[str] = ()) -> tuple[Place, ...]:
    """Where so many nodes stand, by ``given`` texts such as dc1/r1 where there are any."""
    if not given:
        return tuple(map(usual_place, range(size)))
    return tuple((dc, rack) for dc, _, rack in (text.partition("/") for text in given))


@lru_cache(maxsize=64)
def placed_ranges(
    names: tuple[str, ...], places: tuple[Place, ...], factor: int
) -> tuple[PlacedRange, ...]:
    """The ranges, with ``factor`` replicas in each datacenter, or as many as it has nodes.

    Nodes of different datacenters take turns round the ring, in the order of their names.
    """
    space = small(APART * len(names))
    count: dict[str, int] = {}
    turns = []
    for at, (dc, _) in enumerate(places):
        count[dc] = count.get(dc, 0) + 1
        turns.append((count[dc], dc, at))
    tokens = {at: APART * (turn + 1) for turn, (_, _, at) in enumerate(sorted(turns))}
    nodes = (Node(name, (tokens[at],), *places[at]) for at, name in enumerate(names))
    ring = Ring.of(tuple(nodes), space)
    factors = tuple((dc, min(factor, nodes_there)) for dc, nodes_there in sorted(count.items()))
    ranges = []
    for at, codes in enumerate(replicas(ring, NetworkTopologyStrategy(factors))):
        left = int(ring.rights[at - 1]) if at else space.low
        held = tuple(ring.names[code] for code in codes.tolist() if code >= 0)
        ranges.append((Range(left, int(ring.rights[at])).label(space), held))
    return tuple(ranges)
