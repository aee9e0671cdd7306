"""Dumps of system tables: topology, its requests, tablets, their sizes, loads, as JSON or CSV.

JSON is a list of rows, or what cqlsh prints for ``SELECT JSON *``; CSV is what ``COPY … TO … WITH
HEADER = TRUE`` writes: collections as CQL literals, an empty field for null; or the files of a
snapshot, where fields stand between ``;``, replicas have two spellings, and other collections are
as Python's driver shows them, to be kept as text where they cannot be read. Static columns stand
in every row and say the same in each. Of the topology, columns that are not listed here are kept as
they stand; a cluster may have hundreds of thousands of tablets, so their rows are read one by one,
and other columns are passed over.

Columns and their types: the schema in "Topology state persistence table" of the topology document,
and those of the system keyspace; ``supported_features`` holds texts, as ``enabled_features`` does
(the document has a set of UUIDs).
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import Any

from msgspec import Struct, field

from kit.edge.limits import check_room
from kit.edge.paths import Readable, source_name
from kit.edge.reading import read_text
from kit.errors import BadInput
from kit.operators.importers import cql, dumps
from kit.operators.importers.nodetool import HOST_ID, bad_line
from kit.operators.importers.ringfile import LARGEST_FILE

TOPOLOGY = cql.cql_columns(
    "key text, host_id uuid, datacenter text, ignore_msb int, node_state text, num_tokens int, "
    "rack text, rebuild_option text, release_version text, replaced_id uuid, "
    "ignore_nodes set<uuid> static, shard_count int, tokens set<text>, tokens_string text, "
    "topology_request text, transition_state text static, cleanup_status text, "
    "supported_features set<text>, request_id timeuuid, version bigint static, "
    "fence_version bigint static, "
    "committed_cdc_generations set<tuple<timestamp, timeuuid>> static, "
    "unpublished_cdc_generations set<tuple<timestamp, timeuuid>> static, "
    "global_topology_request text static, global_topology_request_id timeuuid static, "
    "enabled_features set<text> static, session uuid static, "
    "tablet_balancing_enabled boolean static, upgrade_state text static, "
    "new_cdc_generation_data_uuid timeuuid static, new_keyspace_rf_change_ks_name text static, "
    "new_keyspace_rf_change_data frozen<map<text, text>> static, "
    "global_requests set<timeuuid> static",
    tokens="set<token>",
)
REQUESTS = cql.cql_columns(
    "id timeuuid, initiating_host uuid, target_host uuid, request_type text, start_time timestamp, "
    "done boolean, error text, end_time timestamp, truncate_table_id uuid, "
    "new_keyspace_rf_change_ks_name text, new_keyspace_rf_change_data frozen<map<text, text>>"
)
TOPOLOGY_TABLE = cql.SystemTable(
    "system.topology",
    TOPOLOGY,
    ("host_id", "node_state", "tokens", "transition_state", "version", "fence_version"),
)
_NEEDED = ("id", "request_type", "done")
REQUESTS_TABLE = cql.SystemTable("system.topology_requests", REQUESTS, _NEEDED)
NOT_MODELLED = {
    "raft_group_id": "strongly consistent tables, with a Raft group for each tablet",
    "snapshot_name": "a restore of a tablet from a snapshot",
    "selected_tablets_for_merge": "a merge of some tablets, as after a migration from vnodes",
    "target_pow2_tablet_count": "a way to a power of two tablets, as after a migration from vnodes",
    "intended_storage_mode": "a migration from vnodes to tablets",
    "ongoing_restore_requests": "a restore",
    "paused_rf_change_requests": "a change from a number of replicas to racks, which waits until "
    "replicas are there",
    "ongoing_rf_changes": "an RF change in several steps under way: how far it is, and its abort",
}
"""Columns that show what no model plays."""
SPELT_WITH_BLANKS = "transition_state"
"""The one column whose words the server stores with blanks between them."""
LEAST_LETTERS = 4  # of a host id's beginning
MOST = 65_536
"""Shards or tokens of a node: far more than any has, and few enough to count them one by one."""
OF_A_NODE = {
    "shard_count": (1, MOST, "shards"),
    "num_tokens": (0, MOST, "tokens"),
    "ignore_msb": (0, 63, "ignored bits of a token"),
}
"""Columns that count something of a node: the least, the most, and what it is."""
PARTITION = TOPOLOGY_TABLE.name.rpartition(".")[2]  # its one partition is called as the table is
NULL: tuple[object, ...] = (None, "", [], {})  # neither CSV nor a collection tells null from empty


def _with_words(*every: str, some: Collection[str] = ("",)) -> Callable[[str], bool]:
    return lambda text: all(map(text.__contains__, every)) and any(map(text.__contains__, some))


is_topology = _with_words("node_state", "fence_version")
is_requests = _with_words(some=("initiating_host", "request_type"))
Cells = Mapping[str, cql.Cell | None]
Read = Callable[[cql.ColumnType, Any, str], cql.Cell]


class TopologyTable(Struct, frozen=True):
    """A dump of ``system.topology``: the static columns once, and a row per node.

    Rows are ascending by host id. A column that the dump has and that is null is None; one that the
    dump lacks is not there. ``unknown`` are columns that no version known here has; what is in
    them is text, or plain JSON, as it was given.
    """

    source: str
    statics: Cells
    rows: tuple[Cells, ...]
    unknown: tuple[str, ...] = ()


class RequestsTable(Struct, frozen=True):
    """A dump of ``system.topology_requests``, by id in the order of time."""

    source: str
    rows: Mapping[str, Cells] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()


def beginnings(hosts: Collection[str]) -> dict[str, str]:
    """The shortest beginnings of host ids that tell them apart, of four letters or more."""
    lengths = range(LEAST_LETTERS, max(map(len, hosts)) + 1)
    letters = next(n for n in lengths if len({host[:n] for host in hosts}) == len(hosts))
    return {host: host[:letters] for host in hosts}


def read_topology(path: Readable) -> TopologyTable:
    """Read a dump of ``system.topology`` from a file; raises BadInput as ``parse_topology``."""
    return parse_topology(read_text(path, "dump", LARGEST_FILE), source_name(path))


def parse_topology(text: str, source: str) -> TopologyTable:
    """Read a dump of ``system.topology``. Raises BadInput naming the line or row and column."""
    if not (rows := list(_rows(text, source, TOPOLOGY_TABLE))):
        gossiped = "a server has none while its topology is gossiped (see recover --release)"
        raise BadInput(source, "no row", f"rows of system.topology, one for each node; {gossiped}")
    statics = _statics(rows)
    kind = statics.get("global_topology_request")
    if kind is not None and statics.get("global_topology_request_id", "") is None:
        allowed = "null, as global_topology_request_id is"
        raise BadInput(f"{source} global_topology_request", kind, allowed)
    nodes: dict[str, Cells] = {}
    for where, row in rows:
        host = row["host_id"]
        if not isinstance(host, str):
            raise BadInput(f"{where} host_id", host, "a UUID in each row")
        if host in nodes:
            raise BadInput(f"{where} host_id", host, "each node once")
        for name, (least, most, what) in OF_A_NODE.items():
            number = row.get(name)
            if isinstance(number, int) and not least <= number <= most:
                allowed = f"{what}: a number from {least} to {most}"
                raise BadInput(f"{where} {name}", number, allowed)
        nodes[host] = {name: value for name, value in row.items() if name not in statics}
    unknown = tuple(name for name in rows[0][1] if name not in TOPOLOGY)
    return TopologyTable(source, statics, tuple(nodes[host] for host in sorted(nodes)), unknown)


def read_requests(path: Readable) -> RequestsTable:
    """Read a dump of ``system.topology_requests``; raises BadInput as ``parse_requests``."""
    return parse_requests(read_text(path, "--requests", LARGEST_FILE), source_name(path))


def parse_requests(text: str, source: str) -> RequestsTable:
    """Read a dump of ``system.topology_requests``, be it empty; raises as ``parse_topology``."""
    requests: dict[str, Cells] = {}
    unknown: tuple[str, ...] = ()
    for where, row in _rows(text, source, REQUESTS_TABLE):
        request = row["id"]
        if not isinstance(request, str):
            raise BadInput(f"{where} id", request, "a version 1 UUID in each row")
        if request in requests:
            raise BadInput(f"{where} id", request, "each request once")
        requests[request] = row
        unknown = tuple(name for name in row if name not in REQUESTS)
    ordered = {request: requests[request] for request in sorted(requests, key=moment)}
    return RequestsTable(source, ordered, unknown)


def moment(timeuuid: str) -> tuple[int, str]:
    """The order of UUIDs of version 1 by their time: units of 100 ns, then the UUID itself."""
    low, middle, high, *_ = timeuuid.split("-")
    return int(high[1:] + middle + low, 16), timeuuid


def _rows(text: str, source: str, table: cql.SystemTable) -> Iterator[tuple[str, Cells]]:
    """The rows with their values, each with the words that name it."""
    is_json = dumps.is_json(text)
    read: Read = cql.from_json if is_json else cql.from_csv
    if not is_json:
        _check_header(text, source, table)
    rows = dumps.parse_rows(text, source)
    if not is_json and dumps.delimiter(text) != dumps.COPY:
        read = cql.from_driver
        rows = _readable(rows, table)
    first = rows[0][1] if rows else {}
    readers = {
        name: _remembered(partial(_cell, column, name, read))
        for name, column in table.columns.items()
        if name in first
    }
    for where, row in rows:
        if row is first:
            _check_names(row, where, table)
        if row.keys() != first.keys():
            raise BadInput(where, ", ".join(row), "the same columns in every row")
        cells: dict[str, Any] = {**row}
        cells |= {name: read_cell(row[name], where) for name, read_cell in readers.items()}
        yield where, cells


def _readable(rows: list[tuple[str, dumps.Row]], table: cql.SystemTable) -> list[Any]:
    """The rows with columns renamed whose collections are text to us, so that they are kept so."""
    texts = set()
    for name, column in table.columns.items():
        if name in table.needed or "<" not in column.type:
            continue
        try:
            for given in {str(row[name]) for _, row in rows if row.get(name)}:
                cql.from_driver(column, given, name)
        except BadInput:
            texts.add(name)
    named = {name: f"{name} (text)" for name in texts}
    return [(w, {named.get(n, n): each for n, each in row.items()}) for w, row in rows]


def _cell(
    column: cql.ColumnType, name: str, read: Read, given: object, where: str
) -> cql.Cell | None:
    value = None if given in NULL else read(column, given, f"{where} {name}")
    if name == SPELT_WITH_BLANKS and isinstance(value, str):
        return value.replace(" ", "_")
    if name == "key" and value != PARTITION:
        raise BadInput(f"{where} key", value, f"{PARTITION}, the one partition of the table")
    return value


def _check_header(text: str, source: str, table: cql.SystemTable) -> None:
    lines = text.lstrip().split("\n", 1)
    if not set(table.needed) & dumps.header_names(text):
        allowed = f"rows of {table.name}: as printed by SELECT JSON, or CSV WITH HEADER = TRUE"
        raise bad_line(source, text.count("\n", 0, text.find(lines[0])) + 1, lines[0], allowed)
    where, names = next(dumps.csv_records(text, source))
    _check_names(names, where, table)


def _statics(rows: list[tuple[str, Cells]]) -> Cells:
    first_place, first = rows[0]
    of_table = {name for name, column in TOPOLOGY.items() if column.static}
    statics = {name: value for name, value in first.items() if name in of_table}
    for where, row in rows[1:]:
        for name, value in statics.items():
            if row[name] != value:
                allowed = f"what {first_place} has: this column is static"
                raise BadInput(f"{where} {name}", row[name], allowed)
    return statics


RAFT_STATE = cql.cql_columns("group_id uuid, disposition text, server_id uuid, can_vote boolean")
RAFT_STATE_TABLE = cql.SystemTable("system.raft_state", RAFT_STATE, tuple(RAFT_STATE))
DISPOSITIONS = ("CURRENT", "PREVIOUS")


class RaftView(Struct, frozen=True):
    """A node's ``system.raft_state`` of group 0: the members, each with its vote.

    ``previous`` is the configuration that is being left; empty: none is.
    """

    source: str
    current: Mapping[str, bool]
    previous: Mapping[str, bool] = {}

    @property
    def configurations(self) -> tuple[Mapping[str, bool], ...]:
        """Those of which each needs a majority."""
        return (self.current, self.previous) if self.previous else (self.current,)


def read_raft_state(path: Readable) -> RaftView:
    """Read a dump of ``system.raft_state``, a node's own view of the members of group 0.

    Raises BadInput for a file that cannot be read, is no such dump, or has rows of several groups.
    """
    text, source = read_text(path, "--raft-state", LARGEST_FILE), source_name(path)
    votes_by_disposition: dict[str, dict[str, bool]] = {name: {} for name in DISPOSITIONS}
    group = ""
    for where, row in _known_rows(text, source, RAFT_STATE_TABLE):
        given, disposition, server, votes = (_needed(row, name, where) for name in RAFT_STATE)
        if group and given != group:
            allowed = f"rows of one group, the raft_group0_id of system.scylla_local: {group}"
            raise BadInput(f"{where} group_id", given, allowed)
        group = given
        if disposition not in votes_by_disposition:
            raise BadInput(f"{where} disposition", disposition, " or ".join(DISPOSITIONS))
        if server in votes_by_disposition[disposition]:
            raise BadInput(f"{where} server_id", server, f"each server once as {disposition}")
        votes_by_disposition[disposition][server] = votes
    for name, members in votes_by_disposition.items():
        if (members or name == "CURRENT") and not any(members.values()):
            raise BadInput(f"{source} can_vote", "nobody", f"a voter of disposition {name}")
    return RaftView(source, votes_by_disposition["CURRENT"], votes_by_disposition["PREVIOUS"])


Places = tuple[tuple[str, int], ...]
"""Hosts and shards."""
_REPLICAS, _BYTES = "list<tuple<uuid, int>>", "map<uuid, bigint>"
TABLETS = cql.cql_columns(
    "table_id uuid, last_token bigint, base_table uuid static, "
    "isolated_tablet_for_merge bigint static, keyspace_name text static, "
    "resize_seq_number bigint static, resize_type text static, table_name text static, "
    "tablet_count int static, new_replicas list<tuple<uuid, int>>, repair_time timestamp, "
    "replicas list<tuple<uuid, int>>, session uuid, stage text, transition text, "
    "raft_group_id uuid, snapshot_name text, target_pow2_tablet_count bigint static, "
    "selected_tablets_for_merge list<bigint> static"
)
SIZES = cql.cql_columns("table_id uuid, last_token bigint, replicas map<uuid, bigint>")
LOADS = cql.cql_columns(
    "node uuid, dc text, rack text, up boolean, storage_capacity bigint, "
    "effective_capacity bigint, draining boolean, excluded boolean, ip text, storage_load bigint"
)
STATIC = tuple(name for name, column in TABLETS.items() if column.static)
OF_TABLETS = tuple(name for name in TABLETS if name not in (*STATIC, "table_id"))
OWN = (*STATIC, "new_replicas", "stage", "transition")
"""Columns that are in no other table that has last tokens."""
is_tablets = _with_words("last_token", some=OWN)
is_sizes = _with_words("last_token", "missing_replicas")
is_loads = _with_words(some=("tablets_allocated", "storage_capacity", "effective_capacity"))
BYTES = {"csv": 5, "json": 12}
"""What Python takes for each character of a dump, measured on one of 200,000 tablets."""
Values = Mapping[str, Any]
_PLACE = re.compile(rf"\(({HOST_ID}), (-?[0-9]{{1,5}})\)")
_SIZE = re.compile(rf"({HOST_ID}): (-?[0-9]{{1,19}})")
_PLACES = f"{_PLACE.pattern}(?:, {_PLACE.pattern})*"
_FORMS = {
    _REPLICAS: (re.compile(rf"\[{_PLACES}\]|\{{{_PLACES}\}}"), _PLACE),
    _BYTES: (re.compile(rf"\{{{_SIZE.pattern}(?:, {_SIZE.pattern})*\}}"), _SIZE),
}
"""Of a column type: the form of its whole, and of its parts."""
TABLETS_TABLE = cql.SystemTable("system.tablets", TABLETS, ("table_id", "last_token", "replicas"))
SIZES_TABLE = cql.SystemTable("system.tablet_sizes", SIZES, tuple(SIZES))
LOADS_TABLE = cql.SystemTable("system.load_per_node", LOADS, ("node",))


class TabletLine(Struct, frozen=True):
    """A row of ``system.tablets``; ``line`` is where it stands in the file.

    ``repair_time`` is when it was repaired last, as ``2026-01-31T10:00:00.000Z``; empty: never.
    """

    line: str
    last_token: int
    replicas: Places
    new_replicas: Places = ()
    stage: str = ""
    transition: str = ""
    session: str = ""
    repair_time: str = ""


class TableLines(Struct, frozen=True):
    """A table's partition: its static columns, and its tablets in the order of the file."""

    table_id: str
    line: str
    name: str
    base_table: str = ""
    tablet_count: int | None = None
    resize_type: str = "none"
    resize_seq_number: int = 0
    tablets: tuple[TabletLine, ...] = ()
    isolated: int | None = None


class TabletsTable(Struct, frozen=True):
    """A dump of ``system.tablets``, by table id; ``warnings`` are lines to show."""

    source: str
    tables: Mapping[str, TableLines] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


class NodeLoad(Struct, frozen=True):
    """A row of ``system.load_per_node``; None for what it does not say. ``ip`` is its address.

    ``capacity`` is that of the disk; ``effective`` what is free of it, and what tablets take. The
    server gives a ``storage_load`` where it knows this and all sizes, so that is ``complete``.
    """

    host: str
    datacenter: str | None = None
    rack: str | None = None
    up: bool | None = None
    capacity: int | None = None
    effective: int | None = None
    draining: bool | None = None
    excluded: bool | None = None
    ip: str | None = None
    complete: bool | None = None


TabletBytes = Mapping[str, Mapping[int, Mapping[str, int]]]
"""By table id, last token and host."""


def read_tablets(path: Readable) -> TabletsTable:
    """Read a dump of ``system.tablets`` from a file; raises BadInput as ``parse_tablets``."""
    return parse_tablets(read_text(path, "dump", LARGEST_FILE), source_name(path))


def parse_tablets(text: str, source: str) -> TabletsTable:
    """Read a dump of ``system.tablets``. Raises BadInput naming the line or row, and the column."""
    statics: dict[str, tuple[str, dict[str, Any]]] = {}
    tablets: dict[str, list[TabletLine]] = {}
    known: dict[tuple[str, int], tuple[str, int]] = {}
    alien: dict[str, None] = {}
    for where, row in _known_rows(text, source, TABLETS_TABLE):
        alien |= dict.fromkeys(name for name in NOT_MODELLED if row.get(name))
        table = _needed(row, "table_id", where)
        same = {name: row.get(name) for name in STATIC}
        first, former = statics.setdefault(table, (where, same))
        if same != former:
            name = next(name for name in STATIC if same[name] != former[name])
            allowed = f"what {first} has: this column is static, one value per table"
            raise BadInput(f"{where} {name}", same[name], allowed)
        base, last = same["base_table"], row.get("last_token")
        if last is not None and (row.get("replicas") or not base):
            tablets.setdefault(table, []).append(_tablet(row, where, known))
        elif other := next((name for name in OF_TABLETS if row.get(name) not in (None, ())), ""):
            if not base:
                raise BadInput(f"{where} last_token", last, f"that of a tablet, which has {other}")
            allowed = f"null, because the table has no tablets of its own: its base_table is {base}"
            raise BadInput(f"{where} {other}", row[other], allowed)
    if not statics:
        raise BadInput(source, "no row", "rows of system.tablets, one for each tablet")
    tables = {}
    for table, (where, same) in statics.items():
        names = same["keyspace_name"], same["table_name"]
        name = ".".join(names) if all(names) else table  # the id where the dump leaves names out
        resize = same["resize_type"] or "none", same["resize_seq_number"] or 0
        base, count, own = same["base_table"] or "", same["tablet_count"], tablets.get(table, ())
        alone = same["isolated_tablet_for_merge"]
        tables[table] = TableLines(table, where, name, base, count, *resize, tuple(own), alone)
    return TabletsTable(source, tables, not_modelled(alien, source))


def not_modelled(columns: Collection[str], source: str) -> tuple[str, ...]:
    """Lines on those of these columns that show what no model plays."""
    shown = [name for name in NOT_MODELLED if name in columns]
    return tuple(f"not modelled: {NOT_MODELLED[name]} ({name} of {source})" for name in shown)


def _tablet(row: Values, where: str, known: dict[tuple[str, int], tuple[str, int]]) -> TabletLine:
    """A tablet's row; equal places are one object, since there are few shards and many tablets."""
    replicas, new_replicas = (
        tuple(known.setdefault(place, place) for place in row.get(name) or ())
        for name in ("replicas", "new_replicas")
    )
    if not replicas:
        allowed = "one or more replicas of each tablet"
        raise BadInput(f"{where} replicas", row.get("replicas"), allowed)
    words = (row.get(name) or "" for name in ("stage", "transition", "session", "repair_time"))
    return TabletLine(where, row["last_token"], replicas, new_replicas, *words)


def read_sizes(path: Readable) -> TabletBytes:
    """Read a dump of ``system.tablet_sizes``: the bytes of each replica of each tablet.

    Raises BadInput for a file that cannot be read, is no such dump, has a negative size, or gives a
    host more than an exbibyte.
    """
    text, source = read_text(path, "--sizes", LARGEST_FILE), source_name(path)
    sizes: dict[str, dict[int, dict[str, int]]] = {}
    totals: dict[str, int] = {}
    for where, row in _known_rows(text, source, SIZES_TABLE):
        table, last = _needed(row, "table_id", where), _needed(row, "last_token", where)
        tablets = sizes.setdefault(table, {})
        if last in tablets:
            raise BadInput(f"{where} last_token", last, "each tablet of a table once")
        tablets[last] = row["replicas"] or {}
        for host, size in tablets[last].items():
            totals[host] = totals.get(host, 0) + size
            if size < 0 or totals[host] > 2**60:
                allowed = "bytes, a number from 0 up, and no more than 2^60 on a host"
                raise BadInput(f"{where} replicas.{host}", size, allowed)
    if not sizes:
        raise BadInput(source, "no row", f"rows of {SIZES_TABLE.name}, one for each tablet")
    return sizes


def read_loads(path: Readable) -> tuple[NodeLoad, ...]:
    """Read a dump of ``system.load_per_node``. Raises BadInput also for a negative capacity."""
    text, source = read_text(path, "--loads", LARGEST_FILE), source_name(path)
    loads: dict[str, NodeLoad] = {}
    for where, row in _known_rows(text, source, LOADS_TABLE):
        host = _needed(row, "node", where)
        capacities = {name: row.get(name) for name in ("storage_capacity", "effective_capacity")}
        for name, capacity in capacities.items():
            if capacity is not None and capacity < 0:
                raise BadInput(f"{where} {name}", capacity, "bytes, a number from 0 up")
        if host in loads:
            raise BadInput(f"{where} node", host, "each node once")
        place = host, row.get("dc"), row.get("rack"), row.get("up")
        standing = row.get("draining"), row.get("excluded"), row.get("ip")
        both = capacities["storage_capacity"], capacities["effective_capacity"]
        complete = row["storage_load"] is not None if "storage_load" in row else None
        loads[host] = NodeLoad(*place, *both, *standing, complete)
    if not loads:
        raise BadInput(source, "no row", f"rows of {LOADS_TABLE.name}, one for each node")
    return tuple(loads.values())


def _needed(row: Values, name: str, where: str) -> Any:
    if row[name] is None:
        raise BadInput(f"{where} {name}", None, "a value in each row")
    return row[name]


def _known_rows(text: str, source: str, table: cql.SystemTable) -> Iterator[tuple[str, Values]]:
    is_json = dumps.is_json(text)
    check_room(source, f"{len(text)} characters", len(text) * BYTES["json" if is_json else "csv"])
    return _json_rows(text, source, table) if is_json else _csv_rows(text, source, table)


def _json_rows(text: str, source: str, table: cql.SystemTable) -> Iterator[tuple[str, Values]]:
    for where, row in dumps.parse_json_rows(text, source):
        _check_names(row, where, table)
        values = {
            name: None if row[name] is None else cql.from_json(column, row[name], f"{where} {name}")
            for name, column in table.columns.items()
            if name in row
        }
        yield where, values


def _csv_rows(text: str, source: str, table: cql.SystemTable) -> Iterator[tuple[str, Values]]:
    records = dumps.csv_records(text, source)
    where, names = next(records, ("", []))
    if not names:
        return
    _check_names(names, where, table)
    null = dumps.nulls(text)
    as_csv = cql.from_driver if len(null) > 1 else cql.from_csv
    readers = [
        (name, names.index(name), _reader(column, as_csv))
        for name, column in table.columns.items()
        if name in names
    ]
    for where, fields in records:
        values = {
            name: None if fields[at] in null else read(fields[at], f"{where} {name}")
            for name, at, read in readers
        }
        yield where, values


def _check_names(names: Collection[str], where: str, table: cql.SystemTable) -> None:
    for name in names:
        if name not in table.columns and name.lower() in table.columns:
            raise BadInput(where, name, f"columns as {table.name} has them: {name.lower()}")
    if missing := [name for name in table.needed if name not in names]:
        allowed = f"rows of {table.name}, with the column {missing[0]}; CSV has a header"
        raise BadInput(where, ", ".join(map(str, names)), allowed)


def _reader(column: cql.ColumnType, as_csv: Read) -> Callable[[str, str], Any]:
    """The reader of a column's field; replicas by one pattern each, in either spelling."""
    whole, part = _FORMS.get(column.type, (None, None))

    def read(given: str, where: str) -> Any:
        if whole is None or part is None or given in ("[]", "{}"):
            return as_csv(column, given, where)
        if whole.fullmatch(given) is None:
            raise BadInput(where, given, f"a {column.type} as cqlsh writes it")
        pairs = [(host.lower(), int(number)) for host, number in part.findall(given)]
        if column.type == _REPLICAS:
            return tuple(pairs)
        if len(dict(pairs)) < len(pairs):
            raise BadInput(where, given, "each host once")
        return dict(pairs)

    return _remembered(read)


def _remembered(read: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
    """The same reader; what is the same as in the row before, as most of it is, is read once."""
    before: list[Any] = [_remembered, None]

    def read_new(given: Any, where: str) -> Any:
        if type(given) is not type(before[0]) or given != before[0]:
            before[:] = given, read(given, where)
        return before[1]

    return read_new
