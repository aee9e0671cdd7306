"""The two tables of group 0 that hold the topology: their columns, and a value of each.

Source: Topology over Raft, "Topology state persistence table"; types as documented (Q-22). Columns
that only the published code has are listed apart; none of them is played here.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Scope = Literal["pk", "ck", "row", "static"]


class TopologyColumn(Struct, frozen=True):
    """A column of ``system.topology``: its name, its CQL type, and what it belongs to.

    ``scope``: the partition key, the clustering key, one node's *row*, or *static* for all.
    """

    name: str
    type: str
    scope: Scope


_GENERATIONS = "set<tuple<timestamp, timeuuid>>"
COLUMNS: tuple[TopologyColumn, ...] = (
    TopologyColumn("key", "text", "pk"),
    TopologyColumn("host_id", "uuid", "ck"),
    TopologyColumn("datacenter", "text", "row"),
    TopologyColumn("ignore_msb", "int", "row"),
    TopologyColumn("node_state", "text", "row"),
    TopologyColumn("num_tokens", "int", "row"),
    TopologyColumn("rack", "text", "row"),
    TopologyColumn("rebuild_option", "text", "row"),
    TopologyColumn("release_version", "text", "row"),
    TopologyColumn("replaced_id", "uuid", "row"),
    TopologyColumn("ignore_nodes", "set<uuid>", "static"),
    TopologyColumn("shard_count", "int", "row"),
    TopologyColumn("tokens", "set<text>", "row"),
    TopologyColumn("tokens_string", "text", "row"),
    TopologyColumn("topology_request", "text", "row"),
    TopologyColumn("transition_state", "text", "static"),
    TopologyColumn("cleanup_status", "text", "row"),
    TopologyColumn("supported_features", "set<uuid>", "row"),
    TopologyColumn("request_id", "timeuuid", "row"),
    TopologyColumn("version", "bigint", "static"),
    TopologyColumn("fence_version", "bigint", "static"),
    TopologyColumn("committed_cdc_generations", _GENERATIONS, "static"),
    TopologyColumn("unpublished_cdc_generations", _GENERATIONS, "static"),
    TopologyColumn("global_topology_request", "text", "static"),
    TopologyColumn("global_topology_request_id", "timeuuid", "static"),
    TopologyColumn("enabled_features", "set<text>", "static"),
    TopologyColumn("session", "uuid", "static"),
    TopologyColumn("tablet_balancing_enabled", "boolean", "static"),
    TopologyColumn("upgrade_state", "text", "static"),
    TopologyColumn("new_cdc_generation_data_uuid", "timeuuid", "static"),
    TopologyColumn("new_keyspace_rf_change_ks_name", "text", "static"),
    TopologyColumn("new_keyspace_rf_change_data", "frozen<map<text, text>>", "static"),
    TopologyColumn("global_requests", "set<timeuuid>", "static"),
)
CODE_COLUMNS: tuple[TopologyColumn, ...] = (
    TopologyColumn("intended_storage_mode", "text", "row"),
    TopologyColumn("paused_rf_change_requests", "set<timeuuid>", "static"),
    TopologyColumn("ongoing_rf_changes", "set<timeuuid>", "static"),
    TopologyColumn("ongoing_restore_requests", "set<timeuuid>", "static"),
)
"""What the published table has besides; edition ``documents`` has none of these."""

Generation = tuple[str, str]
"""When a CDC generation begins to be used, and its id."""


class SystemTopologyRow(Struct, frozen=True, kw_only=True):
    """The row of one node; fields are named and spelled as the columns. None is a null cell."""

    host_id: str
    datacenter: str | None = None
    ignore_msb: int | None = None
    node_state: str | None = None
    num_tokens: int | None = None
    rack: str | None = None
    rebuild_option: str | None = None
    release_version: str | None = None
    replaced_id: str | None = None
    shard_count: int | None = None
    tokens: tuple[str, ...] = ()
    tokens_string: str | None = None
    topology_request: str | None = None
    cleanup_status: str | None = None
    supported_features: tuple[str, ...] = ()
    request_id: str | None = None


class SystemTopology(Struct, frozen=True, kw_only=True):
    """The one partition of ``system.topology``: static columns, and a row per host in their order.

    Sets are sorted tuples. The partition key is the same for all: ``topology``.
    """

    rows: tuple[SystemTopologyRow, ...]
    ignore_nodes: tuple[str, ...] = ()
    transition_state: str | None = None
    version: int | None = None
    fence_version: int | None = None
    committed_cdc_generations: tuple[Generation, ...] = ()
    unpublished_cdc_generations: tuple[Generation, ...] = ()
    global_topology_request: str | None = None
    global_topology_request_id: str | None = None
    enabled_features: tuple[str, ...] = ()
    session: str | None = None
    tablet_balancing_enabled: bool | None = None
    upgrade_state: str | None = None
    new_cdc_generation_data_uuid: str | None = None
    new_keyspace_rf_change_ks_name: str | None = None
    new_keyspace_rf_change_data: tuple[tuple[str, str], ...] = ()
    global_requests: tuple[str, ...] = ()


class SystemTopologyRequest(Struct, frozen=True, kw_only=True):
    """A row of ``system.topology_requests``: finished when ``done``, a success without ``error``.

    ``target_host`` and what follows ``end_time`` are the published table's.
    """

    id: str
    initiating_host: str | None = None
    request_type: str | None = None
    start_time: str | None = None
    done: bool | None = None
    error: str | None = None
    end_time: str | None = None
    target_host: str | None = None
    truncate_table_id: str | None = None
    new_keyspace_rf_change_ks_name: str | None = None
    new_keyspace_rf_change_data: tuple[tuple[str, str], ...] = ()

    @property
    def parameters(self) -> str:
        """What is asked for beside the type: the table of a truncate, a keyspace's new replicas."""
        options = (f"{name}={value}" for name, value in self.new_keyspace_rf_change_data)
        words = (self.truncate_table_id, self.new_keyspace_rf_change_ks_name, *options)
        return " ".join(filter(None, words))
