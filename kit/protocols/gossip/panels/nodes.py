"""The nodes and their versions: where they stand, what each has heard of the others."""

from __future__ import annotations

from kit.errors import counted
from kit.protocols.gossip.facts import moment as facts
from kit.protocols.gossip.facts.flows import spot
from kit.protocols.gossip.facts.moment import VersionRow
from kit.views.fragment import Frag, h
from kit.views.node_boxes import NodeBox, draw_ring
from kit.views.panel import Panel, Scene, alternative
from kit.views.parts import badge, badge_row, changed_row, heads, scroll


def _rows(scene: Scene) -> tuple[VersionRow, ...]:
    rows: tuple[VersionRow, ...] = scene.once(
        "versions", lambda: facts.versions(scene.model, scene.state)
    )
    return rows


def draw_picture(scene: Scene) -> Frag:
    """Draw each node with its version; one whose version is not the first node's is dashed.

    Where the network is split, the sides stand in the middle.
    """
    rows = _rows(scene)
    sides = facts.split(scene.model, scene.state)
    boxes = [
        NodeBox(
            spot(row.name),
            row.name,
            (f"{row.name} · {row.version}", counted(row.tables, "table")),
            _line(row),
            row.version != rows[0].version,
        )
        for row in rows
    ]
    words = alternative("nodes and their versions", picture_text(scene))
    return draw_ring(boxes, words, middle=f"split: {sides}" if sides else "")


def _line(row: VersionRow) -> str:
    return f"{row.name}: version {row.version}, {counted(row.tables, 'table')}"


def picture_text(scene: Scene) -> str:
    """Write a line for each node, and the sides of a split."""
    sides = facts.split(scene.model, scene.state)
    split = [f"  split: {sides}"] if sides else []
    return "\n".join([*(f"  {_line(row)}" for row in _rows(scene)), *split])


def draw_versions(scene: Scene) -> Frag:
    """Draw a row for each node: its own version, those that it has heard of, whom it pulls from."""
    names = [row.name for row in _rows(scene)]
    before = {} if scene.before is None else _by_name(scene)
    return scroll(
        "versions",
        h(
            "table",
            h("caption", "SCHEMA, as each node says and hears it"),
            heads("node", *names, "cells hashed", "pulls"),
            h("tbody", [_row(row, before.get(row.name, row), names) for row in _rows(scene)]),
        ),
    )


def _by_name(scene: Scene) -> dict[str, VersionRow]:
    return {row.name: row for row in facts.versions(scene.model, scene.before)}


def _cells(row: VersionRow, names: list[str]) -> list[str]:
    said = {
        each.endpoint: f"{_sign(row, each.version)} {each.version} ({each.digest})"
        for each in row.heard
    }
    known = (row.version if n == row.name else said.get(n, "–") for n in names)
    return [*known, str(row.cells), _pulls(row)]


def _sign(row: VersionRow, version: str) -> str:
    return "=" if version == row.version else "≠"


def _pulls(row: VersionRow) -> str:
    return f"← {', '.join(row.pulls)}" if row.pulls else "–"


def _row(row: VersionRow, was: VersionRow, names: list[str]) -> Frag:
    now, then = _cells(row, names), _cells(was, names)
    return changed_row(f"version:{row.name}", row.name, row.name, now, then)


def versions_text(scene: Scene) -> str:
    """Write a line for each node."""
    lines = []
    for row in _rows(scene):
        said = ", ".join(
            f"{e.endpoint} {_sign(row, e.version)} {e.version} ({e.digest})" for e in row.heard
        )
        pulls = f"; pulls from {', '.join(row.pulls)}" if row.pulls else ""
        own = f"version {row.version} of {counted(row.cells, 'cell')}"
        lines.append(f"  {row.name}: {own}; heard: {said}{pulls}")
    return "\n".join(lines)


def draw_badges(scene: Scene) -> Frag:
    """Draw how many versions there are, whether the network is split, and how much was lost."""
    count = len({row.version for row in _rows(scene)})
    lost = sum(bool(row.overwritten) for row in facts.changes(scene.model, scene.state))
    sides = facts.split(scene.model, scene.state)
    return badge_row(
        badge("versions", counted(count, "schema version"), "busy" if count > 1 else ""),
        badge("split", f"split: {sides}", "broken") if sides else None,
        badge("lost", f"! {counted(lost, 'change')} overwritten", "broken") if lost else None,
    )


PICTURE = Panel("nodes", "Nodes and their versions", draw_picture, picture_text, still=True)
VERSIONS = Panel(
    "versions", "Versions, said and heard", draw_versions, versions_text, still=True, tab="Versions"
)
BADGES = Panel("badges", "Status", draw_badges, still=True)
