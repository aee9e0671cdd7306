"""Values of table columns by their CQL types, from JSON or from CQL literals.

``set<tuple<timestamp, timeuuid>>`` and the like: a value that does not fit its column's type is
refused, whichever way it was written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from itertools import pairwise
from typing import Any

from msgspec import Struct

from kit.errors import BadInput
from kit.operators.importers.cql import parse_literal
from kit.operators.importers.nodetool import HOST_ID, token_of

Value = str | int | bool | tuple["Value", ...] | dict[str, "Value"]
LONGEST_TEXT = 10_000  # characters
_TYPE = re.compile(r"(?P<name>[a-z]+)(?:<(?P<inner>.*)>)?")
_INTEGER = re.compile(r"-?[0-9]{1,19}")
_TIMEUUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-1[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:Z|[+-]\d\d:?\d\d)")
_COLLECTIONS = ("set", "list", "tuple", "map")


class ColumnType(Struct, frozen=True):
    """A column: its CQL type, whether it is static, and what its members are read as.

    ``reads`` is the type that its texts hold, where that is narrower (tokens are kept as texts).
    """

    type: str
    static: bool = False
    reads: str = ""


class SystemTable(Struct, frozen=True):
    """A table as it is dumped: its name, the columns that are read, those that have to be there."""

    name: str
    columns: Mapping[str, ColumnType]
    needed: tuple[str, ...]


class CqlType(Struct, frozen=True):
    """A type of CQL: a scalar's name, or a collection of other types."""

    name: str
    of: tuple[CqlType, ...] = ()

    @property
    def label(self) -> str:
        """As CQL writes it."""
        inner = ", ".join(kind.label for kind in self.of)
        return f"{self.name}<{inner}>" if self.of else self.name


@cache
def cql_type(text: str) -> CqlType:
    """The type that a schema names so; ``frozen`` says nothing of values and is left out."""
    words = _TYPE.fullmatch(text.strip())
    assert words is not None, text
    if words["name"] == "frozen":
        return cql_type(words["inner"])
    return CqlType(words["name"], tuple(map(cql_type, _split(words["inner"] or ""))))


def cql_columns(text: str, **reads: str) -> Mapping[str, ColumnType]:
    """Columns as CQL declares them, ``name type`` or ``name type static``, between commas."""
    columns = {}
    for declared in _split(text):
        name, kind = declared.strip().split(" ", 1)
        plain = kind.removesuffix(" static")
        columns[name] = ColumnType(plain, plain != kind, reads.get(name, ""))
    return columns


def _split(text: str) -> list[str]:
    """The types between commas, not those within brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "<") - (letter == ">")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part for part in parts if part.strip()]


def from_csv(column: ColumnType, given: str, field: str) -> Value:
    """The value of a CSV field, where collections are CQL literals.

    Raises:
        BadInput: for what is no value of the column's type.
    """
    kind = cql_type(column.reads or column.type)
    if kind.name not in _COLLECTIONS:
        return from_json(column, given, field)
    return _value(kind, parse_literal(given, field, f"a {column.type} as in CQL"), field)


def from_json(column: ColumnType, given: object, field: str) -> Value:
    """The value of a member of a JSON object.

    Raises:
        BadInput: for what is no value of the column's type.
    """
    return _value(cql_type(column.reads or column.type), given, field)


def _value(kind: CqlType, given: object, field: str) -> Value:
    if kind.name == "map":
        return _map(kind, given, field)
    if kind.name == "set":
        return _set(kind.of[0], given, field)
    if kind.name == "list":
        if not isinstance(given, list):
            raise BadInput(field, given, f"a {kind.label}")
        return tuple(_value(kind.of[0], member, field) for member in given)
    if kind.name == "tuple":
        if not isinstance(given, list) or len(given) != len(kind.of):
            raise BadInput(field, given, f"a {kind.label}")
        both = zip(kind.of, given, strict=True)
        return tuple(_value(part, member, field) for part, member in both)
    read, words = _SCALARS[kind.name]
    value = read(given)
    if value is None:
        raise BadInput(field, given, words)
    return value


def _set(kind: CqlType, given: object, field: str) -> tuple[Value, ...]:
    """The members in their order."""
    if not isinstance(given, list):
        raise BadInput(field, given, f"a set<{kind.label}>")
    read, words = _SCALARS.get(kind.name, (None, ""))
    if read is None:
        members: list[Any] = [_value(kind, member, field) for member in given]
    else:  # a cluster may have 256,000 tokens
        members = list(map(read, given))
        if None in members:
            raise BadInput(field, given[members.index(None)], words)
    members.sort()
    for member, other in pairwise(members):
        if member == other:
            raise BadInput(field, member, "each member of a set once")
    return tuple(members)


def _map(kind: CqlType, given: object, field: str) -> dict[str, Value]:
    if given == []:  # an empty literal does not tell which it is
        return {}
    if not isinstance(given, dict):
        raise BadInput(field, given, f"a {kind.label}")
    key_type, value_type = kind.of
    return {
        str(_value(key_type, key, field)): _value(value_type, value, f"{field}.{key}")
        for key, value in given.items()
    }


def _text(given: object) -> str | None:
    fits = isinstance(given, str) and len(given) <= LONGEST_TEXT and given.isprintable()
    return str(given) if fits else None


def _integer(bits: int) -> Callable[[object], int | None]:
    """A reader of signed integers of so many bits."""

    def read(given: object) -> int | None:
        if isinstance(given, str) and _INTEGER.fullmatch(given):
            given = int(given)
        if isinstance(given, bool) or not isinstance(given, int):
            return None
        return given if -(1 << bits - 1) <= given < 1 << bits - 1 else None

    return read


def _boolean(given: object) -> bool | None:
    if isinstance(given, str):
        return {"true": True, "false": False}.get(given.lower())
    return given if isinstance(given, bool) else None


def _uuid(given: object) -> str | None:
    fits = isinstance(given, str) and re.fullmatch(HOST_ID, given)
    return str(given).lower() if fits else None


def _timeuuid(given: object) -> str | None:
    uuid = _uuid(given)
    return uuid if uuid is not None and _TIMEUUID.fullmatch(uuid) else None


def _timestamp(given: object) -> str | None:
    """A moment in UTC with its milliseconds: texts of one form, whose order is that of time."""
    if not isinstance(given, str) or _TIMESTAMP.fullmatch(given) is None:
        return None
    try:
        moment = datetime.fromisoformat(given).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


_SCALARS: dict[str, tuple[Callable[[object], str | int | None], str]] = {
    "text": (_text, f"a text of at most {LONGEST_TEXT} printable characters"),
    "int": (_integer(32), "a signed 32-bit integer"),
    "bigint": (_integer(64), "a signed 64-bit integer"),
    "boolean": (_boolean, "True or False"),
    "uuid": (_uuid, "a UUID"),
    "timeuuid": (_timeuuid, "a UUID of version 1, as of time"),
    "timestamp": (_timestamp, "a moment with its zone, such as 2026-01-31 10:00:00.000+0000"),
    "token": (
        lambda given: token_of(given) if isinstance(given, str) else None,
        "signed 64-bit integers as texts",
    ),
}
