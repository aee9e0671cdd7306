"""The errors a person may see: one line that says what, where and what is allowed."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from typing import Any

from msgspec import Struct

LONGEST_VALUE = 60  # characters
LONGEST_INTEGER = 200  # bits
LONGEST_MESSAGE = 2000  # characters
_PATH = re.compile(r"\.(\w+)|\[(\d+)\]")


def shorten(value: object, longest: int = LONGEST_VALUE) -> str:
    """``value`` as one line of at most ``longest`` ASCII characters, for use in a message."""
    if isinstance(value, int) and value.bit_length() > LONGEST_INTEGER:
        return f"an integer of {value.bit_length()} bits"
    if isinstance(value, str | bytes | tuple | list) and len(value) > longest:
        value = value[: longest + 1]
    try:
        text = " ".join(ascii(value).split())
    except Exception:  # too deep, too long a number, a broken repr: all the same here
        text = f"a {type(value).__name__} that cannot be shown"
    return text if len(text) <= longest else text[: longest - 3] + "..."


def one_line(text: str) -> str:
    """``text`` on one line, cut when very long; what cannot be printed becomes its escape."""
    if len(text) > LONGEST_MESSAGE:
        text = text[: LONGEST_MESSAGE - 3] + "..."
    if text.isprintable():
        return text
    words = " ".join(text.split())
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in words)


def counted(number: int, noun: str, many: str = "") -> str:
    """Write how many: ``1 range``, ``1,024 ranges``; ``many`` is a plural without an s."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {many or noun + 's'}"


def first_of(words: Sequence[str], most: int, noun: str = "") -> str:
    """Write the first words, and how many more there are: ``A, B and 3 more nodes``."""
    rest = len(words) - most
    more = counted(rest, f"more {noun}") if noun else f"{rest:,} more"
    return ", ".join(words[:most]) + (f" and {more}" if rest > 0 else "")


def are(number: int) -> str:
    """The verb for so many: one *is* needed, none or two *are*."""
    return "is" if number == 1 else "are"


def nearest(word: str, known: Sequence[str]) -> str:
    """`` (nearest: restart)``; nothing where no known word is like this one."""
    near = get_close_matches(word, known, 1)
    return f" (nearest: {near[0]})" if near else ""


class KitError(Exception):
    """Base of all errors that the kit raises on purpose; its text is one line."""

    def _render_traceback_(self) -> list[str]:
        """The text that a notebook shows below the cell: that line, without the way to it."""
        return [f"{type(self).__name__}: {self}"]

    def __init__(self, message: str) -> None:
        super().__init__(one_line(str(message)))


class BadInput(KitError, ValueError):
    """Something given from outside is not acceptable.

    ``field`` names the place (``nodes[2].tokens[0]``), ``value`` is what was given, ``allowed``
    says what would be accepted.
    """

    def __init__(self, field: str, value: object, allowed: str) -> None:
        self.field = field
        self.value = value
        self.allowed = allowed
        super().__init__(f"{field}: got {shorten(value)}; allowed: {allowed}")

    def __reduce__(self) -> tuple[type[BadInput], tuple[str, object, str]]:
        return type(self), (self.field, self.value, self.allowed)


def check_among(field: str, value: object, allowed: Collection[str]) -> None:
    """Raises BadInput, naming all that is ``allowed``, for a value that is not."""
    if value not in allowed:
        raise BadInput(field, value, f"one of {', '.join(allowed)}")


def about(what: str, error: BadInput) -> BadInput:
    """The same error, of one thing among several: said before its field."""
    return BadInput(f"{shorten(what)}: {error.field}", error.value, error.allowed)


class BadType(BadInput, TypeError):
    """Something given from outside is of a wrong type."""


def misfit(field: str, data: Any, error: Exception, allowed: str) -> BadInput:
    """The error for plain data that does not fit a type, naming the very place inside it.

    ``error`` is msgspec's, which ends in a path such as ``$.nodes[2].tokens``.
    """
    if isinstance(error.__cause__, BadInput):  # a struct that looks at its own fields
        return error.__cause__
    reason, _, path = str(error).partition(" - at `$")
    for name, index in _PATH.findall(path):
        try:
            data = data[name] if name else data[int(index)]
        except (LookupError, TypeError):
            break
        field = f"{field}[{index}]" if index else f"{field}.{name}"
    return BadInput(field, data, f"{allowed} ({in_words(reason)})")


KINDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "a string",
    "bool": "true or false",
    "array": "a list",
    "object": "a map",
    "null": "null",
}
"""Types of plain data, in words."""


def in_words(reason: str) -> str:
    """What msgspec says that data should be, without the names of types; what is given is told."""

    def kinds(types: re.Match[str]) -> str:
        return " or ".join(KINDS.get(kind, f"`{kind}`") for kind in types[1].split(" | "))

    expected = reason.removeprefix("Expected ").partition(", got ")[0]
    return re.sub("`([a-z |]+)`", kinds, expected)


class Refused(KitError):
    """The protocol does not allow the action now; ``reason`` is the sentence to show."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class Awaited(Struct, frozen=True):
    """A count that is waited for: ``needed`` of ``nodes`` must have done something, ``done`` of
    them have.

    ``what`` says it in words (``(0, 100]``, the range whose replicas are asked); it is empty where
    the reason of the refusal does.
    """

    what: str
    needed: int
    done: int
    nodes: tuple[str, ...]


class Refusal(Struct, frozen=True):
    """Why something may not happen now, as data.

    ``reason`` is one sentence; ``evidence`` lists the facts behind it, a line each; ``missing``
    names the nodes that stand in the way or would have to do something first. Where nodes are
    counted, ``awaited`` says how many are needed and how many are there, the first unmet count
    first. ``untold`` is how many further facts and counts of the same kind were left unwritten.
    """

    reason: str
    evidence: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    awaited: tuple[Awaited, ...] = ()
    untold: int = 0

    def counts(self) -> Iterator[tuple[Awaited, tuple[str, ...], tuple[str, ...]]]:
        """Each group that is counted, with who is missing there, and who has come.

        A group of which ``missing`` does not say who it lacks is left out.
        """
        for group in self.awaited:
            lacking = tuple(name for name in group.nodes if name in self.missing)
            there = tuple(name for name in group.nodes if name not in self.missing)
            if len(there) == group.done:
                yield group, lacking, there
