"""CQL text cut into statements and their words, as ``DESCRIBE SCHEMA`` prints it.

Texts, quoted names, comments and numbers are told apart; nothing is evaluated. Each word keeps the
line where it stands. Statements come one by one, so that only the longest one is held.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from kit.errors import BadInput

MOST_WORDS = 1_000_000
"""Words of one statement."""
Kind = Literal["mark", "word", "name", "text"]
_WORD = re.compile(
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

    Raises:
        BadInput: naming the line of what is no CQL, of a last statement without its semicolon, or
            of one that is too long.
    """
    words: list[CqlWord] = []
    for word in _words(text, source):
        if not word.says(";"):
            words.append(word)
        elif words:
            yield words
            words = []
        if len(words) > MOST_WORDS:
            where = f"{source} line {words[0].line}"
            raise BadInput(where, f"{MOST_WORDS} words", "a statement that ends before that, by ;")
    if words:
        where = f"{source} line {words[0].line}"
        raise BadInput(where, words[0].written, "a statement that ends with ; (is it cut short?)")


def _words(text: str, source: str) -> Iterator[CqlWord]:
    at, line = 0, 1
    while at < len(text):
        match = _WORD.match(text, at)
        if match is None:
            allowed = "CQL as DESCRIBE SCHEMA prints it, with every quote and comment closed"
            raise BadInput(f"{source} line {line}", text[at : at + 60], allowed)
        written = match.group()
        for kind in ("mark", "word", "name", "text"):
            if match[kind] is not None:
                yield CqlWord(kind, written, at, match.end(), line)
        line += written.count("\n")
        at = match.end()
