"""Text for terminals: aligned columns of at most 100 characters, and paper that takes any of it."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence

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
    return [line for lines in _aligned(rows, indent) for line in lines]


def _aligned(rows: Sequence[Sequence[str]], indent: str) -> Iterator[list[str]]:
    """The lines of each row."""
    widths = [max(map(len, column), default=0) for column in zip(*rows, strict=True)][:-1]
    for *cells, last in rows:
        padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
        lines = wrap(last, indent + "".join(cell + GAP for cell in padded))
        yield [line.rstrip() for line in lines]


def limited_columns(rows: Sequence[Sequence[str]], what: str, indent: str = GAP) -> list[str]:
    """As ``columns``, or the first lines of it and how many rows more there are of ``what``.

    What is not shown is not even wrapped: a cell may hold the names of a thousand nodes.
    """
    lines: list[str] = []
    whole = 0
    for row in _aligned(rows, indent):
        lines += row
        if len(lines) > MOST_LINES:
            more = f"{indent}… and {len(rows) - whole:,} more {what}; --json has all"
            return [*lines[: MOST_LINES - 1], more]
        whole += len(lines) < MOST_LINES
    return lines


def fits(rows: Iterable[Sequence[str]], width: int = WIDTH) -> bool:
    """Whether rows fit into a width as columns that are not wrapped; looks no further than where
    they do not.
    """
    widest: list[int] = []
    for row in rows:
        lengths = list(map(len, row))
        widest = list(map(max, widest or lengths, lengths))
        if sum(widest) + len(GAP) * len(widest) > width:
            return False
    return True


def listed(names: Iterable[str], empty: str = "nobody") -> str:
    """Names with commas between them."""
    return ", ".join(names) or empty
