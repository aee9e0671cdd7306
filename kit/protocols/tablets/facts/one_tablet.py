"""Where one tablet is while requests use it: nodes, their shards, both ends of its transition."""

from __future__ import annotations

from collections.abc import Iterator

from kit.protocols.storage.actions import StorageState
from kit.protocols.storage.rules.cells import NOTHING
from kit.protocols.storage.rules.masks import holds
from kit.protocols.tablets.facts.grid import GridHost, PlacedTablet, TabletGrid, TabletWay
from kit.protocols.tablets.facts.stages_in_use import path
from kit.protocols.tablets.requests.model import TabletRequests
from kit.protocols.tablets.rules.replica_sets import TabletReplica

TABLE = "ks.table"


def grid(m: TabletRequests, s: StorageState) -> TabletGrid:
    """The tablet as the newest version has it, with data where no replica of it is."""
    way = path(m, s)
    moving = bool(way.stages) and not way.ended
    ways = (TabletWay(way.kind, way.stages[-1], way.sets),) if moving else ()
    known = {*way.replicas, *way.sets.both} if moving else {*way.replicas}
    stray = tuple(place for place in _with_data(m, s) if place not in known)
    return TabletGrid(_hosts(m, s), (PlacedTablet(TABLE, 0, way.replicas, ways, stray),))


def _hosts(m: TabletRequests, s: StorageState) -> tuple[GridHost, ...]:
    """The nodes, all with as many shards."""
    places = [_place(name) for name in m.history.replicas]
    shards = 1 + max(place.shard for place in places)
    nodes = [i for i in range(m.replicas) if not holds(m.all_shards, i)]
    return tuple(
        GridHost(m.history.replicas[i], shards, note="down" if holds(s.down, i) else "")
        for i in nodes
    )


def _with_data(m: TabletRequests, s: StorageState) -> Iterator[TabletReplica]:
    for name, cell in zip(m.history.replicas, s.cells, strict=True):
        if cell != NOTHING:
            yield _place(name)


def _place(name: str) -> TabletReplica:
    """The shard that a name of a history stands for: that of a node is its first one."""
    host, _, shard = name.partition(":")
    return TabletReplica(host, int(shard or 0))
