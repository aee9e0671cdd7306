"""Opening a cluster's tablets: dumps of ``system.tablets`` with what tells of nodes and sizes.

Nodes come from a dump of ``system.topology``, from the text of ``nodetool status``, from
``system.load_per_node``, or, for want of these, from the replicas themselves. What cannot be so is
refused with its line and column.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kit.edge.bundles import beginning
from kit.edge.limits import check_room
from kit.edge.paths import Readable, source_name
from kit.edge.reading import read_text
from kit.errors import BadInput, counted, first_of
from kit.model.registry import check_one_of, edition_of, one_of
from kit.operators.importers import system_tables
from kit.operators.importers.anonymous import hidden
from kit.operators.importers.nodetool import LEGEND, Seen, parse_status_text
from kit.operators.importers.ringfile import LARGEST_FILE
from kit.operators.importers.schema import ClusterSchema, is_schema, is_schema_rows, read_schema
from kit.operators.importers.snapshots import Snapshot, is_listing, is_snapshot, read_snapshot
from kit.protocols.group0.rules.releases import CHANGES, NEWEST, Release, has, release_of
from kit.protocols.tablets.rules.balance import cluster
from kit.protocols.tablets.rules.balance.reasons import bytes_said
from kit.protocols.tablets.rules.maps import (
    RESIZE_TYPES,
    Tablet,
    TabletMap,
    complete,
    faults,
    keyspace_of,
)
from kit.protocols.tablets.rules.replica_sets import TabletReplica
from kit.protocols.tablets.rules.replication import Replication
from kit.protocols.tablets.rules.resize import TARGET_SIZE
from kit.protocols.tablets.rules.stages import TRANSITIONS
from kit.protocols.topology.dry_run.opening import OpenedTopology, check_anonymous, open_topology
from kit.protocols.topology.rules.columns import SystemTopologyRow
from kit.protocols.topology.rules.machines import EDITIONS, Edition

PathLike = Readable
SOMEWHERE = "unknown"  # the datacenter and rack of a node of which nothing tells

STRANGE = "a host that the other files name; are all files from one cluster?"
Place = tuple[str | None, str | None]  # a datacenter and a rack, as far as a file tells
few = partial(first_of, most=5)  # of the hosts that a line names
BYTES_A_SHARD = 250  # columns of loads, and what is made of them on the way
_ROLES: dict[str | None, cluster.NodeRole] = {
    "normal": "normal",
    "rebuilding": "normal",
    "decommissioning": "leaving",
    "removing": "removing",
    "left": "left",
}
_STATES: dict[str | None, cluster.NodeRole] = {"leaving": "leaving", "joining": "joining"}
_DRAINED_BY: dict[str | None, cluster.NodeRole] = {"leave": "leaving", "remove": "removing"}


class OpenedTablets(Struct, frozen=True):
    """A cluster's tablets, and what the files tell of nodes and sizes.

    ``maps`` are by table name, ``repairs`` (when a tablet was repaired last) by that and tablet,
    ``sizes`` as the balancer takes them (None: not known). ``down`` are hosts that do not answer;
    which of them are excluded, given up by the operator, the nodes' roles say. ``incomplete`` are
    those that loads show without all sizes (None: they do not tell). ``addresses`` gives those of
    ``nodetool status`` their hosts. ``ignore_msb`` is what static sharding on a host ignores.
    ``topology`` and ``schema`` are None where no file of theirs was given.
    """

    source: str
    edition: Edition
    nodes: tuple[cluster.BalancerNode, ...]
    maps: Mapping[str, TabletMap]
    sizes: cluster.TabletSizes | None
    down: frozenset[str]
    addresses: Mapping[str, str]
    ignore_msb: Mapping[str, int]
    target_size: int = TARGET_SIZE
    warnings: tuple[str, ...] = ()
    topology: OpenedTopology | None = None
    schema: ClusterSchema | None = None
    repairs: Mapping[str, Mapping[int, datetime]] = {}
    incomplete: frozenset[str] | None = None
    release: Release = NEWEST

    @property
    def enabled(self) -> bool:
        """Whether balancing is on, as it is where nothing tells."""
        return self.topology is None or self.topology.table.tablet_balancing_enabled is not False

    @property
    def left(self) -> frozenset[str]:
        """The hosts that have left the cluster and still have replicas, as after a replace."""
        rows = () if self.topology is None else self.topology.table.rows
        ids = {row.host_id for row in rows if row.node_state == "left"}
        return frozenset(node.host for node in self.nodes if node.host in ids)

    @property
    def bases(self) -> dict[str, TabletMap]:
        """The tables that have a map of their own, by name."""
        return {name: table for name, table in self.maps.items() if not table.base_table}

    @property
    def gone(self) -> frozenset[str]:
        """The hosts that answer nobody: they are down, or have left."""
        return self.down | self.left

    @property
    def places(self) -> dict[str, tuple[str, str]]:
        """The datacenter and rack of each host."""
        return {node.host: (node.datacenter, node.rack) for node in self.nodes}

    @property
    def input(self) -> cluster.BalancerInput:
        """The balancer's view of it."""
        given = cluster.balancer_input(
            self.nodes,
            self.maps,
            self.sizes,
            target_size=self.target_size,
            enabled=self.enabled,
            rack_lists=frozenset(self.rack_lists()),
            release=self.release,
        )
        reported = frozenset[str]() if given.counts else self.incomplete or frozenset()
        return replace(given, incomplete=given.incomplete | reported)

    def rack_lists(self) -> Iterator[tuple[str, str]]:
        """The tables, and the datacenters in which the schema names racks of theirs."""
        for table in self.maps:
            for datacenter, factor in self.replication(keyspace_of(table)).items():
                if not isinstance(factor, int):
                    yield table, datacenter

    def replication(self, keyspace: str) -> Replication:
        """What a keyspace asks for in each datacenter that there is or that it names; nothing where
        no schema tells, or nobody tells of datacenters.
        """
        given = self.schema and self.schema.keyspaces.get(keyspace)
        datacenters = {node.datacenter for node in self.nodes}
        if not given or SOMEWHERE in datacenters:
            return {}
        every = {} if given.every is None else dict.fromkeys(datacenters, given.every)
        return dict(sorted({**every, **given.factors}.items()))

    def host(self, name: str, field: str) -> str:
        """The host of an id, its beginning, or an address. BadInput for none, or several."""
        if name in self.addresses:
            return self.addresses[name]
        hosts = [node.host for node in self.nodes]
        fitting = [host for host in hosts if name and host.startswith(name.lower())]
        if len(fitting) != 1:
            allowed = f"a name that fits only one node; this one fits {few(fitting)}"
            raise BadInput(field, name, allowed if fitting else one_of(name, hosts))
        return fitting.pop()


def open_tablets(  # noqa: PLR0913  # each file by its own name
    dump: PathLike,
    *,
    topology: PathLike | None = None,
    status: PathLike | None = None,
    sizes: PathLike | None = None,
    loads: PathLike | None = None,
    schema: PathLike | Sequence[PathLike] | None = None,
    edition: Edition = "server",
    target_size: int = TARGET_SIZE,
    anonymize: bool = False,
    release: str = NEWEST,
) -> OpenedTablets:
    """Open a dump of ``system.tablets``, with the other files of the same cluster.

    ``schema`` is one file or several: CQL, or rows of ``system_schema``. ``dump`` may be a
    snapshot, a folder or an archive, which has more of the files; ``anonymize`` gives pseudonyms to
    its names. ``release`` is the server's. BadInput for a file that is not well formed, a content
    that cannot be, files that do not fit each other, another release.
    """
    files: dict[str, Any] = {"topology": topology, "status": status, "loads": loads}
    files |= {"sizes": sizes, "schema": schema}
    with hidden(anonymize):
        if not is_snapshot(dump):
            check_anonymous(dump, None, anonymize)
            return _open({"dump": dump, **files}, edition, release, target_size)
        others = [each for each in files.values() if each is not None]
        first = next((e if isinstance(e, Readable) else e[0] for e in others), None)
        check_anonymous(dump, first, anonymize)
        snapshot = read_snapshot(dump, anonymize=anonymize)
        return opened_snapshot(snapshot, files, edition, release, target_size)


def opened_snapshot(
    snapshot: Snapshot, files: Mapping[str, Any], edition: Edition, release: str = NEWEST,
    target_size: int = TARGET_SIZE,
) -> OpenedTablets:  # fmt: skip
    """Open a snapshot with other files beside it. BadInput also for two files of a kind."""
    twice = next((name for name in snapshot.files if files.get(name) is not None), None)
    if twice is not None:
        allowed = f"one file of each kind; {snapshot.files[twice].name} is already of this kind"
        raise BadInput(f"--{twice}", source_name(files[twice]), allowed)
    opened = _open({**files, **snapshot.files}, edition, release, target_size, instant=False)
    return replace(opened, warnings=(*snapshot.warnings, *opened.warnings))


def _open(
    files: Mapping[str, Any], edition: Edition, release: str, target_size: int,
    *, instant: bool = True,
) -> OpenedTablets:  # fmt: skip
    edition, line = edition_of(edition, EDITIONS), release_of(release)[0]
    table = system_tables.read_tablets(files["dump"])
    known = KnownNodes(table, edition, instant)
    read_nodes(known, *map(files.get, ("topology", "status", "loads")))
    tabletless = f"on {line}, {CHANGES['tablets'].before}: name the release that it runs"
    known.warnings += [*table.warnings, *[tabletless] * (not has("tablets", line))]
    sizes, schema, described = files.get("sizes"), files.get("schema"), None
    if schema is not None:
        described = read_schema(*([schema] if isinstance(schema, Readable) else schema))
    known.names = names_of(table, described)
    if described is not None:
        known.warnings += other_ids(table, described, instant)
    maps = {known.names[lines.table_id]: map_of(lines, known) for lines in table.tables.values()}
    if not instant:
        known.warnings += ahead(maps, known)
    if described is not None:
        check_schema(described, maps, edition)
        known.warnings += strangers(described, maps)
    given = None
    if sizes is not None:
        given = sizes_of(system_tables.read_sizes(sizes), source_name(sizes), maps, known)
    elif files.get("loads") is not None:  # percents of known capacities look as if all were known
        size = bytes_said(target_size)
        known.warnings.append(f"no file gives the sizes of tablets: each counts as {size}")
    repairs = {
        known.names[lines.table_id]: {
            number: datetime.fromisoformat(row.repair_time)
            for number, row in enumerate(sorted(lines.tablets, key=lambda row: row.last_token))
            if row.repair_time
        }
        for lines in table.tables.values()
    }
    return OpenedTablets(
        table.source,
        edition,
        tuple(known.nodes[host] for host in sorted(known.nodes)),
        dict(sorted(maps.items())),
        given,
        frozenset(known.down),
        known.addresses,
        known.ignore_msb,
        target_size,
        tuple(known.warnings),
        known.topology,
        described,
        repairs,
        None if known.incomplete is None else frozenset(known.incomplete),
        line,
    )


# -- nodes -----------------------------------------------------------------------------------------


class KnownNodes(Struct):
    """What is known so far of the nodes, file by file.

    ``shards`` are as many as the replicas in ``table`` show on each host, ``seen`` is each host's
    health in ``nodetool status``, ``names`` are those of the tables by id, and ``sessions`` numbers
    the tablets' sessions. Files of one ``instant`` have to agree; those of a snapshot were read one
    after the other, so what differs between them is a warning.
    """

    table: system_tables.TabletsTable
    edition: Edition
    instant: bool
    shards: dict[str, int] = {}
    nodes: dict[str, cluster.BalancerNode] = {}
    down: set[str] = set()
    addresses: dict[str, str] = {}
    ignore_msb: dict[str, int] = {}
    warnings: list[str] = []
    topology: OpenedTopology | None = None
    incomplete: set[str] | None = None
    seen: dict[str, str] = {}
    names: dict[str, str] = {}
    sessions: dict[str, int] = {}

    def add(
        self, host: str, place: Place, role: cluster.NodeRole = "normal", count: int | None = None
    ) -> None:
        """Add a node, which has as many shards as its replicas show where nothing tells."""
        shards = self.shards.get(host, 1) if count is None else count
        dc, rack = (each or SOMEWHERE for each in place)
        self.nodes[host] = cluster.BalancerNode(host, dc, rack, shards, role=role)

    def stands(self, host: str, excluded: bool | None) -> None:
        """Say of a node that it is excluded, or down."""
        node = self.nodes[host]
        role = _standing(node.role, host in self.down, bool(excluded))
        self.nodes[host] = replace(node, role=role)

    def check(self, field: str, host: str, place: Place) -> None:
        """Check that a node is known, and in the datacenter and rack that earlier files give; fill
        these in where none gave them. BadInput of ``field`` for a node that is not known, or that
        is in another place.
        """
        if (node := self.nodes.get(host)) is None:
            raise BadInput(field, host, STRANGE)
        said = (("datacenter", place[0], node.datacenter), ("rack", place[1], node.rack))
        for what, said_, others in said:
            if said_ and SOMEWHERE not in (said_, others) and said_ != others:
                allowed = f"{others}, as in the other files; are all files from one cluster?"
                raise BadInput(f"{field} {host} {what}", said_, allowed)
        dc, rack = (own if own != SOMEWHERE else said_ or SOMEWHERE for _, said_, own in said)
        self.nodes[host] = replace(node, datacenter=dc, rack=rack)


def read_nodes(
    known: KnownNodes, topology: PathLike | None, status: PathLike | None, loads: PathLike | None
) -> None:
    """Add the nodes of ``system.topology``, ``nodetool status`` and ``system.load_per_node``, each
    where it is given, in this order; without any of them those that replicas name, as up and in an
    unknown rack. What is still not known then is warned of. BadInput for a file that is not well
    formed, or contradicts one before it, and for more shards than there is memory for.
    """
    replicas = {
        place
        for lines in known.table.tables.values()
        for tablet in lines.tablets
        for place in (*tablet.replicas, *tablet.new_replicas)
    }
    # The last one of a host is the largest.
    known.shards = {host: shard + 1 for host, shard in sorted(replicas)}
    warn = known.warnings.append
    if topology is not None:
        _add_topology(known, open_topology(topology, status=status, edition=known.edition))
    if status is not None:
        text = read_text(status, "--status", LARGEST_FILE)
        _add_status(known, parse_status_text(text, source_name(status)).nodes, source_name(status))
    if loads is not None:
        _add_loads(known, loads)
    if not known.nodes:
        shown = "racks are unknown and bind no move here, and shards are those that replicas show"
        warn(f"no file describes the nodes (--topology, --status): {shown}")
        for host in known.shards:
            known.add(host, (None, None))
    elif topology is None:
        warn("no --topology: each node is given as many shards as its replicas show")
    every = sorted(known.nodes.items())
    placeless = [host for host, node in every if SOMEWHERE in (node.datacenter, node.rack)]
    if placeless and (topology, status, loads) != (None, None, None):
        warn(f"no file gives the datacenter and rack of {few(placeless)}")
    total = sum(node.shards for _, node in every)
    check_room(known.table.source, f"{total} shards", total * BYTES_A_SHARD)
    if without := [host for host, node in every if not node.capacity]:
        which = "capacities" if len(without) == len(every) else f"capacity of {few(without)}"
        warn(f"no {which} (--loads): 100% is one tablet of the target size per shard")


def _add_topology(known: KnownNodes, opened: OpenedTopology) -> None:
    known.topology = opened
    known.warnings += opened.warnings
    known.down |= opened.down or set()
    untold = []
    for row in opened.table.rows:
        if row.node_state == "left" and row.host_id not in known.shards:
            continue
        own, excluded = _role(row), row.host_id in opened.table.ignore_nodes
        role = _standing(own, row.host_id in known.down, excluded)
        if excluded and row.topology_request == "leave":
            stays = f"{row.host_id} is excluded, so its tablets stay there and the server cancels"
            known.warnings.append(f"{stays} its request to leave: it can only be removed")
        known.add(row.host_id, (row.datacenter, row.rack), role, row.shard_count)
        untold += [row.host_id] if row.shard_count is None else []
        if row.ignore_msb is not None:
            known.ignore_msb[row.host_id] = row.ignore_msb
    if untold:
        which = f"shard_count of {few(untold)}, so it is taken from the replicas"
        known.warnings.append(f"{opened.source} does not give the {which}")


def _role(row: SystemTopologyRow) -> cluster.NodeRole:
    role = _DRAINED_BY.get(row.topology_request, _ROLES.get(row.node_state, "joining"))
    return "zero-token" if role == "normal" and not row.tokens else role


def _standing(role: cluster.NodeRole, down: bool, excluded: bool) -> cluster.NodeRole:
    if excluded and role in ("normal", "down", "leaving"):
        return "excluded"
    return "down" if down and role == "normal" else role


def _add_status(known: KnownNodes, listed: Iterable[Seen], source: str) -> None:
    for node in listed:
        host, place = node.host_id, (node.dc, node.rack)
        joins = node.state == "joining" and known.topology is not None
        if host is None or (joins and host not in known.nodes):
            if known.topology is None:  # else its warnings say so
                known.warnings.append(f"{source} does not give the host id of {node.name}")
            continue
        known.addresses[node.name] = host
        known.seen[host] = node.health or "unknown"
        if known.topology is not None:
            known.check(f"{source} node", host, place)
        else:
            known.down |= {host} if node.health in ("down", "excluded") else set()
            known.add(host, place, _STATES.get(node.state, "normal"))
        known.stands(host, node.health == "excluded")


def _add_loads(known: KnownNodes, loads: PathLike) -> None:
    listed, source, warn = bool(known.nodes), source_name(loads), known.warnings.append
    gone = known.topology.table.rows if known.topology else ()
    left = {row.host_id for row in gone} - known.nodes.keys()
    given = system_tables.read_loads(loads)
    if not known.instant and all(load.up is None for load in given):
        warn(f"{source} does not say who is up: each counts as up")
    if any(load.complete is not None for load in given):
        known.incomplete = {load.host for load in given if not load.complete}
    for load in given:
        if load.host in left:
            continue
        place = (load.datacenter, load.rack)
        if listed and not known.instant and load.host not in known.nodes:
            said = "it joined after the other table was read" if load.up else "it may have left"
            warn(f"only {source} has node {load.host}: {said}")
            continue
        if listed:
            known.check(f"{source} node", load.host, place)
        if load.up is False:
            known.down.add(load.host)
        seen = known.seen.get(load.host)
        if seen not in (None, "unknown") and load.up not in (None, seen == "up"):
            up = "up" if load.up else "down"
            here = f"{load.host} is {up} in {source}, but {seen} in the status"
            warn(f"{here}: it counts as down. Ask nodetool status on several nodes")
        if load.host not in known.nodes:
            # What is removed is excluded; what leaves sends its tablets itself.
            drained: cluster.NodeRole = "removing" if load.excluded else "leaving"
            known.add(load.host, place, drained if load.draining else "normal")
        known.stands(load.host, load.excluded)
        node = known.nodes[load.host]
        if load.ip is not None:
            known.addresses.setdefault(load.ip, load.host)
        drains = node.role in cluster.DRAINED
        if not known.instant and load.draining is not None and drains != load.draining:
            is_, other = ("draining", "not") if load.draining else ("not draining", "draining")
            here = f"{load.host} is {is_} in {source} but {other} in the topology"
            warn(f"{here}: the two dumps were read at different times")
        known.nodes[load.host] = replace(node, capacity=load.effective or load.capacity or 0)
    heard = [load for load in given if load.host in known.nodes]
    if known.edition == "server" and any(load.effective for load in heard):
        gross = [load.host for load in heard if load.capacity and not load.effective]
        known.warnings += _capacities(source, gross)


def _capacities(source: str, gross: Sequence[str]) -> Iterator[str]:
    """Lines on what is full at 100%.

    Source: published ``load_per_node`` (what is free, and what tablets take, is what is balanced by
    size), and the option ``force_capacity_based_balancing``.
    """
    yield "100% is effective_capacity; no file says if the cluster is set to use storage_capacity"
    if gross:
        yield (
            f"{source} does not give the effective_capacity of {few(gross)}, so storage_capacity "
            "is used there: these loads look lower than they are"
        )


# -- maps ------------------------------------------------------------------------------------------


def names_of(
    table: system_tables.TabletsTable, schema: ClusterSchema | None = None
) -> dict[str, str]:
    """Each table id's name, by a schema where a dump lacks it; the id where a name has two."""
    tables = () if schema is None else schema.tables.values()
    described = {each.table_id: each.full for each in tables}
    names = {
        id_: described.get(id_, id_) if lines.name == id_ else lines.name
        for id_, lines in table.tables.items()
    }
    times = Counter(names.values())
    return {id_: name if times[name] == 1 else id_ for id_, name in names.items()}


def other_ids(
    table: system_tables.TabletsTable, schema: ClusterSchema, instant: bool
) -> Iterator[str]:
    """Lines on tables that have another id in a schema. BadInput where both are of one instant."""
    described = {each.table_id: each.full for each in schema.tables.values() if each.table_id}
    ids = {name: id_ for id_, name in described.items()}
    for id_, lines in table.tables.items():
        own = {ids.get(lines.name, id_), described.get(id_, lines.name)}
        for said in sorted(own - {id_, lines.name}):
            if lines.name != id_:
                allowed = f"{id_}, as in {table.source}: was it dropped and made again?"
                if instant:
                    raise BadInput(f"{schema.source} id of {lines.name}", said, allowed)
                yield f"{schema.source} has {said} for {lines.name}, not {allowed}"


def map_of(lines: system_tables.TableLines, known: KnownNodes) -> TabletMap:
    """The map of a table. BadInput for what cannot be so, with its line and column."""
    name = known.names[lines.table_id]
    base = known.table.tables.get(lines.base_table)

    def refused(column: str, value: object, allowed: str, line: str = lines.line) -> BadInput:
        return BadInput(f"{line} {column}", value, allowed)

    if lines.base_table and (base is None or base.base_table):
        allowed = "a table of this dump with tablets of its own"
        raise refused("base_table", lines.base_table, allowed)
    resize = next((kind for kind in RESIZE_TYPES if kind == lines.resize_type), None)
    if resize is None:
        raise refused("resize_type", lines.resize_type, ", ".join(RESIZE_TYPES))
    if lines.resize_seq_number < 0:
        raise refused("resize_seq_number", lines.resize_seq_number, "a number from 0 up")
    rows = sorted(lines.tablets, key=lambda row: row.last_token)
    # Without a merge of an odd count the column says nothing.
    alone = lines.isolated if resize == "merge" and len(rows) % 2 else None
    if alone is not None and alone not in range(0, len(rows), 2):
        allowed = f"an even number below {len(rows)}, the tablet count of {name}"
        raise refused("isolated_tablet_for_merge", alone, allowed)
    tablets = tuple(_tablet(row, known) for row in rows)
    of = known.names[lines.base_table] if lines.base_table else ""
    given = TabletMap(name, tablets, of, resize, lines.resize_seq_number, alone)
    for fault in faults(given):
        where = lines.line if fault.tablet is None else rows[fault.tablet].line
        raise refused(fault.column, fault.value, f"{fault.allowed} (table {name})", where)
    counted = lines.tablet_count
    count = len((base or lines).tablets)
    if counted is not None and counted != count:
        rows_of = "rows of its base_table" if base else "rows; are some missing?"
        allowed = f"{count}, the number of {rows_of} (table {name})"
        raise refused("tablet_count", counted, allowed)
    return given


def _tablet(row: system_tables.TabletLine, known: KnownNodes) -> Tablet:
    tables, sessions = TRANSITIONS[known.edition], known.sessions
    kind = next((kind for kind in tables if kind == row.transition), None)
    if row.transition and kind is None:
        allowed = one_of(row.transition, list(tables))
        if row.transition in TRANSITIONS["server"]:
            allowed += f"; {row.transition} exists only in edition server"
        raise BadInput(f"{row.line} transition", row.transition, allowed)
    if kind is not None:
        check_one_of(f"{row.line} stage", row.stage, [state.name for state in tables[kind].states])
    session = sessions.setdefault(row.session, len(sessions) + 1) if row.session else 0
    columns = {"replicas": row.replicas, "new_replicas": row.new_replicas}
    for column, places in columns.items():
        for host, shard in places:
            if (node := known.nodes.get(host)) is None:
                raise BadInput(f"{row.line} {column}", host, STRANGE)
            if not 0 <= shard < node.shards:
                allowed = f"a shard from 0 to {node.shards - 1} of {host}"
                raise BadInput(f"{row.line} {column}", shard, allowed)
    replicas, new = (
        tuple(TabletReplica(*place) for place in places) for places in columns.values()
    )
    if kind is not None and not new:
        new = replicas
    return Tablet(row.last_token, replicas, new, row.stage, kind or "", session)


def ahead(maps: Mapping[str, TabletMap], known: KnownNodes) -> Iterator[str]:
    """A line where tablets are in transition, and the topology's state does not have them move."""
    moving = sum(bool(t.transition) for table in maps.values() for t in table.tablets)
    if known.topology is not None and moving and not known.topology.table.transition_state:
        version = known.topology.table.version
        yield (
            f"{counted(moving, 'tablet')} in transition, but none at topology version "
            f"{version}: the two dumps were read at different times"
        )


def sizes_of(
    given: system_tables.TabletBytes, source: str, maps: Mapping[str, TabletMap], known: KnownNodes
) -> cluster.TabletSizes | None:
    """Sizes by table name and tablet (None: of no table); a warning says how many are of none.
    BadInput for a tablet that the dump does not have, or a host that no file names.
    """
    rows, warn = known.topology.table.rows if known.topology else (), known.warnings.append
    names = known.names
    hosts = {*known.nodes, *(row.host_id for row in rows)}
    sizes: dict[str, list[Mapping[str, int]]] = {}
    of_none = 0
    for table, tablets in given.items():
        if table not in names:
            if not known.instant:
                warn(f"only {source} has table {table}: it was read at a different time")
                continue
            raise BadInput(f"{source} table_id", table, "a table of the dump of system.tablets")
        base = complete(names[table], maps)
        places = {tablet.last_token: tablet.sets.both for tablet in base.tablets}
        if not known.instant and tablets.keys() - places.keys():
            what = f"{names[table]} has other tablets in {source}: the table was split or merged"
            warn(f"{what} in between, so its sizes are unknown")
            continue
        for last, row in tablets.items():
            if last not in places:
                allowed = f"the last token of a tablet of {names[table]}"
                raise BadInput(f"{source} last_token", last, allowed)
            stranger = next((host for host in row if host not in hosts), None)
            if stranger is not None:
                raise BadInput(f"{source} last_token {last} replicas", stranger, STRANGE)
            of_none += len(row.keys() - {place.host for place in places[last]})
        if absent := len(places.keys() - tablets.keys()):
            what = f"{source} lacks {counted(absent, 'row')} of {names[table]}: is it cut short?"
            warn(f"{what} Here these sizes count as unknown to the server")
        sizes[names[table]] = [tablets.get(last, {}) for last in base.last_tokens]
    unknown = {
        place.host
        for name in maps
        for number, tablet in enumerate(complete(name, maps).tablets)
        for place in tablet.replicas
        if place.host not in (sizes[name][number] if name in sizes else ())
    }
    if unknown:
        warn(
            f"no size is known of replicas on {few(sorted(unknown))}: where sizes count, here each "
            "is the target size. From 2026.1 on, a server plans without such a node until it "
            "reports, and drains no other node beside it unless it is excluded. A Player does not "
            "wait"
        )
    if of_none:
        warn(f"{source} has sizes for replicas that the dump does not have: {of_none:,}")
    return sizes or None


def check_schema(schema: ClusterSchema, maps: Mapping[str, TabletMap], edition: Edition) -> None:
    """Check that a schema can be that of the tables in a dump. BadInput for a keyspace without
    tablets that the dump has some of, a strategy that tablets do not go by, a rack list in edition
    ``documents``.
    """
    for name in sorted({keyspace_of(table) for table in maps} & set(schema.keyspaces)):
        keyspace = schema.keyspaces[name]
        field = f"{keyspace.line} keyspace {name}"
        if keyspace.tablets is False:
            raise BadInput(field, "no tablets", "tablets, because the dump has some")
        if keyspace.strategy != "NetworkTopologyStrategy":
            raise BadInput(f"{field} class", keyspace.strategy, "NetworkTopologyStrategy")
        for factor in keyspace.factors.values():
            if edition == "documents" and not isinstance(factor, int):
                allowed = "a number in edition documents; only edition server has rack lists"
                raise BadInput(field, ", ".join(factor), allowed)


def strangers(schema: ClusterSchema, maps: Mapping[str, TabletMap]) -> Iterator[str]:
    """Lines on what the dump has and the schema lacks."""
    if unknown := sorted({keyspace_of(table) for table in maps} - {"", *schema.keyspaces}):
        count = f"{len(unknown):,}, first {unknown[0]}"
        yield f"keyspaces that {schema.source} does not describe: {count}"
    described = [table for table in maps if keyspace_of(table) in schema.keyspaces]
    missing = [table for table in described if table not in schema.tables]
    if schema.tables and missing:
        yield f"tables that {schema.source} does not describe: {len(missing):,}, first {missing[0]}"


# -- files, each known by what is in it --------------------------------------------------------

# Of kinds whose columns the next ones have as well, the first counts.
FILE_KINDS: Mapping[str, Callable[[str], bool]] = {
    "sizes": system_tables.is_sizes,
    "dump": lambda text: is_listing(text) or system_tables.is_tablets(text),
    "topology": system_tables.is_topology,
    "loads": system_tables.is_loads,
    "status": lambda text: LEGEND.search(text) is not None,
    "schema": lambda text: is_schema(text) or is_schema_rows(text),
}
ALLOWED = "a dump of a system table, the output of nodetool status, or a schema"


def sorted_out(files: Sequence[PathLike]) -> dict[str, Any]:
    """The files by what ``open_tablets`` calls them; a schema may be several. BadInput for a file
    that is none of these, one of a kind of which there is another one, or no dump of
    ``system.tablets`` at all.
    """
    of_kinds: dict[str, list[PathLike]] = {}
    for file in files:
        text = beginning(file)
        kind = next((name for name, fits in FILE_KINDS.items() if fits(text)), None)
        if kind is None:
            raise BadInput("file", source_name(file), ALLOWED)
        of_kinds.setdefault(kind, []).append(file)
    for kind, several in of_kinds.items():
        if kind != "schema" and len(several) > 1:
            first, second = (source_name(each) for each in several[:2])
            allowed = f"one file of each kind; {first} is already of this kind"
            raise BadInput("file", second, allowed)
    if "dump" not in of_kinds:
        raise BadInput("file", f"{len(files)} files", "one of them a dump of system.tablets")
    return {
        kind: tuple(several) if kind == "schema" else several[0]
        for kind, several in of_kinds.items()
    }
