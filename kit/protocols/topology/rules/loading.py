"""The tables as the coordinator keeps them in memory, and back: nothing else is ever read.

What the tables of tablets and group 0's configuration would tell is taken from the states: who is
normal or in transition is a member, tablets move while the transition state says so. Sources:
Topology over Raft, "Topology state persistence table"; published coordinator, its loading of the
topology.
"""

from __future__ import annotations

from collections.abc import Sequence

from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.topology.rules.cluster import (
    NO_ROW,
    NOBODY,
    ClusterTopology,
    Factor,
    NodeEntry,
    Replication,
    RequestEntry,
)
from kit.protocols.topology.rules.columns import (
    SystemTopology,
    SystemTopologyRequest,
    SystemTopologyRow,
)
from kit.protocols.topology.rules.states import NODE_STATE_OF, TRANSITION_STATE, transition_state

JOINING = ("bootstrapping", "replacing")
MEMBERS = ("normal", *NODE_STATE_OF.values())
TABLETS_MOVE = ("tablet_migration", "tablet_draining")


def load(
    table: SystemTopology, requests: Sequence[SystemTopologyRequest]
) -> tuple[ClusterTopology, tuple[str, ...]]:
    """The topology in memory, and the host ids of its nodes in their order.

    ``requests`` are ascending by id; their numbers are their places, from 1. One whose id is empty
    is that of its ``target_host``.
    """
    hosts = tuple(row.host_id for row in table.rows)
    place_of = {host: place for place, host in enumerate(hosts)}
    number_of = {each.id or each.target_host: number for number, each in enumerate(requests, 1)}
    features = feature_bits(table)
    state = transition_state(table.transition_state or "")
    transition = state.name if state else ""
    nodes = [
        NodeEntry(
            state=row.node_state or NO_ROW,
            request=_pending(row),
            request_id=number_of.get(row.request_id or row.host_id, 0),
            replaced=place_of.get(row.replaced_id or "", NOBODY),
            tokens=bool(row.tokens),
            zero_token=row.num_tokens == 0 and not row.tokens_string,
            cleanup=row.cleanup_status or "clean",
            supported=sum(features[name] for name in row.supported_features),
            rack=f"{row.datacenter}/{row.rack or ''}" if row.datacenter else "",
        )
        for row in table.rows
    ]
    running = _running(table, nodes)
    asked_by = {row.request_id: place_of[row.host_id] for row in table.rows if row.request_id}
    queue = (*table.global_requests, *([] if running else [table.global_topology_request_id]))
    topology = ClusterTopology(
        nodes=tuple(nodes),
        transition=transition,
        version=table.version or 1,
        fence_version=table.fence_version or 0,
        session=1 if table.session else 0,
        ignored=sum(1 << place_of[host] for host in table.ignore_nodes if host in place_of),
        requests=tuple(_entry(request, asked_by, place_of) for request in requests),
        queue=tuple(dict.fromkeys(number_of[id_] for id_ in queue if id_ and id_ in number_of)),
        running=number_of.get(running, 0),
        members=_members(table.rows, transition),
        tablets="moving" if transition in TABLETS_MOVE else "even",
        generations=len(table.committed_cdc_generations),
        unpublished=len(table.unpublished_cdc_generations),
        enabled=sum(features[name] for name in table.enabled_features),
    )
    return topology, hosts


def _pending(row: SystemTopologyRow) -> str:
    """What a node asks for that is not under way: of a node in transition, nothing."""
    return "" if row.node_state in NODE_STATE_OF.values() else row.topology_request or ""


def without_vote(table: SystemTopology) -> set[str]:
    """The hosts that lost their vote: whose removal was asked for, who is replaced or ignored.

    Who leaves by itself loses it in ``left_token_ring``. It is what ``voters`` and ``going_away``
    say of a cluster in memory; a dump does not hold the configuration of group 0.
    """
    state = transition_state(table.transition_state or "")
    last = state is not None and state.name == "left_token_ring"
    going = {*table.ignore_nodes}
    for row in table.rows:
        if row.node_state == "removing" or row.topology_request == "remove":
            going.add(row.host_id)
        if row.node_state == "replacing" or row.topology_request == "replace":
            going.add(row.replaced_id or "")
        if last and row.node_state == "decommissioning":
            going.add(row.host_id)
    return going


def feature_bits(table: SystemTopology) -> dict[str, int]:
    """A bit for each cluster feature that the table names, in the order of their names."""
    names = {name for row in table.rows for name in row.supported_features}
    return {name: 1 << i for i, name in enumerate(sorted(names.union(table.enabled_features)))}


def _running(table: SystemTopology, nodes: list[NodeEntry]) -> str:
    """The id of the global request under way; empty when none is.

    While a node is in transition the state is that node's.
    """
    is_of_node = any(entry.state in NODE_STATE_OF.values() for entry in nodes)
    # A truncate of edition ``documents`` shows by its session alone.
    truncates = table.global_topology_request == "truncate_table" and table.session
    is_under_way = (table.transition_state or truncates) and not is_of_node
    return table.global_topology_request_id or "" if is_under_way else ""


def _entry(
    request: SystemTopologyRequest, asked_by: dict[str, int], place_of: dict[str, int]
) -> RequestEntry:
    target = place_of.get(request.target_host or "", NOBODY)
    return RequestEntry(
        request.request_type or "",
        asked_by.get(request.id, target),
        done=bool(request.done),
        error=bool(request.error),
        keyspace=request.new_keyspace_rf_change_ks_name or "",
        replication=_replication(request),
        table=request.truncate_table_id or "",
    )


def _replication(request: SystemTopologyRequest) -> Replication:
    """The replicas by datacenter among the options, of which ``dc1:0`` and so on are racks."""
    factors: dict[str, Factor] = {}
    for name, value in sorted(request.new_keyspace_rf_change_data):
        datacenter, _, place = name.rpartition(":")
        if datacenter and place.isdecimal():
            racks = factors.get(datacenter, ())
            factors[datacenter] = (*racks, value) if isinstance(racks, tuple) else (value,)
        elif value.isdecimal():
            factors[name] = int(value)
    return tuple(sorted(factors.items()))


def _members(rows: Sequence[SystemTopologyRow], transition: str) -> int:
    """Who is in group 0: a node that joins is once ``join_group0`` is behind it."""
    outside = JOINING if transition == "join_group0" else ()
    return sum(
        1 << i
        for i, row in enumerate(rows)
        if row.node_state in MEMBERS and row.node_state not in outside
    )


def store(
    topology: ClusterTopology, hosts: Sequence[str]
) -> tuple[SystemTopology, tuple[SystemTopologyRequest, ...]]:
    """The tables that hold a topology; nodes without a row are left out.

    Numbers stand for ids, ``t:HOST`` for a node's tokens: what they are decides nothing here.
    """
    rows = tuple(
        _row(topology, hosts, i) for i, entry in enumerate(topology.nodes) if entry.state != NO_ROW
    )
    alters = next((e for n in topology.queue if (e := topology.requests[n - 1]).keyspace), None)
    generations = tuple(("", str(number)) for number in range(1, topology.generations + 1))
    running, state = topology.running, TRANSITION_STATE.get(topology.transition)
    table = SystemTopology(
        rows=rows,
        ignore_nodes=tuple(hosts[i] for i in nodes_in(topology.ignored)),
        transition_state=state.stored if state else None,
        version=topology.version,
        fence_version=topology.fence_version,
        committed_cdc_generations=generations,
        unpublished_cdc_generations=generations[len(generations) - topology.unpublished :],
        global_topology_request=topology.requests[running - 1].kind if running else None,
        global_topology_request_id=str(running) if running else None,
        enabled_features=_names(topology.enabled),
        session=str(topology.session) if topology.session else None,
        upgrade_state="done",
        new_keyspace_rf_change_ks_name=alters.keyspace if alters else None,
        new_keyspace_rf_change_data=_options(alters) if alters else (),
        global_requests=tuple(map(str, topology.queue)),
    )
    requests = tuple(
        SystemTopologyRequest(
            id=str(number),
            request_type=entry.kind,
            done=entry.done,
            error="failed" if entry.error else None,
            target_host=None if entry.node == NOBODY else hosts[entry.node],
            truncate_table_id=entry.table or None,
            new_keyspace_rf_change_ks_name=entry.keyspace or None,
            new_keyspace_rf_change_data=_options(entry),
        )
        for number, entry in enumerate(topology.requests, 1)
    )
    return table, requests


def _row(topology: ClusterTopology, hosts: Sequence[str], i: int) -> SystemTopologyRow:
    entry = topology.nodes[i]
    datacenter, _, rack = entry.rack.partition("/")
    owner = entry.replaced if entry.state == "replacing" else i
    return SystemTopologyRow(
        host_id=hosts[i],
        datacenter=datacenter or None,
        rack=rack or None,
        node_state=entry.state,
        num_tokens=0 if entry.zero_token else 1,
        replaced_id=None if entry.replaced == NOBODY else hosts[entry.replaced],
        tokens=(f"t:{hosts[owner]}",) if entry.tokens else (),
        topology_request=entry.request or None,
        cleanup_status=entry.cleanup,
        supported_features=_names(entry.supported),
        request_id=str(entry.request_id) if entry.request_id else None,
    )


def _options(entry: RequestEntry) -> tuple[tuple[str, str], ...]:
    """As the server stores options: a rack list as one option a rack."""
    options: list[tuple[str, str]] = []
    for name, factor in entry.replication:
        if isinstance(factor, int):
            options.append((name, str(factor)))
        else:
            options += [(f"{name}:{place}", rack) for place, rack in enumerate(factor)]
    return tuple(options)


def _names(features: int) -> tuple[str, ...]:
    return tuple(f"F{i:02}" for i in nodes_in(features))
