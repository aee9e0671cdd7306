"""A rehearsal on a cluster's tablets: a timeline whose first state is the dump."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from kit.errors import BadInput, counted
from kit.model.registry import one_of
from kit.model.timeline import Timeline
from kit.operators.importers.system_tables import beginnings
from kit.protocols.group0.rules.releases import supported
from kit.protocols.tablets.dry_run.opening import OpenedTablets
from kit.protocols.tablets.dump import DumpedTable, DumpedTransition, TabletDump
from kit.protocols.tablets.rules.balance import cluster
from kit.protocols.tablets.rules.maps import TabletMap, group, keyspace_of, last_tokens
from kit.protocols.tablets.rules.replica_sets import Replicas
from kit.protocols.tablets.rules.stages import KINDS
from kit.protocols.tablets.tablets import Tablets
from kit.protocols.topology.control import MOST_FAULTS
from kit.protocols.topology.rules.machines import IN_TRANSITION
from kit.protocols.topology.rules.replication import factor_text, replication_in
from kit.protocols.topology.rules.requests import MOST_NODES, NAME
from kit.protocols.topology.topology import CrashMember, MakeRequest

FORM = "decommission HOST, removenode HOST, rf KEYSPACE DC=REPLICAS, lose HOST or balance"
REQUESTS = ("decommission", "removenode")
WORDS = (*REQUESTS, "rf", "lose", "balance")
RF_CHANGE = "keyspace_rf_change"
NO_TARGETS = ("excluded", "joining", "zero-token")
MOST_TO_CHOOSE = 128  # nodes of which any may be lost: of more nobody could choose
SEVERAL = 3  # of what may be lost, excluded or undone by the way


def rehearsal_of(
    opened: OpenedTablets, operations: str | Iterable[str]
) -> tuple[Timeline, tuple[str, ...]]:
    """A timeline that begins with this cluster and has asked for these operations, as ``rehearse``
    of ``lessons.dumps`` says, and lines to read first. BadInput for what cannot be played.
    """
    check_under_way(opened)
    requests, lost, balance = _wanted(opened, operations)
    parameters, names, warnings = parameters_of(opened, requests, balance, lost)
    timeline = Timeline(Tablets(parameters))
    first = [CrashMember(names[host]) for host in lost]
    timeline.run([*first, *map(MakeRequest, range(len(parameters.operations)))])
    return timeline, (*opened.warnings, *not_played(opened), *warnings)


def _wanted(
    opened: OpenedTablets, operations: str | Iterable[str]
) -> tuple[list[tuple[str, str]], list[str], bool]:
    """Requests in their order (what the dump shows, then what the lines say), who dies at first,
    whether loads are evened out.

    Nodes are host ids; an RF change has its keyspace and replicas in the place of one. BadInput for
    a line that is no operation, or an operation given twice.
    """
    lines = operations.splitlines() if isinstance(operations, str) else operations
    drained = (node for node in opened.nodes if node.role in cluster.DRAINED)
    own = {node.host: REQUESTS[node.role != "leaving"] for node in drained}
    requests = [(word, host) for host, word in own.items()]
    lost: list[str] = []
    balance = False
    for line in lines:
        word, host = _parsed(opened, line)
        if word == "balance":
            balance = True
        elif host in own:
            allowed = (
                f"another node; the files already have {own[host]} of this one under way, and "
                "kit.rehearse follows it without this line"
            )
            raise BadInput("operation", line, allowed)
        elif host.split()[0] in (*lost, *(each.split()[0] for _, each in requests)):
            raise BadInput("operation", line, "each node and each keyspace once")
        elif word == "lose":
            lost.append(host)
        else:
            requests.append((word, host))
    return requests, lost, balance


def _parsed(opened: OpenedTablets, line: object) -> tuple[str, str]:
    words = line.split() if isinstance(line, str) else []
    if not words:
        raise BadInput("operation", line, FORM)
    if words[0] not in WORDS:
        raise BadInput("operation", line, one_of(words[0], list(WORDS)))
    if words == ["balance"]:
        return "balance", ""
    if words[0] == "rf" and len(words) > 2:
        replication_in(words[2:], "operation")
        known = [*dict.fromkeys(map(keyspace_of, opened.maps))]
        if words[1] not in known:
            raise BadInput("operation", line, one_of(words[1], known))
        return RF_CHANGE, " ".join(words[1:])
    if words[0] in ("balance", "rf") or len(words) != 2:
        raise BadInput("operation", line, FORM)
    host = opened.host(words[1], "operation")
    if words[0] == "lose" and host in opened.down:
        raise BadInput("operation", line, "a node that is up")
    return words[0], host


def check_under_way(opened: OpenedTablets) -> None:
    """Check that a rehearsal can begin from what the topology shows.

    A node that drains its tablets is asked again to leave or to be removed; what goes on behind
    that is a node operation of its own, which moves no tablets. Source: Topology over Raft,
    "Topology state machine". BadInput for an operation of a node that does not drain, or a
    transition state of another thing.
    """
    if (given := opened.topology) is None:
        return
    state = given.table.transition_state or ""
    for row in given.table.rows:
        if row.node_state in IN_TRANSITION and state != "tablet_draining":
            allowed = "normal, none or left, or a node whose tablets are draining. This operation "
            allowed += "is under way and moves no more tablets: python -m kit topology "
            allowed += f"{given.source.rpartition('/')[0] or given.source} says what comes next"
            raise BadInput(f"{given.source} node_state of {row.host_id}", row.node_state, allowed)
    if state not in ("", "tablet_migration", "tablet_draining"):
        allowed = "null, tablet_migration or tablet_draining for a rehearsal of tablets"
        raise BadInput(f"{given.source} transition_state", state, allowed)


def not_played(opened: OpenedTablets) -> Iterator[str]:
    """Lines that say what a cluster has asked for, and has set, that changes what is played."""
    if not opened.enabled:
        yield "balancing is disabled (tablet_balancing_enabled): loads are not evened out"
    if opened.topology is None:
        return
    table = opened.topology.table
    for row in table.rows:
        if row.topology_request and row.topology_request not in ("leave", "remove"):
            yield f"left out: the waiting request {row.topology_request} of {row.host_id}"
    if table.global_topology_request:
        yield f"left out: the waiting request {table.global_topology_request}"
    elif table.global_requests:
        yield f"left out: {len(table.global_requests):,} waiting global requests"


def parameters_of(
    opened: OpenedTablets, requests: Sequence[tuple[str, str]], balance: bool, lost: Sequence[str]
) -> tuple[Any, Mapping[str, str], tuple[str, ...]]:
    """The parameters whose model begins with this cluster, the names of hosts, lines to read first.
    All nodes take part but those that take no tablets and have none. BadInput for more nodes,
    requests or losses than a Player has.
    """
    used = {
        replica.host
        for table in opened.maps.values()
        for tablet in table.tablets
        for replica in (*tablet.replicas, *tablet.new_replicas)
    }
    nodes = [node for node in opened.nodes if node.role not in NO_TARGETS or node.host in used]
    out = len(opened.nodes) - len(nodes)
    if len(nodes) > MOST_NODES:
        raise BadInput(f"{opened.source} nodes", len(nodes), f"at most {MOST_NODES} for a Player")
    for field, given in (("operations", requests), ("lost nodes", lost)):
        if len(given) > MOST_FAULTS:
            raise BadInput(field, len(given), f"at most {MOST_FAULTS} in one rehearsal")
    names = short_names(opened, [node.host for node in nodes])
    bases = opened.bases
    if any(tablet.transition == "restore" for t in bases.values() for tablet in t.tablets):
        allowed = f"{', '.join(KINDS)}; a Player does not model a restore"
        raise BadInput(f"{opened.source} transition", "restore", allowed)
    gone = opened.down | {host for word, host in requests if word == "removenode"}
    parameters = Tablets.Parameters(
        edition=opened.edition,
        release=supported(opened.release),
        nodes=len(nodes),
        names=tuple(names[node.host] for node in nodes),
        racks=tuple(f"{node.datacenter}/{node.rack}" for node in nodes),
        tablets=tuple(
            _text(tablet.replicas, names) for table in bases.values() for tablet in table.tablets
        ),
        kinds=("migration", "intranode_migration"),
        balancing=opened.enabled,
        moves=int(balance),
        operations=tuple(f"{word} {names.get(what, what)}" for word, what in requests),
        keyspaces=tuple(_keyspaces(opened, requests)),
        down=tuple(sorted(names[n.host] for n in nodes if n.host in gone or n.role in NO_TARGETS)),
        ignored=tuple(sorted(names[n.host] for n in nodes if n.role == "excluded")),
        crashes=min(MOST_FAULTS, len(lost) + SEVERAL * (len(nodes) <= MOST_TO_CHOOSE)),
        exclusions=SEVERAL,
        undone=min(MOST_FAULTS, len(requests)),
        dump=_dump(opened, nodes, names, bases),
    )
    lines = (
        f"left out because they neither have nor take tablets: {counted(out, 'node')}",
    ) * bool(out)
    return parameters, names, lines


def _keyspaces(opened: OpenedTablets, requests: Sequence[tuple[str, str]]) -> Iterator[str]:
    known = {} if opened.schema is None else opened.schema.keyspaces
    for name in dict.fromkeys(what.split()[0] for _, what in requests):
        if name in known:  # no node is called as a keyspace is
            factors = opened.replication(name).items()
            yield " ".join([name, *(f"{dc}={factor_text(factor)}" for dc, factor in factors)])


def short_names(opened: OpenedTablets, hosts: Sequence[str]) -> dict[str, str]:
    """What a picture calls each host: its address where all are known, else its id's beginning."""
    addresses = {host: address for address, host in opened.addresses.items()}
    if all(NAME.fullmatch(addresses.get(host, "")) for host in hosts):
        return {host: addresses[host] for host in hosts}
    return beginnings(hosts)


def _text(replicas: Replicas, names: Mapping[str, str]) -> str:
    return " ".join(f"{names[each.host]}:{each.shard}" for each in replicas)


def _replicas(
    opened: OpenedTablets,
    bases: Mapping[str, TabletMap],
    of: Callable[[Iterable[Mapping[str, int]], str], int],
) -> tuple[tuple[int, ...], ...]:
    return tuple(
        tuple(of(rows, place.host) for place in tablet.replicas)
        for name, table in bases.items()
        for tablet, rows in zip(
            table.tablets, cluster.group_rows(name, opened.maps, opened.sizes), strict=True
        )
    )


def _dump(
    opened: OpenedTablets,
    nodes: Sequence[cluster.BalancerNode],
    names: Mapping[str, str],
    bases: Mapping[str, TabletMap],
) -> TabletDump:
    capacities = tuple(node.capacity for node in nodes)
    tablets = (tablet for table in bases.values() for tablet in table.tablets)
    tables = tuple(
        DumpedTable(
            table.table,
            table.count,
            group(table.table, opened.maps)[1:],
            table.resize_type,
            () if table.last_tokens == last_tokens(table.count) else table.last_tokens,
        )
        for table in bases.values()
    )
    transitions = (
        DumpedTransition(
            *(number, tablet.transition, tablet.stage),
            *(_text(tablet.new_replicas, names), tablet.session),
        )
        for number, tablet in enumerate(tablets)
        if tablet.transition and tablet.transition != "restore"
    )
    table = None if opened.topology is None else opened.topology.table
    versions = (1, 1)

    def weight(rows: Iterable[Mapping[str, int]], host: str) -> int:
        sizes = (row.get(host, cluster.UNKNOWN) for row in rows)
        return sum(cluster.counted_bytes(size, opened.target_size) for size in sizes)

    if table is not None and table.version is not None:
        versions = (table.version, table.fence_version or 0)
    return TabletDump(
        shards=tuple(node.shards for node in nodes),
        tables=tables,
        capacities=capacities if all(capacities) else (),
        sizes=() if opened.sizes is None else _replicas(opened, bases, cluster.added_up),
        weights=_replicas(opened, bases, weight) if any(t.colocated for t in tables) else (),
        transitions=tuple(transitions),
        target_size=opened.target_size,
        rack_lists=tuple(opened.rack_lists()),
        version=versions[0],
        fence_version=versions[1],
    )
