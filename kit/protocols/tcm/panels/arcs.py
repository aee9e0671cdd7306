"""The ring's arcs: each range with who is read from inside, and who is only written to outside.

Letters say who, colour says what the step changed. Of many ranges those that rest side by side are
one arc; of very many what changed is marked where it lies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from math import hypot
from typing import Any

from msgspec import Struct

from kit.errors import counted
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.large import DENSITY
from kit.protocols.tcm.facts.moment import LockRow, RangeRow, memo, range_key
from kit.protocols.tcm.panels.placement import Lines, changed_of_many, large, lines
from kit.ring.tokens import TokenSpace
from kit.views.circle import (
    CENTRE,
    INSIDE,
    LOCKS_AT,
    OUTSIDE,
    RADIUS,
    THICK,
    Letter,
    arc_path,
    band,
    draw_band,
    draw_letter,
    length,
    point,
    share,
)
from kit.views.fragment import Frag, h
from kit.views.labels import wide
from kit.views.panel import Scene
from kit.views.sizes import LINE


def locked(scene: Scene, keyspace: str | None = None) -> list[LockRow]:
    """Return the ranges that operations hold, of a keyspace or of all, each once."""
    held = (lock for operation in scene.of(facts.operations) for lock in operation.locks)
    rows = {(lock.left, lock.right): lock for lock in held if keyspace in (None, lock.keyspace)}
    return [rows[bounds] for bounds in sorted(rows)]


def covered_parts(scene: Scene, keyspace: str | None = None) -> list[tuple[float, float]]:
    """The parts of the line that operations hold, of a keyspace or of all, as fine as one sees."""

    def work() -> list[tuple[float, float]]:
        space = facts.space(scene.model)
        bins: set[int] = set()
        for lock in locked(scene, keyspace):
            first, last = (int(share(space, end) * DENSITY) for end in (lock.left, lock.right))
            bins.update(range(first, min(last, DENSITY - 1) + 1))
        begins, ends = (sorted(at for at in bins if at + by not in bins) for by in (-1, 1))
        runs = zip(begins, ends, strict=True)
        return [(left / DENSITY, min((right + 1) / DENSITY, 0.9999)) for left, right in runs]

    key = ("covered", scene.state.tcm.events, scene.state.tcm.forgotten, keyspace)
    return memo(scene.model, key, work)


def draw_covered(scene: Scene, keyspace: str) -> Frag | None:
    """Draw the locked part of the ring."""
    path = "".join(arc_path(*part, LOCKS_AT) for part in covered_parts(scene, keyspace))
    return h("path", d=path, k=f"lock:{keyspace}", class_="lock") if path else None


MOST_WHOLE = 96
"""Ranges that are all drawn singly; of more only those that changed, or that a promise names."""
MOST_SINGLE = 64
LEAST_ARC, LEAST_LOCK = 14, 44
PADLOCK = "M-4 -1h8v6h-8zM-2.5 -1v-2a2.5 2.5 0 0 1 5 0v2"


class Arc(Struct, frozen=True):
    """A range, or several side by side that rest (then without a line); shares of the turn.

    ``held`` is the title of the operation that holds all of it.
    """

    left: float
    right: float
    key: str
    held: str | None
    line: Lines | None
    count: int = 1

    @property
    def middle(self) -> float:
        """The share of the turn in its middle."""
        return (self.left + self.right) / 2


def arcs(scene: Scene, keyspace: str, named: frozenset[str]) -> tuple[Arc, ...]:
    """The arcs of a keyspace, clockwise; ``named`` are keys of parts that a promise names.

    Of a table that is too long to compare row by row only what changed.
    """
    if large(scene, keyspace) is not None:
        rows = changed_of_many(scene, keyspace)[1][:MOST_SINGLE]
    else:
        rows = lines(scene, keyspace)
    alone = rows
    if len(rows) > MOST_WHOLE:
        alone = [line for line in rows if line.changed or line.key in named][:MOST_SINGLE]
    single = {id(line) for line in alone}

    def run(line: Lines) -> tuple[int, str | None]:
        return id(line) if id(line) in single else 0, line.row.locked_by

    return tuple(_arc(facts.space(scene.model), list(some)) for _, some in groupby(rows, run))


def _arc(space: TokenSpace, run: Sequence[Lines]) -> Arc:
    """Ranges that rest side by side as one arc, held ones apart from others; or one."""
    left, right, held = run[0].row.left, run[-1].row.right, run[0].row.locked_by
    ends = share(space, left), share(space, right)
    line = run[0] if len(run) == 1 else None
    return Arc(*ends, range_key(left, right), held, line, len(run))


def letters(arc: Arc, short: Mapping[str, str]) -> tuple[Letter, ...]:
    """Who is read from, inside, and who is only written to, outside; none on a narrow arc."""
    line = arc.line
    if line is None:
        return ()
    inner = [(name, "added" if name in line.reads.added else "") for name in line.reads.order]
    inner += [(name, "removed") for name in line.reads.removed if name not in line.writes.order]
    outer = [
        (name, "pending added" if name in line.writes.added else "pending")
        for name in line.writes.order
        if name not in line.reads.order
    ]
    outer += [(name, "removed") for name in line.writes.removed if name not in line.reads.removed]
    widest = max([LINE, *(wide(short.get(name, name)) for name, _ in inner + outer)])
    step = LINE + (widest - LINE) * abs(point(arc.middle, 1)[0] - CENTRE[0])
    deepest = INSIDE - step * (len(inner) - 1)
    if length(arc.right - arc.left, deepest) < LEAST_ARC:
        return ()
    stacks = ((inner, INSIDE, -step), (outer, OUTSIDE, step))
    return tuple(
        Letter(name, short.get(name, name), *point(arc.middle, radius + i * by), kind)
        for names, radius, by in stacks
        for i, (name, kind) in enumerate(names)
    )


def draw_arc(keyspace: str, arc: Arc, drawn: Sequence[Letter], *, guilty: bool) -> Frag:
    """Draw an arc as a button; one that a broken promise names stands out."""
    held = f"; locked by {arc.held}" if arc.held else ""
    if arc.line is None:
        words = f"{counted(arc.count, 'range')} that did not change{held}"
    else:
        reads, writes = arc.line.reads.text() or "nobody", arc.line.writes.text() or "nobody"
        words = f"{arc.line.row.label}: read from {reads}; written to {writes}{held}"
    changed = arc.line is not None and arc.line.changed
    kinds = ["arc", "moved" * changed, "held" * bool(arc.held), "guilty" * guilty]
    return h(
        "g",
        h("title", words),
        h("path", d=arc_path(arc.left, arc.right, RADIUS), class_="reach"),
        draw_band(arc.left, arc.right),
        _lock(arc) if arc.held else None,
        [draw_letter(f"{keyspace}:{arc.key}", letter) for letter in drawn],
        k=f"arc:{keyspace}:{arc.key}",
        class_=" ".join(filter(None, kinds)),
        **choosable(arc.key, words),
    )


def _lock(arc: Arc) -> Frag:
    """Draw a dashed line along a locked arc; where there is room a lock hangs in its middle."""
    x, y = point(arc.middle, RADIUS)
    line = h("path", d=arc_path(arc.left, arc.right, LOCKS_AT), class_="lock")
    if length(arc.right - arc.left, RADIUS) < LEAST_LOCK:
        return h("g", line)
    return h(
        "g",
        line,
        h("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=8, class_="plate"),
        h("path", d=PADLOCK, transform=f"translate({x:.1f} {y:.1f})", class_="lock-glyph"),
    )


def choosable(thing: str, words: str, *, first: bool = False) -> dict[str, Any]:
    """What makes a part a button that chooses a thing; arrow keys reach all but the first."""
    return {
        "role": "button",
        "tabindex": "0" if first else "-1",
        "aria_label": words,
        "aria_pressed": "false",
        "data_roving": True,
        "data_spot": thing,
        "data_of": thing,
    }


def dense(scene: Scene, keyspace: str) -> Frag | None:
    """Mark where the step changed a table that is too long for single arcs."""
    bins = changed_of_many(scene, keyspace)[0].bins if large(scene, keyspace) is not None else ()
    if not bins:
        return None
    path = "".join(band(at / DENSITY, (at + 1) / DENSITY, THICK) for at in bins)
    return h("path", d=path, k=f"changed:{keyspace}", class_="marks")


INNER = RADIUS - 22
HEAD = 7


def shown_row(scene: Scene) -> RangeRow | None:
    """The range that the arrows begin at: the first in the focus that is locked, or the first."""
    rows = [row for row in scene.of(facts.rows) if row.reads and facts.touches(scene.model, row)]
    return next((row for row in rows if row.locked_by), rows[0] if rows else None)


def arrows(scene: Scene) -> list[Frag]:
    """Draw an arrow from the middle of the range to each replica's next token clockwise."""
    row = shown_row(scene)
    if row is None:
        return []
    space = facts.space(scene.model)
    middle = (share(space, row.left) + share(space, row.right)) / 2
    tokens = {node.name: node.tokens for node in scene.of(facts.nodes)}
    drawn = []
    for name in row.reads:
        ahead = [token for token in tokens[name] if token >= row.right] or tokens[name]
        if ahead:
            path = _arrow(middle, share(space, min(ahead)))
            drawn.append(h("path", d=path, k=f"arrow:{name}", class_="to-replica"))
    return drawn


def _arrow(start: float, end: float) -> str:
    (x1, y1), (x2, y2) = point(start, RADIUS - 4), point(end, INNER)
    far = hypot(x2 - x1, y2 - y1) or 1.0
    ux, uy = (x2 - x1) / far * HEAD, (y2 - y1) / far * HEAD
    return (
        f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}M{x2 - ux + uy / 2:.1f} {y2 - uy - ux / 2:.1f}"
        f"L{x2:.1f} {y2:.1f}L{x2 - ux - uy / 2:.1f} {y2 - uy + ux / 2:.1f}"
    )


def arrows_words(scene: Scene) -> str:
    """Say what the arrows show: the range and the nodes that it is read from, in order."""
    row = shown_row(scene)
    if row is None:
        return "No range is replicated."
    return f"Arrows: {row.label} is read from {', '.join(row.reads)}."
