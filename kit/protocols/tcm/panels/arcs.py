"""The ring's arcs: each range with who is read from inside, and who is only written to outside.

Letters say who, colour says what the step changed. Of many ranges those that rest side by side are
one arc; of very many what changed is marked where it lies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from kit.errors import counted
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.large import DENSITY
from kit.protocols.tcm.facts.parts import range_key
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
    space = facts.space(scene.model)
    if large(scene, keyspace) is not None:
        changed = changed_of_many(scene, keyspace)[1]
        return tuple(_single(space, line) for line in changed[:MOST_SINGLE])
    rows = lines(scene, keyspace)
    if len(rows) <= MOST_WHOLE:
        return tuple(_single(space, line) for line in rows)
    apart = [line for line in rows if line.changed or _key(line) in named][:MOST_SINGLE]
    return tuple(_merged(space, rows, {id(line) for line in apart}))


def _key(line: Lines) -> str:
    return range_key(line.row.left, line.row.right)


def _single(space: TokenSpace, line: Lines) -> Arc:
    row = line.row
    return Arc(share(space, row.left), share(space, row.right), _key(line), row.locked_by, line)


def _merged(space: TokenSpace, rows: Sequence[Lines], apart: set[int]) -> Iterator[Arc]:
    """Ranges that rest side by side as one arc, held ones apart from others."""
    run: list[Lines] = []
    for line in rows:
        alone = id(line) in apart
        if run and (alone or run[-1].row.locked_by != line.row.locked_by):
            yield _run(space, run)
            run = []
        if alone:
            yield _single(space, line)
        else:
            run.append(line)
    if run:
        yield _run(space, run)


def _run(space: TokenSpace, run: Sequence[Lines]) -> Arc:
    if len(run) == 1:
        return _single(space, run[0])
    left, right, held = run[0].row.left, run[-1].row.right, run[0].row.locked_by
    key = range_key(left, right)
    return Arc(share(space, left), share(space, right), key, held, None, len(run))


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
    return (
        *_stacked(arc, inner, INSIDE, -step, short),
        *_stacked(arc, outer, OUTSIDE, step, short),
    )


def _stacked(
    arc: Arc, names: Sequence[tuple[str, str]], radius: float, step: float, short: Mapping[str, str]
) -> list[Letter]:
    return [
        Letter(name, short.get(name, name), *point(arc.middle, radius + i * step), kind)
        for i, (name, kind) in enumerate(names)
    ]


def draw_arc(keyspace: str, arc: Arc, drawn: Sequence[Letter], *, guilty: bool) -> Frag:
    """Draw an arc as a button; one that a broken promise names stands out."""
    words = arc_words(arc)
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
        role="button",
        tabindex="-1",
        aria_label=words,
        aria_pressed="false",
        data_roving=True,
        data_spot=arc.key,
        data_of=arc.key,
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


def arc_words(arc: Arc) -> str:
    """Say whose a range is, and what the step changed."""
    held = f"; locked by {arc.held}" if arc.held else ""
    if arc.line is None:
        return f"{counted(arc.count, 'range')} that did not change{held}"
    reads, writes = arc.line.reads.text() or "nobody", arc.line.writes.text() or "nobody"
    return f"{arc.line.row.label}: read from {reads}; written to {writes}{held}"


def dense(scene: Scene, keyspace: str) -> Frag | None:
    """Mark where the step changed a table that is too long for single arcs."""
    bins = changed_of_many(scene, keyspace)[0].bins if large(scene, keyspace) is not None else ()
    if not bins:
        return None
    path = "".join(band(at / DENSITY, (at + 1) / DENSITY, THICK) for at in bins)
    return h("path", d=path, k=f"changed:{keyspace}", class_="marks")
