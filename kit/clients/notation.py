"""How the native protocol writes numbers, texts, lists and addresses, types and their values.

A ``Reader`` takes a body apart and never reads beyond its end.

Source: native protocol v4, sections 3, 4.2.5.2 and 6.
"""

import struct
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from ipaddress import ip_address
from typing import Any
from uuid import UUID

from kit.errors import BadInput, KitError
from kit.operators.importers.cql import CqlType, cql_type

UNSET, NULL = -2, -1
MOST = 10_000
"""Members of a list or a map in a message."""


class MalformedError(KitError):
    """A frame that does not read as the protocol says: what was read, and what is wrong with it."""


class Reader:
    """A body that is read from its beginning to its end."""

    def __init__(self, body: bytes) -> None:
        self.body, self.at = body, 0

    def take(self, count: int, what: str) -> bytes:
        """The next bytes. Raises MalformedError where so many are not left."""
        left = len(self.body) - self.at
        if not 0 <= count <= left:
            raise MalformedError(f"{what}: {count} bytes are announced, but {left} are left")
        self.at += count
        return self.body[self.at - count : self.at]

    def number(self, form: str, what: str) -> int:
        """A number: ``B`` of one byte, ``H`` of two, ``i`` of four, ``q`` of eight."""
        return int(struct.unpack(f">{form}", self.take(struct.calcsize(form), what))[0])

    def string(self, what: str, form: str = "H") -> str:
        """A text; ``form`` is that of its length."""
        try:
            return self.take(self.number(form, what), what).decode()
        except UnicodeDecodeError:
            raise MalformedError(f"{what}: not UTF-8") from None

    def count(self, what: str) -> int:
        """How many of something follow. Raises MalformedError for more than ``MOST``."""
        if (number := self.number("H", what)) > MOST:
            raise MalformedError(f"{what}: {number} are announced, but at most {MOST} are allowed")
        return number

    def strings(self, what: str) -> tuple[str, ...]:
        """A list of texts."""
        return tuple(self.string(what) for _ in range(self.count(what)))

    def string_map(self, what: str) -> dict[str, str]:
        """A map of texts to texts."""
        return {self.string(what): self.string(what) for _ in range(self.count(what))}

    def sized(self, what: str, form: str = "i") -> bytes | None:
        """Bytes behind their length; None for null."""
        length = self.number(form, what)
        return None if length == NULL else self.take(length, what)

    def value(self, what: str) -> bytes | int | None:
        """A value that is bound; ``UNSET`` for one that is left out."""
        length = self.number("i", what)
        return length if length == UNSET else None if length == NULL else self.take(length, what)

    def end(self, what: str) -> None:
        """Raise MalformedError where something is left."""
        if left := len(self.body) - self.at:
            raise MalformedError(f"{what}: extra bytes after its end: {left}")


def number(form: str, value: int) -> bytes:
    """A number as it is written."""
    return struct.pack(f">{form}", value)


def string(text: str, form: str = "H") -> bytes:
    """A text as it is written."""
    encoded = text.encode()
    return number(form, len(encoded)) + encoded


def sized(value: bytes | None, form: str = "i") -> bytes:
    """Bytes behind their length."""
    return number(form, NULL) if value is None else number(form, len(value)) + value


def strings(texts: Iterable[str]) -> bytes:
    """A list of texts."""
    each = [*map(string, texts)]
    return number("H", len(each)) + b"".join(each)


def multimap(lists: Mapping[str, Iterable[str]]) -> bytes:
    """A map of texts to lists of texts."""
    each = (string(key) + strings(texts) for key, texts in lists.items())
    return number("H", len(lists)) + b"".join(each)


def inet(address: str, port: int) -> bytes:
    """An address and a port."""
    packed = ip_address(address).packed
    return number("B", len(packed)) + packed + number("i", port)


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
