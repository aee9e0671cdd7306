"""Statements of CQL that are understood: reads, writes of one row, USE and DESCRIBE.

Read word by word, never evaluated; whatever else it is, is told in one line.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal, NoReturn, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from kit.console.server import NOT_MODELLED
from kit.errors import LONGEST_VALUE, BadInput, KitError, counted
from kit.operators.importers.cql import Statement as Words
from kit.operators.importers.cql import statements

UNDERSTOOD = (
    "SELECT columns FROM table [WHERE column = value AND …] [LIMIT number] [ALLOW FILTERING], "
    "SELECT JSON columns …, SELECT COUNT(*) …, … WHERE column IN (values), "
    "INSERT INTO table (columns) VALUES (values), UPDATE table SET column = value WHERE key = "
    "value, DELETE FROM table WHERE key = value, USE keyspace, DESCRIBE"
)
LONGEST = 20_000
"""Characters of a statement."""
DEFINES = ("CREATE", "ALTER", "DROP", "TRUNCATE", "GRANT", "REVOKE", "LIST")
OPENING = {
    "'": "a text has no closing quote (write a quote inside a text twice: 'it''s')",
    '"': 'a name has no closing quote (write a quote inside a name twice: "a""b")',
    "$$": "a text has no closing $$",
    "/*": "a comment has no closing */",
}
MISSING = {
    "IF": "conditional statements (lightweight transactions)",
    "USING": "timestamps and a time to live that clients choose",
}
T = TypeVar("T")
Shape = Literal["rows", "json", "count"]
Verb = Literal["select", "write", "delete", "use", "describe"]


class SyntaxFault(KitError):
    """A text that is no statement that is understood."""


class Marker(Struct, frozen=True):
    """A value that is bound later: by its place, or by its name."""

    place: int
    name: str = ""


class Statement(Struct, frozen=True):
    """A statement: the table, ``columns`` that are read (none: all), what is set and compared.

    Values are literals or markers, a tuple of them where one of several is wanted. A DESCRIBE has
    its words in ``columns``. ``filters``: it may read rows that it does not return.
    """

    verb: Verb
    keyspace: str = ""
    table: str = ""
    columns: tuple[str, ...] = ()
    sets: Mapping[str, Any] = {}
    where: Mapping[str, Any] = {}
    limit: Any = None
    markers: tuple[Marker, ...] = ()
    shape: Shape = "rows"
    filters: bool = False

    @property
    def values(self) -> list[tuple[str, Any]]:
        """Each value that is set or compared, with its column."""
        where = ((name, x if isinstance(x, tuple) else (x,)) for name, x in self.where.items())
        return [*self.sets.items(), *((name, each) for name, values in where for each in values)]


def parsed(text: str) -> Statement:
    """The statement of a text. Raises SyntaxFault for any other one."""
    if len(text) > LONGEST:
        raise SyntaxFault(f"a statement of {len(text)} characters: at most {LONGEST} are allowed")
    try:
        parts = [*statements(f"{text}\n;", "statement")]
    except BadInput as error:  # it begins with what no word does
        rest = str(error.value).removesuffix("\n;")
        opened = (what for begins, what in OPENING.items() if rest.startswith(begins))
        what = next(opened, "not CQL")
        said = f"{what}: {_end(text[: text.rfind(rest) + len(rest)])}"
        raise SyntaxFault(said) from None
    if parts and parts[0][0].says("BEGIN"):
        raise SyntaxFault("BEGIN: send a batch as such, not as a text (drivers know how)")
    if not parts:
        raise SyntaxFault("the statement is empty")
    if len(parts) > 1:
        raise SyntaxFault(f"{len(parts)} statements: send one at a time")
    return _Parser(text, parts[0]).statement()


def _begin(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 3]}..."


def _end(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_VALUE else f"...{text[3 - LONGEST_VALUE :]}"


class _Parser:
    def __init__(self, text: str, words: Words) -> None:
        self.text, self.words, self.at = text, words, 0
        self.markers: list[Marker] = []

    def wrong(self) -> NoReturn:
        if self.at == len(self.words):
            said = f"the statement ends too early: {_end(self.text)}"
        else:
            word = self.words[self.at]
            before = _end(self.text[: word.start])
            said = f"{_begin(word.written)} is not understood" + f" after: {before}" * bool(before)
            for each, why in MISSING.items():
                if word.says(each):
                    raise KitError(f"{each}: {NOT_MODELLED}{why}")
        raise SyntaxFault(f"{said} (supported: {UNDERSTOOD})")

    def says(self, *words: str) -> bool:
        if self.at < len(self.words) and self.words[self.at].says(*words):
            self.at += 1
            return True
        return False

    def need(self, *words: str) -> None:
        for word in words:
            if not self.says(word):
                self.wrong()

    def name(self) -> str:
        if self.at == len(self.words) or self.words[self.at].kind not in ("word", "name"):
            self.wrong()
        self.at += 1
        return self.words[self.at - 1].called

    def table(self) -> tuple[str, str]:
        first = self.name()
        return (first, self.name()) if self.says(".") else ("", first)

    def several(self, read: Callable[[], T]) -> tuple[T, ...]:
        parts = [read()]
        while self.says(","):
            parts.append(read())
        return tuple(parts)

    def value(self) -> Any:
        if self.says("?"):
            self.markers.append(Marker(len(self.markers)))
            return self.markers[-1]
        if self.says(":"):
            self.markers.append(Marker(len(self.markers), self.name()))
            return self.markers[-1]
        sign = -1 if self.says("-") else 1
        if self.at == len(self.words):
            self.wrong()
        word = self.words[self.at]
        self.at += 1
        if word.kind == "text":
            quoted = word.written.startswith("'")
            return word.written[1:-1].replace("''", "'") if quoted else word.written[2:-2]
        if word.kind == "word" and word.written.isascii() and word.written.isdecimal():
            if len(word.written) > 19:
                self.at -= 1
                self.wrong()
            return sign * int(word.written)
        known = {"true": True, "false": False, "null": None}
        if word.kind == "word" and sign == 1:
            return known.get(word.called, word.called)
        self.at -= 1
        return self.wrong()

    def values(self) -> tuple[Any, ...]:
        self.need("(")
        values = self.several(self.value)
        self.need(")")
        return values

    def pairs(self, between: str) -> dict[str, Any]:
        parts: dict[str, Any] = {}
        while True:
            name = self.name()
            several = between == "AND" and self.says("IN")
            if not several:
                self.need("=")
            if name in parts:
                raise SyntaxFault(f"column {name} is in the statement twice")
            parts[name] = self.values() if several else self.value()
            if not self.says(between):
                return parts

    def statement(self) -> Statement:
        verbs: dict[str, Callable[[], Statement]] = {
            "SELECT": self.select,
            "INSERT": self.insert,
            "UPDATE": self.update,
            "DELETE": self.delete,
            "USE": lambda: Statement("use", keyspace=self.name()),
        }
        for word, read in verbs.items():
            if self.says(word):
                made = read()
                break
        else:
            if self.says("DESCRIBE", "DESC"):
                rest, self.at = self.words[self.at :], len(self.words)
                words = tuple(each.called for each in rest if each.kind in ("word", "name"))
                made = Statement("describe", columns=words)
            elif self.says(*DEFINES):
                verb = self.words[0].written.upper()
                raise BadInput("statement", verb, f"one of these: {UNDERSTOOD}")
            else:
                self.wrong()
        if self.at < len(self.words):
            self.wrong()
        return replace(made, markers=tuple(self.markers))

    def select(self) -> Statement:
        columns: tuple[str, ...] = ()
        shape: Shape = "json" if self.says("JSON") else "rows"
        if shape == "rows" and self.says("COUNT"):
            self.need("(", "*", ")")
            shape = "count"
        elif not self.says("*"):
            columns = self.several(self.name)
        self.need("FROM")
        named = self.table()
        where = self.pairs("AND") if self.says("WHERE") else {}
        limit = self.value() if self.says("LIMIT") else None
        if filters := self.says("ALLOW"):
            self.need("FILTERING")
        return Statement("select", *named, columns, {}, where, limit, shape=shape, filters=filters)

    def insert(self) -> Statement:
        self.need("INTO")
        named = self.table()
        self.need("(")
        names = self.several(self.name)
        self.need(")", "VALUES")
        values = self.values()
        if len(names) != len(values):
            many = counted(len(names), "column"), counted(len(values), "value")
            raise SyntaxFault(f"{' and '.join(many)}: each column needs one value")
        if len({*names}) != len(names):
            raise SyntaxFault("a column is in the statement twice")
        return Statement("write", *named, sets=dict(zip(names, values, strict=True)))

    def update(self) -> Statement:
        named = self.table()
        self.need("SET")
        sets = self.pairs(",")
        self.need("WHERE")
        return Statement("write", *named, sets=sets, where=self.pairs("AND"))

    def delete(self) -> Statement:
        self.need("FROM")
        named = self.table()
        self.need("WHERE")
        return Statement("delete", *named, where=self.pairs("AND"))
