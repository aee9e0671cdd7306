"""The panels of the old procedure: nodes with their modes, system tables, checklist, logs, data."""

from __future__ import annotations

from kit.protocols.recovery.facts import old as facts
from kit.protocols.recovery.facts.flows import spot
from kit.protocols.recovery.facts.log import LOG
from kit.protocols.recovery.facts.moment import DataRangeRow
from kit.protocols.recovery.facts.old import ChecklistRow, OldRow
from kit.protocols.recovery.panels.nodes import NONE, lamps
from kit.protocols.recovery.panels.tables import ranges_panel
from kit.views.fragment import Frag, h
from kit.views.logs import log_panel
from kit.views.node_boxes import NodeBox, draw_ring
from kit.views.panel import Panel, Scene, alternative
from kit.views.parts import bulb, changed_row, table_part
from kit.views.promises import LAMPS
from kit.views.registry import Views

HEADS = (
    *("node", "runs", "group0_upgrade_state", "raft_group0_id", "discovery", "group0_history"),
    *("schema version", "version source", "committed_by_group0"),
)
SHORT = {"RECOVERY mode": "RECOVERY", "Raft upgrade": "upgrade", "group 0": "Raft"}
MARKS = {"done": "✓", "begun": "…", "left out": "!", "to do": "–"}


def _rows(scene: Scene) -> tuple[OldRow, ...]:
    rows: tuple[OldRow, ...] = scene.once("rows", lambda: facts.rows(scene.model, scene.state))
    return rows


def _runs(row: OldRow) -> str:
    return f"{row.mode} in {row.group}" if row.group else row.mode


def draw_picture(scene: Scene) -> Frag:
    """Draw each node in its place with the mode that it runs in, and its group."""
    wall = "cut off from the dead" if scene.state.isolated else "the dead are not cut off"
    boxes = [
        NodeBox(
            spot(row.name),
            row.name,
            (_place(row), SHORT.get(row.mode, row.mode)),
            f"{row.name}: {_full(row)}",
            not row.group,
        )
        for row in _rows(scene)
    ]
    words = alternative("nodes", picture_text(scene))
    return draw_ring(boxes, words, names=scene.model.names, middle=wall)


def _place(row: OldRow) -> str:
    """The name, with the group that it runs in, or that it is back: the box is narrow."""
    group = "back" if row.standing == "returned" else row.group.removeprefix("the ")
    return f"{row.name} · {group}" if group else row.name


def _full(row: OldRow) -> str:
    return _runs(row) if row.group else f"{row.mode}, no group"


def _where(row: OldRow) -> str:
    back = " (back)" if row.standing == "returned" else ""
    return (row.group.removeprefix("the ") or "no group") + back


def picture_text(scene: Scene) -> str:
    """Write a line for each node."""
    wall = "cut off from the dead" if scene.state.isolated else "the dead are not cut off"
    lines = [f"  {row.name}: {row.mode}, {_where(row)}" for row in _rows(scene)]
    return "\n".join([*lines, f"  {wall}"])


def _cells(row: OldRow) -> tuple[str, ...]:
    return (
        _runs(row),
        row.value or "no row",
        row.group_id or NONE,
        ", ".join(row.discovery) or NONE,
        f"up to {row.history}" if row.history else NONE,
        row.version,
        row.source,
        "true" if row.committed_by_group0 else "false",
    )


def draw_rows(scene: Scene) -> Frag:
    """Draw a row for each node: by what it runs, what its system tables hold; changes marked."""
    before = (
        {}
        if scene.before is None
        else {row.name: _cells(row) for row in facts.rows(scene.model, scene.before)}
    )
    body = (_row(row, before.get(row.name, _cells(row))) for row in _rows(scene))
    return table_part("nodes", "What each node runs by and has persisted", HEADS, body)


def _row(row: OldRow, was: tuple[str, ...]) -> Frag:
    return changed_row(f"row:{row.name}", row.name, row.name, _cells(row), was)


def rows_text(scene: Scene) -> str:
    """Write a line for each node, with what its value of ``group0_upgrade_state`` means."""
    return "\n".join(
        f"  {row.name}: "
        + ", ".join(f"{head} {cell}" for head, cell in zip(HEADS[1:], _cells(row), strict=True))
        + f" ({row.diagnosis})"
        for row in _rows(scene)
    )


def draw_checklist(scene: Scene) -> Frag:
    """Draw every documented step with how far it is, and the harm of the first wrong one."""
    return h(
        "ol",
        [
            h(
                "li",
                bulb(MARKS[row.progress], row.progress),
                f" {row.name}",
                h("p", row.harm, class_="witness") if row.harm else None,
                k=f"step:{row.name}",
            )
            for row in _steps(scene)
        ],
    )


def checklist_text(scene: Scene) -> str:
    """Write a line for each step."""
    return "\n".join(
        f"  {row.name}: {row.progress}{f' ({row.harm})' if row.harm else ''}"
        for row in _steps(scene)
    )


def _steps(scene: Scene) -> tuple[ChecklistRow, ...]:
    steps: tuple[ChecklistRow, ...] = scene.once(
        "steps", lambda: facts.checklist(scene.model, scene.state, scene.way())
    )
    return steps


def _ranges(scene: Scene) -> tuple[DataRangeRow, ...]:
    return facts.ranges(scene.model, scene.state)


def draw_badges(scene: Scene) -> Frag:
    """Draw both lamps: schema changes by group 0, and data at QUORUM."""
    return lamps(facts.can_change_schema(scene.state), _ranges(scene))


PICTURE = Panel("nodes", "Nodes and their modes", draw_picture, picture_text, still=True)
ROWS = Panel("rows", "System tables of each node", draw_rows, rows_text, still=True, tab="Tables")
BADGES = Panel("badges", "Status", draw_badges, still=True)
CHECKLIST = Panel(
    "checklist", "The documented steps", draw_checklist, checklist_text, tab="Checklist"
)
VIEWS = Views(
    (BADGES, PICTURE, ROWS, CHECKLIST, log_panel(LOG), ranges_panel(_ranges), LAMPS),
    evidence=("rows",),
    picture="nodes",
    table="rows",
    badges="badges",
)
