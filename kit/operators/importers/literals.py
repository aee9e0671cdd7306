"""CQL's way of writing values: quoted texts, numbers, bare words, and collections of them.

``{'-9', '5'}``, ``{'class': 'SimpleStrategy', 'dc1': 3}``, ``{('2026-01-31 10:00:00+0000',
5c0e8a52-fe88-11f0-8001-000000000001)}``: as cqlsh prints and copies them. Read strictly, never
evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kit.errors import BadInput

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

    Raises:
        BadInput: for any other text, with ``allowed``; for a key that occurs twice.
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
        word = _WORD.match(text, at)
        if word is None:
            raise BadInput(field, text[at : at + 60], allowed)
        at = word.end()
        if word["mark"] is not None:
            yield True, word["mark"]
        elif word["number"] is not None:
            yield False, int(word["number"])
        elif word["bare"] is not None:
            yield False, Bare(word["bare"])
        else:
            yield False, word["text"].replace("''", "'")


def _value(words: list[Word], at: int, depth: int, field: str) -> tuple[object, int]:
    """The value that begins at a word, and the place behind it."""
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
        raise BadInput(field, value, "texts as keys, in single quotes")
    if value in pairs:
        raise BadInput(field, value, "each key once in a map")
    return value
