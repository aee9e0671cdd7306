"""Dumps of ``system.topology`` and ``system.topology_requests``, as JSON or CSV.

JSON is a list of rows, or what cqlsh prints for ``SELECT JSON *``; CSV is what ``COPY … TO … WITH
HEADER = TRUE`` writes: collections as CQL literals, an empty field for null. Static columns stand
in every row and say the same in each. Columns that are not listed here are kept as they stand.

Columns and their types: the schema in "Topology state persistence table" of the topology document;
``supported_features`` holds texts, as ``enabled_features`` does (the document has a set of UUIDs).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from kit.edge.reading import read_text
from kit.errors import BadInput
from kit.operators.importers.columns import (
    ColumnType,
    SystemTable,
    Value,
    cql_columns,
    from_csv,
    from_json,
)
from kit.operators.importers.dumps import Row, parse_csv_rows, parse_json_rows
from kit.operators.importers.nodetool import bad_line
from kit.operators.importers.ringfile import LARGEST_FILE

TOPOLOGY = cql_columns(
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
REQUESTS = cql_columns(
    "id timeuuid, initiating_host uuid, target_host uuid, request_type text, start_time timestamp, "
    "done boolean, error text, end_time timestamp, truncate_table_id uuid, "
    "new_keyspace_rf_change_ks_name text, new_keyspace_rf_change_data frozen<map<text, text>>"
)
TOPOLOGY_TABLE = SystemTable(
    "system.topology",
    TOPOLOGY,
    ("host_id", "node_state", "tokens", "transition_state", "version", "fence_version"),
)
REQUESTS_TABLE = SystemTable("system.topology_requests", REQUESTS, ("id", "request_type", "done"))
SPELT_WITH_BLANKS = "transition_state"
"""The one column whose words the server stores with blanks between them."""

MOST_SHARDS = 65_536
"""Of a node: far more than any machine has, and few enough to count them one by one."""

PARTITION = TOPOLOGY_TABLE.name.rpartition(".")[2]  # its one partition is called as the table is
NULL: tuple[object, ...] = (None, "", [], {})  # neither CSV nor a collection tells null from empty

Cells = Mapping[str, Value | None]
Read = Callable[[ColumnType, Any, str], Value]


class TopologyTable(Struct, frozen=True):
    """What a dump of ``system.topology`` says: the static columns once, and a row per node.

    Rows are ascending by host id. A column that the dump has and that is null is None; one that the
    dump lacks is not there. ``unknown`` are columns that no version known here has; what stands in
    them is text, or plain JSON, as it was given.
    """

    source: str
    statics: Cells
    rows: tuple[Cells, ...]
    unknown: tuple[str, ...] = ()


class RequestsTable(Struct, frozen=True):
    """What a dump of ``system.topology_requests`` says, by id in the order of time."""

    source: str
    rows: Mapping[str, Cells] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()


def is_topology(text: str) -> bool:
    """Whether a text, or its beginning, looks like a dump of ``system.topology``."""
    return "node_state" in text and "fence_version" in text


def is_requests(text: str) -> bool:
    """Whether a text, or its beginning, looks like a dump of ``system.topology_requests``."""
    return "initiating_host" in text or "request_type" in text


def read_topology(path: str | Path) -> TopologyTable:
    """Read a dump of ``system.topology`` from a file.

    Raises:
        BadInput: for a file that cannot be read, or is no such dump.
    """
    return parse_topology(read_text(path, "dump", LARGEST_FILE), Path(path).name)


def parse_topology(text: str, source: str) -> TopologyTable:
    """Read the text of a dump of ``system.topology``.

    Raises:
        BadInput: naming the line or row and the column.
    """
    rows = list(_rows(text, source, TOPOLOGY_TABLE))
    if not rows:
        raise BadInput(source, "no row", "rows of system.topology, one for each node")
    statics = _statics(rows)
    nodes: dict[str, Cells] = {}
    for where, row in rows:
        host = row["host_id"]
        if not isinstance(host, str):
            raise BadInput(f"{where} host_id", host, "a UUID in each row")
        if host in nodes:
            raise BadInput(f"{where} host_id", host, "each node once")
        shards = row.get("shard_count")
        if isinstance(shards, int) and not 1 <= shards <= MOST_SHARDS:
            allowed = f"the shards of a node: a number from 1 to {MOST_SHARDS}"
            raise BadInput(f"{where} shard_count", shards, allowed)
        nodes[host] = {name: value for name, value in row.items() if name not in statics}
    unknown = tuple(name for name in rows[0][1] if name not in TOPOLOGY)
    return TopologyTable(source, statics, tuple(nodes[host] for host in sorted(nodes)), unknown)


def read_requests(path: str | Path) -> RequestsTable:
    """Read a dump of ``system.topology_requests`` from a file.

    Raises:
        BadInput: for a file that cannot be read, or is no such dump.
    """
    return parse_requests(read_text(path, "--requests", LARGEST_FILE), Path(path).name)


def parse_requests(text: str, source: str) -> RequestsTable:
    """Read the text of a dump of ``system.topology_requests``; it may have no row.

    Raises:
        BadInput: naming the line or row and the column.
    """
    requests: dict[str, Cells] = {}
    unknown: tuple[str, ...] = ()
    for where, row in _rows(text, source, REQUESTS_TABLE):
        request = row["id"]
        if not isinstance(request, str):
            raise BadInput(f"{where} id", request, "a UUID of version 1 in each row")
        if request in requests:
            raise BadInput(f"{where} id", request, "each request once")
        requests[request] = row
        unknown = tuple(name for name in row if name not in REQUESTS)
    ordered = {request: requests[request] for request in sorted(requests, key=moment)}
    return RequestsTable(source, ordered, unknown)


def moment(timeuuid: str) -> tuple[int, str]:
    """What orders UUIDs of version 1 by their time: units of 100 ns, then the UUID itself."""
    low, middle, high, *_ = timeuuid.split("-")
    return int(high[1:] + middle + low, 16), timeuuid


def _rows(text: str, source: str, table: SystemTable) -> Iterator[tuple[str, Cells]]:
    """The rows with their values, each with the words that name it.

    A value that is the same as in the row before, such as the features of a version, is read once.
    """
    is_json = text.lstrip()[:1] in ("[", "{")
    read: Read = from_json if is_json else from_csv
    if not is_json:
        _check_header(text, source, table)
    rows = parse_json_rows(text, source) if is_json else parse_csv_rows(text, source)
    before: Row = {}
    cells: dict[str, Any] = {}
    names: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    for where, row in rows:
        if not names:
            missing = [name for name in table.needed if name not in row]
            if missing:
                allowed = f"all columns of {table.name}, also {missing[0]}"
                raise BadInput(where, ", ".join(map(str, row)), allowed)
            names = tuple(row)
            known = tuple(name for name in names if name in table.columns)
        if tuple(row) != names and set(row) != set(names):
            raise BadInput(where, ", ".join(row), "the same columns in every row")
        former, cells = cells, dict(row)
        for name in known:
            given = row[name]
            if name in before and type(given) is type(before[name]) and given == before[name]:
                cells[name] = former[name]
            else:
                cells[name] = _cell(table.columns[name], name, given, read, where)
        before = row
        yield where, cells


def _cell(column: ColumnType, name: str, given: object, read: Read, where: str) -> Value | None:
    value = None if given in NULL else read(column, given, f"{where} {name}")
    if name == SPELT_WITH_BLANKS and isinstance(value, str):
        return value.replace(" ", "_")
    if name == "key" and value != PARTITION:
        raise BadInput(f"{where} key", value, f"{PARTITION}, the one partition of the table")
    return value


def _check_header(text: str, source: str, table: SystemTable) -> None:
    lines = text.lstrip().split("\n", 1)
    if not set(table.needed) & {name.strip() for name in lines[0].split(",")}:
        allowed = f"rows of {table.name}: as SELECT JSON shows them, or CSV WITH HEADER = TRUE"
        raise bad_line(source, text.count("\n", 0, text.find(lines[0])) + 1, lines[0], allowed)


def _statics(rows: list[tuple[str, Cells]]) -> Cells:
    """The static columns, which say the same in each row."""
    first_place, first = rows[0]
    of_table = {name for name, column in TOPOLOGY.items() if column.static}
    statics = {name: value for name, value in first.items() if name in of_table}
    for where, row in rows[1:]:
        for name, value in statics.items():
            if row[name] != value:
                allowed = f"what {first_place} has: this column is static"
                raise BadInput(f"{where} {name}", row[name], allowed)
    return statics
