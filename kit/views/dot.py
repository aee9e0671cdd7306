"""Drawings by Graphviz: from DOT text to SVG ahead of time, from SVG to a fragment at run time.

The SVG is committed under ``images/`` with the digest of its DOT text in it (two versions of
``dot`` differ in bytes). At run time nobody needs ``dot``: a committed drawing is read back, and
its parts get keys. What was never drawn is drawn now if there is a ``dot``.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TypeAlias
from xml.etree import ElementTree

from msgspec import Struct

from kit.views.fragment import Frag, h, number

PACKAGE = Path(__file__).resolve().parent.parent
FOLDERS = (PACKAGE.parent / "images", PACKAGE / "shipped" / "images")
_SVG = "{http://www.w3.org/2000/svg}"
_DIGEST = re.compile(r"<!-- dot ([0-9a-f]{16}) -->")


class PartLook(Struct, frozen=True):
    """How a part of a drawing is shown: its key, its classes, what is said of it.

    ``of`` is the thing that it shows, which is lit wherever else it is shown.
    """

    key: str
    classes: str
    title: str = ""
    of: str | None = None


Dress: TypeAlias = Callable[[str, str, str], PartLook]
"""Gives a part of a drawing its look: from its kind (``node``, ``edge``), its name and its id."""


def quote(text: str) -> str:
    """Quote a label for DOT; backslashes are doubled, so that no escape has a meaning."""
    inner = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{inner}"'


def digest(source: str) -> str:
    """Return the digest of a DOT text: 16 hex digits."""
    return hashlib.sha256(source.encode()).hexdigest()[:16]


def render(source: str) -> str | None:
    """Draw DOT text as SVG with its digest inside; None when there is no ``dot`` that works."""
    program = shutil.which("dot")
    if program is None:
        return None
    try:
        made = subprocess.run(
            [program, "-Tsvg"], input=source, capture_output=True, text=True, timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    body = made.stdout[made.stdout.index("<svg") :]
    return f"<!-- dot {digest(source)} -->\n{body}"


def digest_in(svg: str) -> str | None:
    """Return the digest an SVG says it was drawn from."""
    digest = _DIGEST.search(svg)
    return digest[1] if digest else None


@cache
def drawn(name: str, source: str) -> str | None:
    """Return the SVG of a drawing: the committed one if it is current, else a fresh one."""
    for folder in FOLDERS:
        path = folder / f"{name}.svg"
        if path.is_file():
            svg = path.read_text(encoding="utf-8")
            if digest_in(svg) == digest(source):
                return svg
    return render(source)


def measures(svg: str) -> tuple[float, float, float, float]:
    """Return where a drawing begins, and how wide and high it is, in its own units."""
    box = ElementTree.fromstring(svg).get("viewBox") or "0 0 0 0"
    left, top, width, height = (float(side) for side in box.split())
    return left, top, width, height


def box_of(sides: Iterable[float]) -> str:
    """Write where a drawing begins and how large it is as the attribute of an ``svg``."""
    return " ".join(map(number, sides))


def shapes(svg: str, dress: Dress) -> Frag:
    """Turn what ``dot`` drew into a group of keyed parts, each with the look that it is given."""
    graph = ElementTree.fromstring(svg).find(f"{_SVG}g")
    assert graph is not None
    shift = re.search(r"translate\(([-\d.]+) ([-\d.]+)\)", graph.get("transform", ""))
    move = f"translate({shift[1]} {shift[2]})" if shift else None
    return h("g", [_part(group, dress) for group in graph.findall(f"{_SVG}g")], transform=move)


def _part(group: ElementTree.Element, dress: Dress) -> Frag:
    kind = group.get("class") or ""
    look = dress(kind, group.findtext(f"{_SVG}title") or "", group.get("id") or "")
    return h(
        "g",
        h("title", look.title) if look.title else None,
        list(_drawn_of(group)),
        k=look.key,
        class_=look.classes,
        data_of=look.of,
    )


def _drawn_of(group: ElementTree.Element) -> Iterator[Frag]:
    """The shapes and words of a node or an edge, in the kit's own classes."""
    is_node = group.get("class") == "node"
    for child in group.iter():
        tag = child.tag.removeprefix(_SVG)
        get = child.get
        if tag == "path":
            dashed = " dashed" if get("stroke-dasharray") else ""
            yield h("path", d=get("d"), class_=f"{'box' if is_node else 'wire'}{dashed}")
        elif tag == "polygon":
            yield h("polygon", points=get("points"), class_="box" if is_node else "tip")
        elif tag == "ellipse":
            sides = {name: get(name) for name in ("cx", "cy", "rx", "ry")}
            yield h("ellipse", **sides, class_="wire" if get("fill") == "none" else "full")
        elif tag == "text":
            kind, words = "on" if is_node else "soft", (child.text or "").strip()
            yield h("text", words, x=get("x"), y=get("y"), text_anchor="middle", class_=kind)
