"""Tables of what a simulator found, as text and as HTML that needs no style sheet."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from kit.operators.printing import aligned
from kit.views.fragment import Frag, h
from kit.views.static import static_html

HOLDS, BROKEN = "✓", "✗"
WIDEST = 110  # characters of a cell in the text form


class Sheet(Struct, frozen=True):
    """A table: its title, headings, cells as text, and what is said below it."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    def draw(self) -> Frag:
        """The table as a fragment; a cell with a cross is marked by more than its colour."""
        head = h("tr", [h("th", heading, scope="col") for heading in self.headings])
        body = [h("tr", [h("td", _cell(cell)) for cell in row]) for row in self.rows]
        table = h("table", h("caption", self.title), h("thead", head), h("tbody", body))
        return h("div", table, [h("p", note, class_="say") for note in self.notes])

    def text(self) -> str:
        """The same in columns of equal width."""
        cells = [self.headings, *([_short(cell) for cell in row] for row in self.rows)]
        return "\n".join([self.title, *aligned(cells, "  "), *self.notes])

    def __repr__(self) -> str:
        return self.text()

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, str]:
        return {"text/plain": self.text(), "text/html": static_html(self.draw())}


def sign(ok: bool) -> str:
    """A tick or a cross."""
    return HOLDS if ok else BROKEN


def _cell(cell: str) -> Frag | str:
    return h("span", cell, class_="broken") if cell.startswith(BROKEN) else cell


def _short(cell: str) -> str:
    return cell if len(cell) <= WIDEST else cell[: WIDEST - 1] + "…"
