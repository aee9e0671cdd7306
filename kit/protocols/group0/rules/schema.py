"""The schema that group 0 keeps: keyspaces and tables, and what a statement makes of them.

Who submits a statement reads the schema of its own node, finds out whether the statement makes
sense, and sends cells. A node that applies the command merges them: of two cells the one with the
greater timestamp stays, and the timestamp is the command's state id. The version of a table is that
timestamp too, made once, by the sender.
Source: "Using Group 0 to perform schema changes", "Group 0 schema versioning"; blog post on 6.0,
"Linearizable schema version".
"""

import re
from collections.abc import Sequence
from typing import Literal, TypeVar, cast

from msgspec import Struct
from msgspec.structs import astuple, replace

from kit.errors import BadInput

Verb = Literal["create", "alter", "drop"]
KEY_COLUMN = "pk"
Row = TypeVar("Row", "SchemaKeyspace", "SchemaTable")


class Statement(Struct, frozen=True, cache_hash=True):
    """A statement of a client: ``create table ks.t``, ``alter table ks.t add c`` and the like.

    ``table`` is empty where the statement is about a keyspace. ``column`` is the one that an
    ``alter table`` adds, ``replication`` the factor that an ``alter keyspace`` sets.
    """

    verb: Verb
    keyspace: str
    table: str = ""
    column: str = ""
    replication: int = 0

    @property
    def text(self) -> str:
        """The statement as a line."""
        name = f"table {self.keyspace}.{self.table}" if self.table else f"keyspace {self.keyspace}"
        more = {"alter": f" add {self.column}" if self.table else f" rf {self.replication}"}
        return f"{self.verb} {name}{more.get(self.verb, '')}"


class SchemaKeyspace(Struct, frozen=True, cache_hash=True):
    """A keyspace with its replication factor and the timestamp of its cells."""

    name: str
    replication: int
    timestamp: int


class SchemaTable(Struct, frozen=True, cache_hash=True):
    """A table: its name, the id of its data on disk, its columns, and the version of all that.

    A table that is created again gets another id: what was written under the old one is orphaned.
    """

    keyspace: str
    name: str
    id: int
    columns: tuple[str, ...]
    version: int


class SchemaState(Struct, frozen=True, cache_hash=True):
    """The schema on one node, with the version of the whole."""

    keyspaces: tuple[SchemaKeyspace, ...] = ()
    tables: tuple[SchemaTable, ...] = ()
    version: int = 0

    def keyspace(self, name: str) -> SchemaKeyspace | None:
        """The keyspace of that name, if there is one."""
        return next((each for each in self.keyspaces if each.name == name), None)

    def table(self, keyspace: str, name: str) -> SchemaTable | None:
        """The table of that name, if there is one."""
        return next((t for t in self.tables if (t.keyspace, t.name) == (keyspace, name)), None)

    def version_of(self, keyspace: str, table: str) -> int:
        """The version of a table here; of one that is not there, how new the schema is."""
        row = self.table(keyspace, table)
        return row.version if row is not None else self.version


def objection(schema: SchemaState, statement: Statement) -> str | None:
    """The fault of a statement on this schema, as the user is told; None: it makes sense."""
    keyspace = schema.keyspace(statement.keyspace)
    if not statement.table:
        if statement.verb == "create":
            return f"keyspace {statement.keyspace} already exists" if keyspace else None
        return None if keyspace else f"keyspace {statement.keyspace} does not exist"
    name = f"{statement.keyspace}.{statement.table}"
    if keyspace is None:
        return f"keyspace {statement.keyspace} does not exist"
    table = schema.table(statement.keyspace, statement.table)
    if statement.verb == "create":
        return f"table {name} already exists" if table else None
    if table is None:
        return f"table {name} does not exist"
    again = statement.column in table.columns  # what is dropped names none
    return f"table {name} already has column {statement.column}" if again else None


def merged(schema: SchemaState, statement: Statement, timestamp: int) -> SchemaState:
    """The schema after a node has merged the cells of a statement, whatever it had before.

    It does not object: whether the statement made sense its sender has found out.
    """
    changed = _with_table if statement.table else _with_keyspace
    after = changed(schema, statement, timestamp)
    return replace(after, version=max(schema.version, timestamp))


def _with_keyspace(schema: SchemaState, statement: Statement, timestamp: int) -> SchemaState:
    old = schema.keyspace(statement.keyspace)
    if old is not None and old.timestamp > timestamp:
        return schema
    others = tuple(each for each in schema.keyspaces if each is not old)
    if statement.verb == "drop":
        kept = tuple(t for t in schema.tables if t.keyspace != statement.keyspace)
        return replace(schema, keyspaces=others, tables=kept)
    new = SchemaKeyspace(statement.keyspace, statement.replication or 1, timestamp)
    return replace(schema, keyspaces=_in_order(*others, new))


def _with_table(schema: SchemaState, statement: Statement, timestamp: int) -> SchemaState:
    old = schema.table(statement.keyspace, statement.table)
    others = tuple(each for each in schema.tables if each is not old)
    if statement.verb == "drop":
        return replace(schema, tables=others)
    if statement.verb == "create":
        if old is not None and old.version > timestamp:
            return schema
        new = SchemaTable(statement.keyspace, statement.table, timestamp, (KEY_COLUMN,), timestamp)
        return replace(schema, tables=_in_order(*others, new))
    if old is None:
        return schema
    columns = tuple(sorted({*old.columns, statement.column}))
    altered = replace(old, columns=columns, version=max(old.version, timestamp))
    return replace(schema, tables=_in_order(*others, altered))


def _in_order(*rows: Row) -> tuple[Row, ...]:
    return tuple(sorted(rows, key=astuple))


FORMS = (
    "create keyspace KS",
    "alter keyspace KS rf N",
    "drop keyspace KS",
    "create table KS.T",
    "alter table KS.T add COLUMN",
    "drop table KS.T",
)
_LINE = re.compile(
    r"(?P<verb>create|alter|drop) (?:keyspace (?P<keyspace>\w+)|table (?P<of>\w+)\.(?P<table>\w+))"
    r"(?: add (?P<column>\w+))?(?: rf (?P<rf>\d))? at (?P<node>\w+)",
    re.ASCII,
)
_REQUEST = re.compile(r"(?:read|write) (\w+)\.(\w+) at (\w+) to (\w+)", re.ASCII)


class ClientOperation(Struct, frozen=True):
    """A statement, and the node (by its number) that a client asks for it."""

    statement: Statement
    node: int
    text: str


class TableRequest(Struct, frozen=True):
    """A read or write of a table that a coordinator sends to a replica (nodes by number)."""

    keyspace: str
    table: str
    coordinator: int
    replica: int
    text: str


def parse_requests(lines: Sequence[str], nodes: Sequence[str]) -> tuple[TableRequest, ...]:
    """The requests in these lines.

    Raises BadInput for a line that is no request between two nodes, or one that stands twice.
    """
    requests: list[TableRequest] = []
    for line in lines:
        match = _REQUEST.fullmatch(" ".join(line.split()))
        if match is None:
            ways = "read KS.T at NODE to NODE; write KS.T at NODE to NODE"
            raise BadInput("requests", line, ways)
        text, keyspace, table, *ends = match[0], *match.groups()
        if not {*ends} <= {*nodes}:
            raise BadInput("requests", line, f"nodes among {', '.join(nodes)}")
        source, target = map(nodes.index, ends)
        request = TableRequest(keyspace, table, source, target, text)
        if request in requests:
            raise BadInput("requests", line, "each request once")
        requests.append(request)
    return tuple(requests)


def parse_operations(lines: Sequence[str], nodes: Sequence[str]) -> tuple[ClientOperation, ...]:
    """The operations in these lines: ``alter table ks.t add c at B``.

    Raises BadInput for a line that is no statement at a node of ``nodes``, or one that stands
    twice.
    """
    operations: list[ClientOperation] = []
    for line in lines:
        text = " ".join(line.split())
        match = _LINE.fullmatch(text)
        if match is None or (statement := _statement(match)) is None:
            raise BadInput("operations", line, "; ".join(f"{form} at NODE" for form in FORMS))
        if match["node"] not in nodes:
            raise BadInput("operations", line, f"a node among {', '.join(nodes)}")
        operation = ClientOperation(statement, nodes.index(match["node"]), text)
        if operation in operations:
            raise BadInput("operations", text, "each operation once")
        operations.append(operation)
    return tuple(operations)


def _statement(match: re.Match[str]) -> Statement | None:
    verb, table = cast(Verb, match["verb"]), match["table"]
    column, rf = match["column"], match["rf"]
    wants_column, wants_rf = verb == "alter" and bool(table), verb == "alter" and not table
    if bool(column) != wants_column or bool(rf) != wants_rf or column == KEY_COLUMN or rf == "0":
        return None
    keyspace = match["keyspace"] or match["of"]
    return Statement(verb, keyspace, table or "", column or "", int(rf or 0))
