"""The nodes of a recovery: where they stand, in which group each runs, what it has persisted."""

from __future__ import annotations

from collections.abc import Sequence

from kit.protocols.recovery.facts import moment as facts
from kit.protocols.recovery.facts.flows import spot
from kit.protocols.recovery.facts.moment import DataRangeRow, PersistedRow
from kit.protocols.recovery.panels.gossip_arrows import arrows
from kit.views.fragment import Frag
from kit.views.node_boxes import NodeBox, draw_ring
from kit.views.panel import Panel, Scene, alternative
from kit.views.parts import badge, badge_row, changed_row, table_part

NONE = "–"
LEADS = "★"
HEADS = (
    "node",
    "runs in",
    "group id",
    "commit index",
    "recovery_leader",
    "data in",
    "old Raft rows",
)


def _rows(scene: Scene) -> tuple[PersistedRow, ...]:
    rows: tuple[PersistedRow, ...] = scene.once(
        "nodes", lambda: facts.nodes(scene.model, scene.state)
    )
    return rows


def where(row: PersistedRow) -> str:
    """The group that a node runs in, or why it runs in none."""
    back = " (back)" if row.status == "returned" else ""
    return f"{row.group}{back}" if row.group else row.status


def draw_picture(scene: Scene) -> Frag:
    """Draw each node in its place with its group and its commit index; one that is down dashed."""
    wall = "cut off from the dead" if scene.state.isolated else "the dead are not cut off"
    boxes = [_box(row) for row in _rows(scene)]
    gossip = facts.gossip(scene.model, scene.state)
    return draw_ring(
        boxes,
        alternative("nodes", picture_text(scene)),
        names=scene.model.names,
        middle=wall,
        between=lambda places: list(arrows(gossip, places)),
    )


def _box(row: PersistedRow) -> NodeBox:
    back = " (back)" if row.status == "returned" else ""
    short = row.group.removeprefix("the ") or row.status  # the box is narrow
    lines = f"{_name(row)} · {row.index}{back}", short
    return NodeBox(spot(row.name), row.name, lines, f"{row.name}: {where(row)}", not row.group)


def _name(row: PersistedRow) -> str:
    return f"{LEADS}{row.name}" if row.leads else row.name


def picture_text(scene: Scene) -> str:
    """Write a line for each node."""
    lines = [f"  {_name(row)}: {where(row)}, commit index {row.index}" for row in _rows(scene)]
    wall = "  cut off from the dead" if scene.state.isolated else "  the dead are not cut off"
    return "\n".join([*lines, wall])


def _cells(row: PersistedRow) -> tuple[str, ...]:
    data = ", ".join(f"column {c}{' !' if c in row.dangling else ''}" for c in row.data)
    return (
        where(row),
        row.group_id or NONE,
        str(row.index),
        row.option or NONE,
        data or NONE,
        "yes" if row.has_old_rows else NONE,
    )


def draw_rows(scene: Scene) -> Frag:
    """Draw a row for each node: by what it runs, what it has persisted; changes are marked."""
    before = {} if scene.before is None else _by_name(scene)
    return table_part(
        "nodes",
        f"What each node has persisted ({LEADS} recovery leader)",
        HEADS,
        (_row(row, before.get(row.name, _cells(row))) for row in _rows(scene)),
    )


def _by_name(scene: Scene) -> dict[str, tuple[str, ...]]:
    return {row.name: _cells(row) for row in facts.nodes(scene.model, scene.before)}


def _row(row: PersistedRow, was: tuple[str, ...]) -> Frag:
    return changed_row(f"row:{row.name}", _name(row), row.name, _cells(row), was)


def rows_text(scene: Scene) -> str:
    """Write a line for each node."""
    lines = []
    for row in _rows(scene):
        words = [
            where(row),
            f"id of {row.group_id}" if row.group_id else "no group id",
            f"commit index {row.index}",
            f"recovery_leader {row.option}" if row.option else "",
            *(f"data in column {c}{' !' if c in row.dangling else ''}" for c in row.data),
            "old Raft rows" if row.has_old_rows else "",
        ]
        lines.append(f"  {_name(row)}: {', '.join(filter(None, words))}")
    return "\n".join(lines)


def draw_badges(scene: Scene) -> Frag:
    """Draw both lamps, schema changes and data, then leader and half-done operation."""
    state = scene.state
    leader = scene.model.names[state.leader] if state.leader >= 0 else ""
    operation = state.operation
    return lamps(
        facts.can_change_schema(state),
        facts.ranges(scene.model, state),
        badge("leader", f"leader {leader}") if leader else None,
        badge("operation", f"operation {operation}", "busy" if operation == "under way" else "")
        if operation != "none"
        else None,
    )


def lamps(schema: bool, ranges: Sequence[DataRangeRow], *others: Frag | None) -> Frag:
    """Draw the lamp of schema changes and that of data at QUORUM, then other badges."""
    met = sum("QUORUM" in row.levels for row in ranges)
    return badge_row(
        badge("schema", "✓ schema changes") if schema else _broken("schema", "! no schema changes"),
        badge("data", "✓ data at QUORUM")
        if met == len(ranges)
        else _broken("data", f"! data at QUORUM in {met} of {len(ranges)} ranges"),
        *others,
    )


def _broken(key: str, words: str) -> Frag:
    return badge(key, words, "broken")


PICTURE = Panel("nodes", "Nodes and their groups", draw_picture, picture_text, still=True)
ROWS = Panel(
    *("rows", "What each node has persisted", draw_rows, rows_text), still=True, tab="Persisted"
)
BADGES = Panel("badges", "Status", draw_badges, still=True)
