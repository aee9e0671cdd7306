"""Fragments: the only way the kit writes HTML and SVG.

A fragment is an immutable tree made by ``h``. Every string in it is escaped when it is written,
tags and attributes come from closed lists, and no scripts, style sheets, event handlers or links
can be expressed. What may move, change, come or go carries a *key* naming the thing (``n:3``,
``row:ks:100``); the browser matches parts of two frames by their keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TypeAlias

from msgspec import Struct

HTML_TAGS = frozenset(
    "div section header footer nav h2 h3 h4 p span ul ol li table caption thead tbody tr th td "
    "button details summary dl dt dd b i em strong small code pre progress img label kbd input "
    "select option optgroup fieldset legend hr br sup sub figure figcaption".split()
)
SVG_TAGS = frozenset(
    "svg g circle rect line path polyline polygon ellipse text tspan title desc".split()
)
TAGS = HTML_TAGS | SVG_TAGS
VOID_TAGS = frozenset("img input br hr".split())
BLOCKS = frozenset(
    "div section header footer nav h2 h3 h4 p ul ol li table caption tr details summary dl dt dd "
    "pre select option fieldset legend hr br figure figcaption svg".split()
)
UNBROKEN = SVG_TAGS | {"option", "pre"}
"""In these no line is broken within a word; elsewhere a long name may be, after a joint of it."""
PRESSED = "kp-word"
"""The class of a word that can be pressed: it stays a part of its sentence."""
PRESSING = frozenset("role tabindex aria-pressed data-of data-spot data-roving data-rove".split())
"""What makes a part one that can be pressed."""
CELL = "  "  # what stands between the cells of a row in a text
ATTRIBUTES = frozenset(
    "class role title lang dir hidden tabindex scope colspan rowspan type name value min max step "
    "checked selected disabled readonly placeholder open alt src width height label for id "
    "autocomplete spellcheck start viewBox preserveAspectRatio transform d x y x1 y1 x2 y2 dx dy "
    "cx cy r rx ry points text-anchor dominant-baseline stroke-dasharray pathLength "
    "focusable xmlns".split()
)
_NAME = re.compile(r"(data|aria)-[a-z][a-z0-9-]*")
_IMAGE = re.compile(r"data:image/(svg\+xml|png);base64,[A-Za-z0-9+/=]*")
_SPECIAL = re.compile("[&<>\"'\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})
_JOINT = re.compile(r"(?<=\w[_+])(?=\w)|(?<=[a-z]\.)(?=[a-z])")
_WIDER = re.compile(r"[^\S ]")
"""White space that is no mere space."""
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")

Attr: TypeAlias = str | int | float | bool | None


class Frag(Struct, frozen=True, gc=False):
    """One element: its tag, attributes in the given order, children and key.

    ``key`` is None for a part that keeps its place and shape inside its parent. A part holds only
    what was made before it, so there is no ring of references to look for.
    """

    tag: str
    attrs: tuple[tuple[str, str], ...]
    kids: tuple[Frag | str, ...]
    key: str | None

    def html(self) -> str:
        """Return the whole fragment as HTML."""
        parts: list[str] = []
        _write(self, parts)
        return "".join(parts)

    def __str__(self) -> str:
        return self.html()

    def text(self) -> str:
        """Return the words of the fragment, as a reader without a screen would meet them."""
        pieces: list[str] = []
        _words(self, pieces)
        return _tidy("".join(pieces))

    def lines(self) -> list[str]:
        """Return the same words, a line for each paragraph, list item and row of a table.

        Where a long name may break is left out: who copies a line wants the name.
        """
        pieces: list[str] = []
        _pieces(self, pieces)
        text = "".join(pieces).replace("\u200b", "")
        lines = (_line(piece.split("\t")) for piece in text.split("\n"))
        return [line for line in lines if line]

    def walk(self) -> Iterator[Frag]:
        """Yield the fragment and all parts below it, in document order."""
        left = [self]
        while left:
            yield (part := left.pop())
            left += [kid for kid in part.kids[::-1] if isinstance(kid, Frag)]

    def get(self, name: str) -> str | None:
        """Return the attribute ``name``, or None when the element has none."""
        for own, value in self.attrs:
            if own == name:
                return value
        return None


Kid: TypeAlias = Frag | str | int | float | Iterable["Kid"] | None


def h(tag: str, *kids: Kid, k: str | None = None, **attrs: Attr) -> Frag:
    """Make an element.

    ``kids`` are fragments, strings and numbers, or iterables of them; None is left out. Attribute
    names are written with underscores (``aria_label``, ``class_``); None and False leave an
    attribute out, True writes it empty. Raises ValueError for a tag or an attribute that is not in
    the closed lists: a view that asks for one is wrong, whatever the data.
    """
    if tag not in TAGS:
        raise ValueError(f"tag {tag!r} is not allowed in a fragment")
    children: list[Frag | str] = []
    _gather(kids, children)
    if children and tag in VOID_TAGS:
        raise ValueError(f"<{tag}> cannot have children")
    return Frag(tag, _attributes(tag, attrs) if attrs else (), tuple(children), k)


def escape(text: str) -> str:
    """Escape ``text`` for use in element content and in double-quoted attribute values."""
    if _SPECIAL.search(text) is None:  # most texts, and looking is much quicker than replacing
        return text
    return _CONTROL.sub("\ufffd", text).translate(_ESCAPES)


def written(text: str, tag: str) -> str:
    """Write a text inside of a ``tag``: escaped, with places where a line may break long names."""
    clean = escape(text)
    if tag in UNBROKEN or not ("_" in clean or "+" in clean or "." in clean):
        return clean
    return _JOINT.sub("<wbr>", clean)


def copied(frag: Frag, name: str = "") -> Frag:
    """What is not to be pressed or lit; with the keys of a copy of that name, or without keys."""
    kids = tuple(copied(kid, name) if isinstance(kid, Frag) else kid for kid in frag.kids)
    attrs = tuple(each for each in frag.attrs if each[0] not in PRESSING)
    return Frag(frag.tag, attrs, kids, f"{name}:{frag.key}" if name and frag.key else None)


def keys(frag: Frag) -> tuple[str, ...]:
    """Return the keys in ``frag``, in document order."""
    return tuple(part.key for part in frag.walk() if part.key is not None)


def opening(frag: Frag) -> str:
    """Return the start tag of ``frag``, with its key."""
    return _opening(frag.tag, frag.key, frag.attrs)


@lru_cache(1 << 14)
def _opening(tag: str, key: str | None, attrs: tuple[tuple[str, str], ...]) -> str:
    named = "" if key is None else f' data-k="{escape(key)}"'
    attributes = "".join([f' {name}="{escape(value)}"' for name, value in attrs])
    return f"<{tag}{named}{attributes}>"


def closing(frag: Frag) -> str:
    """Return the end tag of ``frag``; void elements have none."""
    return "" if frag.tag in VOID_TAGS else f"</{frag.tag}>"


def _write(frag: Frag, parts: list[str]) -> None:
    parts.append(opening(frag))
    for kid in frag.kids:
        if isinstance(kid, str):
            parts.append(written(kid, frag.tag))
        else:
            _write(kid, parts)
    parts.append(closing(frag))


def _words(frag: Frag, pieces: list[str]) -> None:
    around = "" if frag.get("class") == PRESSED else " "
    pieces.append(around)
    if frag.tag == "img":
        pieces.append(frag.get("alt") or "")
    for kid in frag.kids:
        if isinstance(kid, str):
            pieces.append(kid)
        else:
            _words(kid, pieces)
    pieces.append(around)


def _pieces(frag: Frag, pieces: list[str]) -> None:
    around = "\n" if frag.tag in BLOCKS else "\t" if frag.tag in ("td", "th") else " "
    around = "" if frag.get("class") == PRESSED else around
    pieces.append(around)
    if frag.tag == "img":
        pieces.append(_tidy(frag.get("alt") or ""))
    for kid in frag.kids:
        if isinstance(kid, str):
            pieces.append(_WIDER.sub(" ", kid) if _WIDER.search(kid) else kid)
        else:
            _pieces(kid, pieces)
    pieces.append("\n" if frag.tag in BLOCKS else " " * bool(around))


@lru_cache(1 << 15)
def row_lines(cells: tuple[str, ...]) -> tuple[str, ...]:
    """What ``lines`` gives of a row of texts; those of a long table seldom change."""
    return tuple(filter(None, [_line(cells)]))


def _line(cells: Iterable[str]) -> str:
    return re.sub(r" (?=[.,;:](?: |$))", "", CELL.join(filter(None, map(_tidy, cells))))


def _tidy(words: str) -> str:
    return re.sub(r"\s+", " ", words).strip()


def _gather(kids: Iterable[Kid], children: list[Frag | str]) -> None:
    """Add fragments and strings; neighbouring strings are joined, as a parser would join them."""
    for kid in kids:
        if isinstance(kid, Frag):
            children.append(kid)
        elif isinstance(kid, (str, int, float)):
            text = kid if isinstance(kid, str) else number(kid)
            if text and children and isinstance(children[-1], str):
                children[-1] += text
            elif text:
                children.append(text)
        elif kid is not None:
            _gather(kid, children)


def number(value: float) -> str:
    """Write a number shortly and the same way everywhere: at most two decimals."""
    if isinstance(value, int):
        return str(value)
    short = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if short == "-0" else short


@lru_cache(1024)
def _attribute(raw: str) -> str:
    name = raw.rstrip("_").replace("_", "-")
    return name if name in ATTRIBUTES or _NAME.fullmatch(name) else ""


def _attributes(tag: str, attrs: dict[str, Attr]) -> tuple[tuple[str, str], ...]:
    written = []
    for raw, value in attrs.items():
        name = _attribute(raw)
        if not name:
            raise ValueError(f"attribute {raw.rstrip('_')!r} is not allowed on <{tag}>")
        if name == "data-k":
            raise ValueError("a key is given as k=, not as an attribute")
        if isinstance(value, str):
            text = value
        elif value is None or value is False:
            continue
        else:
            text = "" if value is True else number(value)
        if name == "src" and not (tag == "img" and _IMAGE.fullmatch(text)):
            raise ValueError("src is allowed on <img> for data:image/ only")
        written.append((name, text))
    return tuple(written)
