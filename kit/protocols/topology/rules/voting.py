"""Who votes in group 0 of the published server: at most five members, spread over racks.

It looks at them after every command, and whenever a node dies or is back. Source: published code,
``group0_voter_handler``. The documents let every member vote.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from kit.protocols.group0.rules.voters import are_limited, chosen_voters, nodes_in
from kit.protocols.topology.rules.cluster import NOBODY, ClusterTopology, mask_of
from kit.protocols.topology.rules.racks import place_of
from kit.protocols.topology.rules.work import voters


def votes_again(topology: ClusterTopology, up: int) -> int:
    """The members (a mask) that are normal and back, though they lost their vote.

    They were to be removed or replaced, and are not.
    """
    return topology.nonvoters & up & mask_of(topology, "normal")


def limited_voters(topology: ClusterTopology, up: int, leader: int, chosen: int) -> int:
    """Who is to vote (a mask), where fewer are to than could; else 0: all who could do.

    ``up`` are the nodes that are heard, ``chosen`` those that vote already.
    """
    able = tuple(nodes_in(voters(topology)))
    dcs, racks = _numbered(tuple(topology.nodes[i].rack for i in able))
    if not are_limited(dcs, racks):
        return 0

    def within(mask: int) -> int:
        return sum(1 << place for place, node in enumerate(able) if mask >> node & 1)

    leads = able.index(leader) if leader in able else NOBODY
    picked = chosen_voters(dcs, within(up), leads, within(chosen), racks)
    return sum(1 << able[place] for place in nodes_in(picked))


def may_be_limited(racks: Iterable[str]) -> bool:
    """Whether of some of the nodes in these racks fewer could vote than all of them."""
    given = tuple(racks)
    dcs, names = _numbered(given)
    return are_limited(dcs, names) or len(set(zip(dcs, names, strict=True))) > 1


@lru_cache(maxsize=1 << 8)
def _numbered(racks: tuple[str, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The datacenters and the racks of nodes as numbers, in the order of their names."""
    places = [place_of(rack) for rack in racks]
    dcs = {name: i for i, name in enumerate(sorted({dc for dc, _ in places}))}
    names = {place: i for i, place in enumerate(sorted(set(places)))}
    return tuple(dcs[dc] for dc, _ in places), tuple(names[place] for place in places)
