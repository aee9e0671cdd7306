"""What a statement makes of the cells on one node, and what a person reads from them.

The node that is asked looks at its own cells only, takes its own clock for the timestamp, and says
that it is done. Source: CEP-21, "Schema Management"; manual on Raft, "Schema with Raft".
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from kit.protocols.gossip.rules.mutations import Mutations, SchemaCell

ChangeVerb = Literal["create", "alter", "drop"]
KEY, KEY_TYPE = "pk", "int"
COLUMN = "column "


class SchemaChange(Struct, frozen=True, cache_hash=True):
    """A statement: ``create table ks.t``, ``alter table ks.t add c text`` and the like.

    ``table`` is empty where it is about a keyspace. ``column`` is what an ``alter table`` adds with
    its ``type``, or drops where that is empty; ``replication`` is the factor of a keyspace.
    """

    verb: ChangeVerb
    keyspace: str
    table: str = ""
    column: str = ""
    type: str = ""
    replication: int = 0

    @property
    def text(self) -> str:
        """The statement as a line."""
        name = f"table {self.keyspace}.{self.table}" if self.table else f"keyspace {self.keyspace}"
        column = f" add {self.column} {self.type}" if self.type else f" drop {self.column}"
        more = column if self.column else f" rf {self.replication}" if self.replication else ""
        return f"{self.verb} {name}{more}"


class LegacyTable(Struct, frozen=True, cache_hash=True):
    """A table: its name, the id under which its data lie on disk, its columns with their types."""

    keyspace: str
    name: str
    id: str
    columns: tuple[tuple[str, str], ...]


class LegacySchema(Struct, frozen=True, cache_hash=True):
    """The schema that a node reads from its cells.

    ``keyspaces`` have their replication factor. ``orphans`` are columns whose table is no more and
    tables whose keyspace is no more: a node that restarts cannot load them.
    """

    keyspaces: tuple[tuple[str, int], ...]
    tables: tuple[LegacyTable, ...]
    orphans: tuple[str, ...]

    def table(self, keyspace: str, name: str) -> LegacyTable | None:
        """The table of that name, if there is one."""
        return next((t for t in self.tables if (t.keyspace, t.name) == (keyspace, name)), None)


def schema_of(cells: Mutations) -> LegacySchema:
    """What a node reads from its cells."""
    live = {cell.place: cell.value for cell in cells if cell.value}
    keyspaces = {place[0]: int(value) for place, value in live.items() if place[2] == "replication"}
    ids = {place[:2]: value for place, value in live.items() if place[2] == "id"}
    columns: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for (keyspace, table, name), value in live.items():
        if name.startswith(COLUMN):
            columns.setdefault((keyspace, table), []).append((name.removeprefix(COLUMN), value))
    tables = tuple(
        LegacyTable(*named, id=each, columns=tuple(columns.get(named, ())))
        for named, each in ids.items()
    )
    lost = [f"table {'.'.join(named)}" for named in ids if named[0] not in keyspaces]
    lost += [
        f"column {'.'.join(named)}.{column}"
        for named, those in columns.items()
        if named not in ids
        for column, _ in those
    ]
    return LegacySchema(tuple(keyspaces.items()), tables, tuple(lost))


def definitions(cells: Mutations) -> dict[str, str]:
    """Each keyspace, table and column that a node knows, with what it is: ``column ks.t.c``."""
    named = {"replication": "keyspace", "id": "table"}
    words = {"replication": "rf ", "id": "id "}
    return {
        _called(cell, named.get(cell.name, "column")): f"{words.get(cell.name, '')}{cell.value}"
        for cell in cells
        if cell.value
    }


def _called(cell: SchemaCell, what: str) -> str:
    column = cell.name.removeprefix(COLUMN) if what == "column" else ""
    return f"{what} {'.'.join(filter(None, (cell.keyspace, cell.table, column)))}"


def objection(schema: LegacySchema, change: SchemaChange) -> str | None:
    """What is wrong with a statement on this schema, as the user hears it; None: it makes sense."""
    there = change.keyspace in dict(schema.keyspaces)
    if not change.table and change.verb == "create":
        return f"keyspace {change.keyspace} already exists" if there else None
    if not there:
        return f"keyspace {change.keyspace} does not exist"
    if not change.table:
        return None
    name = f"{change.keyspace}.{change.table}"
    table = schema.table(change.keyspace, change.table)
    if change.verb == "create":
        return f"table {name} already exists" if table else None
    if table is None:
        return f"table {name} does not exist"
    if change.column and (change.column in dict(table.columns)) is bool(change.type):
        has = "already has" if change.type else "has no"
        return f"table {name} {has} column {change.column}"
    return None


def cells_of(change: SchemaChange, timestamp: int, node: str) -> Mutations:
    """The cells that a node writes for a statement, with its clock's ``timestamp``.

    A new table gets an id made of time and node, so that no two are equal.
    """
    keyspace, table = change.keyspace, change.table

    def cell(name: str, value: str) -> SchemaCell:
        return SchemaCell(keyspace, table, name, timestamp, value)

    if change.verb == "drop":
        return (cell("", ""),)
    if not table:
        return (cell("replication", str(change.replication or 1)),)
    if change.verb == "create":
        return cell(f"{COLUMN}{KEY}", KEY_TYPE), cell("id", f"{timestamp}@{node}")
    return (cell(f"{COLUMN}{change.column}", change.type),)
