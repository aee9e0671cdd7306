"""The old procedure: nodes with their modes, system tables, checklist, logs, data."""

from __future__ import annotations

from collections.abc import Iterator

from kit.protocols.recovery.facts import recovery_mode as facts
from kit.protocols.recovery.facts.recovery_mode import ChecklistRow, ModeRow
from kit.protocols.recovery.panels.recovery import lamps, ranges_panel, wall
from kit.protocols.recovery.recovery_mode import LOG
from kit.views.declared import Badges, Column, Drawn, Table, of_state, panel_of, status
from kit.views.fragment import Frag, h
from kit.views.logs import log_panel
from kit.views.node_boxes import NodeBox, ring_panel
from kit.views.panel import Scene
from kit.views.parts import bulb
from kit.views.promises import LAMPS
from kit.views.registry import Views

SHORT = {"RECOVERY mode": "RECOVERY", "Raft upgrade": "upgrade", "group 0": "Raft"}
MARKS = {"done": "✓", "begun": "…", "left out": "!", "to do": "–"}


def _boxes(scene: Scene) -> Iterator[NodeBox]:
    """Each node in its place with the mode that it runs in, and its group; the box is narrow."""
    for row in scene.of(facts.rows):
        group = "back" if row.standing == "returned" else row.group.removeprefix("the ")
        lines = (f"{row.name} · {group}" if group else row.name, SHORT.get(row.mode, row.mode))
        title = f"{row.name}: {_runs(row)}{'' if row.group else ', no group'}"
        yield NodeBox(f"node:{row.name}", row.name, lines, title, not row.group)


def _runs(row: ModeRow) -> str:
    return f"{row.mode} in {row.group}" if row.group else row.mode


def _words(scene: Scene) -> Iterator[str]:
    for row in scene.of(facts.rows):
        back = " (back)" if row.standing == "returned" else ""
        yield f"{row.name}: {row.mode}, {row.group.removeprefix('the ') or 'no group'}{back}"
    yield wall(scene)


COLUMNS = (
    Column("node", "name"),
    Column("runs", _runs),
    Column("group0_upgrade_state", "value", none="no row"),
    Column("raft_group0_id", "group_id"),
    Column("discovery", "discovery"),
    Column("group0_history", lambda row: f"up to {row.history}" if row.history else ""),
    Column("schema version", "version"),
    Column("version source", "source"),
    Column("committed_by_group0", lambda row: str(row.committed_by_group0).lower()),
)


def _tables(row: ModeRow) -> str:
    """All columns, with what the value of ``group0_upgrade_state`` means."""
    cells = ", ".join(f"{column.head} {column.cell(row)}" for column in COLUMNS[1:])
    return f"{row.name}: {cells} ({row.diagnosis})"


def _steps(scene: Scene) -> tuple[ChecklistRow, ...]:
    return scene.once("steps", lambda: facts.checklist(scene.model, scene.state, scene.way()))


def _draw_steps(scene: Scene) -> Frag:
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


def _step_words(scene: Scene) -> Iterator[str]:
    for row in _steps(scene):
        yield f"{row.name}: {row.progress}{f' ({row.harm})' if row.harm else ''}"


def _badges(scene: Scene) -> Badges:
    """Both lamps: schema changes by group 0, and data at QUORUM."""
    return lamps(facts.can_change_schema(scene.state), scene.of(facts.ranges))


VIEWS = Views(
    (
        status(_badges, "badges"),
        ring_panel(
            "nodes",
            "Nodes and their modes",
            _boxes,
            _words,
            names=lambda scene: scene.model.names,
            middle=wall,
        ),
        panel_of(
            "rows",
            "System tables of each node",
            Table(
                of_state(facts.rows),
                "row:{0.name}",
                COLUMNS,
                caption="What each node runs by and has persisted",
                of="{0.name}",
                line=_tables,
            ),
            still=True,
            tab="Tables",
        ),
        panel_of(
            "checklist", "The documented steps", Drawn(_draw_steps, _step_words), tab="Checklist"
        ),
        log_panel(LOG),
        ranges_panel(of_state(facts.ranges)),
        LAMPS,
    ),
    evidence=("rows",),
    picture="nodes",
    table="rows",
    badges="badges",
)
