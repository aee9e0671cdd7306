"""Reads of a node's system tables, in either drill: which columns, of which rows, how printed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from kit.engine.drill import CommandReply, DrillMoment
from kit.engine.forms import Form, Given, Slot
from kit.errors import BadInput
from kit.operators import printing
from kit.operators.printing import Row

SELECT = "SELECT {columns} FROM {table}"


class NodeTable(Struct, frozen=True):
    """A table: its columns, and the rows that a node has."""

    name: str
    columns: tuple[str, ...]
    rows: Callable[[DrillMoment, int], Iterable[Row]]


class TableAnswer(Struct, frozen=True):
    """What a read found, and its lines as cqlsh prints them."""

    columns: tuple[str, ...]
    rows: Sequence[Row]
    lines: tuple[str, ...]


def read_table(table: NodeTable, now: DrillMoment, number: int, given: Given) -> TableAnswer:
    """The rows of a node's table: ``columns``, those whose ``column`` has a ``value``, ``json``.

    Raises:
        BadInput: for a column that the table has not.
    """
    wanted = tuple(given["columns"])
    columns = table.columns if wanted == ("*",) else wanted
    for name in (*columns, *(str(given[w]) for w in ("column",) if w in given)):
        if name not in table.columns:
            raise BadInput("column", name, f"* or {', '.join(table.columns)} of {given['table']}")
    rows = list(table.rows(now, number))
    if "column" in given:
        rows = [r for r in rows if str(r[str(given["column"])]) == given["value"]]
    printed = printing.json_rows if "json" in given else printing.cql_rows
    return TableAnswer(columns, rows, tuple(printed(columns, rows)))


def read_forms(select: Callable[[DrillMoment, Given], CommandReply]) -> tuple[Form, ...]:
    """The statements that read a table; ``select`` answers them."""

    def as_json(now: DrillMoment, given: Given) -> CommandReply:
        return select(now, {**given, "json": "JSON"})

    where = "WHERE {column} = {value}"
    return (
        Form(SELECT, "read a system table of this node", select, offered=False),
        Form(f"{SELECT} {where}", "some rows of it", select, offered=False),
        Form(SELECT.replace("SELECT", "SELECT JSON"), "the same as JSON", as_json, offered=False),
    )


def read_slots(tables: Mapping[str, NodeTable]) -> dict[str, Slot]:
    """What may stand in these statements."""
    names = tuple(dict.fromkeys(name for table in tables.values() for name in table.columns))
    return {
        "table": Slot("a system table", lambda now: tables),
        "columns": Slot("columns", lambda now: ("*", *names), many=True),
        "column": Slot("a column", lambda now: names),
        "value": Slot("a value in quotes", quoted=True),
    }
