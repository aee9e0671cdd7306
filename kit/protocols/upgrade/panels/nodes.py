"""The nodes of the Raft upgrade: state, version and group of each, and its five phases."""

from __future__ import annotations

from kit.protocols.upgrade.facts import moment as facts
from kit.protocols.upgrade.facts.flows import spot
from kit.protocols.upgrade.facts.moment import UpgradingRow
from kit.protocols.upgrade.facts.schema import answers
from kit.protocols.upgrade.raft.wording import PHASES
from kit.views.fragment import Frag, h
from kit.views.node_boxes import NodeBox, draw_ring
from kit.views.panel import Panel, Scene, alternative
from kit.views.parts import badge, badge_row, bulb, heads, moved, scroll

BOX_WIDE = 164.0
NONE = "–"


def _rows(scene: Scene) -> tuple[UpgradingRow, ...]:
    rows: tuple[UpgradingRow, ...] = scene.once(
        "nodes", lambda: facts.nodes(scene.model, scene.state)
    )
    return rows


def draw_picture(scene: Scene) -> Frag:
    """Draw each node with state, version and group; a pair that is cut has a dashed line."""
    names, cut = scene.model.names, scene.state.cut
    boxes = [
        NodeBox(
            spot(row.name),
            row.name,
            _lines(row),
            f"{row.name}: {row.status}",
            row.status in ("down", "lost"),
        )
        for row in _rows(scene)
    ]
    return draw_ring(
        boxes,
        alternative("nodes", picture_text(scene)),
        between=lambda places: [_link(places[names[i]], places[names[j]]) for i, j in cut],
        wide=BOX_WIDE,
    )


def _link(first: tuple[float, float], second: tuple[float, float]) -> Frag:
    (x1, y1), (x2, y2) = first, second
    return h(
        "g",
        h("path", d=f"M{x1:.0f} {y1:.0f}L{x2:.0f} {y2:.0f}", class_="box dashed"),
        h("text", "✗", x=(x1 + x2) / 2, y=(y1 + y2) / 2, text_anchor="middle", class_="on"),
    )


def _lines(row: UpgradingRow) -> tuple[str, str, str]:
    """What stands in a node's box."""
    group = f"group 0 id {row.group}" if row.group else "no group 0"
    return f"{row.name} · {row.version} · option {row.option}", row.state, f"{group} · {row.status}"


def picture_text(scene: Scene) -> str:
    """Write a line for each node, and one for the pairs that are cut."""
    lines = [f"  {', '.join(_lines(row))}" for row in _rows(scene)]
    names = scene.model.names
    lines += [f"  {names[i]} and {names[j]} do not reach each other" for i, j in scene.state.cut]
    return "\n".join(lines)


def _after_restart(row: UpgradingRow) -> str:
    version = [f"version {row.next_version}"] if row.next_version else []
    option = [f"option {row.next_option}"] if row.next_option else []
    return ", ".join([*version, *option]) or NONE


def _sign(row: UpgradingRow, phase: int) -> str:
    """✓ behind it, … the one that it is in, – not begun."""
    if row.phases > phase:
        return "✓"
    return "…" if row.phases == phase and row.group else NONE


def draw_phases(scene: Scene) -> Frag:
    """Draw the five phases of each node as a row of bulbs, and why it waits."""
    before = {} if scene.before is None else _phases_before(scene)
    return scroll(
        "phases",
        h(
            "table",
            h("caption", "The five phases of each node"),
            heads("node", *(str(at + 1) for at in range(len(PHASES))), "waits", "after a restart"),
            h("tbody", [_phase_row(row, before) for row in _rows(scene)]),
        ),
        h("p", ", ".join(_numbered()), class_="soft"),
    )


def _numbered() -> list[str]:
    """The names of the phases; the columns have only their numbers, which leaves room for words."""
    return [f"{at} {phase}" for at, phase in enumerate(PHASES, 1)]


def _phases_before(scene: Scene) -> dict[str, int]:
    return {row.name: row.phases for row in facts.nodes(scene.model, scene.before)}


def _phase_row(row: UpgradingRow, before: dict[str, int]) -> Frag:
    signs = [_sign(row, phase) for phase in range(len(PHASES))]
    words = {"✓": "done", "…": "under way", NONE: "not begun"}
    return h(
        "tr",
        h("th", row.name, scope="row", data_of=row.name),
        [
            h("td", bulb(sign, f"{phase}: {words[sign]}"))
            for sign, phase in zip(signs, PHASES, strict=True)
        ],
        h("td", row.waits or NONE),
        h("td", _after_restart(row)),
        k=f"phases:{row.name}",
        class_=moved(before.get(row.name, row.phases) != row.phases),
    )


def phases_text(scene: Scene) -> str:
    """Write a line for each node: a sign for each phase, why it waits, what a restart changes."""
    lines = []
    for row in _rows(scene):
        signs = " ".join(_sign(row, phase) for phase in range(len(PHASES)))
        waits = f"; waits: {row.waits}" if row.waits else ""
        later = _after_restart(row)
        restart = f"; after a restart {later}" if later != NONE else ""
        lines.append(f"  {row.name}: {signs} ({row.phases} of 5){waits}{restart}")
    return "\n".join(lines)


def draw_badges(scene: Scene) -> Frag:
    """Draw how far the upgrade is on all nodes, and where the schema can be changed."""
    rows = _rows(scene)
    behind = min(row.phases for row in rows)
    able = sum(each.is_taken for each in answers(scene.model, scene.state))
    waiting = any(row.waits for row in rows)
    return badge_row(
        badge("phase", f"all: {behind} of 5 phases", "" if behind == 5 else "busy"),
        badge("schema", f"schema changes at {able} of {len(rows)}")
        if able
        else badge("schema", "! no schema changes", "broken"),
        badge("waiting", "nodes wait", "busy") if waiting else None,
    )


PICTURE = Panel("nodes", "Nodes on the way into Raft", draw_picture, picture_text, still=True)
PHASE_BAR = Panel(
    *("phases", "The five phases", draw_phases, phases_text), still=True, tab="Phases"
)
BADGES = Panel("badges", "Status", draw_badges, still=True)
