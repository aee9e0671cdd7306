"""The two tables of group 0 that hold the topology: their rows, loaded, stored, and judged.

What the tables of tablets and group 0's configuration would tell is taken from the states: who is
normal or in transition is a member, tablets move while the transition state says so. A content that
no coordinator ever writes is judged by the tables of the edition: a transition state is possible
with a node's state where the machine of that state has it. Types stand with the readers of dumps
(``kit.operators``). Sources: Topology over Raft, "Topology state persistence table" (columns that
only the published code has are not played here), "Topology state machine", "State transition
diagram for nodes", "Zero-token nodes"; published coordinator, its loading of the topology.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from kit.masks import chosen, mask_of, nodes_in, where
from kit.protocols.topology.rules import cluster, machines
from kit.protocols.topology.rules.editions import MACHINES

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


JOINING = ("bootstrapping", "replacing")
MEMBERS = ("normal", *machines.IN_TRANSITION)
TABLETS_MOVE = ("tablet_migration", "tablet_draining")


def load(
    table: SystemTopology, requests: Sequence[SystemTopologyRequest]
) -> tuple[cluster.ClusterTopology, tuple[str, ...]]:
    """The topology in memory, and the host ids of its nodes in their order.

    ``requests`` are ascending by id; their numbers are their places, from 1. One whose id is empty
    is that of its ``target_host``.
    """
    hosts = tuple(row.host_id for row in table.rows)
    place_of: dict[str | None, int] = {host: place for place, host in enumerate(hosts)}
    number_of = {each.id or each.target_host: number for number, each in enumerate(requests, 1)}
    supported = {name for row in table.rows for name in row.supported_features}
    known = sorted(supported.union(table.enabled_features))
    features = {name: 1 << i for i, name in enumerate(known)}
    state = machines.transition_state(table.transition_state or "")
    transition = state.name if state else ""
    nodes = [
        cluster.NodeEntry(
            state=row.node_state or cluster.NO_ROW,
            request="" if row.node_state in machines.IN_TRANSITION else row.topology_request or "",
            request_id=number_of.get(row.request_id or row.host_id, 0),
            replaced=place_of.get(row.replaced_id, cluster.NOBODY),
            tokens=bool(row.tokens),
            zero_token=row.num_tokens == 0 and not row.tokens_string,
            cleanup=row.cleanup_status or "clean",
            supported=sum(features[name] for name in row.supported_features),
            rebuild_option=row.rebuild_option or "",
            tokens_string=row.tokens_string or "",
            shards=row.shard_count or 1,
            rack=f"{row.datacenter}/{row.rack or ''}" if row.datacenter else "",
        )
        for row in table.rows
    ]
    # While a node is in transition the state is that node's; a truncate of edition ``documents``
    # shows by its session alone.
    truncates = table.global_topology_request == "truncate_table"
    busy = table.transition_state or (truncates and table.session)
    of_node = any(entry.state in machines.IN_TRANSITION for entry in nodes)
    running = None if of_node or not busy else table.global_topology_request_id
    # A node that joins is in group 0 once ``join_group0`` is behind it.
    outside = JOINING if transition == "join_group0" else ()
    asked_by = {row.request_id: place for place, row in enumerate(table.rows)}
    queue = (*table.global_requests, *([] if running else [table.global_topology_request_id]))
    topology = cluster.ClusterTopology(
        nodes=tuple(nodes),
        transition=transition,
        version=table.version or 1,
        fence_version=table.fence_version or 0,
        session=1 if table.session else 0,
        ignored=mask_of(place_of[host] for host in table.ignore_nodes if host in place_of),
        requests=tuple(
            cluster.RequestEntry(
                each.request_type or "",
                asked_by.get(each.id, place_of.get(each.target_host, cluster.NOBODY)),
                done=bool(each.done),
                error=bool(each.error),
                keyspace=each.new_keyspace_rf_change_ks_name or "",
                replication=_replication(each),
                table=each.truncate_table_id or "",
            )
            for each in requests
        ),
        queue=tuple(dict.fromkeys(number_of[id_] for id_ in queue if id_ in number_of)),
        running=number_of.get(running, 0),
        members=where(
            row.node_state in MEMBERS and row.node_state not in outside for row in table.rows
        ),
        tablets="moving" if transition in TABLETS_MOVE else "even",
        resizes=int(transition == "tablet_resize_finalization"),
        generations=len(table.committed_cdc_generations),
        unpublished=len(table.unpublished_cdc_generations),
        enabled=sum(features[name] for name in table.enabled_features),
        balancing=table.tablet_balancing_enabled is not False,
    )
    return topology, hosts


def without_vote(table: SystemTopology) -> set[str]:
    """The hosts that lost their vote: whose removal was asked for, who is replaced or ignored.

    Who leaves by itself loses it in ``left_token_ring``. It is what ``voters`` and ``going_away``
    say of a cluster in memory; a dump does not hold the configuration of group 0.
    """
    state = machines.transition_state(table.transition_state or "")
    last = state is not None and state.name == "left_token_ring"
    going = {*table.ignore_nodes}
    for row in table.rows:
        does = {row.node_state, row.topology_request}
        if does & {"removing", "remove"} or (last and row.node_state == "decommissioning"):
            going.add(row.host_id)
        if does & {"replacing", "replace"} and row.replaced_id:
            going.add(row.replaced_id)
    return going


def _replication(request: SystemTopologyRequest) -> cluster.Replication:
    factors: dict[str, cluster.Factor] = {}
    for name, value in request.new_keyspace_rf_change_data:
        datacenter, _, place = name.rpartition(":")
        if datacenter and place.isdecimal():
            racks = factors.get(datacenter, ())
            factors[datacenter] = (*racks, value) if isinstance(racks, tuple) else (value,)
        elif value.isdecimal():
            factors[name] = int(value)
    return tuple(sorted(factors.items()))


@lru_cache(4)  # several panels of one moment ask
def store(
    topology: cluster.ClusterTopology, hosts: tuple[str, ...]
) -> tuple[SystemTopology, tuple[SystemTopologyRequest, ...]]:
    """The tables that hold a topology; nodes without a row are left out.

    Numbers stand for ids, ``t:HOST`` for tokens that nobody gave: what they are decides nothing
    here. No state holds what a node tells of itself: rows have what a small server would tell.
    """
    rows = tuple(
        _row(topology, hosts, i)
        for i, entry in enumerate(topology.nodes)
        if entry.state != cluster.NO_ROW
    )
    alters = next((e for n in topology.queue if (e := topology.requests[n - 1]).keyspace), None)
    generations = tuple(("", str(number)) for number in range(1, topology.generations + 1))
    running, state = topology.running, machines.TRANSITION_STATE.get(topology.transition)
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
        tablet_balancing_enabled=topology.balancing,
        upgrade_state="done",
        # Its data are written as the state is entered: what is committed next is prepared.
        new_cdc_generation_data_uuid=(
            str(topology.generations + 1) if topology.transition == COMMITS_CDC else None
        ),
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
            target_host=None if entry.node == cluster.NOBODY else hosts[entry.node],
            truncate_table_id=entry.table or None,
            new_keyspace_rf_change_ks_name=entry.keyspace or None,
            new_keyspace_rf_change_data=_options(entry),
        )
        for number, entry in enumerate(topology.requests, 1)
    )
    return table, requests


COMMITS_CDC = "commit_cdc_generation"
NULL = "null"
OF_REQUESTS = ("global_topology_request_id", "global_requests", "request_id")
"""The columns that hold ids of requests."""


def cell_text(value: object) -> str:
    """A cell as it is written: ``null``, ``True``, ``{D, E}``; a generation's time and number."""
    if value is None or value == ():
        return NULL
    if not isinstance(value, tuple):
        return str(value)
    pairs = (part if isinstance(part, tuple) else ("", part) for part in value)
    return "{" + ", ".join(f"({a}, {b})" if a else str(b) for a, b in pairs) + "}"


def changed_cells(
    before: cluster.ClusterTopology, after: cluster.ClusterTopology, hosts: Sequence[str]
) -> Iterator[str]:
    """Every cell of ``system.topology`` that differs, as ``transition_state = null`` (of a row:
    ``D.node_state = normal``), then the requests that are done. A request's number is its id.
    """
    was, now = (store(replace(each, nodes=()), hosts)[0] for each in (before, after))
    pairs: list[tuple[str, Any, Any]] = [("", was, now)]
    for i, (old, new) in enumerate(zip(before.nodes, after.nodes, strict=True)):
        if old != new and new.state != cluster.NO_ROW:
            is_new = old.state == cluster.NO_ROW
            row = SystemTopologyRow(host_id=hosts[i]) if is_new else _row(before, hosts, i)
            pairs.append((f"{hosts[i]}.", row, _row(after, hosts, i)))
    for place, had, has in pairs:
        for name, value in asdict(has).items():
            if value != getattr(had, name):
                # A server stores some states in words of its own: ``join group0``.
                is_state = name == "transition_state" and value
                text = after.transition if is_state else cell_text(value)
                if name in OF_REQUESTS:
                    text = re.sub(r"\d+", r"request \g<0>", text)
                yield f"{place}{name} = {text}"
    for number, earlier, entry in cluster.changed_requests(before, after):
        if entry.done and not (earlier and earlier.done):
            yield f"request {number} {'ends with an error' if entry.error else 'is done'}"
        elif entry.error and not (earlier and earlier.error):
            yield f"request {number} has an error"


OF_SERVERS: dict[str, Any] = {"ignore_msb": 12, "release_version": "3.0.8"}
"""The default of the published option, and the version that published servers tell drivers."""
NAMED_FEATURES = ("SUPPORTS_CONSISTENT_TOPOLOGY_CHANGES", "TABLETS")


def _row(topology: cluster.ClusterTopology, hosts: Sequence[str], i: int) -> SystemTopologyRow:
    entry = topology.nodes[i]
    datacenter, _, rack = entry.rack.partition("/")
    owner = entry.replaced if entry.state == "replacing" else i
    token = topology.nodes[owner].tokens_string or f"t:{hosts[owner]}"
    return SystemTopologyRow(
        host_id=hosts[i],
        datacenter=datacenter or None,
        rack=rack or None,
        node_state=entry.state,
        num_tokens=0 if entry.zero_token else 1,
        rebuild_option=entry.rebuild_option or None,
        tokens_string=entry.tokens_string or None,
        **OF_SERVERS,
        shard_count=entry.shards,
        replaced_id=None if entry.replaced == cluster.NOBODY else hosts[entry.replaced],
        tokens=(token,) if entry.tokens else (),
        topology_request=entry.request or None,
        cleanup_status=entry.cleanup,
        supported_features=_names(entry.supported),
        request_id=str(entry.request_id) if entry.request_id else None,
    )


def _options(entry: cluster.RequestEntry) -> tuple[tuple[str, str], ...]:
    options: list[tuple[str, str]] = []
    for name, factor in entry.replication:
        if isinstance(factor, int):
            options.append((name, str(factor)))
        else:
            options += [(f"{name}:{place}", rack) for place, rack in enumerate(factor)]
    return tuple(options)


def _names(features: int) -> tuple[str, ...]:
    more = (f"F{i:02}" for i in nodes_in(features >> len(NAMED_FEATURES)))
    return (*chosen(NAMED_FEATURES, features), *more)


OWNERLESS = ("none", "left")
"""The states of nodes that own no tokens."""

_WORDS: dict[str, tuple[str, ...]] = {
    "node_state": machines.NODE_STATES,
    "topology_request": machines.NODE_REQUESTS,
    "cleanup_status": machines.CLEANUP_STATUSES,
}
UPGRADE_STATES = ("not_upgraded", "build_coordinator_state", "done")
"""The words of column ``upgrade_state`` in their order."""


class Impossible(Struct, frozen=True):
    """A cell that cannot be so: its column, whose row it is in ("" for static ones), its value.

    ``allowed`` says what could stand there.
    """

    column: str
    host: str
    value: object
    allowed: str


def impossible(table: SystemTopology, edition: machines.Edition) -> Iterator[Impossible]:
    """Every cell that cannot be so, those first that the others rest on."""
    for row in table.rows:
        for column, words in _WORDS.items():
            value: str | None = getattr(row, column)
            if value not in words and (value is not None or column == "node_state"):
                yield Impossible(column, row.host_id, value, ", ".join(words))
    if table.upgrade_state not in (None, *UPGRADE_STATES):
        yield Impossible("upgrade_state", "", table.upgrade_state, ", ".join(UPGRADE_STATES))
    version, fence = table.version, table.fence_version
    if version is None or version < 1:
        yield Impossible("version", "", version, "a number from 1 up")
    elif fence is None or not 0 <= fence <= version:
        yield Impossible("fence_version", "", fence, f"0 to the version, {version}")
    moving = [row for row in table.rows if row.node_state in machines.IN_TRANSITION]
    for row in moving[1:]:
        first = moving[0]
        allowed = f"one node in transition at a time; {first.host_id} is {first.node_state}"
        yield Impossible("node_state", row.host_id, row.node_state, allowed)
    yield from _transition(table, moving[0] if moving else None, edition)
    yield from _tokens(table)
    hosts = {row.host_id for row in table.rows}
    for row in table.rows:
        yield from _request(row)
        replaces = row.node_state == "replacing" or row.topology_request == "replace"
        if replaces and row.replaced_id not in hosts:
            allowed = "the host id of another node in this table, which this node replaces"
            yield Impossible("replaced_id", row.host_id, row.replaced_id, allowed)
    owners: dict[str, str] = {}
    for row in table.rows:
        if row.request_id and (row.topology_request or row.node_state in machines.IN_TRANSITION):
            owner = owners.setdefault(row.request_id, row.host_id)
            if owner != row.host_id:
                allowed = f"a request id of its own; {owner} already has this one"
                yield Impossible("request_id", row.host_id, row.request_id, allowed)


def _transition(
    table: SystemTopology, moving: SystemTopologyRow | None, edition: machines.Edition
) -> Iterator[Impossible]:
    given = table.transition_state or ""
    state = machines.transition_state(given)
    if given and state is None:
        yield Impossible("transition_state", "", given, ", ".join(machines.TRANSITION_STATE))
        return
    name = state.name if state else ""
    possible = set(_states_with(moving, edition, name))
    if (state is None or state.played) and name not in possible:
        who = f"{moving.host_id} {moving.node_state}" if moving else "no node in transition"
        words = ", ".join(sorted(possible - {""})) + (" or null" if "" in possible else "")
        allowed = f"with {who}: {words.removeprefix(' or ')}"
        other: machines.Edition = "documents" if edition == "server" else "server"
        if name in _states_with(moving, other, name):
            allowed = f"{allowed} (the {other} edition allows it: --edition {other})"
        yield Impossible("transition_state", "", given or None, allowed)


def _states_with(
    moving: SystemTopologyRow | None, edition: machines.Edition, state: str
) -> Iterator[str]:
    known = MACHINES[machines.tables_with([state], edition)]
    if moving is None:
        yield ""
        for name in ("new_cdc_generation", "tablets", "lock", "truncate_table"):
            yield from (state.name for state in known[name].states)
        return
    for machine in (f"{moving.node_state}", f"{moving.node_state}_zero_token"):
        if machine in known:
            yield from (state.name for state in known[machine].states)


def _tokens(table: SystemTopology) -> Iterator[Impossible]:
    owners: dict[str, SystemTopologyRow] = {}
    for row in table.rows:
        if row.tokens and row.node_state in OWNERLESS:
            few = ", ".join(row.tokens[:3]) + (" …" if len(row.tokens) > 3 else "")
            allowed = f"no tokens, because the node is {row.node_state}"
            yield Impossible("tokens", row.host_id, few, allowed)
        for token in row.tokens:
            other = owners.setdefault(token, row)
            if other is not row and not _replaces(row, other) and not _replaces(other, row):
                allowed = f"each token on one node; {other.host_id} already has it"
                yield Impossible("tokens", row.host_id, token, allowed)
                break


def _replaces(row: SystemTopologyRow, other: SystemTopologyRow) -> bool:
    return row.node_state == "replacing" and row.replaced_id == other.host_id


def _request(row: SystemTopologyRow) -> Iterator[Impossible]:
    # A node in transition may still show the request that it is in transition for.
    request, going = row.topology_request, machines.NODE_STATE_OF.get(row.topology_request or "")
    asked_in = "none" if request in ("join", "replace") else "normal"
    if going and row.node_state not in (asked_in, going):
        allowed = (
            f"null for a node that is {row.node_state}; a {request} is requested in state "
            f"{asked_in}"
        )
        yield Impossible("topology_request", row.host_id, request, allowed)
