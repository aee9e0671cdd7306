"""One connection's side of the native protocol: what comes of each thing that a client asks.

Statements of system tables are answered at once; reads and writes of the row wait for the model.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kit.clients import frames, statements
from kit.clients.cluster import ServedCluster
from kit.clients.frames import Column, Message, Parameters, Result
from kit.clients.notation import (
    UNSET,
    MalformedError,
    decoded,
    encoded,
    fitted,
    multimap,
    number,
    sized,
    string,
)
from kit.clients.statements import Marker, Statement, SyntaxFault
from kit.clients.tables import CQL, Catalog, Table
from kit.console.clients import RowAnswer, RowRequest
from kit.console.server import COUNTED, FILTERING, JSON, Row, json_row, needs_filtering
from kit.errors import BadInput, KitError, Refused, check_among
from kit.operators.importers.cql import cql_type

MOST_PREPARED = 1000
KINDS = {"select": "read", "write": "write", "delete": "delete"}
Reply = tuple[int, bytes]
Prepared = tuple[Statement, str]
"""A statement, and the keyspace that its client used."""
Wait = Callable[[RowRequest, str | None], Awaitable[RowAnswer]]
NO_COUNTERS = "no table here has counters, so send a logged or an unlogged batch"
NULL = "Invalid null value in condition for column {column}"
FORGOTTEN = "this statement is not prepared here: prepare it again"


class RowStatement(Struct, frozen=True):
    """A statement about the row of a table: the request, and the value that it writes."""

    statement: Statement
    table: Table
    request: RowRequest
    value: str | None
    given: Parameters


class Conversation:
    """A client at a node: the keyspace that it uses, the events that it wants.

    ``prepared`` are the statements that clients of all nodes have prepared.
    """

    def __init__(
        self, cluster: ServedCluster, at: int, prepared: dict[bytes, Prepared], wait: Wait
    ) -> None:
        self.cluster, self.at, self.prepared, self.wait = cluster, at, prepared, wait
        self.started, self.events, self.used = False, set[str](), ""

    async def reply(self, message: Message) -> Reply:
        """What is answered: an opcode and a body; an error for what cannot be."""
        try:
            return await self._reply(message)
        except MalformedError as error:
            return frames.error(frames.PROTOCOL_ERROR, str(error))
        except SyntaxFault as error:
            return frames.error(frames.SYNTAX_ERROR, str(error))
        except Refused as error:
            return frames.error(frames.SERVER_ERROR, str(error))
        except KitError as error:
            return frames.error(frames.INVALID, str(error))

    async def _reply(self, message: Message) -> Reply:
        if message.opcode == frames.OPTIONS:
            known = {"CQL_VERSION": [CQL], "COMPRESSION": [], "PROTOCOL_VERSIONS": ["4/v4"]}
            return frames.SUPPORTED, multimap(known)
        if message.opcode == frames.STARTUP:
            if message.options.get("COMPRESSION"):
                why = "this server does not support compression"
                raise MalformedError(f"STARTUP COMPRESSION: {why}")
            self.started = True
            return frames.READY, b""
        if not self.started:
            raise MalformedError("STARTUP has to come first")
        if message.opcode == frames.REGISTER:
            self.events |= {*message.events}
            return frames.READY, b""
        if message.opcode == frames.PREPARE:
            return self._prepare(str(message.statements[0]))
        if message.opcode == frames.BATCH:
            return await self._batch(message)
        return await self._execute(message.statements[0], message.parameters[0])

    def _parsed(self, statement: str | bytes) -> Prepared | None:
        if isinstance(statement, str):
            return statements.parsed(statement), self.used
        return self.prepared.get(statement)

    def _prepare(self, text: str) -> Reply:
        statement = statements.parsed(text)
        known = hashlib.md5(f"{self.used} {text}".encode(), usedforsecurity=False).digest()
        with self.cluster.lock:
            bound, key, result = self._shape(statement, self.used)
        self.prepared[known] = (statement, self.used)
        while len(self.prepared) > MOST_PREPARED:
            del self.prepared[next(iter(self.prepared))]
        return frames.prepared(known, bound, key, result)

    def _shape(self, statement: Statement, used: str) -> tuple[Result, int | None, Result]:
        if statement.verb in ("use", "describe"):
            if statement.markers:
                raise BadInput("?", statement.verb, "no markers in this statement")
            return Result("", "", ()), None, Result("", "", ())
        table = self._table(statement, used, self.cluster.catalog(self.at))
        by_marker = _places(statement, table)
        pairs = zip(statement.markers, by_marker, strict=True)
        bound = [Column(marker.name or name, cql_type(kind)) for marker, (name, kind) in pairs]
        first = next(iter(table.columns))
        key = next((at for at, (name, _) in enumerate(by_marker) if name == first), None)
        columns = _columns(*_shaped(statement, table, ())[:2]) if statement.verb == "select" else ()
        place = table.keyspace, table.name
        return Result(*place, bound), key, Result(*place, columns)

    def _table(self, statement: Statement, used: str, catalog: Catalog) -> Table:
        keyspace = statement.keyspace or used
        if not keyspace:
            allowed = "a keyspace first: USE one, or write keyspace.table"
            raise BadInput("table", statement.table, allowed)
        table = catalog.table(keyspace, statement.table)
        for name in (*statement.columns, *statement.sets, *statement.where):
            if name not in table.columns:
                allowed = f"one of {', '.join(table.columns)} of {table.title}"
                raise BadInput("column", name, allowed)
        filters = needs_filtering(table.keyspace, table.keys, statement.where)
        if filters and statement.verb == "select" and not statement.filters:
            raise KitError(FILTERING)
        return table

    async def _execute(self, known: str | bytes, given: Parameters) -> Reply:
        planned = self._understood(known, self._parsed(known), given)
        return await self._answered(planned) if isinstance(planned, RowStatement) else planned

    async def _answered(self, planned: RowStatement) -> Reply:
        return self._reply_with(await self.wait(planned.request, planned.value), planned)

    def _understood(
        self, known: str | bytes, parsed: Prepared | None, given: Parameters
    ) -> RowStatement | Reply:
        if parsed is None:
            more = sized(known if isinstance(known, bytes) else b"", "H")
            return frames.error(frames.UNPREPARED, FORGOTTEN, more)
        statement, used = parsed
        if statement.verb == "use":
            return self._use(statement.keyspace)
        with self.cluster.lock:
            catalog = self.cluster.catalog(self.at)
            if statement.verb == "describe":
                columns, rows = catalog.describe(statement.columns, used)
                return _page(Table("system", "describe", columns), [*columns], rows, given)
            table = self._table(statement, used, catalog)
            statement = _bound(statement, table, given)
            if not catalog.is_of_users(table):
                if statement.verb != "select":
                    raise BadInput("table", table.title, "a user table: this one is read-only")
                return _selected(statement, table, given)
            request, value = self._request(statement, table, catalog, given.level)
        return RowStatement(statement, table, request, value, given)

    async def _batch(self, message: Message) -> Reply:
        """One write of the row. All statements of a batch have one timestamp, so a deletion stays,
        or else the greatest value. Nothing is written where one of them is wrong.
        """
        if message.counters:
            raise KitError(f"BATCH: {NO_COUNTERS}")
        writes = list[RowStatement]()
        for known, given in zip(message.statements, message.parameters, strict=True):
            parsed = self._parsed(known)
            if parsed is not None and parsed[0].verb not in ("write", "delete"):
                raise BadInput("BATCH", parsed[0].verb.upper(), "only statements that write")
            planned = self._understood(known, parsed, given)
            if not isinstance(planned, RowStatement):
                return planned
            writes.append(planned)
        if not writes:
            return frames.void()
        stays = max(writes, key=lambda each: (each.value is None, (each.value or "").encode()))
        return await self._answered(stays)

    def _use(self, keyspace: str) -> Reply:
        with self.cluster.lock:
            names = self.cluster.catalog(self.at).names()
        check_among("keyspace", keyspace, names)
        self.used = keyspace
        return frames.used(keyspace)

    def _request(
        self, statement: Statement, table: Table, catalog: Catalog, level: str
    ) -> tuple[RowRequest, str | None]:
        rows = self.cluster.rows
        first, *others = table.columns
        if rows is None:
            name = self.cluster.model.name
            raise BadInput("table", table.title, f"a system table: {name} has no rows")
        given = {**statement.sets, **statement.where}
        if first in given and given[first] is None:  # an INSERT has no WHERE
            raise KitError(NULL.format(column=first))
        key = rows.key(catalog.now)
        if any(isinstance(value, tuple) for value in statement.where.values()):
            raise BadInput("WHERE", "IN", f"only {first} = {key}")
        if {*statement.sets} & {*statement.where}:
            raise BadInput("SET", first, f"only {', '.join(others)}: the key of a row stays")
        if {*statement.where} - {first}:
            raise BadInput("WHERE", ", ".join(statement.where), f"only {first} = {key}")
        if first not in given and statement.verb != "select":
            raise KitError(f"column {first}: a key is needed, and this model follows only {key}")
        if given.get(first, key) != key:
            raise BadInput(first, given[first], f"{key}: this model follows only that row")
        value = next((given[name] for name in others if name in statement.sets), None)
        if statement.verb == "write" and value is None:
            raise KitError(
                f"column {others[0]}: a row of this model always has a value, so give one or "
                "DELETE the row (in CQL, null deletes a single column)"
            )
        kind: Any = KINDS[statement.verb]
        return RowRequest(self.cluster.coordinator(self.at), kind, level), value

    def _reply_with(self, answer: RowAnswer, planned: RowStatement) -> Reply:
        statement, table = planned.statement, planned.table
        level = number("H", frames.LEVELS.index(planned.request.level))
        if answer.verdict == "unavailable":
            more = level + number("i", answer.needed) + number("i", answer.received)
            return frames.error(frames.UNAVAILABLE, answer.why, more)
        if answer.verdict == "done":
            if statement.verb != "select":
                return frames.void()
            first, second = table.columns
            rows, writer = self.cluster.rows, answer.writer
            assert rows is not None
            result = list[Row]()
            if writer is not None:
                with self.cluster.lock:
                    key = rows.key(self.cluster.now(self.at))
                    result = [{first: key, second: self.cluster.value_of(writer)}]
            return _page(*_shaped(statement, table, result), planned.given)
        more = level + number("i", answer.received) + number("i", answer.needed)
        failed, reads = answer.verdict == "failure", statement.verb == "select"
        more += number("i", answer.failures) if failed else b""
        more += number("B", answer.received > 0) if reads else string("SIMPLE")
        failures, timeouts = frames.FAILURES, frames.TIMEOUTS
        return frames.error((failures if failed else timeouts)[reads], answer.why, more)


def _columns(table: Table, wanted: Sequence[str]) -> list[Column]:
    return [Column(name, cql_type(table.columns[name])) for name in wanted]


def _shaped(
    statement: Statement, table: Table, rows: Sequence[Row]
) -> tuple[Table, Sequence[str], Sequence[Row]]:
    wanted = statement.columns or tuple(table.columns)
    if statement.shape == "rows":
        return table, wanted, rows
    [name] = COUNTED if statement.shape == "count" else (JSON,)
    texts = [{name: json_row(wanted, row)} for row in rows]
    counted = [{name: len(rows)}]
    kind, result = ("bigint", counted) if statement.shape == "count" else ("text", texts)
    return Table(table.keyspace, table.name, {name: kind}), (name,), result


def _places(statement: Statement, table: Table) -> list[tuple[str, str]]:
    result = {
        value: (name, table.columns[name])
        for name, value in statement.values
        if isinstance(value, Marker)
    }
    if isinstance(statement.limit, Marker):
        result[statement.limit] = ("[limit]", "int")
    return [result[each] for each in statement.markers]


def _bound(statement: Statement, table: Table, given: Parameters) -> Statement:
    """The statement with its values. Raises BadInput where one is missing, or is of no use."""
    places = _places(statement, table)
    values: dict[Marker, Any] = {}
    raw: Sequence[Any] = given.values
    if given.names:
        by_name = dict(zip(given.names, given.values, strict=True))
        named = zip(statement.markers, places, strict=True)
        raw = [by_name.get(marker.name or name, UNSET) for marker, (name, _) in named]
    if len(raw) != len(places):
        raise BadInput("values", len(raw), f"{len(places)}, one for each marker")
    for marker, (name, kind), each in zip(statement.markers, places, raw, strict=True):
        if each == UNSET:
            raise BadInput(name, "unset", "a value")
        values[marker] = decoded(kind, each)

    def fill(name: str, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(fill(name, each) for each in value)
        if isinstance(value, Marker):
            return values[value]
        return None if value is None else fitted(name, table.columns[name], value)

    def filled(pairs: Mapping[str, Any]) -> dict[str, Any]:
        return {name: fill(name, value) for name, value in pairs.items()}

    limit = values.get(statement.limit, statement.limit) if statement.limit is not None else None
    if statement.limit is not None and (type(limit) is not int or limit < 1):
        raise BadInput("LIMIT", limit, "a number of at least 1")
    sets, where = filled(statement.sets), filled(statement.where)
    for name, value in where.items():
        if value is None or (isinstance(value, tuple) and None in value):
            raise KitError(NULL.format(column=name))
    return replace(statement, sets=sets, where=where, limit=limit)


def _selected(statement: Statement, table: Table, given: Parameters) -> Reply:
    rows = [row for row in table.rows() if _fits(row, statement, table)]
    shown, wanted, result = _shaped(statement, table, rows)
    return _page(shown, wanted, result[: statement.limit], given)


def _fits(row: Row, statement: Statement, table: Table) -> bool:
    for name, value in statement.where.items():
        alike = str if table.columns[name] == "text" else lambda each: str(each).lower()
        wanted = {*map(alike, value if isinstance(value, tuple) else (value,))}
        if row.get(name) is None or alike(row[name]) not in wanted:
            return False
    return True


def _page(
    table: Table, wanted: Sequence[str], rows: Sequence[Mapping[str, Any]], given: Parameters
) -> Reply:
    columns = _columns(table, wanted)
    end = given.start + given.page if given.page else len(rows)
    shown = [[encoded(c.type, row.get(c.name)) for c in columns] for row in rows[given.start : end]]
    more = end if end < len(rows) else 0
    return frames.rows(Result(table.keyspace, table.name, columns, shown, more))


async def awaited(cluster: ServedCluster, request: RowRequest, value: str | None) -> RowAnswer:
    """The answer of a coordinator, whenever the model has it."""
    loop = asyncio.get_running_loop()
    result: asyncio.Future[RowAnswer] = loop.create_future()

    def tell(answer: RowAnswer) -> None:
        if not result.done():  # the client may be gone
            result.set_result(answer)

    cluster.ask(request, value, lambda answer: loop.call_soon_threadsafe(tell, answer))
    return await result
