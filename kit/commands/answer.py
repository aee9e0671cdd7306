"""What a command answers, as data; one renderer makes terminal text, JSON and HTML of it."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from kit.edge.json_text import to_json

if TYPE_CHECKING:
    from kit.views.fragment import Frag

WIDTH = 100
MOST_LINES = 40
"""Lines of one list; what is left out is counted."""

GAP = "  "
UNBROKEN = "\N{NO-BREAK SPACE}"
"""A blank at which no line ends; printed as a plain one."""

# What stands for our few signs where the terminal's encoding has no place for them.
_SIGNS = zip("≠−→←…×·≥≤", "!= - -> <- ... x * >= <=".split(), strict=True)
_PLAIN = str.maketrans(dict(_SIGNS))


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


def _aligned(rows: Sequence[Sequence[str]], indent: str, direction: int = 1) -> Iterator[list[str]]:
    widths = [max(map(len, column), default=0) for column in zip(*rows, strict=True)][:-1]
    for *cells, last in rows[::direction]:
        padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
        lines = wrap(last, indent + "".join(cell + GAP for cell in padded))
        yield [line.rstrip() for line in lines]


def limited_columns(
    rows: Sequence[Sequence[str]], what: str, indent: str = GAP, *, newest: bool = False
) -> list[str]:
    """As ``columns``, or the first lines of it and how many rows more there are of ``what``.

    With ``newest`` it is the last lines. What is not shown is not even wrapped: a cell may hold the
    names of a thousand nodes.
    """
    lines: list[str] = []
    whole = 0
    for row in _aligned(rows, indent, -1 if newest else 1):
        lines = [*row, *lines] if newest else [*lines, *row]
        if len(lines) > MOST_LINES:
            left = f"{len(rows) - whole:,}"
            if newest:
                earlier = f"{indent}… {left} earlier {what}; --json has all"
                return [earlier, *lines[-MOST_LINES + 1 :]]
            return [*lines[: MOST_LINES - 1], f"{indent}… and {left} more {what}; --json has all"]
        whole += len(lines) < MOST_LINES
    return lines


def fits(rows: Iterable[Sequence[str]], width: int = WIDTH) -> bool:
    """Whether rows fit into a width as columns that are not wrapped."""
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


class Rows(Struct, frozen=True):
    """A table: under its title, rows of cells in aligned columns.

    In text it ends after ``MOST_LINES`` lines with how many more of ``what`` there are; with
    ``newest`` the last lines are shown, and without ``what`` all. A table with ``heads`` has a
    ``caption`` in HTML, in place of the title.
    """

    rows: Sequence[Sequence[str]]
    what: str = ""
    title: str = ""
    indent: str = GAP
    heads: Sequence[str] = ()
    caption: str = ""
    newest: bool = False

    def lines(self) -> Iterator[str]:
        """The table in text, after an empty line where it has a title."""
        if self.title:
            yield from ("", self.title)
        rows = [self.heads, *self.rows] if self.heads else self.rows
        if self.what:
            yield from limited_columns(rows, self.what, self.indent, newest=self.newest)
        else:
            yield from columns(rows, self.indent)

    def draw(self) -> Frag:
        """The table as a fragment."""
        # Pictures are loaded where one is drawn, not for a line in a terminal.
        from kit.views.fragment import h
        from kit.views.parts import heads

        cells = ((row[0], [h("td", cell) for cell in row[1:]]) for row in self.rows)
        rows = [h("tr", h("th", first, scope="row"), others) for first, others in cells]
        head = heads(*self.heads) if self.heads else None
        return h("table", h("caption", self.caption or self.title), head, h("tbody", rows))


Part: TypeAlias = str | Rows
"""Of an answer: a line, or a table."""


class Answer(Struct, frozen=True):
    """The answer of a command.

    ``data`` is what JSON has, on one line if it is ``compact``; an iterator gives that text in
    parts. In words there are the lines of the heading, the warnings, then the parts, which a
    generator makes only when they are asked for. The command ends with ``status``.
    """

    data: Any
    heading: Sequence[str] = ()
    parts: Iterable[Part] = ()
    warnings: Sequence[str] = ()
    status: int = 0
    compact: bool = False

    def text(self) -> str:
        """The answer in words, for a terminal."""
        lines = [*self.heading]
        lines += [line for text in self.warnings for line in wrap(text, f"{GAP}warning: ")]
        for part in self.parts:
            lines += [part] if isinstance(part, str) else part.lines()
        return "\n".join(lines)

    def json(self) -> str:
        """The data as JSON in ASCII: on one line, or indented."""
        return json.dumps(self.data) if self.compact else to_json(self.data, 1)

    def html(self) -> str:
        """The same words for a notebook, which need no style sheet."""
        from kit.views.fragment import h
        from kit.views.parts import scroll
        from kit.views.static import static_html

        heading = "\n".join(self.heading).replace(f"\n{GAP}", " ")  # lines that were broken
        drawn = [h("p", h("b", line)) for line in heading.splitlines()]
        drawn += [h("p", h("b", "! "), line) for line in self.warnings]
        for part in self.parts:
            if isinstance(part, str):
                drawn += [h("p", part.strip())] if part else []
            else:
                drawn.append(scroll(part.what or part.caption or part.title, part.draw()))
        return static_html(*drawn)

    def __repr__(self) -> str:
        return self.text()

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, str]:
        return {"text/plain": self.text(), "text/html": self.html()}

    def put(self, *, as_json: bool) -> int:
        """Print the answer; returns the status."""
        if not as_json:
            put(self.text())
        elif isinstance(self.data, Iterator):
            for part in self.data:  # in ASCII; all of it is never held
                print(part, end="")
            print()
        else:
            put(self.json())
        return int(self.status)
