"""What a change of a keyspace's replication would do: who gets and who loses replicas, or why not.

The refusals and the steps of each tablet are those of the models.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from msgspec import Struct

from kit.engine.registry import one_of
from kit.errors import BadInput
from kit.operators.importers.nodetool import place_name
from kit.protocols.tablets.cluster import replication_before
from kit.protocols.tablets.dry_run.nodes import SOMEWHERE
from kit.protocols.tablets.dry_run.opening import OpenedTablets
from kit.protocols.tablets.dry_run.schema import replication_in
from kit.protocols.tablets.rules.maps import TabletMap, group, keyspace_of
from kit.protocols.tablets.rules.replica_sets import Replicas
from kit.protocols.tablets.rules.replication import Misfit, Place, RfPlanner, misfits, steps
from kit.protocols.topology.rules import replication
from kit.protocols.topology.rules.cluster import (
    NOBODY,
    ClusterTopology,
    Factor,
    NodeEntry,
    Replication,
    RequestEntry,
)
from kit.protocols.topology.rules.rf_change import refused_change
from kit.protocols.topology.rules.safeguards import Setting

COMES, GOES = "+-"
"""Before the place of a replica that a step adds, or takes away."""


class ChangedTablet(Struct, frozen=True):
    """A tablet's way: its replicas before and after, one of them more or less in each step.

    ``lacks`` is what no node can take.
    """

    table: str
    tablet: int
    before: tuple[str, ...]
    steps: tuple[str, ...]
    after: tuple[str, ...]
    lacks: tuple[Misfit, ...] = ()


class RfReport(Struct, frozen=True):
    """A change of a keyspace's replication.

    ``refused`` says why the coordinator turns it away; then there are no changes. ``gains`` and
    ``losses`` are replicas by host, ``bytes`` what is copied (None: sizes are not known).
    """

    keyspace: str
    before: Mapping[str, Factor]
    after: Mapping[str, Factor]
    refused: str
    gains: Mapping[str, int]
    losses: Mapping[str, int]
    bytes: int | None
    tablets: tuple[ChangedTablet, ...]


def rf_change(opened: OpenedTablets, keyspace: str, words: Sequence[str]) -> RfReport:
    """What would become of a keyspace's tablets; ``words`` are as in ``dc1=3 dc2=r1,r2``.

    Raises:
        BadInput: for another keyspace, words that are no replication, tablets that differ from what
            the keyspace has, or where nothing tells of racks.
    """
    wanted = _wanted(words)
    bases = {
        name: table
        for name, table in opened.maps.items()
        if not table.base_table and keyspace_of(name) == keyspace
    }
    if not bases:
        known = sorted({*map(keyspace_of, opened.maps)})
        raise BadInput("KEYSPACE", keyspace, one_of(keyspace, known))
    places = {node.host: (node.datacenter, node.rack) for node in opened.nodes}
    if SOMEWHERE in {place for each in places.values() for place in each}:
        raise BadInput("--topology", None, "a dump of system.topology: racks have to be known")
    before = _before(opened, bases, places, keyspace)
    topology, request = _topology(opened, keyspace, before), _request(keyspace, wanted)
    after = replication.altered(topology, request)
    refused = refused_change(topology, request, Setting(opened.edition))
    changed = () if refused else tuple(_changed(opened, bases, places, after))
    moved = Counter(step.rpartition(":")[0] for each in changed for step in each.steps)
    return RfReport(
        keyspace,
        dict(before),
        dict(after),
        refused,
        {host[1:]: count for host, count in sorted(moved.items()) if host[0] == COMES},
        {host[1:]: count for host, count in sorted(moved.items()) if host[0] == GOES},
        None if opened.sizes is None else sum(_bytes(opened, each) for each in changed),
        changed,
    )


def _wanted(words: Sequence[str]) -> Replication:
    field = "DC=REPLICAS"
    wanted = replication.replication_in(words, field)
    for datacenter, factor in wanted:
        for name in (datacenter, *(factor if isinstance(factor, tuple) else ())):
            place_name(name, field)
    return wanted


def _before(
    opened: OpenedTablets,
    bases: Mapping[str, TabletMap],
    places: Mapping[str, Place],
    keyspace: str,
) -> Replication:
    schema = None if opened.schema is None else opened.schema.keyspaces.get(keyspace)
    stated = None if schema is None else tuple(replication_in(schema, opened.nodes).items())
    settled = [tablet.sets.new for table in bases.values() for tablet in table.tablets]
    return replication_before(
        [[places[each.host] for each in replicas] for replicas in settled], stated, keyspace
    )


def _topology(opened: OpenedTablets, keyspace: str, before: Replication) -> ClusterTopology:
    """As much of the topology as the refusals read."""
    nodes = tuple(
        NodeEntry(state="normal", tokens=True, rack=f"{node.datacenter}/{node.rack}")
        for node in opened.nodes
        if node.role == "normal" or (node.role == "excluded" and node.host in opened.down)
    )
    return ClusterTopology(nodes=nodes, keyspaces=((keyspace, before),))


def _request(keyspace: str, wanted: Replication) -> RequestEntry:
    return RequestEntry("keyspace_rf_change", NOBODY, keyspace=keyspace, replication=wanted)


def _changed(
    opened: OpenedTablets,
    bases: Mapping[str, TabletMap],
    places: Mapping[str, Place],
    after: Replication,
) -> Iterator[ChangedTablet]:
    """The ways of all tablets, which go one step each before any goes the next."""
    able = [node.host for node in opened.nodes if node.role == "normal"]
    wanted = dict(after)
    known = partial(steps, replication=wanted, places=places, able=able)
    first = {
        (name, number): tablet.sets.new
        for name, table in bases.items()
        for number, tablet in enumerate(table.tablets)
    }
    everywhere = (
        each
        for table in opened.maps.values()
        for tablet in table.tablets
        for each in tablet.sets.new
    )
    planner = RfPlanner({node.host: node.shards for node in opened.nodes}, known, everywhere)
    now: dict[tuple[str, int], Replicas] = dict(first)
    ways: dict[tuple[str, int], list[str]] = {place: [] for place in first}
    going = list(first)
    while going:
        left = []
        for place in going:
            change = planner.next(now[place])
            if change is not None:
                now[place] = change.on(now[place])
                step = f"{COMES}{change.added}" if change.added else f"{GOES}{change.removed}"
                ways[place].append(step)
                left.append(place)
        going = left
    for (name, number), way in ways.items():
        replicas = now[name, number]
        lacks = tuple(misfits([places[each.host] for each in replicas], wanted))
        if way or lacks:
            old = first[name, number]
            yield ChangedTablet(
                name, number, tuple(map(str, old)), tuple(way), tuple(map(str, replicas)), lacks
            )


def _bytes(opened: OpenedTablets, changed: ChangedTablet) -> int:
    """What is copied for a tablet: for each replica that comes as much as the largest one has."""
    sizes = opened.sizes or {}
    columns = [sizes.get(name, ()) for name in group(changed.table, opened.maps)]
    rows = [column[changed.tablet] for column in columns if changed.tablet < len(column)]
    largest = sum(max(row.values(), default=0) for row in rows)
    return largest * sum(step.startswith(COMES) for step in changed.steps)
