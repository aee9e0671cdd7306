"""What a command answers, as data; one renderer makes terminal text, JSON and HTML of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
from msgspec import Struct

from kit.commands.layout import GAP, columns, limited_columns, put, put_parts, wrap

if TYPE_CHECKING:
    from kit.views.fragment import Frag


class Rows(Struct, frozen=True):
    """A table: under its title, rows of cells in aligned columns.

    In text it ends after ``MOST_LINES`` lines with how many more of ``what`` there are; without
    ``what`` all are shown. A table with ``heads`` has a ``caption`` in HTML, in place of the title.
    """

    rows: Sequence[Sequence[str]]
    what: str = ""
    title: str = ""
    indent: str = GAP
    heads: Sequence[str] = ()
    caption: str = ""

    def lines(self) -> Iterator[str]:
        """The table in text, after an empty line where it has a title."""
        if self.title:
            yield from ("", self.title)
        rows = [self.heads, *self.rows] if self.heads else self.rows
        if self.what:
            yield from limited_columns(rows, self.what, self.indent)
        else:
            yield from columns(rows, self.indent)

    def draw(self) -> Frag:
        """The table as a fragment."""
        # Pictures are loaded where one is drawn, not for a line in a terminal.
        from kit.views.fragment import h
        from kit.views.parts import heads

        return h(
            "table",
            h("caption", self.caption or self.title),
            heads(*self.heads) if self.heads else None,
            h(
                "tbody",
                [
                    h("tr", h("th", row[0], scope="row"), [h("td", cell) for cell in row[1:]])
                    for row in self.rows
                ],
            ),
        )


Part: TypeAlias = str | Rows
"""Of an answer: a line, or a table."""


class Answer(Struct, frozen=True):
    """What a command found.

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
        """The data as JSON: on one line in ASCII, or indented."""
        if self.compact:
            return json.dumps(self.data)
        return msgspec.json.format(msgspec.json.encode(self.data), indent=1).decode()

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

    def put(self, *, as_json: bool) -> int:
        """Print the answer; returns the status."""
        if not as_json:
            put(self.text())
        elif isinstance(self.data, Iterator):
            put_parts(self.data)
        else:
            put(self.json())
        return self.status
