"""Who serves requests of a tablet: which shard, which are left with nodes down, what a loss costs.

**Which shard.** Outside a transition a host has at most one replica of a tablet. In one between
hosts the former or the next replica's shard answers at every stage, whatever the selectors say,
since a coordinator may be one stage off. Within a host the selectors choose.

**What is left.** The sets that count are those of the stage's selectors; a write to old and new
replicas needs what its edition asks for (Q-48), so that a transition may cost a quorum that both
sets have by themselves, and a replica that leaves may be missed by nobody any more. After a replace
the tablets of the replaced node have one replica fewer until they are rebuilt, and a repair of
primary ranges passes them over.

Sources: Topology over Raft, "Sharding with tablets", "Shard assignment stability", "Tablet replica
placement vs sharding", "Node replace with tablets", "Impact on repair"; the primary replica is that
of the published ``tablet_map``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from kit.protocols.storage.rules import levels
from kit.protocols.storage.rules.view import AnyAcknowledgement, View
from kit.protocols.tablets.rules.maps import Tablet, TabletMap, shard_on
from kit.protocols.tablets.rules.replica_sets import Replicas, TabletReplica
from kit.protocols.tablets.rules.stages import TRANSITIONS
from kit.protocols.topology.rules.machines import Edition, Selector
from kit.ring.tokens import INT64_LOW

SharderKind = Literal["holding", "auto_refreshing"]
_MASK = 2**64 - 1


def shard_for_reads(tablet: Tablet, host: str, reads: Selector) -> int:
    """The shard of a host that answers reads of a tablet; without a replica 0 (published: none)."""
    return next(iter(shard_for_writes(tablet, host, reads)), 0)


def shard_for_writes(tablet: Tablet, host: str, writes: Selector) -> tuple[int, ...]:
    """The shards of a host that take writes of a tablet: two while both halves of a move do, none
    of a host without a replica (published ``tablet_sharder``).
    """
    former, following = shard_on(tablet.replicas, host), shard_on(tablet.new_replicas, host)
    if former is None or following is None or former == following:
        owner = former if former is not None else following
        return () if owner is None else (owner,)
    return {"old": (former,), "new": (following,), "both": (former, following)}[writes]


class Sharder(Struct, frozen=True):
    """The map of one table for one host.

    A *holding* one keeps to the version that it was made of, and a barrier waits for it. An
    *auto_refreshing* one goes on to each new version; nothing waits for it, so work that uses it
    needs a topology guard.
    """

    host: str
    kind: SharderKind
    version: int
    map: TabletMap
    edition: Edition = "server"

    @property
    def holds(self) -> int | None:
        """The version that barriers cannot pass while this is alive; None: they do not wait."""
        return self.version if self.kind == "holding" else None

    def refreshed(self, version: int, newest: TabletMap) -> Sharder:
        """The same sharder once the host applied another version."""
        return self if self.kind == "holding" else replace(self, version=version, map=newest)

    def shard_for_reads(self, token: int) -> int:
        """The shard of this host that answers reads of a token."""
        tablet = self.map.of(token)
        return shard_for_reads(tablet, self.host, selectors(tablet, self.edition)[0])

    def shard_for_writes(self, token: int) -> tuple[int, ...]:
        """The shards of this host that take writes of a token."""
        tablet = self.map.of(token)
        return shard_for_writes(tablet, self.host, selectors(tablet, self.edition)[1])


def selectors(tablet: Tablet, edition: Edition) -> tuple[Selector, Selector]:
    """The selectors of reads and of writes, by the stage alone; *old* outside a transition."""
    if not tablet.transition:
        return "old", "old"
    row = TRANSITIONS[edition][tablet.transition].state(tablet.stage)
    return row.reads, row.writes


def static_shard_of(token: int, shards: int, ignore_msb: int = 12) -> int:
    """The shard of a token under static sharding: the same on each host with as many shards.

    The line of tokens is cut into ``2 ** ignore_msb`` runs, each of which goes through all shards
    in turn (``ignore_msb`` of ``system.topology``; published ``zero_based_shard_of``).
    """
    unsigned = (token - INT64_LOW) << ignore_msb & _MASK
    return unsigned * shards >> 64


ACKNOWLEDGEMENT: dict[Edition, AnyAcknowledgement] = {
    "documents": "joint",
    "server": "quorum-plus-pending",
}
"""What acknowledges a write while a replica is pending, by edition (Q-48)."""

RequestKind = Literal["reads", "writes"]


class ServedTablet(Struct, frozen=True):
    """A tablet with some hosts down.

    ``hosts`` are those that requests use at its stage, ``alive`` those of them that are up.
    ``without_quorum`` are the requests that QUORUM refuses, ``datacenters`` those where
    LOCAL_QUORUM refuses some.
    """

    hosts: tuple[str, ...]
    alive: tuple[str, ...]
    without_quorum: tuple[RequestKind, ...]
    datacenters: tuple[str, ...]


def served(
    tablet: Tablet,
    edition: Edition,
    down: Collection[str],
    datacenters: Mapping[str, str],
    factors: Mapping[str, int] | None = None,
) -> ServedTablet:
    """The rest of a tablet; ``datacenters`` are by host. KeyError for a replica on a host
    without a datacenter.

    ``factors`` are the keyspace's, by datacenter: a quorum is of them, also where the tablet has
    other replicas (published ``quorum_for``). None: a quorum of the replicas that there are.
    """
    hosts = tuple(dict.fromkeys(replica.host for replica in tablet.sets.both))
    sets, (reads, writes) = tablet.sets, selectors(tablet, edition)
    read, written, old, new = (
        _mask(hosts, [replica.host for replica in replicas])
        for replicas in (sets.chosen(reads), sets.chosen(writes), sets.old, sets.new)
    )
    view = View(read, written, *((read, read) if reads == writes else (old, new)))
    used = [h for bit, h in enumerate(hosts) if (view.reads | view.writes) >> bit & 1]
    places = tuple(dict.fromkeys(datacenters[host] for host in hosts))
    dcs = tuple(_mask(hosts, [h for h in hosts if datacenters[h] == dc]) for dc in places)
    up = _mask(hosts, [host for host in hosts if host not in down])

    # On the server a majority of the old replicas, and one answer more from each pending replica.
    # (Where writes go to one set alone, old and new are that set.)
    had = view.old_replicas if edition == "server" else view.writes
    natural: dict[RequestKind, int] = {"reads": view.reads, "writes": had}

    def refused(level: levels.Level, home: int = 0) -> tuple[RequestKind, ...]:
        wanted: Mapping[RequestKind, tuple[levels.AnswerQuota, ...]] = {
            "reads": levels.read_quotas(level, view, dcs, home),
            "writes": levels.write_quotas(level, view, dcs, home, ACKNOWLEDGEMENT[edition]),
        }
        # Nothing is asked of a datacenter without replicas.
        needed = {kind: [quota for quota in wanted[kind] if quota.replicas] for kind in wanted}
        if factors is not None:
            factor = sum(factors.values()) if level == "QUORUM" else factors.get(places[home])
            needed = {
                kind: [
                    _of_factor(factor, quota, quota.replicas & natural[kind]) for quota in quotas
                ]
                for kind, quotas in needed.items()
            }
        return tuple(
            kind for kind, quotas in needed.items() if not levels.enough(tuple(quotas), up)
        )

    return ServedTablet(
        tuple(used),
        tuple(host for host in used if host not in down),
        refused("QUORUM"),
        tuple(sorted(dc for home, dc in enumerate(places) if refused("LOCAL_QUORUM", home))),
    )


def _of_factor(factor: int | None, quota: levels.AnswerQuota, counted: int) -> levels.AnswerQuota:
    more = quota.needed - levels.majority(counted)
    return levels.AnswerQuota(quota.replicas, (factor // 2 + 1 if factor else 0) + more)


def _mask(hosts: Sequence[str], some: Collection[str]) -> int:
    return sum(1 << bit for bit, host in enumerate(hosts) if host in some)


Places = Mapping[str, tuple[str, str]]  # the datacenter and the rack of each host


class TabletAvailability(Struct, frozen=True):
    """A tablet's replicas that live, and how many more may be lost before its quorum is."""

    tablet: int
    live: Replicas
    quorum: int

    @property
    def spare(self) -> int:
        """How many of the live replicas a quorum can do without; negative: there is none."""
        return len(self.live) - self.quorum


def in_force(tablet: Tablet, edition: Edition) -> Replicas:
    """The replicas that reads ask: until their switch those of before, then the new ones."""
    reads, _ = selectors(tablet, edition)
    return tablet.sets.chosen("new") if reads == "new" else tablet.replicas


def availability(
    given: TabletMap, lost: Collection[str], edition: Edition = "documents"
) -> tuple[TabletAvailability, ...]:
    """Each tablet with these hosts lost (dead or left), by the replicas in force."""
    every = [in_force(tablet, edition) for tablet in given.tablets]
    return tuple(
        TabletAvailability(
            number, tuple(r for r in replicas if r.host not in lost), len(replicas) // 2 + 1
        )
        for number, replicas in enumerate(every)
    )


def lost_with(
    given: TabletMap, lost: Collection[str], hosts: Iterable[str], edition: Edition = "documents"
) -> dict[str, tuple[int, ...]]:
    """For each host the tablets that have a quorum now and would have none if it went, too."""
    now = {each.tablet for each in availability(given, lost, edition) if each.spare >= 0}
    return {
        host: tuple(
            each.tablet
            for each in availability(given, {*lost, host}, edition)
            if each.spare < 0 and each.tablet in now
        )
        for host in hosts
    }


def primary_replica(given: TabletMap, tablet: int, places: Places) -> TabletReplica:
    """The replica on whose host a primary-range repair repairs a tablet.

    Replicas are taken in the order of datacenters, racks and hosts, one further for each round of
    tablets, so that neighbouring tablets have different ones. KeyError for a host without a place.
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
    hosts = (primary_replica(given, number, places).host for number in range(given.count))
    return tuple(number for number, host in enumerate(hosts) if host in left)


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
