"""A row per resource manager: its state, its message, and whether a decision waits for it."""

from __future__ import annotations

from kit.protocols.twophase.facts import moment as facts
from kit.protocols.twophase.facts.moment import ManagerRow
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import heads, moved, scroll

VOTES = {"none": "not sent", "unread": "in the network", "read": "✓ read"}


def cells(row: ManagerRow) -> tuple[str, str, str]:
    """The row behind the manager's name, as texts."""
    return row.state, VOTES[row.vote], f"{row.unread}, unread" if row.unread else "–"


def draw_table(scene: Scene) -> Frag:
    """Draw the rows; cells that the step changed are marked."""
    rows = facts.managers(scene.model, scene.state)
    was = rows if scene.before is None else facts.managers(scene.model, scene.before)
    return scroll(
        "resource managers",
        h(
            "table",
            h("caption", "What each resource manager has done"),
            heads("manager", "state", "its “prepared”", "the decision"),
            h("tbody", [_row(row, before) for row, before in zip(rows, was, strict=True)]),
        ),
    )


def _row(row: ManagerRow, before: ManagerRow) -> Frag:
    return h(
        "tr",
        h("th", row.name, scope="row", data_of=row.name),
        [
            h("td", text, class_="changed" if text != old else None)
            for text, old in zip(cells(row), cells(before), strict=True)
        ],
        k=f"row:{row.name}",
        class_=moved(row != before),
    )


TABLE = Panel("table", "Managers", draw_table, still=True)
