"""What a keyspace's replication asks of each tablet, and how it comes there: one replica at a time.

It asks for replicas by datacenter, or for racks by name. The documents leave open which replica
comes or goes: here it comes to a rack that has the fewest of the tablet's, and goes from one that
has the most. The server takes the racks that have none in turn, by the tablet's number, then the
others, and drops the last replica of the datacenter in the order of the row, so that base tables
and views go on in pairs. With a rack list it comes to a rack of it that has none, and goes from one
that has too many. Sources: Topology over Raft, ``keyspace_rf_change``; the published server's
manual on CREATE KEYSPACE, whose rack lists say which racks have one replica each (edition
``server``); published ``network_topology_strategy``, ``add_tablets_in_dc`` and
``drop_tablets_in_dc``.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from kit.protocols.tablets.rules.replica_sets import Replicas, TabletReplica
from kit.protocols.topology.rules.cluster import Factor
from kit.protocols.topology.rules.machines import Edition

Replication = Mapping[str, Factor]  # by datacenter; one that is not named has no replica

Place = tuple[str, str]  # a datacenter and a rack


class Misfit(Struct, frozen=True, order=True):
    """Where replicas differ from what is asked for: a datacenter, or one rack of a rack list."""

    datacenter: str
    rack: str
    has: int
    wants: int


def misfits(places: Sequence[Place], replication: Replication) -> Iterator[Misfit]:
    """The places where the replicas are not those that are asked for."""
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


Steps = tuple[tuple[str, ...], tuple[str, ...]]
"""Hosts that may get the next replica, and hosts that may lose one."""


class ReplicaChange(Struct, frozen=True):
    """The change of one transition: a replica that comes, or one that goes."""

    added: TabletReplica | None = None
    removed: TabletReplica | None = None

    def on(self, replicas: Replicas) -> Replicas:
        """The replicas after it."""
        kept = tuple(each for each in replicas if each != self.removed)
        return kept if self.added is None else (*kept, self.added)


def steps(
    tablet: int,
    held: Sequence[str],
    replication: Replication,
    places: Mapping[str, Place],
    able: Sequence[str],
    edition: Edition,
) -> Steps:
    """The hosts for the next step of a tablet that some hosts hold, in the order of its row;
    ``able`` may get replicas.
    """
    coming, going = list[str](), list[str]()
    in_rack = Counter(places[host] for host in held)
    for each in misfits([places[host] for host in held], replication):
        inside = {p for p in places.values() if p == (each.datacenter, each.rack or p[1])}
        if each.has < each.wants:
            free = [host for host in able if host not in held and places[host] in inside]
            racks = sorted({places[host] for host in free})
            if edition == "server":
                racks = [rack for rack in racks if not in_rack[rack]] or racks
                racks = [racks[tablet % len(racks)]] if racks else []
            else:
                counts = [in_rack[rack] for rack in racks]
                racks = [rack for rack in racks if in_rack[rack] == min(counts)]
            coming += (host for host in free if places[host] in racks)
            continue
        here = [host for host in held if places[host] in inside]
        if edition == "server":
            going.append(here[-1])
        else:
            most = max(in_rack[places[host]] for host in here)
            going += (host for host in here if in_rack[places[host]] == most)
    return tuple(coming), tuple(going)


class RfPlanner:
    """Chooses among the steps of tablets: the emptiest shard gets, the fullest one loses.

    ``shards`` says how many each host has, ``steps_for`` which hosts may get or lose a replica of a
    tablet (its number) that some hosts hold, ``replicas`` are all that there are.
    """

    def __init__(
        self,
        shards: Mapping[str, int],
        steps_for: Callable[[int, tuple[str, ...]], Steps],
        replicas: Iterable[TabletReplica],
    ) -> None:
        self._held = {host: [0] * count for host, count in shards.items()}
        self._steps_for = steps_for
        for each in replicas:
            self._held[each.host][each.shard] += 1

    def next(self, tablet: int, replicas: Replicas) -> ReplicaChange | None:
        """The next step of a tablet, counted as done; None: it has all, or no host may get more."""
        coming, going = self._steps_for(tablet, tuple(each.host for each in replicas))
        if coming:
            host = min(coming, key=lambda each: min(self._held[each]))
            shard = self._held[host].index(min(self._held[host]))
            self._held[host][shard] += 1
            return ReplicaChange(added=TabletReplica(host, shard))
        if not (lost := [each for each in replicas if each.host in going]):
            return None
        removed = max(lost, key=lambda each: self._held[each.host][each.shard])
        self._held[removed.host][removed.shard] -= 1
        return ReplicaChange(removed=removed)
