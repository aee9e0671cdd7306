"""Opening a cluster's tablets: dumps of ``system.tablets`` with what tells of nodes and sizes.

Nodes come from a dump of ``system.topology``, from the text of ``nodetool status``, from
``system.load_per_node``, or, for want of these, from the replicas themselves. What cannot be so is
refused with its line and column.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from kit.engine.registry import edition_of, one_of
from kit.errors import BadInput
from kit.operators.importers.schema import ClusterSchema, read_schema
from kit.operators.importers.tablet_tables import read_sizes, read_tablets
from kit.protocols.tablets.dry_run.map_reading import map_of, names_of, repairs_of, sizes_of
from kit.protocols.tablets.dry_run.nodes import PathLike, few, known_nodes
from kit.protocols.tablets.dry_run.schema import check_schema, replication_in, strangers
from kit.protocols.tablets.rules.balance.cluster import (
    BalancerInput,
    BalancerNode,
    TabletSizes,
    gathered,
)
from kit.protocols.tablets.rules.maps import TabletMap, keyspace_of
from kit.protocols.tablets.rules.replication import Replication
from kit.protocols.tablets.rules.resize import TARGET_SIZE
from kit.protocols.topology.dry_run.opening import OpenedTopology
from kit.protocols.topology.rules.machines import EDITIONS, Edition


class OpenedTablets(Struct, frozen=True):
    """A cluster's tablets, and what the files tell of nodes and sizes.

    ``maps`` are by table name, ``repairs`` (when a tablet was repaired last) by that and tablet,
    ``sizes`` as the balancer takes them (None: not known). ``down`` are hosts, ``addresses`` gives
    those of ``nodetool status`` their hosts. ``ignore_msb`` is what static sharding on a host
    ignores. ``topology`` and ``schema`` are None where no file of theirs was given.
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
    schema: ClusterSchema | None = None
    repairs: Mapping[str, Mapping[int, datetime]] = {}

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
    def gone(self) -> frozenset[str]:
        """The hosts that answer nobody: they are down, or have left."""
        return self.down | self.left

    @property
    def input(self) -> BalancerInput:
        """The balancer's view of it."""
        return gathered(
            self.nodes,
            self.maps,
            self.sizes,
            target_size=self.target_size,
            enabled=self.enabled,
            rack_lists=frozenset(self.rack_lists()),
        )

    def rack_lists(self) -> Iterator[tuple[str, str]]:
        """The tables, and the datacenters in which the schema names racks of theirs."""
        for table in self.maps if self.schema else ():
            for datacenter, factor in self.replication(table).items():
                if not isinstance(factor, int):
                    yield table, datacenter

    def replication(self, table: str) -> Replication:
        """What a table's keyspace asks for; nothing where no schema tells."""
        keyspace = self.schema and self.schema.keyspaces.get(keyspace_of(table))
        return replication_in(keyspace, self.nodes) if keyspace else {}

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
            allowed = f"a name of one node only; it fits {few(fitting)}"
            allowed = allowed if fitting else one_of(name, hosts)
            raise BadInput(field, name, allowed)
        return fitting[0]


def open_tablets(
    dump: PathLike,
    *,
    topology: PathLike | None = None,
    status: PathLike | None = None,
    sizes: PathLike | None = None,
    loads: PathLike | None = None,
    schema: PathLike | Sequence[PathLike] | None = None,
    edition: Edition = "server",
    target_size: int = TARGET_SIZE,
) -> OpenedTablets:
    """Open a dump of ``system.tablets``, with the other files of the same cluster.

    ``schema`` is one file or several: CQL, or rows of ``system_schema``.

    Raises:
        BadInput: for a file that is not well formed, a content that cannot be, files that do not
            fit each other.
    """
    edition = edition_of(edition, EDITIONS)
    table = read_tablets(dump)
    known = known_nodes(table, topology, status, loads, edition)
    described = None if schema is None else read_schema(*_files(schema))
    names = names_of(table, described)
    sessions: dict[str, int] = {}
    maps = {
        names[lines.table_id]: map_of(lines, table, names, known, sessions, edition)
        for lines in table.tables.values()
    }
    if described is not None:
        check_schema(described, maps, edition)
        known.warnings += strangers(described, maps)
    given = None
    if sizes is not None:
        given = sizes_of(read_sizes(sizes), Path(sizes).name, names, maps, known)
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
        repairs_of(table, names),
    )


def _files(given: PathLike | Sequence[PathLike]) -> Sequence[PathLike]:
    return [given] if isinstance(given, str | Path) else given
