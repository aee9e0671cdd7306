"""Opening a cluster's own tables: ``system.topology``, its requests, and who is up.

The tables come from dumps, who is up from the text of ``nodetool status`` or from names of nodes
that are down. What cannot be so is refused with the node and the column that says it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from msgspec import Struct, convert, field
from msgspec.structs import replace

from kit.edge.paths import Readable, source_name
from kit.edge.reading import read_text
from kit.errors import BadInput, counted, one_line
from kit.model.registry import edition_of, one_of
from kit.operators.importers import system_tables as dumps
from kit.operators.importers.anonymous import hidden
from kit.operators.importers.nodetool import Listing, Seen, parse_status_text
from kit.operators.importers.ringfile import LARGEST_FILE
from kit.operators.importers.snapshots import is_snapshot, read_snapshot
from kit.protocols.topology.rules import columns
from kit.protocols.topology.rules.columns import SystemTopology, SystemTopologyRequest
from kit.protocols.topology.rules.machines import EDITIONS, IN_TRANSITION, NODE_STATE_OF, Edition

MOST_FAILED = 5  # requests whose error is shown, the last ones
UNTOLD = "unknown"
"""The type of a pending request that the files do not give."""
HOST_OF_REQUEST = "a host id of system.topology, because no node has the id of this request"

Row = TypeVar("Row", bound=Struct)
_REQUEST_OF: dict[str | None, str] = {state: kind for kind, state in NODE_STATE_OF.items()}


class OpenedTopology(Struct, frozen=True):
    """A cluster's tables, and who is up as far as the files tell.

    ``table`` is possible as ``impossible`` has it. ``requests`` are ascending by time, those
    last whose id nothing tells (an empty one); without a dump of theirs they are those that
    ``table`` names. ``down`` is None where nothing tells who is up; for the ``excluded`` nobody
    waits. ``unknown`` holds columns that this kit does not know: a value for all nodes, or one by
    host. ``tablets`` says how many replicas of tablets a host has; None: nothing tells.
    ``warnings`` are lines to show.
    """

    source: str
    table: SystemTopology
    requests: tuple[SystemTopologyRequest, ...]
    down: frozenset[str] | None = None
    unknown: Mapping[str, object] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    tablets: Mapping[str, int] | None = None
    excluded: frozenset[str] = frozenset()
    listed: Mapping[str, Seen] = field(default_factory=dict)


def open_topology(
    dump: Readable,
    *,
    requests: Readable | None = None,
    status: Readable | None = None,
    down: Iterable[str] = (),
    edition: Edition = "server",
    anonymize: bool = False,
) -> OpenedTopology:
    """Open a dump of ``system.topology``, with the other files of the same cluster.

    ``requests`` is a dump of ``system.topology_requests``, ``status`` the text of ``nodetool
    status``. ``down`` names nodes by host id, the beginning of one, or by an address of ``status``.
    A dump may be a snapshot (a folder or an archive); its loads tell who is up, too. ``anonymize``
    gives pseudonyms to its names.

    Raises BadInput for a file that is not well formed, a content that cannot be, files that do not
    fit each other, a name of no node.
    """
    with hidden(anonymize):
        if not is_snapshot(dump):
            check_anonymous(dump, None, anonymize)
            return _open(dump, requests, status, None, tuple(down), edition)
        check_anonymous(dump, requests or status, anonymize)
        snapshot = read_snapshot(dump, anonymize=anonymize)
        topology, loads = snapshot.file("topology"), snapshot.files.get("loads")
        opened = _open(topology, requests, status, loads, tuple(down), edition)
        dumped = dumps.read_tablets(snapshot.file("dump"))
        tablets = [each for table in dumped.tables.values() for each in table.tablets]
        held = Counter(host for each in tablets for host, _ in each.replicas)
        warnings = (*snapshot.warnings, *dumped.warnings, *opened.warnings)
        if moving := sum(bool(each.transition) for each in tablets):
            said = f"in transition: {counted(moving, 'tablet')}"
            warnings += (f"{said}; `kit tablets` says what they wait for",)
        return replace(opened, warnings=warnings, tablets=held)


def check_anonymous(dump: Readable, other: Readable | None, anonymize: bool) -> None:
    """Check that all names come from a snapshot. Raises BadInput for another file."""
    strange = other if is_snapshot(dump) else dump
    if anonymize and strange is not None:
        allowed = "only snapshots (folders or archives); names in other files are not replaced"
        raise BadInput("anonymize", source_name(strange), allowed)


def _open(
    dump: Readable,
    requests: Readable | None,
    status: Readable | None,
    loads: Readable | None,
    down: tuple[str, ...],
    edition: Edition,
) -> OpenedTopology:
    edition = edition_of(edition, EDITIONS)
    given = dumps.read_topology(dump)
    table = system_topology(given)
    for cell in columns.impossible(table, edition):
        place = f" of node {cell.host}" if cell.host else ""
        raise BadInput(f"{given.source} {cell.column}{place}", cell.value, cell.allowed)
    dumped = None if requests is None else dumps.read_requests(requests)
    table = _with_ids(table, dumped)
    if dumped is not None:
        _check_pending(table, dumped)
    rows, warnings = _requests(table, dumped)
    listing = None if status is None else read_status(status)
    dead, excluded, more = _down(table, listing, down)
    if loads is not None:
        dead, unsaid = _not_up(table, loads, dead)
        excluded |= {load.host for load in dumps.read_loads(loads) if load.excluded}
        more = (*more, *unsaid)
    # Such a node is passed over by nothing.
    strangers = sorted(set(table.ignore_nodes) - {row.host_id for row in table.rows})
    ignored = (f"ignore_nodes lists {host}, which is not in the dump" for host in strangers)
    unknown = _unknown(given)
    alien = dumps.not_modelled([name for name, value in unknown.items() if value], given.source)
    doubtful = (*warnings, *ignored, *more, *alien)
    listed = {node.host_id: node for node in (listing.nodes if listing else ()) if node.host_id}
    without = excluded | {*table.ignore_nodes}
    return OpenedTopology(
        given.source, table, rows, dead, unknown, doubtful, excluded=without, listed=listed
    )


def read_status(path: Readable) -> Listing:
    """Read the text of ``nodetool status`` from a file; raises BadInput as its parser does."""
    return parse_status_text(read_text(path, "--status", LARGEST_FILE), source_name(path))


def system_topology(given: dumps.TopologyTable) -> SystemTopology:
    """The table as the family's rules know it; columns that they do not know are left out."""
    rows = [_struct(columns.SystemTopologyRow, cells) for cells in given.rows]
    return _struct(SystemTopology, {**given.statics, "rows": rows})


def _struct(kind: type[Row], cells: Mapping[str, object]) -> Row:
    values: dict[str, object] = {}
    for name in kind.__struct_fields__:
        value = cells.get(name)
        if isinstance(value, Mapping):
            values[name] = tuple(sorted(value.items()))
        elif name == "tokens" and isinstance(value, tuple):
            values[name] = tuple(map(str, value))
        elif value is not None:
            values[name] = value
    return convert(values, kind)


def _unknown(given: dumps.TopologyTable) -> dict[str, object]:
    unknown: dict[str, object] = {}
    for name in given.unknown:
        by_host = {str(row["host_id"]): row[name] for row in given.rows}
        first = next(iter(by_host.values()))
        is_one = all(value == first for value in by_host.values())
        set_ones = {host: value for host, value in by_host.items() if value is not None}
        unknown[name] = first if is_one else set_ones
    return unknown


def _with_ids(table: SystemTopology, given: dumps.RequestsTable | None) -> SystemTopology:
    pending = {
        (cells.get("target_host"), cells["request_type"]): request
        for request, cells in (given.rows if given else {}).items()
        if not cells["done"]
    }
    ids = (row.request_id or pending.get((row.host_id, asked_by(row))) for row in table.rows)
    rows = (replace(row, request_id=id_) for row, id_ in zip(table.rows, ids, strict=True))
    return replace(table, rows=tuple(rows))


def _check_pending(table: SystemTopology, given: dumps.RequestsTable) -> None:
    """Check that each pending request is what its node waits for; BadInput for another one."""
    waiting = {row.request_id: row for row in table.rows if asked_by(row)}
    hosts = {row.host_id for row in table.rows}
    for id_, cells in given.rows.items():
        row, kind, target = waiting.get(id_), cells["request_type"], cells.get("target_host")
        if cells["done"]:
            continue
        of_request = f"of request {id_}"
        if kind is None or (row is not None and kind != asked_by(row)):
            allowed = "the type of each pending request"
            if row is not None:
                allowed = f"{asked_by(row)}, for which {row.host_id} waits"
            raise BadInput(f"{given.source} request_type {of_request}", kind, allowed)
        strange = target not in hosts if row is None else target not in (None, row.host_id)
        if strange and kind in NODE_STATE_OF:
            allowed = f"{row.host_id}, which waits for it" if row else HOST_OF_REQUEST
            raise BadInput(f"{given.source} target_host {of_request}", target, allowed)


def asked_by(row: columns.SystemTopologyRow) -> str | None:
    """The request of a node: one that waits, or that its state belongs to."""
    return row.topology_request or _REQUEST_OF.get(row.node_state)


def _requests(
    table: SystemTopology, given: dumps.RequestsTable | None
) -> tuple[tuple[SystemTopologyRequest, ...], tuple[str, ...]]:
    named = dict(_pending_requests(table))
    if given is None:
        untold = [id_ for id_, request in named.items() if request.request_type == UNTOLD]
        which = f"the type of pending request {untold[0]} is unknown" if untold else ""
        doubtful = (f"{which}; --requests FILE gives it",) if untold else ()
        return _in_time(named.values()), (*doubtful, *_without_id(named))
    rows = [_struct(SystemTopologyRequest, cells) for cells in given.rows.values()]
    missing = _in_time(each for name, each in named.items() if name not in given.rows)
    for each in missing:
        if each.request_type == UNTOLD:
            raise BadInput(f"{given.source} id", each.id, "a row for each pending request")
    warnings = [f"{given.source} has no row for request {each.id}" for each in missing if each.id]
    done = [each.id for each in rows if each.done and each.id in table.global_requests]
    warnings += [f"{given.source} says request {id_} is done, global_requests not" for id_ in done]
    waiting = {row.request_id: row.host_id for row in table.rows if row.topology_request}
    waiting[table.global_topology_request_id] = "the dump"
    for each in rows:
        if each.done and each.id in waiting:
            said = f"{given.source} says request {each.id} ({each.request_type}) is done"
            warnings.append(f"{said}, but {waiting[each.id]} still has it")
    failed = [each for each in _in_time(rows) if each.done and each.error]
    for each in failed[-MOST_FAILED:]:
        said = f"the {each.request_type} of {each.target_host or 'all nodes'} ended with an error"
        warnings.append(f"{said}: {one_line(each.error or '')} (request {each.id})")
    if more := len(failed[:-MOST_FAILED]):
        warnings.append(f"{counted(more, 'earlier request')} ended with an error")
    return _in_time((*rows, *missing)), (*warnings, *_without_id(named))


def _in_time(requests: Iterable[SystemTopologyRequest]) -> tuple[SystemTopologyRequest, ...]:
    return tuple(sorted(requests, key=lambda r: (not r.id, r.id and dumps.moment(r.id))))


def _without_id(named: Mapping[str, SystemTopologyRequest]) -> Iterator[str]:
    for each in named.values():
        if not each.id and len(named) > 1:
            kind, host = each.request_type, each.target_host
            yield f"{host} has no request_id: its {kind} counts as the latest request"


def _pending_requests(table: SystemTopology) -> Iterator[tuple[str, SystemTopologyRequest]]:
    for row in table.rows:
        if kind := asked_by(row):
            request = SystemTopologyRequest(
                id=row.request_id or "", request_type=kind, target_host=row.host_id, done=False
            )
            yield row.request_id or row.host_id, request
    current = table.global_topology_request_id
    for id_ in table.global_requests + ((current,) if current else ()):
        kind = table.global_topology_request if id_ == current else None
        yield id_, SystemTopologyRequest(id=id_, request_type=kind or UNTOLD, done=False)


def _down(
    table: SystemTopology, listing: Listing | None, names: tuple[str, ...]
) -> tuple[frozenset[str] | None, frozenset[str], tuple[str, ...]]:
    hosts = [row.host_id for row in table.rows if row.node_state != "left"]
    addresses: dict[str, str] = {}
    dead, excluded = set[str](), set[str]()
    warnings: list[str] = []
    if listing is not None:
        source = listing.source
        places = ((node.host_id or "", node.dc, node.rack) for node in listing.nodes)
        warnings += elsewhere(source, _places(table), places)
        states = {row.host_id: row.node_state for row in table.rows}
        going = {row.replaced_id for row in table.rows if row.node_state == "replacing"}
        going |= {row.host_id for row in table.rows if row.topology_request == "remove"}
        going |= {host for host, state in states.items() if state in ("left", "removing")}
        going |= {*table.ignore_nodes}
        for node in listing.nodes:
            if node.host_id is None:
                warnings.append(f"{source} does not give the host id of {node.name}")
                continue
            if node.host_id in going and node.health == "up":
                said = f"{source} shows {node.host_id} as up, but by the dump it is removed,"
                warnings.append(f"{said} replaced or ignored: make sure that it is dead")
            joins = node.state == "joining" and node.host_id not in states
            said = f"{source} shows {node.host_id} as joining, but the dump has no row"
            warnings += [said] * joins
            if joins or states.get(node.host_id) == "left":
                continue
            if node.host_id not in hosts:
                what = f"{source} host id of {node.name}"
                raise BadInput(what, node.host_id, "a host id from the dump")
            addresses[node.name] = node.host_id
            if node.state in ("joining", "leaving") and states[node.host_id] == "normal":
                said = f"{source} shows {node.host_id} as {node.state}, the dump as normal"
                warnings.append(f"{said}: they were taken at different times")
            if node.health in ("down", "excluded"):
                dead.add(node.host_id)
            if node.health == "excluded":
                excluded.add(node.host_id)
            if node.health == "excluded" and node.host_id not in table.ignore_nodes:
                said = f"{source} says that {node.name} is excluded, but ignore_nodes does not"
                warnings.append(said)
        for row in table.rows:
            taking_part = row.node_state in ("normal", *IN_TRANSITION)
            if taking_part and row.host_id not in addresses.values():
                warnings.append(f"{source} does not list {row.host_id}, which counts as down")
                dead.add(row.host_id)
    dead |= {_host(name, hosts, addresses) for name in names}
    is_known = bool(names) or listing is not None
    return (frozenset(dead) if is_known else None), frozenset(excluded), tuple(warnings)


def _not_up(
    table: SystemTopology, loads: Readable, dead: frozenset[str] | None
) -> tuple[frozenset[str], tuple[str, ...]]:
    source, loaded = source_name(loads), {load.host: load for load in dumps.read_loads(loads)}
    members = [row for row in table.rows if row.node_state in ("normal", *IN_TRANSITION)]
    places = ((load.host, load.datacenter, load.rack) for load in loaded.values())
    lines = [*elsewhere(source, _places(table), places)]
    strangers = sorted(loaded.keys() - {row.host_id for row in table.rows})
    lines += (f"{source} lists {host}, which is not in the dump" for host in strangers)
    for row in members:
        load = loaded.get(row.host_id, dumps.NodeLoad(row.host_id))
        if load.up is None:
            lines.append(f"{source} does not say whether {load.host} is up, so it counts as up")
        elif dead is not None and load.up == (load.host in dead):
            says = "up" if load.up else "down"
            lines.append(f"only {source} says that {load.host} is {says}: it counts as down")
        if load.draining not in (None, asked_by(row) in ("leave", "remove")):
            says = "drains" if load.draining else "does not drain"
            lines.append(f"by {source} {load.host} {says}, by the dump it is the reverse")
    gone = {load.host for load in loaded.values() if load.up is False}
    down = {row.host_id for row in members} & gone
    return frozenset(down | (dead or set())), tuple(lines)


def _places(table: SystemTopology) -> dict[str, tuple[str | None, str | None]]:
    return {row.host_id: (row.datacenter, row.rack) for row in table.rows}


def elsewhere(
    source: str,
    own: Mapping[str, tuple[str | None, str | None]],
    placed: Iterable[tuple[str, str | None, str | None]],
    what: str = "dump",
) -> Iterator[str]:
    """Lines on nodes that another file puts into another datacenter or rack than the dump does.

    ``own`` has the datacenter and the rack of each node there, None where it is not known.
    """
    for host, dc, rack in placed:
        here = own.get(host, (None, None))
        if None not in (dc, rack, *here) and (dc, rack) != here:
            said = f"{source} has {host} in {dc}/{rack}, the {what} in {here[0]}/{here[1]}"
            yield f"{said}, which counts"


def _host(name: str, hosts: list[str], addresses: Mapping[str, str]) -> str:
    if name in addresses:
        return addresses[name]
    fitting = [host for host in hosts if name and host.startswith(name.lower())]
    if len(fitting) != 1:
        known = [*addresses, *hosts]
        allowed = "a name that only one node has" if fitting else one_of(name, known)
        raise BadInput("--down", name, allowed)
    return fitting[0]
