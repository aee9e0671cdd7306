"""Which tablets can be read and written with these nodes down, and what one more loss costs.

After a replace the tablets of the replaced node have one replica fewer until they are rebuilt, and
a repair of primary ranges passes them over. Sources: Topology over Raft, "Node replace with
tablets", "Impact on repair"; the primary replica is that of the published ``tablet_map``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct

from kit.protocols.tablets.rules.maps import TabletMap
from kit.protocols.tablets.rules.replica_sets import Replicas, TabletReplica

Places = Mapping[str, tuple[str, str]]
"""The datacenter and the rack of each host."""


class TabletAvailability(Struct, frozen=True):
    """A tablet's replicas that live, and how many more may be lost before its quorum is.

    ``spare`` is negative where there is no quorum any more.
    """

    tablet: int
    live: Replicas
    quorum: int

    @property
    def spare(self) -> int:
        """How many of the live replicas a quorum can do without."""
        return len(self.live) - self.quorum


def availability(given: TabletMap, lost: Collection[str]) -> tuple[TabletAvailability, ...]:
    """Each tablet with these hosts lost (dead or left), by the replicas in force."""
    return tuple(
        TabletAvailability(
            number,
            tuple(each for each in tablet.replicas if each.host not in lost),
            len(tablet.replicas) // 2 + 1,
        )
        for number, tablet in enumerate(given.tablets)
    )


def lost_with(
    given: TabletMap, lost: Collection[str], hosts: Iterable[str]
) -> dict[str, tuple[int, ...]]:
    """For each host the tablets that have a quorum now and would have none if it went, too."""
    now = {each.tablet for each in availability(given, lost) if each.spare >= 0}
    return {
        host: tuple(
            each.tablet
            for each in availability(given, {*lost, host})
            if each.spare < 0 and each.tablet in now
        )
        for host in hosts
    }


def primary_replica(given: TabletMap, tablet: int, places: Places) -> TabletReplica:
    """The replica on whose host a primary-range repair repairs a tablet.

    Replicas are taken in the order of datacenters, racks and hosts, one further for each round of
    tablets, so that neighbouring tablets have different ones.

    Raises:
        KeyError: for a host without a place.
    """
    held = given.tablets[tablet].replicas
    replicas = sorted(held, key=lambda each: (*places[each.host], each.host))
    size = len(replicas)
    return replicas[(tablet + tablet // size) % size]


def skipped_by_primary_repair(
    given: TabletMap, left: Collection[str], places: Places
) -> tuple[int, ...]:
    """The tablets that a primary-range repair on all nodes of the topology does not repair.

    Their primary replica is on a node that has left, so that nobody takes them up; their range is
    not marked as repaired, and its tombstones stay.
    """
    return tuple(
        number
        for number in range(given.count)
        if primary_replica(given, number, places).host in left
    )


def unrepaired_in_time(
    given: TabletMap, repaired_at: Mapping[int, int], now: int, gc_grace_seconds: int
) -> tuple[int, ...]:
    """The tablets that need a warning in tombstone mode ``timeout``: not repaired within the grace.

    ``repaired_at`` gives a tablet's last repair in seconds; a tablet without one never had any.
    There a tombstone is collected by its age alone, and data that a replica missed may come back.
    """
    return tuple(
        number
        for number in range(given.count)
        if number not in repaired_at or now - repaired_at[number] > gc_grace_seconds
    )
