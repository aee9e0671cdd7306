"""State diagrams from the models' own transition tables, laid out by Graphviz ahead of time.

The DOT text is made from the table, the SVG from the DOT text by ``dot``; the SVG is committed
under ``images/`` with the digest of its DOT text in it (two versions of ``dot`` differ in bytes).
At run time nobody needs ``dot``: a committed drawing is read back, its parts get keys, and the
current state is lit. A diagram that was never drawn is drawn now if there is a ``dot``, and else
shown as text with a note.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TypeAlias
from xml.etree import ElementTree

from kit.views.fragment import Frag, h

Transitions: TypeAlias = Sequence[tuple[str, str, str]]

PACKAGE = Path(__file__).resolve().parent.parent
FOLDERS = (PACKAGE.parent / "images", PACKAGE / "shipped" / "images")
LEGIBLE = 1.2
"""Pixels a unit of a drawing, so that its letters (10 units) are never smaller than 11 pixels."""
_SVG = "{http://www.w3.org/2000/svg}"
_DIGEST = re.compile(r"<!-- dot ([0-9a-f]{16}) -->")


def dot_source(transitions: Transitions) -> str:
    """Write a transition table as DOT. Labels are quoted, so that any text is only text."""
    states = dict.fromkeys(state for before, _, after in transitions for state in (before, after))
    lines = [
        "digraph {",
        "  rankdir=LR; nodesep=0.2; ranksep=0.3; bgcolor=white;",
        '  node [shape=box, style=rounded, fontname="Helvetica", fontsize=11, height=0.34];',
        '  edge [fontname="Helvetica", fontsize=9, arrowsize=0.6];',
    ]
    lines += [f"  {quote(state)};" for state in states]
    lines += [
        f"  {quote(before)} -> {quote(after)} [label={quote(event)}"
        f"{', style=dashed' if event.startswith('cancel') else ''}];"
        for before, event, after in transitions
    ]
    return "\n".join([*lines, "}", ""])


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
    """Return the SVG of a diagram: the committed one if it is current, else a fresh one."""
    for folder in FOLDERS:
        path = folder / f"{name}.svg"
        if path.is_file():
            svg = path.read_text(encoding="utf-8")
            if digest_in(svg) == digest(source):
                return svg
    return render(source)


def draw(
    name: str,
    transitions: Transitions,
    *,
    at: str | None,
    taken: Collection[tuple[str, str]] = (),
    prefix: str,
    label: str,
) -> Frag:
    """Draw a diagram with the state ``at`` lit and the (state, next state) pairs taken marked.

    ``prefix`` makes the keys unique in a frame. Without a drawing the table is written as text.
    """
    svg = drawn(name, dot_source(transitions))
    if svg is None:
        return _as_list(transitions, at, prefix, label)
    root = ElementTree.fromstring(svg)
    return h(
        "svg",
        list(_parts(root, {at} if at else set(), set(taken), prefix)),
        viewBox=root.get("viewBox"),
        width=f"{LEGIBLE * float((root.get('viewBox') or '0 0 0 0').split()[2]):.0f}",
        role="img",
        aria_label=f"{label}; now: {at}" if at else label,
        class_="diagram",
    )


def shape_svg(svg: str, *, lit: Collection[str], prefix: str, label: str) -> Frag:
    """Turn what ``dot`` drew into a fragment in which the nodes named in ``lit`` are lit.

    Nodes and edges are named as in the DOT text; ``prefix`` makes the keys unique in a frame.
    """
    root = ElementTree.fromstring(svg)
    return h(
        "svg",
        list(_parts(root, set(lit), set(), prefix)),
        viewBox=root.get("viewBox"),
        role="img",
        aria_label=label,
        class_="diagram",
    )


def diagram_text(transitions: Transitions, at: str | None) -> str:
    """Write a diagram as text, a line a transition; the lines that start at ``at`` are marked."""
    return "\n".join(
        f"{'>' if before == at else ' '} {before} --{event}--> {after}"
        for before, event, after in transitions
    )


def quote(text: str) -> str:
    """Quote a label for DOT; backslashes are doubled, so that no escape has a meaning."""
    inner = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{inner}"'


def _parts(
    root: ElementTree.Element,
    lit_nodes: set[str],
    taken: set[tuple[str, str]],
    prefix: str,
) -> Iterator[Frag]:
    graph = root.find(f"{_SVG}g")
    assert graph is not None
    shift = re.search(r"translate\(([-\d.]+) ([-\d.]+)\)", graph.get("transform", ""))
    move = f"translate({shift[1]} {shift[2]})" if shift else None
    groups = []
    for i, group in enumerate(graph.findall(f"{_SVG}g")):
        title = group.findtext(f"{_SVG}title") or ""
        shapes = list(_shapes(group))
        if group.get("class") == "node":
            look = "state lit" if title in lit_nodes else "state"
            groups.append(h("g", shapes, k=f"{prefix}state:{title}", class_=look))
        else:
            before, _, after = title.partition("->")
            walked = "edge taken" if (before, after) in taken else "edge"
            groups.append(h("g", shapes, k=f"{prefix}edge:{i}", class_=walked))
    yield h("g", groups, transform=move)


def _shapes(group: ElementTree.Element) -> Iterator[Frag]:
    for child in group:
        tag = child.tag.removeprefix(_SVG)
        get = child.get
        if tag == "path":
            dashed = "dashed" if get("stroke-dasharray") else None
            kind = "box" if group.get("class") == "node" else "wire"
            yield h("path", d=get("d"), class_=f"{kind} {dashed}" if dashed else kind)
        elif tag == "polygon":
            kind = "box" if group.get("class") == "node" else "tip"
            yield h("polygon", points=get("points"), class_=kind)
        elif tag == "text":
            kind = "on" if group.get("class") == "node" else "soft"
            yield h(
                "text", child.text or "", x=get("x"), y=get("y"), text_anchor="middle", class_=kind
            )


def _as_list(transitions: Transitions, at: str | None, prefix: str, label: str) -> Frag:
    return h(
        "div",
        h("p", f"{label} (as text: the graphviz program is not here to draw it)", class_="soft"),
        h(
            "ul",
            [
                h(
                    "li",
                    f"{before} → {after}: {event}",
                    k=f"{prefix}line:{i}",
                    class_="here" if before == at else None,
                )
                for i, (before, event, after) in enumerate(transitions)
            ],
        ),
    )
