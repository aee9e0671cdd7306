"""CQL as the files of a cluster have it: literals, a keyspace's replication, statements, columns.

Texts in single quotes (doubled inside), whole numbers, collections; statements as ``DESCRIBE
SCHEMA`` prints them; the values of columns by their types, from JSON or from literals. Read
strictly, never evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from itertools import pairwise
from typing import Any, Literal

from msgspec import Struct

from kit.edge.json_text import parse_json
from kit.errors import BadInput
from kit.operators.importers.nodetool import HOST_ID, token_of
from kit.operators.importers.ringfile import LONGEST_NAME
from kit.ring.replication import Keyspace, parse_replication

DEEPEST = 8
Word = tuple[bool, "str | int"]
"""Whether it is a mark, and the word."""
_CLOSING = {"{": "}", "[": "]", "(": ")"}
_COLON, _COMMA = (True, ":"), (True, ",")
_FLAT = re.compile(r"\{'[^']*'(?:, '[^']*')*\}")
_WORD = re.compile(
    r"\s*(?:(?P<mark>[{}()\[\]:,])|'(?P<text>(?:[^']|'')*)'"
    r"|(?P<number>-?[0-9]{1,19})(?![\w.'-])|(?P<bare>[A-Za-z0-9_-]{1,40})(?![\w.'-]))"
)


class Bare(str):
    """A word without quotes that is no number: a UUID, a truth value, null."""

    __slots__ = ()


class _MisfitError(Exception):
    """The words make no literal."""


def parse_literal(text: str, field: str, allowed: str) -> object:
    """The value of a literal: a text, number or bare word, a list of members, a dict of pairs.

    Sets, lists and tuples are lists; nothing between braces is an empty list.

    Raises BadInput for any other text, with ``allowed``; for a key that occurs twice.
    """
    if _FLAT.fullmatch(text):  # as cqlsh writes a set of texts; a cluster may have 256,000 tokens
        return text[2:-2].split("', '")
    words = list(_words(text, field, allowed))
    try:
        value, end = _value(words, 0, 0, field)
    except (_MisfitError, IndexError):
        raise BadInput(field, text, allowed) from None
    if end < len(words):
        raise BadInput(field, text, allowed)
    return value


def _words(text: str, field: str, allowed: str) -> Iterator[Word]:
    at, end = 0, len(text.rstrip())
    while at < end:
        if (word := _WORD.match(text, at)) is None:
            raise BadInput(field, text[at : at + 60], allowed)
        at = word.end()
        if (kind := str(word.lastgroup)) == "number":
            yield False, int(word[kind])
        elif kind == "bare":
            yield False, Bare(word[kind])
        else:
            yield kind == "mark", word[kind].replace("''", "'")


def _value(words: list[Word], at: int, depth: int, field: str) -> tuple[object, int]:
    is_mark, word = words[at]
    if not is_mark:
        return word, at + 1
    closing = (True, _CLOSING.get(str(word)))
    if closing[1] is None or depth == DEEPEST:
        raise _MisfitError
    members: list[object] = []
    pairs: dict[str, object] = {}
    at += 1
    while words[at] != closing or members or pairs:
        value, at = _value(words, at, depth + 1, field)
        if word == "{" and words[at] == _COLON and not members:
            given, at = _value(words, at + 1, depth + 1, field)
            pairs[_key(value, pairs, field)] = given
        elif pairs:
            raise _MisfitError
        else:
            members.append(value)
        if words[at] == closing:
            break
        if words[at] != _COMMA:
            raise _MisfitError
        at += 1
    return pairs or members, at + 1


def _key(value: object, pairs: dict[str, object], field: str) -> str:
    if type(value) is not str:
        raise BadInput(field, value, "strings as keys, in single quotes")
    if value in pairs:
        raise BadInput(field, value, "each key once in a map")
    return value


Value = str | int
FORM = """ks={"class": "NetworkTopologyStrategy", "dc1": 3} or, as in CQL, ks={'class': …}"""
WORDS = re.compile(r"[\s'\";]")  # no name has these; a whole statement has
SET, MAP = "a set as in CQL: {'-9', '5'}", "a map as in CQL: {'class': 'SimpleStrategy', …}"


def parse_set(text: str, field: str) -> list[Value]:
    """The members of a CQL set (or list) in their order. Raises BadInput for any other text."""
    value = parse_literal(text, field, SET)
    if not isinstance(value, list) or text.lstrip()[:1] == "(":
        raise BadInput(field, text, SET)
    return [_plain(member, text, field, SET) for member in value]


def parse_map(text: str, field: str) -> dict[str, Value]:
    """A CQL map to texts or numbers. Raises BadInput for another text, or a key that is twice."""
    if (value := parse_literal(text, field, MAP)) == [] and text.strip()[:1] == "{":
        return {}
    if not isinstance(value, dict):
        raise BadInput(field, text, MAP)
    return {key: _plain(given, text, field, MAP) for key, given in value.items()}


def _plain(value: object, text: str, field: str, allowed: str) -> Value:
    if not isinstance(value, str | int) or isinstance(value, Bare):
        raise BadInput(field, text, allowed)
    return value


def parse_keyspace(text: str, field: str = "--keyspace") -> Keyspace:
    """A keyspace from ``ks={"class": …}``, in JSON or as a CQL map with single quotes.

    Raises BadInput for another form, an unknown strategy or a wrong factor.
    """
    name, equals, options = text.partition("=")
    name, options = name.strip(), options.strip()
    if not equals or not options.startswith("{"):
        raise BadInput(field, text, FORM)
    if not (0 < len(name) <= LONGEST_NAME and name.isprintable() and not WORDS.search(name)):
        allowed = f"only a keyspace name before =, of 1 to {LONGEST_NAME} printable characters"
        raise BadInput(field, name, f"{allowed}: {FORM}")
    field = f"{field} {name}"
    in_json = options[1:].lstrip()[:1] in ('"', "}")
    given = parse_json(options, field) if in_json else parse_map(options, field)
    return Keyspace(name, parse_replication(given, field))


MOST_WORDS = 1_000_000
"""Words of one statement."""
Kind = Literal["mark", "word", "name", "text"]
_NAME = re.compile(
    r"(?P<skipped>\s+|--[^\r\n]*|//[^\r\n]*|/\*.*?\*/)"
    r"|(?P<text>'[^']*(?:''[^']*)*'|\$\$.*?\$\$)"
    r'|(?P<name>"[^"]+(?:""[^"]*)*")'
    r"|(?P<word>[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?!\w)|\w+)"
    r"|(?P<mark>[(){}\[\],:;.=<>+*?%!&|^~@-]|/(?!\*))",
    re.DOTALL | re.ASCII,
)


class CqlWord(Struct, frozen=True):
    """A word: ``name`` stands in double quotes, ``text`` in single ones.

    ``start`` and ``end`` are its places in the whole text, ``line`` counts from 1.
    """

    kind: Kind
    written: str
    start: int
    end: int
    line: int

    def says(self, *words: str) -> bool:
        """Whether it is one of these words of the language, in any case, or one of these marks."""
        return self.kind in ("word", "mark") and self.written.upper() in words

    @property
    def called(self) -> str:
        """The name that it means: in small letters unless it is quoted."""
        if self.kind == "name":
            return self.written[1:-1].replace('""', '"')
        return self.written.lower()


Statement = Sequence[CqlWord]


def statements(text: str, source: str) -> Iterator[Statement]:
    """The statements of a text, without their semicolons.

    Raises BadInput naming the line of what is no CQL, of a last statement without its semicolon, or
    of one that is too long.
    """
    words: list[CqlWord] = []
    for word in _lexed(text, source):
        if not word.says(";"):
            words.append(word)
        elif words:
            yield words
            words = []
        if len(words) > MOST_WORDS:
            where = f"{source} line {words[0].line}"
            raise BadInput(where, f"{MOST_WORDS} words", "a statement that ends with ; earlier")
    if words:
        where = f"{source} line {words[0].line}"
        raise BadInput(where, words[0].written, "a statement that ends with ; (is it cut short?)")


def _lexed(text: str, source: str) -> Iterator[CqlWord]:
    at, line = 0, 1
    while at < len(text):
        if (match := _NAME.match(text, at)) is None:
            allowed = "CQL as printed by DESCRIBE SCHEMA, with every quote and comment closed"
            raise BadInput(f"{source} line {line}", text[at : at + 60], allowed)
        written = match.group()
        for kind in ("mark", "word", "name", "text"):
            if match[kind] is not None:
                yield CqlWord(kind, written, at, match.end(), line)
        line += written.count("\n")
        at = match.end()


Cell = str | int | bool | tuple["Cell", ...] | dict[str, "Cell"]
LONGEST_TEXT = 10_000  # characters
MOST_SHOWN = 32 << 20  # characters of a collection that a driver shows
_TYPE = re.compile(r"(?P<name>[a-z]+)(?:<(?P<inner>.*)>)?")
_INTEGER = re.compile(r"-?[0-9]{1,19}")
_TIMEUUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-1[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:Z|[+-]\d\d:?\d\d)")
AN_INSTANT = "2026-01-31 10:00:00.000+0000"
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
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "<") - (letter == ">")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part for part in parts if part.strip()]


def from_csv(column: ColumnType, given: str, field: str) -> Cell:
    """The value of a CSV field, with CQL literals. Raises BadInput for what is no such value."""
    kind = cql_type(column.reads or column.type)
    if kind.name not in _COLLECTIONS:
        return from_json(column, given, field)
    if not given.isprintable():
        raise BadInput(field, given, f"a {column.type} on one line")
    return _of_type(kind, parse_literal(given, field, f"a {column.type} as in CQL"), field)


_SHOWN = re.compile(
    rf"SortedSet\((?P<set>\[.*?\])\)(?=[,)\]}}]|$)|UUID\('(?P<uuid>{HOST_ID})'\)"
    r"|datetime\.datetime\((?P<moment>\d{1,6}(?:, \d{1,6}){4,6})\)"
)
_NAIVE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?")


def from_driver(column: ColumnType, given: str, field: str) -> Cell:
    """The value of a CSV field in which Python's driver shows its own values, or of a CQL literal.

    Moments are in UTC, and do not say so. Raises BadInput for what is no such value.
    """
    kind = cql_type(column.reads or column.type)
    if kind.name == "timestamp" and _NAIVE.fullmatch(given):
        return from_csv(column, f"{given}+0000", field)
    if kind.name in _COLLECTIONS and len(given) <= MOST_SHOWN:
        return from_csv(column, _SHOWN.sub(_as_literal, _SHOWN.sub(_as_literal, given)), field)
    return from_csv(column, given, field)


def _as_literal(shown: re.Match[str]) -> str:
    if shown["moment"] is None:
        return shown["uuid"] or shown["set"]
    year, month, day, hour, minute, *rest = map(int, shown["moment"].split(", "))
    second, micros = (*rest, 0, 0)[:2]
    return f"'{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{micros:06}+0000'"


def from_json(column: ColumnType, given: object, field: str) -> Cell:
    """The value of a member of a JSON object. Raises BadInput for none of the column's type."""
    return _of_type(cql_type(column.reads or column.type), given, field)


def _of_type(kind: CqlType, given: object, field: str) -> Cell:
    if kind.name in _SCALARS:
        read, words = _SCALARS[kind.name]
        if (value := read(given)) is None:
            raise BadInput(field, given, words)
        return value
    if kind.name == "map" and given == []:  # an empty literal does not tell which it is
        return {}
    fits = isinstance(given, dict if kind.name == "map" else list)
    if not fits or (kind.name == "tuple" and len(given) != len(kind.of)):  # type: ignore[arg-type]  # a list
        raise BadInput(field, given, f"a {kind.label}")
    if isinstance(given, dict):
        key_type, value_type = kind.of
        return {
            str(_of_type(key_type, key, field)): _of_type(value_type, value, f"{field}.{key}")
            for key, value in given.items()
        }
    members: list[Any] = given  # type: ignore[assignment]  # as above
    if kind.name == "set":
        return _set_of(kind.of[0], members, field)
    types = kind.of if kind.name == "tuple" else kind.of * len(members)
    return tuple(_of_type(*each, field) for each in zip(types, members, strict=True))


def _set_of(kind: CqlType, given: list[Any], field: str) -> tuple[Cell, ...]:
    read, words = _SCALARS.get(kind.name, (None, ""))
    if read is None:
        members: list[Any] = [_of_type(kind, member, field) for member in given]
    else:  # a cluster may have 256,000 tokens
        members = list(map(read, given))
        if None in members:
            raise BadInput(field, given[members.index(None)], words)
    members.sort()
    for member, other in pairwise(members):
        if member == other:
            raise BadInput(field, member, "each member of a set once")
    return tuple(members)


def _text(given: object) -> str | None:
    fits = isinstance(given, str) and len(given) <= LONGEST_TEXT and given.isprintable()
    return str(given) if fits else None


def _integer(bits: int) -> Callable[[object], int | None]:
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


def _token(given: object) -> int | None:
    return token_of(given) if isinstance(given, str) else None


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
    "text": (_text, f"a string of at most {LONGEST_TEXT} printable characters"),
    "int": (_integer(32), "a signed 32-bit integer"),
    "bigint": (_integer(64), "a signed 64-bit integer"),
    "boolean": (_boolean, "True or False"),
    "uuid": (_uuid, "a UUID"),
    "timeuuid": (_timeuuid, "a version 1 (time-based) UUID"),
    "timestamp": (_timestamp, f"a timestamp with its time zone, such as {AN_INSTANT}"),
    "token": (_token, "signed 64-bit integers as strings"),
}
