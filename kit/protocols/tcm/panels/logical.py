"""The optional view of ranges as logical replicas: one that moves counts as both its nodes."""

from __future__ import annotations

from kit.errors import counted
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.logical import LogicalRow, logical
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import heads

LOGICAL_ROWS = 24
MOST_ROWS = 200
BOTH = "Nodes joined by “and” are one replica on its way: all of them must answer a write."


def draw_logical(scene: Scene) -> Frag:
    """Draw each range as a record; a write replica of two nodes needs both answers."""
    name = facts.keyspaces(scene.model)[0]
    rows = logical(scene.model, scene.state, name, MOST_ROWS)
    shown = [row for row in rows if any(len(pair) > 1 for pair in row.writes)] or rows
    shown = shown[:LOGICAL_ROWS]
    return h(
        "div",
        h(
            "table",
            h("caption", f"{name}: logical replicas"),
            heads("range", "reads", "writes"),
            h("tbody", [_logical_row(name, row) for row in shown]),
        ),
        h("p", BOTH, class_="soft"),
        h("p", f"Not listed: {counted(len(rows) - len(shown), 'range')} as before.", class_="soft")
        if len(shown) < len(rows)
        else None,
    )


def _logical_row(keyspace: str, line: LogicalRow) -> Frag:
    key = f"logical:{keyspace}:{line.row.left}:{line.row.right}"
    return h(
        "tr",
        h("th", line.row.label, scope="row"),
        h("td", " ".join(line.reads)),
        h(
            "td",
            [
                h("span", " and ".join(pair), class_="chip added" if len(pair) > 1 else "chip")
                for pair in line.writes
            ],
        ),
        k=key,
    )


def logical_text(scene: Scene) -> str:
    """Write each range as a record."""
    name = facts.keyspaces(scene.model)[0]
    lines = [
        f"  {line.row.label} reads {', '.join(line.reads)}; "
        f"writes {', '.join('(' + ' and '.join(pair) + ')' for pair in line.writes)}"
        for line in logical(scene.model, scene.state, name, MOST_ROWS)
    ]
    return "\n".join([*lines, f"  {BOTH}"])


LOGICAL = Panel(
    "logical",
    "Logical replicas",
    draw_logical,
    logical_text,
    optional=True,
    tab="Logical",
)
