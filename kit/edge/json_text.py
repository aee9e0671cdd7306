"""Reading JSON from outside strictly: each key once, integers of 64 bits, a bounded depth."""

from __future__ import annotations

import json
import re
from typing import NoReturn

from kit.errors import BadInput

LONGEST_INTEGER = 20  # characters of a signed 64-bit integer
DEEPEST = 64
_MARK = re.compile(r'"(?:[^"\\]|\\.)*"\s*:?|[{}\[\]]', re.DOTALL)


class _KeyAgainError(Exception):
    """A key occurs twice in an object: which one."""


def parse_json(
    text: str, field: str, form: str = "JSON text", longest: int = LONGEST_INTEGER
) -> object:
    """The value of a JSON text; ``field`` names the whole text in messages, ``form`` what it is.

    Integers have at most ``longest`` characters.

    Raises:
        BadInput: for malformed or deeply nested text, a key that occurs twice, too long an
            integer, NaN or an infinity; with the line and column.
    """

    def bounded(digits: str) -> int:
        # Python itself fails on several thousand digits.
        if len(digits) > longest:
            raise BadInput(
                field, digits, f"integers of at most {longest} digits{_at(text, digits)}"
            )
        return int(digits)

    def constant(word: str) -> NoReturn:
        raise BadInput(field, word, f"numbers that JSON knows{_at(text, word)}")

    try:
        value = json.loads(
            text, object_pairs_hook=_once, parse_int=bounded, parse_constant=constant
        )
    except json.JSONDecodeError as error:
        tail = text[error.pos : error.pos + 20] or "the end of the text"
        allowed = f"{form}; {error.msg}{place(text, error.pos)}"
        raise BadInput(field, tail, allowed) from None
    except _KeyAgainError as again:
        allowed = f"each key once in an object{_second_key(text)}"
        raise BadInput(field, again.args[0], allowed) from None
    except RecursionError:
        raise _too_deep(text, field) from None
    if not _is_shallow(value):
        raise _too_deep(text, field)
    return value


def place(text: str, position: int) -> str:
    """`` at line 3 column 7``, both from 1."""
    line = text.count("\n", 0, position) + 1
    column = position - text.rfind("\n", 0, position)
    return f" at line {line} column {column}"


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members: dict[str, object] = {}
    for key, value in pairs:
        if key in members:
            raise _KeyAgainError(key)
        members[key] = value
    return members


def _at(text: str, word: str) -> str:
    position = text.find(word)
    return place(text, position) if position >= 0 else ""


def _second_key(text: str) -> str:
    """Where the first key stands that its object has already."""
    keys: list[set[str]] = []
    for mark in _MARK.finditer(text):
        word = mark.group()
        if word in "{[":
            keys.append(set())
        elif word in "}]":
            keys.pop()
        elif word.endswith(":"):
            key = json.loads(word[:-1])
            if key in keys[-1]:
                return place(text, mark.start())
            keys[-1].add(key)
    return ""


def _is_shallow(value: object) -> bool:
    """Whether lists and objects stand at most ``DEEPEST`` deep in each other."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(DEEPEST):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return True
    return False


def _too_deep(text: str, field: str) -> BadInput:
    return BadInput(field, text[:20], f"JSON text that is not nested deeply: at most {DEEPEST}")
