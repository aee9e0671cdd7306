"""Under the tables: each read majority against each write majority, with the nodes in both."""

from __future__ import annotations

from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.large import length
from kit.protocols.tcm.facts.majorities import Group, Majorities, majorities
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene

MOST_ROWS = 16
MOST_REPLICAS = 6
"""A range with more has too many pairs to read."""


def _few(scene: Scene) -> bool:
    """Whether there are few enough ranges and replicas for every pair to be written."""
    names = facts.keyspaces(scene.model)
    if any((length(scene.model, scene.state, name) or 0) > MOST_ROWS for name in names):
        return False
    rows = (row for name in names for row in facts.rows(scene.model, scene.state, name))
    return all(len(row.writes) <= MOST_REPLICAS for row in rows)


def _in_transition(scene: Scene, keyspace: str) -> list[Majorities]:
    """Ranges in the focus that are read and written differently; when stable, all of it."""
    focus = facts.focus(scene.model)
    there = [
        row
        for row in majorities(scene.model, scene.state, keyspace)
        if focus is None or (focus.left <= row.row.left and row.row.right <= focus.right)
    ]
    return [row for row in there if set(row.row.reads) != set(row.row.writes)] or there


def draw_majorities(scene: Scene) -> Frag:
    """Draw a matrix per range: read majorities down, write majorities across."""
    several = len(facts.keyspaces(scene.model)) > 1
    return h(
        "div",
        [
            _matrix(name, row, f"{name} " if several else "")
            for name in facts.keyspaces(scene.model)
            for row in _in_transition(scene, name)
        ],
        class_="scroll",
        tabindex=0,
        role="region",
        aria_label="majorities",
    )


def _matrix(keyspace: str, row: Majorities, prefix: str) -> Frag:
    key = f"meet:{keyspace}:{row.row.left}:{row.row.right}"
    return h(
        "table",
        h("caption", f"{prefix}{row.row.label}: {_verdict(row)}"),
        h(
            "thead",
            h(
                "tr",
                h("th", "read by \\ written to", scope="col"),
                [h("th", _joined(writing), scope="col") for writing in row.writes],
            ),
        ),
        h(
            "tbody",
            [
                h("tr", h("th", _joined(reading), scope="row"), [_cell(both) for both in line])
                for reading, line in zip(row.reads, row.shared, strict=True)
            ],
        ),
        k=key,
        class_="majorities",
    )


def _cell(both: Group) -> Frag:
    return h("td", _joined(both) if both else h("strong", "nobody"))


def _joined(group: Group) -> str:
    return ", ".join(group)


def _verdict(row: Majorities) -> str:
    if row.meet:
        return "every read majority meets every write majority"
    return "! a read majority and a write majority share nobody"


def majorities_text(scene: Scene) -> str:
    """Write a line per range and one for each read majority: who is in both."""
    lines = []
    for name in facts.keyspaces(scene.model):
        for row in _in_transition(scene, name):
            lines.append(f"  {name} {row.row.label}: {_verdict(row)}")
            for reading, line in zip(row.reads, row.shared, strict=True):
                cells = (
                    f"{_joined(writing)} -> {_joined(both) or 'nobody'}"
                    for writing, both in zip(row.writes, line, strict=True)
                )
                lines.append(f"    read by {_joined(reading)}; written to {'; '.join(cells)}")
    return "\n".join(lines) or "  nothing is replicated"


MAJORITIES = Panel(
    "majorities",
    "Read and write majorities",
    draw_majorities,
    majorities_text,
    optional=True,
    shown=_few,
    tab="Majorities",
)
