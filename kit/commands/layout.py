"""Text for terminals: aligned columns of at most 100 characters, and paper that takes any of it."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Sequence

WIDTH = 100
MOST_LINES = 40
"""Lines of one list; what is left out is counted."""

GAP = "  "
UNBROKEN = "\N{NO-BREAK SPACE}"
"""A blank at which no line ends; printed as a plain one."""

# What stands for our few signs where the terminal's encoding has no place for them.
_PLAIN = str.maketrans(
    {"−": "-", "→": "->", "←": "<-", "…": "...", "×": "x", "·": "*", "≥": ">=", "≤": "<="}
)


def put(text: str) -> None:
    """Print a text; what stdout cannot encode, or a terminal would obey, is made plain."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    if not text.replace("\n", "").isprintable():
        text = "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = text.translate(_PLAIN).encode(encoding, "backslashreplace").decode(encoding)
    print(text)


def put_parts(parts: Iterable[str]) -> None:
    """Print a text of ASCII that comes in parts, without ever holding all of it."""
    for part in parts:
        print(part, end="")
    print()


def wrap(text: str, first: str = "", rest: str | None = None) -> list[str]:
    """A paragraph, its first line after ``first``, the others after ``rest`` (blanks if None)."""
    hanging = " " * len(first) if rest is None else rest
    wrapped = textwrap.wrap(
        text,
        max(WIDTH, len(first) + 20),
        initial_indent=first,
        subsequent_indent=hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(UNBROKEN, " ") for line in wrapped] or [first.rstrip()]


def columns(rows: Sequence[Sequence[str]], indent: str = GAP) -> list[str]:
    """Rows of cells as aligned columns; the last column is wrapped where it is too wide."""
    widths = [max(map(len, column), default=0) for column in zip(*rows, strict=True)][:-1]
    lines: list[str] = []
    for *cells, last in rows:
        padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
        lines += wrap(last, indent + "".join(cell + GAP for cell in padded))
    return [line.rstrip() for line in lines]


def width_of(rows: Sequence[Sequence[str]]) -> int:
    """How wide the rows are as columns that are not wrapped."""
    widths = [max(map(len, column), default=0) for column in zip(*rows, strict=True)]
    return sum(widths) + len(GAP) * len(widths)


def limited(lines: Sequence[str], what: str, indent: str = GAP) -> list[str]:
    """The lines, or the first of them and how many more there are of ``what``."""
    if len(lines) <= MOST_LINES:
        return list(lines)
    left_out = len(lines) - MOST_LINES + 1
    return [*lines[: MOST_LINES - 1], f"{indent}… and {left_out:,} more {what}; --json has all"]


def counted(number: int, noun: str) -> str:
    """``1 range``, ``1,024 ranges``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def listed(names: Iterable[str], empty: str = "nobody") -> str:
    """Names with commas between them."""
    return ", ".join(names) or empty
