"""Files that hold a schema: CQL as ``DESCRIBE SCHEMA`` prints it, or rows of ``system_schema``.

Of CQL the statements that make keyspaces, tables and views are read, the others of such a text
passed over; what changes a keyspace afterwards stands in no such text and is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from kit.edge.limits import check_room
from kit.edge.reading import read_text
from kit.errors import BadInput
from kit.operators.importers.columns import ColumnType, from_json
from kit.operators.importers.cql_statements import CqlWord, Statement, statements
from kit.operators.importers.dumps import Row, parse_csv_rows, parse_json_rows
from kit.operators.importers.literals import parse_literal
from kit.operators.importers.nodetool import place_name
from kit.operators.importers.ringfile import LARGEST_FILE
from kit.operators.importers.schema import (
    ClusterSchema,
    CqlKeyspace,
    CqlTable,
    SchemaParts,
    grace,
    keyspace_tablets,
    replication_of,
    table_counts,
    tombstone_mode,
)

BYTES = 8  # of memory for a character, measured on a schema of 20,000 tables
PASSED_OVER = ("ALTER TABLE ", "ATTACH ", "GRANT ")
"""Statements of such a text that say nothing of replicas, but for those that begin with CREATE."""

DESCRIBED = "statements that DESCRIBE SCHEMA prints: CREATE …, and GRANT, ATTACH, ALTER TABLE"
ROWS = (
    "rows of system_schema.keyspaces (keyspace_name, replication), scylla_keyspaces "
    "(keyspace_name, initial_tablets), tables or scylla_tables (table_name), views (view_name)"
)
OF_ROWS = ("durable_writes", "initial_tablets", "bloom_filter_fp_chance", "min_tablet_count")
"""Columns of those tables that others with a ``keyspace_name`` do not have."""

FORM = "a name, or keyspace.name"
_CREATES = re.compile(r"^\s*CREATE\s+(KEYSPACE|TABLE)\b", re.IGNORECASE | re.MULTILINE)
Properties = Mapping[str, tuple[str, int]]
"""The text of each property of a statement, and its line."""


def is_schema(text: str) -> bool:
    """Whether a text, or its beginning, looks like what ``DESCRIBE SCHEMA`` prints."""
    return _CREATES.search(text) is not None


def is_schema_rows(text: str) -> bool:
    """Whether a text, or its beginning, looks like rows of a table of ``system_schema``."""
    return "keyspace_name" in text and any(name in text for name in OF_ROWS)


def read_schema(*paths: str | Path) -> ClusterSchema:
    """Read the schema that files tell together.

    Raises:
        BadInput: for a file that cannot be read, or is no schema, naming the line.
    """
    parts = SchemaParts()
    for path in paths:
        add_text(parts, read_text(path, "--schema", LARGEST_FILE), Path(path).name)
    return parts.schema(", ".join(Path(path).name for path in paths))


def parse_schema(text: str, source: str) -> ClusterSchema:
    """Read the schema that one text tells; raises BadInput as ``read_schema`` does."""
    parts = SchemaParts()
    add_text(parts, text, source)
    return parts.schema(source)


def add_text(parts: SchemaParts, text: str, source: str) -> None:
    """Add what a text tells of keyspaces and tables.

    Raises:
        BadInput: naming the line and what may stand there.
    """
    check_room(source, f"{len(text)} characters", len(text) * BYTES)
    head = text.lstrip()
    if head[:1] in ("[", "{"):
        _add_rows(parts, parse_json_rows(text, source))
    elif "keyspace_name" in head.split("\n", 1)[0].split(","):
        _add_rows(parts, parse_csv_rows(text, source))
    else:
        _add_statements(parts, text, source)


def _add_rows(parts: SchemaParts, rows: list[tuple[str, Row]]) -> None:
    for where, row in rows:
        keyspace = _name(row, "keyspace_name", where)
        if "view_name" in row or "table_name" in row:
            parts.add_table(_table_of(row, keyspace, where))
        elif "replication" in row:
            parts.add_keyspace(_keyspace_of(row, keyspace, where))
        elif "initial_tablets" in row:
            enabled = row["initial_tablets"] is not None
            initial = {"initial": row["initial_tablets"]} if enabled else {}
            _, count = keyspace_tablets(initial, f"{where} initial_tablets")
            parts.add_keyspace(CqlKeyspace(keyspace, where, tablets=enabled, initial=count))
        else:
            raise BadInput(where, ", ".join(map(str, row)) or "no column", ROWS)


def _keyspace_of(row: Row, keyspace: str, where: str) -> CqlKeyspace:
    """A keyspace's row; ``replication_v2`` has the rack lists that older drivers cannot read."""
    column = "replication" if row.get("replication_v2") is None else "replication_v2"
    field = f"{where} keyspace {keyspace} {column}"
    return CqlKeyspace(keyspace, where, *replication_of(_map(row[column], field), field))


def _table_of(row: Row, keyspace: str, where: str) -> CqlTable:
    name = _name(row, "view_name" if "view_name" in row else "table_name", where)
    id_ = row.get("id")
    base = row.get("base_table_name")
    given, mode, seconds = map(row.get, ("tablets", "tombstone_gc", "gc_grace_seconds"))
    return CqlTable(
        keyspace,
        name,
        where,
        "" if id_ is None else str(from_json(ColumnType("uuid"), id_, f"{where} id")),
        "" if base is None else place_name(str(base), f"{where} base_table_name"),
        {} if given is None else table_counts(_map(given, where), f"{where} tablets"),
        "" if mode is None else tombstone_mode(_map(mode, where), f"{where} tombstone_gc"),
        None if seconds is None else grace(seconds, f"{where} gc_grace_seconds"),
    )


def _map(given: object, field: str) -> object:
    """A map of a row: JSON has it as it is, CSV as a CQL literal."""
    return parse_literal(given, field, "a map as in CQL") if isinstance(given, str) else given


def _name(row: Row, column: str, where: str) -> str:
    value = row.get(column)
    if not isinstance(value, str):
        raise BadInput(f"{where} {column}", value, "a name in each row")
    return place_name(value, f"{where} {column}")


def _add_statements(parts: SchemaParts, text: str, source: str) -> None:
    used = ""
    for words in statements(text, source):
        where = f"{source} line {words[0].line}"
        said = "".join(f"{word.written.upper()} " for word in words[:3])
        if said.startswith("USE "):
            used = _used(words, where)
        elif said.startswith("CREATE KEYSPACE "):
            parts.add_keyspace(_keyspace(words, text, where))
        elif said.startswith(("CREATE TABLE ", "CREATE MATERIALIZED VIEW ")):
            parts.add_table(_table(words, text, where, used))
        elif not said.startswith(("CREATE ", *PASSED_OVER)):
            raise BadInput(where, said.strip(), DESCRIBED)


def _used(words: Statement, where: str) -> str:
    if len(words) != 2 or words[1].kind not in ("word", "name"):
        said = " ".join(word.written for word in words[:4])
        raise BadInput(where, said, "USE and the name of a keyspace")
    return place_name(words[1].called, f"{where} keyspace")


def _keyspace(words: Statement, text: str, where: str) -> CqlKeyspace:
    at = _after_exists(words, 2)
    if at >= len(words) or words[at].kind == "mark":
        raise BadInput(where, "CREATE KEYSPACE", "the name of a keyspace after it")
    name = place_name(words[at].called, f"{where} keyspace")
    given = _properties(words[at + 1 :], text, where)
    if "replication" not in given:
        raise BadInput(where, f"CREATE KEYSPACE {name}", "also WITH replication = {…}")
    options, field = _option(given, "replication", where)
    tablets, initial = None, 0
    if "tablets" in given:
        tablets, initial = keyspace_tablets(*_option(given, "tablets", where))
    replication = replication_of(options, f"{field} of keyspace {name}")
    return CqlKeyspace(name, where, *replication, tablets, initial)


def _table(words: Statement, text: str, where: str, used: str) -> CqlTable:
    is_view = words[1].says("MATERIALIZED")
    keyspace, name, at = _full_name(words, _after_exists(words, 2 + is_view), where, used)
    base = ""
    if is_view:
        places = (i for i, word in enumerate(words) if i >= at and word.says("FROM"))
        begins = next(places, None)
        if begins is None:
            raise BadInput(
                where, f"CREATE MATERIALIZED VIEW {name}", "also FROM and its base table"
            )
        _, base, at = _full_name(words, begins + 1, where, keyspace)
    given = _properties(words[at:], text, where)
    id_, counts = "", {}
    if "id" in given:
        id_ = str(from_json(ColumnType("uuid"), *_option(given, "id", where)))
    if "tablets" in given:
        counts = dict(table_counts(*_option(given, "tablets", where)))
    mode, seconds = "", None
    if "tombstone_gc" in given:
        mode = tombstone_mode(*_option(given, "tombstone_gc", where))
    if "gc_grace_seconds" in given:
        seconds = grace(*_option(given, "gc_grace_seconds", where))
    return CqlTable(keyspace, name, where, id_, base, counts, mode, seconds)


def _after_exists(words: Statement, at: int) -> int:
    """The place behind IF NOT EXISTS, where that stands."""
    clause = [word.written.upper() for word in words[at : at + 3]]
    return at + 3 if clause == ["IF", "NOT", "EXISTS"] else at


def _full_name(words: Statement, at: int, where: str, used: str) -> tuple[str, str, int]:
    """The keyspace and the name that stand at a place, and the place behind them."""
    names = [word.called for word in words[at : at + 3 : 2] if word.kind in ("word", "name")]
    dotted = at + 1 < len(words) and words[at + 1].says(".")
    if len(names) < 1 + dotted:
        raise BadInput(where, " ".join(word.written for word in words[:4]), FORM)
    keyspace, name = names[:2] if dotted else (used, names[0])
    if not keyspace:
        raise BadInput(where, name, "keyspace.name, or USE keyspace; before it")
    place_name(keyspace, f"{where} keyspace")
    return keyspace, place_name(name, f"{where} table"), at + (3 if dotted else 1)


def _properties(words: Sequence[CqlWord], text: str, where: str) -> Properties:
    """The properties behind WITH, each as its text.

    Raises:
        BadInput: for a property that stands twice, or without a value.
    """
    properties: dict[str, tuple[str, int]] = {}
    for part in _parts(words):
        if len(part) < 2 or not part[1].says("="):
            continue  # CLUSTERING ORDER BY and the like
        name = part[0].called
        if len(part) == 2 or name in properties:
            raise BadInput(where, name, "each property once, with its value")
        properties[name] = text[part[2].start : part[-1].end], part[0].line
    return properties


def _parts(words: Sequence[CqlWord]) -> Iterator[Sequence[CqlWord]]:
    """What stands between WITH and AND, and AND and AND, not within brackets."""
    depth, begins = 0, None
    for at, word in enumerate(words):
        depth += word.says("(", "{", "[") - word.says(")", "}", "]")
        if depth == 0 and word.says("WITH" if begins is None else "AND"):
            if begins is not None:
                yield words[begins:at]
            begins = at + 1
    if begins is not None:
        yield words[begins:]


def _option(given: Properties, name: str, where: str) -> tuple[object, str]:
    """The value of a property, and the words that name it in messages."""
    text, line = given[name]
    field = f"{where.rpartition(' ')[0]} {line} {name}"
    return parse_literal(text, field, "a value as in CQL"), field
