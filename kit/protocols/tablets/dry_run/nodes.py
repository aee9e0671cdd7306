"""Which nodes there are: what the files beside a dump of tablets tell of them.

They come from a dump of ``system.topology``, from the text of ``nodetool status``, from
``system.load_per_node``, or, for want of these, from the replicas themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from kit.edge.limits import check_room
from kit.edge.reading import read_text
from kit.errors import BadInput
from kit.operators.importers.nodetool import Seen, parse_status_text
from kit.operators.importers.ringfile import LARGEST_FILE
from kit.operators.importers.tablet_tables import NodeLoad, TabletsTable, read_loads
from kit.protocols.tablets.rules.balance.cluster import BalancerNode, NodeRole
from kit.protocols.topology.dry_run.opening import OpenedTopology, open_topology
from kit.protocols.topology.rules.columns import SystemTopologyRow
from kit.protocols.topology.rules.machines import Edition

PathLike = str | Path
SOMEWHERE = "unknown"
"""The datacenter and rack of a node of which nothing tells."""

SAME = "are they of one cluster?"
PLACE = ("datacenter", "rack")
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


class KnownNodes(Struct):
    """What is known of the nodes so far."""

    nodes: dict[str, BalancerNode]
    down: set[str]
    addresses: dict[str, str]
    ignore_msb: dict[str, int]
    warnings: list[str]
    topology: OpenedTopology | None = None


def known_nodes(
    table: TabletsTable,
    topology: PathLike | None,
    status: PathLike | None,
    loads: PathLike | None,
    edition: Edition,
) -> KnownNodes:
    """The nodes as far as the files tell, those of the topology first.

    Raises:
        BadInput: for a file that is not well formed, or that tells of another cluster.
    """
    shards = _shards_seen(table)
    known = KnownNodes({}, set(), {}, {}, [])
    if topology is not None:
        _add_topology(known, topology, status, shards, edition)
    elif status is not None:
        _add_status(known, status, shards)
    if loads is not None:
        _add_loads(known, loads, shards)
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
        which = "capacities" if len(without) == len(known.nodes) else f"capacity of {few(without)}"
        known.warnings.append(
            f"no {which} (--loads): 100% is one tablet a shard, of the target size"
        )
    return known


def few(hosts: list[str]) -> str:
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
    known: KnownNodes,
    topology: PathLike,
    status: PathLike | None,
    shards: Mapping[str, int],
    edition: Edition,
) -> None:
    known.topology = opened = open_topology(topology, status=status, edition=edition)
    listed = {node.host_id: node for node in _status(status) if node.host_id} if status else {}
    known.addresses |= {node.name: host for host, node in listed.items()}
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
    for host, node in listed.items():
        if host in known.nodes:
            _check_node(known, f"{Path(str(status)).name} node", host, (node.dc, node.rack))
    if untold:
        which = f"shard_count of {few(untold)}: as many as the replicas show"
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


def _add_status(known: KnownNodes, status: PathLike, shards: Mapping[str, int]) -> None:
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


def _add_loads(known: KnownNodes, loads: PathLike, shards: Mapping[str, int]) -> None:
    """Capacities, and where nothing else tells of nodes, these as well."""
    source, listed = Path(loads).name, bool(known.nodes)
    gone = known.topology.table.rows if known.topology else ()
    left = {row.host_id for row in gone} - known.nodes.keys()
    for load in read_loads(loads):
        if load.host in left:
            continue
        if listed:
            _check_node(known, f"{source} node", load.host, (load.datacenter, load.rack))
        _add_load(known, load, shards)


def _add_load(known: KnownNodes, load: NodeLoad, shards: Mapping[str, int]) -> None:
    if load.up is False:
        known.down.add(load.host)
    node = known.nodes.get(load.host)
    if node is None:
        place = (load.datacenter or SOMEWHERE, load.rack or SOMEWHERE)
        role: NodeRole = "excluded" if load.up is False else "normal"
        node = BalancerNode(load.host, *place, shards.get(load.host, 1), role=role)
    known.nodes[load.host] = replace(node, capacity=load.capacity or 0)


def _check_node(
    known: KnownNodes, field: str, host: str, place: tuple[str | None, str | None]
) -> None:
    """Check that a file speaks of a node as the others do."""
    node = known.nodes.get(host)
    if node is None:
        raise BadInput(field, host, f"a host that the other files name; {SAME}")
    for what, said, others in zip(PLACE, place, (node.datacenter, node.rack), strict=True):
        if said and SOMEWHERE not in (said, others) and said != others:
            allowed = f"{others}, as in the other files; {SAME}"
            raise BadInput(f"{field} {host} {what}", said, allowed)
