"""Frames of the native protocol, version 4: what a client may send, and what it is sent back.

A frame is a header of nine bytes and a body of at most ``LARGEST`` bytes. Source: native protocol
v4, sections 2, 4 and 9.
"""

import struct
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from kit.clients import notation
from kit.clients.notation import MalformedError, Reader, number, option, string
from kit.operators.importers.cql import CqlType

VERSION, RESPONSE = 4, 0x80
HEADER = 9
LARGEST = 256 * 1024
"""Bytes of a frame's body that are read."""
ERROR, STARTUP, READY, OPTIONS, SUPPORTED, QUERY, RESULT, PREPARE = 0, 1, 2, 5, 6, 7, 8, 9
EXECUTE, REGISTER, EVENT, BATCH = 10, 11, 12, 13
ASKED = {STARTUP, OPTIONS, QUERY, PREPARE, EXECUTE, REGISTER, BATCH}
EVENTS = ("TOPOLOGY_CHANGE", "STATUS_CHANGE", "SCHEMA_CHANGE")
LEVELS = (
    *("ANY", "ONE", "TWO", "THREE", "QUORUM", "ALL", "LOCAL_QUORUM", "EACH_QUORUM", "SERIAL"),
    *("LOCAL_SERIAL", "LOCAL_ONE"),
)
VALUES, SKIP, PAGE, PAGING, SERIAL, TIMESTAMP, NAMED = 1, 2, 4, 8, 16, 32, 64
COMPRESSED, TRACING, PAYLOAD, WARNING = 1, 2, 4, 8
MOST_IN_BATCH = 100
COUNTERS = 2
"""The type of a batch that changes counters."""


class Header(Struct, frozen=True):
    """The header of a frame."""

    flags: int
    stream: int
    opcode: int
    length: int


class UnsupportedError(MalformedError):
    """A frame of another version: drivers come again with the one that they are told."""


def header(raw: bytes) -> Header:
    """The header of a request. Raises MalformedError; ``stream_of`` still tells whose it is."""
    version = raw[0] & ~RESPONSE
    if raw[0] != VERSION:
        what = "a response" if version == VERSION else f"({version})"
        wrong = f"Invalid or unsupported protocol version {what}"
        raise UnsupportedError(f"{wrong}; supported versions are (4/v4)")
    result = Header(raw[1], stream_of(raw), raw[4], int.from_bytes(raw[5:], "big"))
    if result.length > LARGEST:
        raise MalformedError(f"a body of {result.length} bytes: at most {LARGEST} are allowed")
    return result


def stream_of(raw: bytes) -> int:
    """The number by which a client knows its request."""
    return int.from_bytes(raw[2:4], "big", signed=True)


def frame(opcode: int, stream: int, body: bytes = b"") -> bytes:
    """A response."""
    return struct.pack(">BBhBi", VERSION | RESPONSE, 0, stream, opcode, len(body)) + body


# -- what a client asks ----------------------------------------------------------------------------


class Parameters(Struct, frozen=True):
    """How a statement is to be executed. ``page`` is how many rows (0: all), ``start`` the first.

    ``values`` are bytes, None for null, ``UNSET``; ``names`` are theirs, where they are named.
    """

    level: str = "ONE"
    values: tuple[Any, ...] = ()
    names: tuple[str, ...] = ()
    page: int = 0
    start: int = 0


class Message(Struct, frozen=True):
    """A client's message: ``options`` of STARTUP, ``events`` of REGISTER, else statements.

    A statement is a text, or the id of one that was prepared. ``counters``: a batch changes some.
    """

    opcode: int
    options: dict[str, str] = {}
    events: tuple[str, ...] = ()
    statements: tuple[str | bytes, ...] = ()
    parameters: tuple[Parameters, ...] = ()
    counters: bool = False


def message_of(head: Header, body: bytes) -> Message:
    """The message in a frame. Raises MalformedError for a body that does not read so."""
    if head.opcode not in ASKED:
        raise MalformedError(f"opcode {head.opcode:#04x}: not a version 4 request")
    if head.flags & COMPRESSED:
        raise MalformedError("a compressed frame: no compression was negotiated")
    read = Reader(body)
    if head.flags & PAYLOAD:
        for _ in range(read.count("custom payload")):
            read.string("custom payload")
            read.sized("custom payload")
    result = _message_of(head.opcode, read)
    read.end("the frame")
    return result


def _message_of(opcode: int, read: Reader) -> Message:
    if opcode == STARTUP:
        return Message(opcode, options=read.string_map("STARTUP"))
    if opcode == REGISTER:
        events = read.strings("REGISTER")
        for each in events:
            if each not in EVENTS:
                raise MalformedError(f"REGISTER {each[:40]}: must be one of {', '.join(EVENTS)}")
        return Message(opcode, events=events)
    if opcode == QUERY:
        return Message(
            opcode, statements=(read.string("QUERY", "i"),), parameters=(_read_parameters(read),)
        )
    if opcode == PREPARE:
        return Message(opcode, statements=(read.string("PREPARE", "i"),))
    if opcode == EXECUTE:
        known = read.sized("EXECUTE", "H") or b""
        return Message(opcode, statements=(known,), parameters=(_read_parameters(read),))
    return _batch(read) if opcode == BATCH else Message(opcode)


def _level(read: Reader) -> str:
    code = read.number("H", "consistency")
    if code >= len(LEVELS):
        raise MalformedError(f"consistency {code:#06x}: not a version 4 level")
    return LEVELS[code]


def _read_parameters(read: Reader) -> Parameters:
    level, flags = _level(read), read.number("B", "flags")
    values: list[Any] = []
    names: list[str] = []
    if flags & VALUES:
        for _ in range(read.count("values")):
            if flags & NAMED:
                names.append(read.string("a value's name"))
            values.append(read.value("a value"))
    page = read.number("i", "page size") if flags & PAGE else 0
    start = _start(read.sized("paging state") or b"") if flags & PAGING else 0
    if flags & SERIAL:
        _level(read)
    if flags & TIMESTAMP:
        read.number("q", "timestamp")
    return Parameters(level, tuple(values), tuple(names), max(page, 0), start)


def _start(state: bytes) -> int:
    if len(state) not in (0, 4):
        raise MalformedError("paging state: it does not come from this server")
    return int.from_bytes(state, "big")


def _batch(read: Reader) -> Message:
    if (kind := read.number("B", "batch type")) > COUNTERS:
        raise MalformedError(f"batch type {kind}: must be 0 to 2")
    statements: list[str | bytes] = []
    values: list[tuple[Any, ...]] = []
    if (many := read.count("BATCH")) > MOST_IN_BATCH:
        raise MalformedError(f"BATCH: {many} statements, at most {MOST_IN_BATCH} are allowed")
    for _ in range(many):
        if (prepared := read.number("B", "kind of statement")) > 1:
            raise MalformedError(f"kind of statement {prepared}: must be 0 or 1")
        known = (read.sized("id", "H") or b"") if prepared else read.string("statement", "i")
        statements.append(known)
        values.append(tuple(read.value("a value") for _ in range(read.count("values"))))
    level, flags = _level(read), read.number("B", "flags")
    if flags & SERIAL:
        _level(read)
    if flags & TIMESTAMP:
        read.number("q", "timestamp")
    given = tuple(Parameters(level, each) for each in values)
    return Message(BATCH, {}, (), tuple(statements), given, kind == COUNTERS)


# -- what it is told -------------------------------------------------------------------------------

SERVER_ERROR, PROTOCOL_ERROR, UNAVAILABLE, OVERLOADED = 0x0000, 0x000A, 0x1000, 0x1001
TIMEOUTS, FAILURES = (0x1100, 0x1200), (0x1500, 0x1300)
"""Of a write, and of a read."""
SYNTAX_ERROR, INVALID, UNPREPARED = 0x2000, 0x2200, 0x2500


def error(code: int, message: str, more: bytes = b"") -> tuple[int, bytes]:
    """An error: its opcode and its body."""
    return ERROR, number("i", code) + string(message[:2000]) + more


class Column(Struct, frozen=True):
    """A column of a result."""

    name: str
    type: CqlType


class Result(Struct, frozen=True):
    """Rows of a table, each a list of bytes or None; ``more`` is where the next page begins."""

    keyspace: str
    table: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[bytes | None]] = ()
    more: int = 0


def _specified(keyspace: str, table: str, columns: Sequence[Column]) -> bytes:
    each = (string(column.name) + option(column.type) for column in columns)
    return string(keyspace) + string(table) + b"".join(each)


def rows(result: Result) -> tuple[int, bytes]:
    """A result of rows."""
    body = number("i", 2) + number("i", 1 | 2 * bool(result.more))
    body += number("i", len(result.columns))
    if result.more:
        body += notation.sized(number("i", result.more))
    body += _specified(result.keyspace, result.table, result.columns)
    cells = b"".join(notation.sized(cell) for row in result.rows for cell in row)
    return RESULT, body + number("i", len(result.rows)) + cells


def void() -> tuple[int, bytes]:
    """A result of nothing."""
    return RESULT, number("i", 1)


def used(keyspace: str) -> tuple[int, bytes]:
    """A keyspace is used from here on."""
    return RESULT, number("i", 3) + string(keyspace)


def prepared(known: bytes, bound: Result, key: int | None, result: Result) -> tuple[int, bytes]:
    """A statement is prepared: its id, the columns that are bound, the key's place, its result."""
    keys = b"" if key is None else number("H", key)
    body = number("i", 4) + notation.sized(known, "H")
    body += number("i", 1) + number("i", len(bound.columns)) + number("i", key is not None) + keys
    body += _specified(bound.keyspace, bound.table, bound.columns)
    body += number("i", 1 if result.columns else 4) + number("i", len(result.columns))
    more = _specified(result.keyspace, result.table, result.columns) if result.columns else b""
    return RESULT, body + more
