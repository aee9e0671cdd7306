"""Types of CQL, and their values as bytes. Source: native protocol v4, sections 4.2.5.2 and 6."""

import struct
from collections.abc import Callable, Mapping
from datetime import datetime
from ipaddress import ip_address
from typing import Any
from uuid import UUID

from kit.clients.notation import MalformedError, number, sized
from kit.errors import BadInput
from kit.operators.importers.cql import CqlType, cql_type

IDS = {
    "bigint": 0x02, "boolean": 0x04, "int": 0x09, "timestamp": 0x0B, "uuid": 0x0C,
    "text": 0x0D, "timeuuid": 0x0F, "inet": 0x10, "list": 0x20, "map": 0x21, "set": 0x22,
}  # fmt: skip
_ENCODE: Mapping[str, Callable[[Any], bytes]] = {
    "bigint": lambda given: number("q", given),
    "boolean": lambda given: number("B", given),
    "int": lambda given: number("i", given),
    "timestamp": lambda given: number("q", milliseconds(given)),
    "uuid": lambda given: UUID(given).bytes,
    "timeuuid": lambda given: UUID(given).bytes,
    "text": str.encode,
    "inet": lambda given: ip_address(given).packed,
}
_DECODE: Mapping[str, Callable[[bytes], Any]] = {
    "bigint": lambda given: struct.unpack(">q", given)[0],
    "int": lambda given: struct.unpack(">i", given)[0],
    "boolean": lambda given: bool(struct.unpack(">B", given)[0]),
    "text": bytes.decode,
    "uuid": lambda given: str(UUID(bytes=given)),
    "timeuuid": lambda given: str(UUID(bytes=given)),
    "inet": lambda given: str(ip_address(given)),
}


def milliseconds(moment: datetime) -> int:
    """A moment as CQL stores it."""
    return int(moment.timestamp() * 1000)


def option(kind: CqlType) -> bytes:
    """A type as column specifications have it."""
    return number("H", IDS[kind.name]) + b"".join(map(option, kind.of))


def encoded(kind: CqlType, value: Any) -> bytes | None:
    """A value as bytes; None for null."""
    if value is None:
        return None
    if kind.name == "map":
        pairs = [*dict(value).items()]
        members = ((of, x) for pair in pairs for of, x in zip(kind.of, pair, strict=True))
        return number("i", len(pairs)) + b"".join(sized(encoded(of, x)) for of, x in members)
    if kind.of:
        each = sorted(value) if kind.name == "set" else [*value]
        return number("i", len(each)) + b"".join(sized(encoded(kind.of[0], x)) for x in each)
    return _ENCODE[kind.name](value)


def decoded(type_: str, given: bytes | None) -> Any:
    """A value from its bytes. Raises MalformedError for bytes that are none of the type."""
    if given is None:
        return None
    try:
        return _DECODE[cql_type(type_).name](given)
    except (KeyError, ValueError, struct.error):
        raise MalformedError(f"a bound value: {len(given)} bytes are not a valid {type_}") from None


def fitted(column: str, type_: str, value: Any) -> Any:
    """A literal's value as one of a column. Raises BadInput where it is none."""
    try:
        encoded(cql_type(type_), value)
    except (TypeError, ValueError, struct.error, AttributeError):
        raise BadInput(column, value, f"a value of type {type_}") from None
    wrong = type_ == "text" and not isinstance(value, str)
    if wrong or (type_ in ("int", "bigint") and isinstance(value, bool)):
        raise BadInput(column, value, f"a value of type {type_}")
    return value
