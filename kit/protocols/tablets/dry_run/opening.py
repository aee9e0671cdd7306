"""Opening a cluster's tablets: dumps of ``system.tablets`` with what tells of nodes and sizes.

Nodes come from a dump of ``system.topology``, from the text of ``nodetool status``, from
``system.load_per_node``, or, for want of these, from the replicas themselves. What cannot be so is
refused with its line and column.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from kit.edge.limits import check_room
from kit.edge.reading import read_text
from kit.engine.registry import one_of
from kit.errors import BadInput
from kit.operators.importers.listing import Seen
from kit.operators.importers.nodetool_status import parse_status_text
from kit.operators.importers.ringfile import LARGEST_FILE
from kit.operators.importers.tablet_tables import (
    NodeLoad,
    Places,
    TableLines,
    TabletBytes,
    TabletLine,
    TabletsTable,
    read_loads,
    read_sizes,
    read_tablets,
)
from kit.protocols.tablets.rules.balance.cluster import (
    BalancerInput,
    BalancerNode,
    NodeRole,
    TabletSizes,
    gathered,
)
from kit.protocols.tablets.rules.maps import ResizeType, Tablet, TabletMap, faults
from kit.protocols.tablets.rules.replica_sets import TabletReplica
from kit.protocols.tablets.rules.resize import TARGET_SIZE
from kit.protocols.tablets.rules.stages import KINDS, TRANSITIONS
from kit.protocols.topology.dry_run.opening import OpenedTopology, open_topology
from kit.protocols.topology.rules.columns import SystemTopologyRow
from kit.protocols.topology.rules.machines import EDITIONS, Edition

PathLike = str | Path
RESIZES: tuple[ResizeType, ...] = ("none", "split", "merge")
SOMEWHERE = "unknown"
"""The datacenter and rack of a node of which nothing tells."""

NOT_PLAYED = ("restore",)
"""Kinds of transitions that the published server has, too."""

MOST_HOSTS = 5  # that a line names
BYTES_A_SHARD = 250  # columns of loads, and what is made of them on the way
_ROLES: dict[str, NodeRole] = {
    "normal": "normal",
    "rebuilding": "normal",
    "decommissioning": "leaving",
    "removing": "removing",
    "left": "removing",
}
_DRAINED_BY: dict[str | None, NodeRole] = {"leave": "leaving", "remove": "removing"}


class OpenedTablets(Struct, frozen=True):
    """A cluster's tablets, and what the files tell of nodes and sizes.

    ``maps`` are by table name, ``sizes`` as the balancer takes them (None: not known). ``down`` are
    hosts, ``addresses`` gives those of ``nodetool status`` their hosts. ``ignore_msb`` is what
    static sharding on a host ignores. ``topology`` is None where no dump of it was given.
    """

    source: str
    edition: Edition
    nodes: tuple[BalancerNode, ...]
    maps: Mapping[str, TabletMap]
    sizes: TabletSizes | None
    down: frozenset[str]
    addresses: Mapping[str, str]
    ignore_msb: Mapping[str, int]
    target_size: int = TARGET_SIZE
    warnings: tuple[str, ...] = ()
    topology: OpenedTopology | None = None

    @property
    def enabled(self) -> bool:
        """Whether balancing is on, as it is where nothing tells."""
        return self.topology is None or self.topology.table.tablet_balancing_enabled is not False

    @property
    def input(self) -> BalancerInput:
        """The balancer's view of it."""
        return gathered(
            self.nodes,
            self.maps,
            self.sizes,
            target_size=self.target_size,
            enabled=self.enabled,
        )

    def host(self, name: str, field: str) -> str:
        """The host id that a name means: the id, its beginning, or an address.

        Raises:
            BadInput: for a name of no node, or of several.
        """
        if name in self.addresses:
            return self.addresses[name]
        hosts = [node.host for node in self.nodes]
        fitting = [host for host in hosts if name and host.startswith(name.lower())]
        if len(fitting) != 1:
            allowed = f"a name of one node only; it fits {_few(fitting)}"
            allowed = allowed if fitting else one_of(name, hosts)
            raise BadInput(field, name, allowed)
        return fitting[0]


class _Nodes(Struct):
    """What is known of the nodes so far."""

    nodes: dict[str, BalancerNode]
    down: set[str]
    addresses: dict[str, str]
    ignore_msb: dict[str, int]
    warnings: list[str]
    topology: OpenedTopology | None = None


def open_tablets(
    dump: PathLike,
    *,
    topology: PathLike | None = None,
    status: PathLike | None = None,
    sizes: PathLike | None = None,
    loads: PathLike | None = None,
    edition: Edition = "code",
    target_size: int = TARGET_SIZE,
) -> OpenedTablets:
    """Open a dump of ``system.tablets``, with the other files of the same cluster.

    Raises:
        BadInput: for a file that is not well formed, a content that cannot be, files that do not
            fit each other.
    """
    if edition not in EDITIONS:
        raise BadInput("edition", edition, one_of(edition, list(EDITIONS)))
    table = read_tablets(dump)
    known = _nodes(table, topology, status, () if loads is None else read_loads(loads), edition)
    names = _names(table)
    sessions: dict[str, int] = {}
    maps = {
        names[lines.table_id]: _map(lines, table, names, known, sessions, edition)
        for lines in table.tables.values()
    }
    given = None if sizes is None else _sizes(read_sizes(sizes), Path(sizes).name, names, maps)
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
    )


def _nodes(
    table: TabletsTable,
    topology: PathLike | None,
    status: PathLike | None,
    loads: tuple[NodeLoad, ...],
    edition: Edition,
) -> _Nodes:
    """The nodes as far as the files tell, those of the topology first."""
    shards = _shards_seen(table)
    known = _Nodes({}, set(), {}, {}, [])
    if topology is not None:
        _add_topology(known, topology, status, shards, edition)
    elif status is not None:
        _add_status(known, status, shards)
    for load in loads:
        _add_load(known, load, shards, table.source)
    if not known.nodes:
        known.warnings.append("nothing tells of nodes (--topology, --status): racks are not known")
        known.nodes = {
            host: BalancerNode(host, SOMEWHERE, SOMEWHERE, count) for host, count in shards.items()
        }
    elif topology is None:
        known.warnings.append("no --topology: a node has as many shards as its replicas show")
    total = sum(node.shards for node in known.nodes.values())
    check_room(table.source, f"{total} shards", total * BYTES_A_SHARD)
    without = [host for host, node in sorted(known.nodes.items()) if not node.capacity]
    if without:
        which = "capacities" if len(without) == len(known.nodes) else f"capacity of {_few(without)}"
        known.warnings.append(
            f"no {which} (--loads): 100% is one tablet a shard, of the target size"
        )
    return known


def _few(hosts: list[str]) -> str:
    """Some hosts by name, and how many more there are."""
    more = len(hosts) - MOST_HOSTS
    return ", ".join(hosts[:MOST_HOSTS]) + (f" and {more:,} more" if more > 0 else "")


def _shards_seen(table: TabletsTable) -> dict[str, int]:
    """For each host that has a replica, at least how many shards it has."""
    seen: dict[str, int] = {}
    for lines in table.tables.values():
        for tablet in lines.tablets:
            for host, shard in (*tablet.replicas, *tablet.new_replicas):
                seen[host] = max(seen.get(host, 0), shard + 1)
    return seen


def _add_topology(
    known: _Nodes,
    topology: PathLike,
    status: PathLike | None,
    shards: Mapping[str, int],
    edition: Edition,
) -> None:
    known.topology = opened = open_topology(topology, status=status, edition=edition)
    if status is not None:
        known.addresses |= {node.name: node.host_id for node in _status(status) if node.host_id}
    known.warnings += opened.warnings
    known.down |= opened.down or set()
    untold = []
    for row in opened.table.rows:
        if row.node_state == "left" and row.host_id not in shards:
            continue
        role = _role(row, row.host_id in known.down or row.host_id in opened.table.ignore_nodes)
        count = row.shard_count
        if count is None:
            untold.append(row.host_id)
            count = shards.get(row.host_id, 1)
        place = (row.datacenter or SOMEWHERE, row.rack or SOMEWHERE)
        known.nodes[row.host_id] = BalancerNode(row.host_id, *place, count, role=role)
        if row.ignore_msb is not None:
            known.ignore_msb[row.host_id] = row.ignore_msb
    if untold:
        which = f"shard_count of {_few(untold)}: as many as the replicas show"
        known.warnings.append(f"{opened.source} does not tell the {which}")


def _role(row: SystemTopologyRow, is_gone: bool) -> NodeRole:
    """What a node is to the balancer; one that joins, or owns no tokens, takes no tablets yet."""
    role = _ROLES.get(row.node_state or "", "excluded")
    if role == "normal":
        role = _DRAINED_BY.get(row.topology_request, role)
    if role == "normal" and (is_gone or not row.tokens):
        return "excluded"
    return role


def _status(status: PathLike) -> tuple[Seen, ...]:
    """What ``nodetool status`` says of each node."""
    text = read_text(status, "--status", LARGEST_FILE)
    return parse_status_text(text, Path(status).name).nodes


def _add_status(known: _Nodes, status: PathLike, shards: Mapping[str, int]) -> None:
    for node in _status(status):
        if node.host_id is None:
            known.warnings.append(f"{Path(status).name} does not tell the host id of {node.name}")
            continue
        if node.health in ("down", "excluded"):
            known.down.add(node.host_id)
        role: NodeRole = "leaving" if node.state == "leaving" else "normal"
        if node.state == "joining" or node.host_id in known.down:
            role = "excluded"
        known.addresses[node.name] = node.host_id
        known.nodes[node.host_id] = BalancerNode(
            node.host_id,
            node.dc or SOMEWHERE,
            node.rack or SOMEWHERE,
            shards.get(node.host_id, 1),
            role=role,
        )


def _add_load(known: _Nodes, load: NodeLoad, shards: Mapping[str, int], source: str) -> None:
    if load.up is False:
        known.down.add(load.host)
    node = known.nodes.get(load.host)
    if node is None:
        place = (load.datacenter or SOMEWHERE, load.rack or SOMEWHERE)
        role: NodeRole = "excluded" if load.up is False else "normal"
        node = BalancerNode(load.host, *place, shards.get(load.host, 1), role=role)
    known.nodes[load.host] = replace(node, capacity=load.capacity or 0)


def _names(table: TabletsTable) -> dict[str, str]:
    """Each table id's name; the id where two tables have one name."""
    names = [lines.name for lines in table.tables.values()]
    tables = table.tables.items()
    return {id_: each.name if names.count(each.name) == 1 else id_ for id_, each in tables}


def _map(
    lines: TableLines,
    table: TabletsTable,
    names: Mapping[str, str],
    known: _Nodes,
    sessions: dict[str, int],
    edition: Edition,
) -> TabletMap:
    """A table's map, and all that it says possible."""
    name = names[lines.table_id]
    base = table.tables.get(lines.base_table)
    if lines.base_table and (base is None or base.base_table):
        allowed = "a table of this dump with tablets of its own"
        raise BadInput(f"{lines.line} base_table", lines.base_table, allowed)
    resize = next((kind for kind in RESIZES if kind == lines.resize_type), None)
    if resize is None:
        raise BadInput(f"{lines.line} resize_type", lines.resize_type, ", ".join(RESIZES))
    if lines.resize_seq_number < 0:
        allowed = "a number from 0 on"
        raise BadInput(f"{lines.line} resize_seq_number", lines.resize_seq_number, allowed)
    rows = sorted(lines.tablets, key=lambda row: row.last_token)
    given = TabletMap(
        name,
        tuple(_tablet(row, known, sessions, edition) for row in rows),
        names[lines.base_table] if lines.base_table else "",
        resize,
        lines.resize_seq_number,
    )
    for fault in faults(given):
        where = lines.line if fault.tablet is None else rows[fault.tablet].line
        raise BadInput(f"{where} {fault.column}", fault.value, f"{fault.allowed} (table {name})")
    counted = lines.tablet_count
    if not lines.base_table and counted is not None and counted != given.count:
        allowed = f"{given.count}, as many as there are rows; are some missing? (table {name})"
        raise BadInput(f"{lines.line} tablet_count", counted, allowed)
    return given


def _tablet(row: TabletLine, known: _Nodes, sessions: dict[str, int], edition: Edition) -> Tablet:
    kind = next((kind for kind in KINDS if kind == row.transition), None)
    if row.transition and kind is None:
        allowed = one_of(row.transition, list(KINDS))
        if row.transition in NOT_PLAYED:
            allowed += f"; {row.transition} is a kind of the server that this kit does not play"
        raise BadInput(f"{row.line} transition", row.transition, allowed)
    if kind is not None:
        stages = [state.name for state in TRANSITIONS[edition][kind].states]
        if row.stage not in stages:
            raise BadInput(f"{row.line} stage", row.stage, one_of(row.stage, stages))
    session = sessions.setdefault(row.session, len(sessions) + 1) if row.session else 0
    replicas = _places(row, "replicas", row.replicas, known)
    new = _places(row, "new_replicas", row.new_replicas, known)
    if kind is not None and not new:
        new = replicas
    return Tablet(row.last_token, replicas, new, row.stage, kind or "", session)


def _places(
    row: TabletLine, column: str, given: Places, known: _Nodes
) -> tuple[TabletReplica, ...]:
    for host, shard in given:
        node = known.nodes.get(host)
        if node is None:
            allowed = "a host that the other files name; are they of one cluster?"
            raise BadInput(f"{row.line} {column}", host, allowed)
        if not 0 <= shard < node.shards:
            allowed = f"a shard from 0 to {node.shards - 1} of {host}"
            raise BadInput(f"{row.line} {column}", shard, allowed)
    return tuple(TabletReplica(*place) for place in given)


def _sizes(
    given: TabletBytes, source: str, names: Mapping[str, str], maps: Mapping[str, TabletMap]
) -> TabletSizes:
    """Sizes by table name and tablet.

    Raises:
        BadInput: for a tablet that the dump does not have.
    """
    sizes: dict[str, list[Mapping[str, int]]] = {}
    for table, tablets in given.items():
        if table not in names:
            raise BadInput(f"{source} table_id", table, "a table of the dump of system.tablets")
        own = maps[names[table]]
        base = maps[own.base_table] if own.base_table else own
        lasts = frozenset(base.last_tokens)
        for last in tablets:
            if last not in lasts:
                allowed = f"the last token of a tablet of {names[table]}"
                raise BadInput(f"{source} last_token", last, allowed)
        sizes[names[table]] = [tablets.get(last, {}) for last in base.last_tokens]
    return sizes
