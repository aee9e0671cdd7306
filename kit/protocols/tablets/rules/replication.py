"""What a keyspace's replication asks of each tablet: replicas by datacenter, or racks by name.

Sources: Topology over Raft, ``keyspace_rf_change``; the published server's manual on CREATE
KEYSPACE, whose rack lists say which racks have one replica each (edition ``server``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from kit.protocols.topology.rules.cluster import Factor

Replication = Mapping[str, Factor]
"""By datacenter; one that is not named has no replica."""

Place = tuple[str, str]
"""A datacenter and a rack."""


class Misfit(Struct, frozen=True, order=True):
    """Where replicas differ from what is asked for: a datacenter, or one rack of a rack list."""

    datacenter: str
    rack: str
    has: int
    wants: int


def misfits(places: Sequence[Place], replication: Replication) -> Iterator[Misfit]:
    """Where the replicas at some places are not those that are asked for."""
    by_rack = Counter(places)
    by_datacenter = Counter(datacenter for datacenter, _ in places)
    for datacenter in sorted({*by_datacenter, *replication}):
        factor = replication.get(datacenter, 0)
        if isinstance(factor, int):
            pairs = [("", by_datacenter[datacenter], factor)]
        else:
            racks = sorted({*factor, *(rack for _, rack in by_rack)})
            pairs = [(rack, by_rack[datacenter, rack], int(rack in factor)) for rack in racks]
        for rack, has, wants in pairs:
            if has != wants:
                yield Misfit(datacenter, rack, has, wants)
