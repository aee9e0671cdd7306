"""How tablets come to the replicas that their keyspace is to have: one replica each at a time.

The request's own command begins a transition of every tablet. A replica comes to a rack that has
the fewest of the tablet's, or goes from one that has the most. A tablet whose transition went back
begins another one; the documents say nothing of that. Sources: seed 000, ``keyspace_rf_change``;
published coordinator, its handler of that request.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.tablets.rules.replica_sets import TabletReplica
from kit.protocols.tablets.tracks.actions import BeginTransition
from kit.protocols.tablets.tracks.planning import free, replaced, replica_of, targets
from kit.protocols.tablets.tracks.state import TabletRow, TabletTransition, TracksState
from kit.protocols.topology.rules.cluster import Replication, RequestEntry
from kit.protocols.topology.rules.racks import place_of
from kit.protocols.topology.rules.replication import altered

if TYPE_CHECKING:
    from kit.protocols.tablets.tracks.model import Tracks


def completions(model: Tracks, s: TracksState) -> Iterator[BeginTransition]:
    """The transitions that bring a tablet nearer to its keyspace's replicas."""
    for _, wanted in s.control.topology.keyspaces:
        for tablet in range(len(s.tablets)):
            yield from _of_tablet(model, s, tablet, wanted)


def _of_tablet(
    model: Tracks, s: TracksState, tablet: int, wanted: Replication
) -> Iterator[BeginTransition]:
    row, kind = s.tablets[tablet], model.parameters.rebuild
    if not free(model, row):
        return
    for datacenter, count in wanted:
        here = [each for each in row.replicas if _datacenter(model, each.host) == datacenter]
        if len(here) < count:
            for target in _coming(model, s, row, datacenter):
                yield BeginTransition(tablet, kind, "", str(target))
        if len(here) > count:
            held = _by_rack(model, (each.host for each in here))
            for source in here:
                if held[model.rack(source.host)] == max(held.values()):
                    yield BeginTransition(tablet, kind, str(source))


def _coming(
    model: Tracks, s: TracksState, row: TabletRow, datacenter: str
) -> Iterator[TabletReplica]:
    """The places for one more replica: on no host that has one, in racks with the fewest."""
    taken = {each.host for each in row.replicas}
    hosts = [model.names[node] for node in nodes_in(targets(s))]
    able = [host for host in hosts if host not in taken and _datacenter(model, host) == datacenter]
    held = _by_rack(model, taken)
    fewest = min((held[model.rack(host)] for host in able), default=0)
    for host in able:
        if held[model.rack(host)] == fewest:
            yield from (TabletReplica(host, shard) for shard in range(model.parameters.shards))


def _datacenter(model: Tracks, host: str) -> str:
    return place_of(model.rack(host))[0]


def _by_rack(model: Tracks, hosts: Iterable[str]) -> Counter[str]:
    return Counter(map(model.rack, hosts))


def begun(
    model: Tracks, s: TracksState, request: RequestEntry
) -> tuple[tuple[int, TabletTransition], ...]:
    """What the request's command begins: of each tablet one transition.

    A replica comes to the shard with the fewest replicas, or goes from the one with the most.
    """
    after = altered(s.control.topology, request)
    load = Counter(replica for row in s.tablets for replica in row.replicas)
    begins = []
    for tablet, row in enumerate(s.tablets):
        options = list(_of_tablet(model, s, tablet, after))
        if options:
            first = min(options, key=lambda each: _weight(each, load))
            new = replaced(row, first.source, first.target)
            load.update(new)
            load.subtract(row.replicas)
            begins.append((tablet, TabletTransition(first.kind, "", row.replicas, new)))
    return tuple(begins)


def _weight(action: BeginTransition, load: Counter[TabletReplica]) -> int:
    if action.target:
        return load[replica_of(action.target)]
    return -load[replica_of(action.source)]
