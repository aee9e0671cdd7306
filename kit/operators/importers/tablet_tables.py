"""Dumps of ``system.tablets``, ``system.tablet_sizes`` and ``system.load_per_node``, JSON or CSV.

As for other tables: rows that ``SELECT JSON`` shows or a JSON list, or what ``COPY … TO … WITH
HEADER = TRUE`` writes. A cluster may have hundreds of thousands of tablets, so rows of CSV are read
one by one, and columns that are not needed are passed over. Columns: the schemas that the server
documents for its system keyspace.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from kit.edge.limits import check_room
from kit.edge.reading import read_text
from kit.errors import BadInput
from kit.operators.importers.columns import (
    ColumnType,
    SystemTable,
    cql_columns,
    from_csv,
    from_json,
)
from kit.operators.importers.dumps import csv_records, parse_json_rows
from kit.operators.importers.nodetool import HOST_ID
from kit.operators.importers.ringfile import LARGEST_FILE

Places = tuple[tuple[str, int], ...]
"""Hosts and shards."""

_REPLICAS, _BYTES = "list<tuple<uuid, int>>", "map<uuid, bigint>"
TABLETS = cql_columns(
    "table_id uuid, last_token bigint, base_table uuid static, keyspace_name text static, "
    "resize_seq_number bigint static, resize_type text static, table_name text static, "
    "tablet_count int static, new_replicas list<tuple<uuid, int>>, repair_time timestamp, "
    "replicas list<tuple<uuid, int>>, session uuid, stage text, transition text"
)
SIZES = cql_columns("table_id uuid, last_token bigint, replicas map<uuid, bigint>")
LOADS = cql_columns("node uuid, dc text, rack text, up boolean, storage_capacity bigint")
STATIC = tuple(name for name, column in TABLETS.items() if column.static)
OWN = (*STATIC, "new_replicas", "stage", "transition")
"""Columns that are in no other table that has last tokens."""
BYTES = {"csv": 5, "json": 12}
"""What Python takes for each character of a dump, measured on one of 200,000 tablets."""

Row = Mapping[str, Any]
_PLACE = re.compile(rf"\(({HOST_ID}), (-?[0-9]{{1,5}})\)")
_SIZE = re.compile(rf"({HOST_ID}): (-?[0-9]{{1,18}})")
_FORMS = {
    _REPLICAS: (re.compile(rf"\[{_PLACE.pattern}(?:, {_PLACE.pattern})*\]"), _PLACE),
    _BYTES: (re.compile(rf"\{{{_SIZE.pattern}(?:, {_SIZE.pattern})*\}}"), _SIZE),
}
"""Of a column type: the form of its whole, and of its parts."""


TABLETS_TABLE = SystemTable("system.tablets", TABLETS, ("table_id", "last_token", "replicas"))
SIZES_TABLE = SystemTable("system.tablet_sizes", SIZES, tuple(SIZES))
LOADS_TABLE = SystemTable("system.load_per_node", LOADS, ("node",))


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


class TabletsTable(Struct, frozen=True):
    """What a dump of ``system.tablets`` says, by table id."""

    source: str
    tables: Mapping[str, TableLines] = field(default_factory=dict)


class NodeLoad(Struct, frozen=True):
    """A row of ``system.load_per_node``; None for what it does not say."""

    host: str
    datacenter: str | None = None
    rack: str | None = None
    up: bool | None = None
    capacity: int | None = None


TabletBytes = Mapping[str, Mapping[int, Mapping[str, int]]]
"""By table id, last token and host."""


def is_tablets(text: str) -> bool:
    """Whether a text, or its beginning, looks like a dump of ``system.tablets``."""
    return "last_token" in text and any(name in text for name in OWN)


def is_sizes(text: str) -> bool:
    """Whether a text, or its beginning, looks like a dump of ``system.tablet_sizes``."""
    return "last_token" in text and "missing_replicas" in text


def is_loads(text: str) -> bool:
    """Whether a text, or its beginning, looks like a dump of ``system.load_per_node``."""
    return "tablets_allocated" in text or "storage_capacity" in text


def read_tablets(path: str | Path) -> TabletsTable:
    """Read a dump of ``system.tablets`` from a file.

    Raises:
        BadInput: for a file that cannot be read, or is no such dump.
    """
    return parse_tablets(read_text(path, "dump", LARGEST_FILE), Path(path).name)


def parse_tablets(text: str, source: str) -> TabletsTable:
    """Read the text of a dump of ``system.tablets``.

    Raises:
        BadInput: naming the line or row and the column.
    """
    statics: dict[str, tuple[str, dict[str, Any]]] = {}
    tablets: dict[str, list[TabletLine]] = {}
    known: dict[tuple[str, int], tuple[str, int]] = {}
    for where, row in _rows(text, source, TABLETS_TABLE):
        table = _needed(row, "table_id", where)
        same = {name: row.get(name) for name in STATIC}
        first, former = statics.setdefault(table, (where, same))
        if same != former:
            name = next(name for name in STATIC if same[name] != former[name])
            allowed = f"what {first} has: this column is static, one value for a table"
            raise BadInput(f"{where} {name}", same[name], allowed)
        if row.get("last_token") is not None:
            tablets.setdefault(table, []).append(_tablet(row, where, known))
    if not statics:
        raise BadInput(source, "no row", "rows of system.tablets, one for each tablet")
    tables = {
        table: TableLines(
            table,
            where,
            # The id where the dump leaves names out.
            f"{same['keyspace_name']}.{same['table_name']}"
            if same["keyspace_name"] and same["table_name"]
            else table,
            same["base_table"] or "",
            same["tablet_count"],
            same["resize_type"] or "none",
            same["resize_seq_number"] or 0,
            tuple(tablets.get(table, ())),
        )
        for table, (where, same) in statics.items()
    }
    return TabletsTable(source, tables)


def _tablet(row: Row, where: str, known: dict[tuple[str, int], tuple[str, int]]) -> TabletLine:
    """A tablet's row; equal places are one object, since there are few shards and many tablets."""
    replicas, new_replicas = (
        tuple(known.setdefault(place, place) for place in row.get(name) or ())
        for name in ("replicas", "new_replicas")
    )
    words = (row.get(name) or "" for name in ("stage", "transition", "session", "repair_time"))
    return TabletLine(where, row["last_token"], replicas, new_replicas, *words)


def read_sizes(path: str | Path) -> TabletBytes:
    """Read a dump of ``system.tablet_sizes``: the bytes of each replica of each tablet.

    Raises:
        BadInput: for a file that cannot be read, is no such dump, or has a negative size.
    """
    text, source = read_text(path, "--sizes", LARGEST_FILE), Path(path).name
    sizes: dict[str, dict[int, dict[str, int]]] = {}
    for where, row in _rows(text, source, SIZES_TABLE):
        table, last = _needed(row, "table_id", where), _needed(row, "last_token", where)
        tablets = sizes.setdefault(table, {})
        if last in tablets:
            raise BadInput(f"{where} last_token", last, "each tablet of a table once")
        tablets[last] = row["replicas"] or {}
        for host, size in tablets[last].items():
            if size < 0:
                raise BadInput(f"{where} replicas.{host}", size, "bytes, a number from 0 on")
    return sizes


def read_loads(path: str | Path) -> tuple[NodeLoad, ...]:
    """Read a dump of ``system.load_per_node``.

    Raises:
        BadInput: for a file that cannot be read, is no such dump, or has a negative capacity.
    """
    text, source = read_text(path, "--loads", LARGEST_FILE), Path(path).name
    loads: dict[str, NodeLoad] = {}
    for where, row in _rows(text, source, LOADS_TABLE):
        host, capacity = _needed(row, "node", where), row.get("storage_capacity")
        if capacity is not None and capacity < 0:
            raise BadInput(f"{where} storage_capacity", capacity, "bytes, a number from 0 on")
        if host in loads:
            raise BadInput(f"{where} node", host, "each node once")
        loads[host] = NodeLoad(host, row.get("dc"), row.get("rack"), row.get("up"), capacity)
    return tuple(loads.values())


def _needed(row: Row, name: str, where: str) -> Any:
    if row[name] is None:
        raise BadInput(f"{where} {name}", None, "a value in each row")
    return row[name]


def _rows(text: str, source: str, table: SystemTable) -> Iterator[tuple[str, Row]]:
    """The rows with the words that name each: those of its columns that are known, as values."""
    is_json = text.lstrip()[:1] in ("[", "{")
    check_room(source, f"{len(text)} characters", len(text) * BYTES["json" if is_json else "csv"])
    return _json_rows(text, source, table) if is_json else _csv_rows(text, source, table)


def _json_rows(text: str, source: str, table: SystemTable) -> Iterator[tuple[str, Row]]:
    for where, row in parse_json_rows(text, source):
        _check_names(row, where, table)
        yield (
            where,
            {
                name: None if row[name] is None else from_json(column, row[name], f"{where} {name}")
                for name, column in table.columns.items()
                if name in row
            },
        )


def _csv_rows(text: str, source: str, table: SystemTable) -> Iterator[tuple[str, Row]]:
    records = csv_records(text, source)
    where, names = next(records, ("", []))
    if not names:
        return
    _check_names(names, where, table)
    readers = [
        (name, names.index(name), _reader(column))
        for name, column in table.columns.items()
        if name in names
    ]
    for where, fields in records:
        yield (
            where,
            {
                name: read(fields[at], f"{where} {name}") if fields[at] else None
                for name, at, read in readers
            },
        )


def _check_names(names: Collection[str], where: str, table: SystemTable) -> None:
    missing = [name for name in table.needed if name not in names]
    if missing:
        allowed = f"rows of {table.name}, with the column {missing[0]}; CSV has a header"
        raise BadInput(where, ", ".join(map(str, names)), allowed)


def _reader(column: ColumnType) -> Callable[[str, str], Any]:
    """What reads a field of a column; replicas by one pattern each, as cqlsh writes them.

    What is the same as in the row before, as most of it is, is read once.
    """
    whole, part = _FORMS.get(column.type, (None, None))
    before: list[Any] = ["", None]

    def read(given: str, where: str) -> Any:
        if given != before[0]:
            before[:] = given, read_new(given, where)
        return before[1]

    def read_new(given: str, where: str) -> Any:
        if whole is None or part is None or given in ("[]", "{}"):
            return from_csv(column, given, where)
        if whole.fullmatch(given) is None:
            raise BadInput(where, given, f"a {column.type} as cqlsh writes it")
        pairs = [(host.lower(), int(number)) for host, number in part.findall(given)]
        if column.type == _REPLICAS:
            return tuple(pairs)
        if len(dict(pairs)) < len(pairs):
            raise BadInput(where, given, "each host once")
        return dict(pairs)

    return read
