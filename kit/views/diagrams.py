"""State diagrams: a machine's transition table, drawn by Graphviz, with where the machine stands.

A family declares a machine once, as a ``StateDiagram``. Its drawing is committed under ``images/``.
``state_panel`` makes it the picture of a Player: the state of now and the way taken are lit.
Letters are legible in the smallest board, where a drawing has some 380 by 298 pixels: states stand
below one another. The arrows that lead back are grey, with hollow heads.
"""

import hashlib
import re
import shutil
import subprocess
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias
from xml.etree import ElementTree

from msgspec import Struct

from kit.views.fragment import Frag, h, number
from kit.views.palette import GRAPHVIZ, LETTERS, LIGHT, SHADES, TABLE_LETTERS
from kit.views.panel import Panel, Scene

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


class Cell(Struct, frozen=True):
    """A cell of a drawn table: its words, and how many columns it takes.

    ``fill`` is the sign whose colour a box has, ``plain`` for one without; empty: no box.
    """

    text: str = ""
    columns: int = 1
    fill: str = ""


def table_source(rows: Iterable[Iterable[Cell]], widths: Sequence[int] = ()) -> str:
    """The DOT text of a table, such as lanes beside a time; ``widths`` of columns are in points."""
    ruler = "".join(f'<TD WIDTH="{wide}" HEIGHT="0" CELLPADDING="0"></TD>' for wide in widths)
    lines = [ruler, *("".join(map(_cell, row)) for row in rows)]
    drawn = "".join(f"<TR>{line}</TR>" for line in lines if line)
    table = f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="3" CELLPADDING="5">{drawn}</TABLE>'
    style = f"{GRAPHVIZ}; node [shape=plain, fontsize={TABLE_LETTERS}];"
    return f"digraph {{\n  {style}\n  table [label=<{table}>];\n}}\n"


def _cell(cell: Cell) -> str:
    box = f' BORDER="1" COLOR="{LIGHT["ink"]}" BGCOLOR="{SHADES[cell.fill]}"' if cell.fill else ""
    return f'<TD COLSPAN="{cell.columns}"{box}>{escape(cell.text)}</TD>'


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


def shapes(svg: str, dress: Dress) -> Frag:
    """Turn what ``dot`` drew into a group of keyed parts, each with the look that it is given."""
    graph = ElementTree.fromstring(svg).find(f"{_SVG}g")
    assert graph is not None
    shift = re.search(r"translate\(([-\d.]+) ([-\d.]+)\)", graph.get("transform", ""))
    move = f"translate({shift[1]} {shift[2]})" if shift else None
    parts = [_part(group, dress) for group in graph.findall(f"{_SVG}g")]
    notes = [
        h(
            "text",
            note.text or "",
            x=note.get("x"),
            y=note.get("y"),
            text_anchor=note.get("text-anchor"),
            class_="soft note",
        )
        for note in graph.findall(f"{_SVG}text")
    ]
    return h("g", parts, notes, transform=move)


def picture(
    svg: str, dress: Dress, words: str, box: Iterable[float] = (), width: float | None = None
) -> Frag:
    """Turn what ``dot`` drew into a picture, and the same in words; ``box`` is what it shows."""
    return h(
        "svg",
        shapes(svg, dress),
        viewBox=" ".join(map(number, box or measures(svg))),
        width=width,
        role="img",
        aria_label=words,
        class_="diagram",
    )


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
    is_node = group.get("class") == "node"
    for child in group.iter():
        tag = child.tag.removeprefix(_SVG)
        get = child.get
        if tag == "path":
            yield h("path", d=get("d"), class_="box" if is_node else "wire")
        elif tag == "polygon":
            yield h("polygon", points=get("points"), class_="box" if is_node else "tip")
        elif tag == "ellipse":
            sides = {name: get(name) for name in ("cx", "cy", "rx", "ry")}
            yield h("ellipse", **sides, class_="wire" if get("fill") == "none" else "full")
        elif tag == "text":
            kind, words = "on" if is_node else "soft tag", (child.text or "").strip()
            yield h("text", words, x=get("x"), y=get("y"), text_anchor="middle", class_=kind)


Transition: TypeAlias = tuple[str, str, str]
"""A state, an event, the next state."""

LEGIBLE = 1.1
"""Pixels for a unit of a drawing whose size is not that of its slot."""
START = "●"
END = "◎"
"""States without a name: what was before the first one, and after the last."""
_LINE = 12  # letters of an event's name on one line
_LONG = 30  # letters of a state's name on one line
_LEAST = (240.0, 190.0)  # units that a picture shows at least: a small machine stays small
_FULL = f'style=filled, fillcolor="{LIGHT["ink"]}"'
_ROUND = {
    START: f'shape=circle, {_FULL}, width=0.12, height=0.12, label=""',
    END: f'shape=doublecircle, {_FULL}, width=0.09, height=0.09, label=""',
}


class StateDiagram(Struct, frozen=True):
    """A machine as it is drawn: the name of its committed picture, what it is called, its table.

    ``rollbacks`` are the events that lead back. In a ``tight`` drawing their names stand where they
    begin, and of one that is long a number: the name is below the drawing. ``labelled`` False
    leaves the names of all events to the text.
    """

    name: str
    label: str
    transitions: tuple[Transition, ...]
    rollbacks: frozenset[str] = frozenset()
    labelled: bool = True
    tight: bool = False

    @property
    def notes(self) -> tuple[str, ...]:
        """The names that are below the drawing, in the order of their numbers."""
        back = (event for _, event, _ in self.transitions if event in self.rollbacks)
        return tuple(dict.fromkeys(e for e in back if self.tight and len(e) > _LINE))


class Standing(Struct, frozen=True):
    """Where a machine stands: the states that it went through, the last one is that of now.

    ``failures`` are the steps of the path that a failure took, from 0. They tell apart two events
    that lead from one state to the same one.
    """

    diagram: StateDiagram
    path: tuple[str, ...]
    failures: frozenset[int] = frozenset()

    @property
    def state(self) -> str:
        """The state of now."""
        return self.path[-1]

    @property
    def ways(self) -> tuple[Transition, ...]:
        """The transitions from here."""
        return tuple(way for way in self.diagram.transitions if way[0] == self.state)

    def took(self, way: Transition) -> bool:
        """Whether the path went this way."""
        ends, back = way[::2], way[1] in self.diagram.rollbacks
        steps = enumerate(pairwise(self.path))
        failed = {number in self.failures for number, step in steps if step == ends}
        alone = sum(other[::2] == ends for other in self.diagram.transitions) == 1
        return bool(failed) and (alone or back in failed)


def dot_source(diagram: StateDiagram) -> str:
    """Write a machine as DOT. Labels are quoted, so that any text is only text."""
    table = diagram.transitions
    states = dict.fromkeys(state for before, _, after in table for state in (before, after))
    lines = [
        "digraph {",
        f"  {GRAPHVIZ};",
        f"  nodesep={0.1 if diagram.tight else 0.15}; ranksep=0.12; margin=0.03;",
        f"  node [fontsize={LETTERS}]; edge [fontsize={LETTERS}];",
        '  node [shape=box, style=rounded, height=0.23, width=0.3, margin="0.09,0.01"];',
    ]
    if diagram.notes:
        notes = "   ".join(f"{i} {quote(note)[1:-1]}" for i, note in enumerate(diagram.notes, 1))
        lines.append(f'  label="{notes}"; fontsize={LETTERS}; labeljust=l;')
    lines += [f"  {quote(state)}{_shape(state)};" for state in states]
    for i, way in enumerate(table):
        ends = f"{quote(way[0])} -> {quote(way[2])}"
        lines.append(f"  {ends} [id=way{i}{_on_the_way(diagram, way)}];")
    return "\n".join([*lines, "}", ""])


def _shape(state: str) -> str:
    if state in _ROUND:
        return f" [{_ROUND[state]}]"
    breaks = [i + 1 for i, letter in enumerate(state) if letter in "_ "]
    if len(state) <= _LONG or not breaks:
        return ""
    middle = min(breaks, key=lambda at: abs(2 * at - len(state)))
    return f' [label="{quote(state[:middle])[1:-1]}\\n{quote(state[middle:])[1:-1]}"]'


def _on_the_way(diagram: StateDiagram, way: Transition) -> str:
    _, event, after = way
    back = event in diagram.rollbacks
    if not diagram.labelled or event in ("", after):
        return ""
    name = str(diagram.notes.index(event) + 1) if event in diagram.notes else event
    # A blank at either side keeps the letters off the line that they stand beside.
    lines = "\\n".join(
        f" {quote(line)[1:-1]} " for line in textwrap.wrap(name, _LINE, break_long_words=False)
    )
    return f', {"taillabel" if back and diagram.tight else "label"}="{lines}"'


def draw_diagram(standing: Standing, prefix: str, *, fits: bool = False) -> Frag:
    """Draw a machine with its state of now lit and the way that it took marked.

    ``prefix`` makes the keys unique in a frame. One that ``fits`` fills the room that it has; any
    other has the size at which it is legible. Without a drawing the table is written as text.
    """
    diagram = standing.diagram
    svg = drawn(diagram.name, dot_source(diagram))
    if svg is None:
        return _as_list(standing, prefix)
    left, top, width, height = measures(svg)
    wide, high = map(max, (width, height), _LEAST if fits else (0, 0))
    box = (left - (wide - width) / 2, top - (high - height) / 2, wide, high)
    words = f"{diagram.label}; now: {standing.state}; passed: {_passed(standing)}"
    look = _looks(standing, prefix, titled=fits)
    return picture(svg, look, words, box, None if fits else LEGIBLE * wide)


NOT_PASSED, PASSED, NOW = "not passed", "passed", "now"


def _looks(standing: Standing, prefix: str, *, titled: bool) -> Dress:
    def look(kind: str, name: str, id_: str) -> PartLook:
        if kind == "node":
            lit, said = ("", NOT_PASSED) if name not in standing.path else (" passed", PASSED)
            lit, said = (" lit", NOW) if name == standing.state else (lit, said)
            words = f"{name}: {said}" if titled else ""
            return PartLook(f"{prefix}state:{name}", f"state{lit}", words, f"state:{name}")
        way = standing.diagram.transitions[int(id_.removeprefix("way"))]
        back = " back" if way[1] in standing.diagram.rollbacks else ""
        walked = " taken" if standing.took(way) else ""
        words = _sentence(way) if titled else ""
        return PartLook(f"{prefix}{id_.replace('way', 'way:')}", f"edge{back}{walked}", words)

    return look


def state_panel(
    name: str,
    title: str,
    standing: Callable[[Scene], Standing | None],
    nothing: str = "No operation is in progress.",
    tab: str = "",
) -> Panel:
    """Make the panel of a state diagram, as a family's picture or as a tab.

    ``standing`` says which machine a moment shows and where it stands; where that is None the
    panel says ``nothing``. The keys of its states are ``NAME:state:STATE``, for what travels; a
    part of another panel with ``data_of="state:STATE"`` is lit with a state.
    """

    def draw(scene: Scene) -> Frag:
        place = standing(scene)
        if place is None:
            return h("div", h("p", nothing, class_="soft"))
        ways = "; ".join(f"{event or 'on'} → {after}" for _, event, after in place.ways)
        words = f": {ways or 'nothing follows'} "
        back = h("small", "(hollow arrowhead: back)") if place.diagram.rollbacks else None
        said = h("p", h("b", place.state), words, back, k=f"{name}:ways")
        return h("div", draw_diagram(place, f"{name}:", fits=True), said)

    def text(scene: Scene) -> str:
        place = standing(scene)
        return f"  {nothing}" if place is None else diagram_text(place)

    return Panel(name, title, draw, text, still=True, tab=tab)


def diagram_text(standing: Standing) -> str:
    """Write a machine as text: the way so far, a line per transition; those of now are marked."""
    lines = [
        f"{'>' if before == standing.state else ' '} {before} --{event}--> {after}"
        for before, event, after in standing.diagram.transitions
    ]
    return "\n".join([f"  {_passed(standing)}", *lines])


def _sentence(way: Transition) -> str:
    before, event, after = way
    return f"{before} → {after}: {event}" if event else f"{before} → {after}"


def _passed(standing: Standing) -> str:
    return " → ".join(standing.path)


def _as_list(standing: Standing, prefix: str) -> Frag:
    diagram, lines = standing.diagram, []
    for i, way in enumerate(diagram.transitions):
        here = "here" if way[0] == standing.state else None
        lines.append(h("li", _sentence(way), k=f"{prefix}line:{i}", class_=here))
    note = f"{diagram.label} (as text, because Graphviz is not installed)"  # fmt: skip
    return h("div", h("p", note, class_="soft"), h("ul", lines))
