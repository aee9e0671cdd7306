"""Arrows on the ring: from one range to the nodes that it is read from, in their order."""

from __future__ import annotations

from math import hypot

from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.moment import RangeRow
from kit.views.circle import RADIUS, point, share
from kit.views.fragment import Frag, h
from kit.views.panel import Scene

INNER = RADIUS - 22
HEAD = 7


def shown_row(scene: Scene) -> RangeRow | None:
    """The range that the arrows begin at: the first in the focus that is locked, or the first."""
    focus = facts.focus(scene.model)
    rows = [
        row
        for row in facts.rows(scene.model, scene.state)
        if row.reads and (focus is None or (row.left < focus.right and focus.left < row.right))
    ]
    return next((row for row in rows if row.locked_by), rows[0] if rows else None)


def arrows(scene: Scene) -> list[Frag]:
    """Draw an arrow from the middle of the range to each replica's next token clockwise."""
    row = shown_row(scene)
    if row is None:
        return []
    space = facts.space(scene.model)
    middle = (share(space, row.left) + share(space, row.right)) / 2
    return [
        h("path", d=_arrow(middle, share(space, token)), k=f"arrow:{name}", class_="to-replica")
        for name, token in _ends(scene, row)
    ]


def _ends(scene: Scene, row: RangeRow) -> list[tuple[str, int]]:
    """Each read replica with its first token at or after the end of the range."""
    tokens = {node.name: node.tokens for node in facts.nodes(scene.model, scene.state)}
    ends = []
    for name in row.reads:
        ahead = [token for token in tokens[name] if token >= row.right]
        if tokens[name]:
            ends.append((name, min(ahead or tokens[name])))
    return ends


def _arrow(start: float, end: float) -> str:
    """A line across the ring with an open head at its end."""
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
