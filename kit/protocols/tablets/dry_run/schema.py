"""A schema beside a dump of tablets: which replicas keyspaces ask for, and which tablets differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from msgspec import Struct

from kit.errors import BadInput
from kit.operators.importers.schema import ClusterSchema, CqlKeyspace, CqlTable, Factor
from kit.protocols.tablets.dry_run.nodes import SOMEWHERE
from kit.protocols.tablets.rules.balance.cluster import BalancerNode
from kit.protocols.tablets.rules.maps import TabletMap, keyspace_of
from kit.protocols.tablets.rules.replica_sets import Replicas
from kit.protocols.tablets.rules.replication import Misfit, Replication, misfits
from kit.protocols.tablets.rules.resize import CountOptions
from kit.protocols.topology.rules.machines import Edition


class MisfitTablet(Struct, frozen=True):
    """A tablet whose replicas are not those that its keyspace asks for."""

    table: str
    tablet: int
    misfits: tuple[Misfit, ...]


class TabletKeyspace(Struct, frozen=True):
    """A keyspace with tablets: its replication, its tables in the dump, the tablets that differ.

    ``replication`` has a number for a datacenter, or the racks that have a replica each; it is
    empty where nothing tells of datacenters, and then no tablet is judged. ``views`` are those of
    the schema by name, with their base tables; ``without_tablets`` are its tables that the dump
    does not have.
    """

    keyspace: str
    replication: Mapping[str, Factor]
    tables: tuple[str, ...]
    tablets: int
    differing: tuple[MisfitTablet, ...]
    views: Mapping[str, str]
    without_tablets: tuple[str, ...]


def names_by_id(schema: ClusterSchema | None) -> dict[str, str]:
    """The names of tables whose ids a schema tells, for dumps that leave names out."""
    tables = () if schema is None else schema.tables.values()
    return {each.table_id: each.full for each in tables if each.table_id}


def check_schema(schema: ClusterSchema, maps: Mapping[str, TabletMap], edition: Edition) -> None:
    """Check that a schema can be that of the tables in a dump.

    Raises:
        BadInput: for a keyspace without tablets that the dump has some of, a strategy that tablets
            do not go by, a rack list in edition ``documents``.
    """
    for name in sorted({keyspace_of(table) for table in maps} & set(schema.keyspaces)):
        keyspace = schema.keyspaces[name]
        field = f"{keyspace.line} keyspace {name}"
        if keyspace.tablets is False:
            raise BadInput(field, "no tablets", "tablets, of which the dump has some")
        if keyspace.strategy != "NetworkTopologyStrategy":
            raise BadInput(f"{field} class", keyspace.strategy, "NetworkTopologyStrategy")
        for factor in keyspace.factors.values():
            if edition == "documents" and not isinstance(factor, int):
                allowed = "a number in edition documents; edition server has rack lists"
                raise BadInput(field, ", ".join(factor), allowed)


def strangers(schema: ClusterSchema, maps: Mapping[str, TabletMap]) -> Iterator[str]:
    """Lines on what the dump has and the schema lacks."""
    unknown = sorted({keyspace_of(table) for table in maps} - {"", *schema.keyspaces})
    if unknown:
        yield f"{schema.source} does not tell the keyspace of {len(unknown):,}: {unknown[0]}"
    missing = [
        table
        for table in maps
        if table not in schema.tables and keyspace_of(table) in schema.keyspaces
    ]
    if schema.tables and missing:
        yield f"{schema.source} does not have the table {missing[0]} ({len(missing):,} in all)"


def replication_in(keyspace: CqlKeyspace, nodes: Sequence[BalancerNode]) -> Replication:
    """What a keyspace asks for in each datacenter that there is, or that it names."""
    datacenters = {node.datacenter for node in nodes}
    if SOMEWHERE in datacenters:
        return {}
    every = {} if keyspace.every is None else dict.fromkeys(datacenters, keyspace.every)
    return dict(sorted({**every, **keyspace.factors}.items()))


def keyspace_lines(
    schema: ClusterSchema, maps: Mapping[str, TabletMap], nodes: Sequence[BalancerNode]
) -> Iterator[TabletKeyspace]:
    """The keyspaces that have tablets, by name."""
    places = {node.host: (node.datacenter, node.rack) for node in nodes}
    by_keyspace: dict[str, list[str]] = {}
    for table in maps:
        by_keyspace.setdefault(keyspace_of(table), []).append(table)
    in_schema: dict[str, list[CqlTable]] = {}
    for each in schema.tables.values():
        in_schema.setdefault(each.keyspace, []).append(each)
    for name, own in by_keyspace.items():
        keyspace = schema.keyspaces.get(name)
        if keyspace is None:
            continue
        replication = replication_in(keyspace, nodes)
        differing = _differing({table: maps[table] for table in own}, replication, places)
        described = in_schema.get(name, [])
        yield TabletKeyspace(
            name,
            replication,
            tuple(own),
            sum(maps[table].count for table in own),
            tuple(differing) if replication else (),
            {each.full: f"{name}.{each.view_of}" for each in described if each.view_of},
            tuple(each.full for each in described if each.full not in maps),
        )


def _differing(
    maps: Mapping[str, TabletMap], replication: Replication, places: Mapping[str, tuple[str, str]]
) -> Iterator[MisfitTablet]:
    """The tablets that differ once their transitions are over; equal replica sets judged once."""
    known: dict[Replicas, tuple[Misfit, ...]] = {}
    for name, table in maps.items():
        for number, tablet in enumerate(table.tablets):
            replicas = tablet.sets.new
            if replicas not in known:
                hosts = [places[replica.host] for replica in replicas]
                known[replicas] = tuple(misfits(hosts, replication))
            if known[replicas]:
                yield MisfitTablet(name, number, known[replicas])


def count_options(schema: ClusterSchema, tables: Iterable[str]) -> dict[str, CountOptions]:
    """What the schema asks for of each table's tablets, beside their sizes."""
    return {table: _options(schema, schema.tables.get(table), table) for table in tables}


def _options(schema: ClusterSchema, table: CqlTable | None, name: str) -> CountOptions:
    keyspace = schema.keyspaces.get(keyspace_of(name))
    initial = 0 if keyspace is None else keyspace.initial
    counts = {} if table is None else table.counts
    per_shard = counts.get("min_per_shard_tablet_count")
    return CountOptions(
        initial,
        int(counts.get("min_tablet_count", 0)),
        int(counts.get("max_tablet_count", 0)),
        int(counts.get("expected_data_size_in_gb", 0)),
        None if per_shard is None else Fraction(per_shard),
    )
