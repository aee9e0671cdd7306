"""Fragments for places that strip style sheets, scripts and inline SVG: stored notebook output.

An untrusted notebook keeps tables, classes and inline styles but loses ``<svg>``, ``<style>`` and
``data-*``. So a drawing becomes an ``<img>`` whose data URI carries its own style, with its label
as the text alternative, and the few styles a table needs are written on its cells.
"""

import base64
import re
from importlib import import_module
from pathlib import Path
from typing import Any

from msgspec import Struct

from kit.console.server import aligned
from kit.views.fragment import Frag, closing, escape, h
from kit.views.palette import HUE_RULES, LIGHT, image_colours
from kit.views.styles import drawing_rules, stage_rules, stored_rules
from kit.views.typeface import X_HEIGHT

INLINE = frozenset("span b i em strong small code kbd".split())
INTERACTIVE = frozenset("button input select label".split())
OPENED = {"details": "div", "summary": "p"}
FOLDED = "folded"
"""The class of details, and of their summary, that stay closed: an answer that one asks for."""


OPENING = f'<div style="background:{LIGHT["bg"]};color:{LIGHT["ink"]};padding:6px">'
"""How all stored HTML of the kit begins."""


def static_html(*frags: Frag) -> str:
    """Return HTML that looks right without any style sheet: for ``text/html`` of a notebook."""
    return f"{OPENING}{''.join(map(_write, frags))}</div>"


def standalone_svg(drawing: Frag, *, lean: bool = False, ground: bool = False) -> str:
    """Return a drawing as an SVG document with its own style, as committed under ``images/``.

    A ``lean`` one carries only the rules that it uses: a notebook holds many small ones. One with
    a ``ground`` can be read on a dark page too.
    """
    body = "".join(map(_svg, drawing.kids))
    box = drawing.get("viewBox") or "0 0 100 100"
    left, top, width, height = box.split()
    if ground:
        paper = h("rect", x=left, y=top, width=width, height=height, class_="paper")
        body = _svg(paper) + body
    label = escape(drawing.get("aria-label") or "")
    style = (
        _lean_style(body) if lean else "\n".join((image_colours(), *HUE_RULES, *drawing_rules()))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{escape(box)}" width="{escape(width)}" '
        f'height="{escape(height)}" style="font-size-adjust:{X_HEIGHT}" role="img" '
        f'aria-label="{label}">'
        f"<style>{style}</style>{body}</svg>"
    )


def image(drawing: Frag) -> Frag:
    """Turn a drawing into an ``<img>`` with its label as text alternative."""
    data = base64.b64encode(standalone_svg(drawing, lean=True).encode()).decode()
    alt = drawing.get("aria-label") or "drawing"
    return h("img", src=f"data:image/svg+xml;base64,{data}", alt=alt)


def file_image(file: Path, alt: str) -> Frag:
    """Show a committed drawing, whose file has all that it needs."""
    data = base64.b64encode(file.read_bytes()).decode()
    return h("img", src=f"data:image/svg+xml;base64,{data}", alt=alt)


def _lean_style(body: str) -> str:
    there = {f".{name}" for names in re.findall(r'class="([^"]*)"', body) for name in names.split()}
    there |= set(re.findall(r"<([a-z]+)", body)) | {"svg"}
    rules = ""
    for rule in (*HUE_RULES, *drawing_rules(), *stage_rules()):
        selectors = rule.partition("{")[0].split(",")
        if any(set(re.findall(r"\.?[a-z][a-z-]*", each)) <= there for each in selectors):
            rules += rule
    named = set(re.findall(r"var\((--[a-z-]+)", rules))
    colours = image_colours().removeprefix(":root{").removesuffix("}").split(";")
    kept = [colour for colour in colours if colour.partition(":")[0] in named]
    return f":root{{{';'.join(kept)}}}{rules}"


def _svg(part: Frag | str) -> str:
    if isinstance(part, str):
        return escape(part)
    if not {"wide", "reach"}.isdisjoint((part.get("class") or "").split()):
        return ""  # only a large slot has room for the one, and only a press needs the other
    kept = _attributes(part, ("data-", "aria-"), ("tabindex", "role"))
    return f"<{part.tag}{kept}>{''.join(map(_svg, part.kids))}</{part.tag}>"


def _attributes(part: Frag, kinds: str | tuple[str, ...], names: tuple[str, ...]) -> str:
    return "".join(
        f' {name}="{escape(value)}"'
        for name, value in part.attrs
        if not name.startswith(kinds) and name not in names
    )


def _write(part: Frag | str) -> str:
    if isinstance(part, str):
        return escape(part)
    if part.tag == "svg":
        return _write(image(part))
    if part.tag in OPENED and part.get("class") != FOLDED:
        return _write(Frag(OPENED[part.tag], (), part.kids, None))
    if part.tag in INTERACTIVE:
        return ""
    attrs = _attributes(part, "data-", ("tabindex", "class"))
    style = _style(part)
    written = f' style="{style}"' if style else ""
    return f"<{part.tag}{written}{attrs}>{_inside(part)}{closing(part)}"


def _inside(part: Frag) -> str:
    """The children. A style sheet would keep words of neighbours apart; here a space does."""
    written: list[str] = []
    before: Frag | str = ""
    for kid in part.kids:
        is_word = kid[:1].isalnum() if isinstance(kid, str) else kid.tag in INLINE
        if isinstance(before, Frag) and before.tag in INLINE and is_word:
            written.append(" ")
        written.append(_write(kid))
        before = kid
    return "".join(written)


def _style(part: Frag) -> str:
    """The declarations of its tag, then of its classes in their order, then of several at once."""
    names, rules = (part.get("class") or "").split(), stored_rules()
    own = [rule for rule in rules if rule.tag == part.tag]
    own += [rule for name in names for rule in rules if rule.classes == {name}]
    own += [rule for rule in rules if len(rule.classes) > 1 and rule.classes <= {*names}]
    return ";".join(rule.declarations for rule in own)


HOLDS, BROKEN = "✓", "✗"


def bundle_of(shown: Any, **options: Any) -> dict[str, Any]:
    """What a notebook gets to show a thing, by media type: of a widget its live view, too."""
    bundle = getattr(shown, "_repr_mimebundle_", dict)(**options) or {}
    return dict(bundle[0] if isinstance(bundle, tuple) else bundle)


def display_widget(widget: Any, words: str) -> None:
    """Display a widget; a closed notebook has ``words``, which never change, in its place."""
    display: Any = import_module("IPython.display")
    display.display({**bundle_of(widget), "text/plain": words}, raw=True)


class Shown:
    """What a notebook shows as it is drawn; where it cannot, as its text."""

    __slots__ = ()

    def draw(self) -> Frag:
        """The drawing."""
        raise NotImplementedError

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": static_html(self.draw())}


class Sheet(Struct, Shown, frozen=True):
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
        return "\n".join([self.title, *aligned([self.headings, *self.rows], "  "), *self.notes])

    def __repr__(self) -> str:
        return self.text()


def sign(ok: bool) -> str:
    """A tick or a cross."""
    return HOLDS if ok else BROKEN


def _cell(cell: str) -> Frag | str:
    return h("span", cell, class_="alarm") if cell.startswith(BROKEN) else cell
