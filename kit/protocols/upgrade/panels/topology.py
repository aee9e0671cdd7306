"""The topology upgrade: three boxes of progress over the nodes, gossip beside the table."""

from __future__ import annotations

from math import ceil

from kit.protocols.upgrade.facts import topology as facts
from kit.protocols.upgrade.facts.topology import GossipedNode, TopologyNodeRow
from kit.protocols.upgrade.facts.topology_flows import GENERATIONS, spot
from kit.protocols.upgrade.rules.topology_state import FEATURE
from kit.views.fragment import Frag, h
from kit.views.node_boxes import SHOWN
from kit.views.panel import Panel, Scene, alternative
from kit.views.parts import badge, badge_row, heads, moved, scroll

WIDTH, HEIGHT = 408.0, 330.0
STATES_WIDE, STATE_HIGH, APART = (120.0, 190.0, 70.0), 34.0, 12.0
NODE_WIDE, NODE_HIGH, IN_A_ROW = 160.0, 42.0, 2
TOP, BELOW = 20.0, 44.0  # the middle of the states, where the room for nodes begins
MARKS = {"passed": "✓", "now": "●", "ahead": "○"}
LEADS = "★"
NONE = "–"


def draw_picture(scene: Scene) -> Frag:
    """Draw the three states of the upgrade, the one of now lit, and below them the nodes."""
    rows = facts.nodes(scene.model, scene.state)
    high = (HEIGHT - BELOW) / ceil(len(rows) / IN_A_ROW)
    return h(
        "svg",
        [_state(at, *each) for at, each in enumerate(facts.boxes(scene.state))],
        [_node(at, row, high) for at, row in enumerate(rows)],
        viewBox=f"0 0 {WIDTH:.0f} {HEIGHT:.0f}",
        width=SHOWN,
        role="img",
        aria_label=alternative("topology upgrade", picture_text(scene)),
    )


def _box(width: float, height: float, is_dashed: bool) -> Frag:
    return h(
        "rect",
        x=-width / 2,
        y=-height / 2,
        width=width,
        height=height,
        rx=6,
        class_=f"box{' dashed' if is_dashed else ''}",
    )


def _state(at: int, name: str, standing: str) -> Frag:
    wide = STATES_WIDE[at]
    x = sum(STATES_WIDE[:at]) + APART * at + wide / 2 + 2
    return h(
        "g",
        h("title", f"{name}: {standing}"),
        _box(wide, STATE_HIGH, standing == "ahead"),
        h(
            "text",
            f"{MARKS[standing]} {name}",
            y=4,
            text_anchor="middle",
            class_="on" if standing == "now" else "on soft",
        ),
        k=f"upgrade-state:{name}",
        transform=f"translate({x:.0f} {TOP:.0f})",
    )


def _lines(row: TopologyNodeRow) -> tuple[str, str]:
    """What stands in a node's box."""
    if row.status == "outside":
        return row.name, "outside"
    star = LEADS if row.leads else ""
    return f"{star}{row.name} · {row.version} · {row.status}", row.view


def _node(at: int, row: TopologyNodeRow, high: float) -> Frag:
    """Draw a node in the middle of its place, which is ``high``."""
    line, place = divmod(at, IN_A_ROW)
    x = WIDTH * (2 * place + 1) / (2 * IN_A_ROW)
    return h(
        "g",
        h("title", ", ".join(_lines(row))),
        _box(NODE_WIDE, NODE_HIGH, not row.is_up),
        [
            h("text", text, y=-4 + 18 * number, text_anchor="middle", class_=kind)
            for number, (text, kind) in enumerate(zip(_lines(row), ("on", "on soft"), strict=True))
        ],
        k=spot(row.name),
        transform=f"translate({x:.0f} {BELOW + high * (line + 0.5):.0f})",
        data_of=row.name,
    )


def picture_text(scene: Scene) -> str:
    """Write the three states in a line, then a line for each node."""
    states = " → ".join(f"{MARKS[word]} {name}" for name, word in facts.boxes(scene.state))
    rows = facts.nodes(scene.model, scene.state)
    lines = [f"  {', '.join(_lines(row))}" for row in rows]
    return "\n".join([f"  {states}", *lines])


def draw_table(scene: Scene) -> Frag:
    """Draw what gossip tells of each node, and its row in the table; a row that came is marked."""
    before = set() if scene.before is None else _with_row(scene)
    rows = facts.gossiped(scene.model, scene.state)
    return scroll(
        "gossip and system.topology",
        h(
            "table",
            h("caption", "What gossip tells, and what system.topology has"),
            heads("node", "gossip", "system.topology"),
            h("tbody", [_row(row, before, scene.before is None) for row in rows]),
        ),
        h("p", f"system.cdc_generations_v3: {_generations(scene)}", k=GENERATIONS),
    )


def _with_row(scene: Scene) -> set[str]:
    return {row.name for row in facts.gossiped(scene.model, scene.before) if row.row}


def _generations(scene: Scene) -> str:
    return "1 new generation" if scene.state.has_generation else "no new generation"


def _row(row: GossipedNode, before: set[str], is_start: bool) -> Frag:
    came = bool(row.row) and row.name not in before and not is_start
    return h(
        "tr",
        h("th", row.name, scope="row", data_of=row.name),
        h("td", row.gossip or NONE, k=f"gossip:{row.name}"),
        h(
            "td",
            f"→ {row.row}" if row.row else NONE,
            k=f"topology:{row.name}",
            class_="changed" if came else None,
        ),
        k=f"row:{row.name}",
        class_=moved(came),
    )


def table_text(scene: Scene) -> str:
    """Write a line for each node, and one for the CDC generation."""
    lines = [
        f"  {row.name}: gossip {row.gossip or NONE} | system.topology {row.row or NONE}"
        for row in facts.gossiped(scene.model, scene.state)
    ]
    return "\n".join([*lines, f"  system.cdc_generations_v3: {_generations(scene)}"])


def draw_badges(scene: Scene) -> Frag:
    """Draw whether the feature is enabled, and how many joins wait."""
    enabled = scene.state.has_feature
    waiting = [each.node for each in facts.joins(scene.model, scene.state) if each.waits]
    return badge_row(
        badge("feature", f"✓ {FEATURE}") if enabled else badge("feature", f"no {FEATURE}", "busy"),
        badge("queue", f"waits: {', '.join(waiting)}", "busy") if waiting else None,
    )


PICTURE = Panel("states", "The topology upgrade", draw_picture, picture_text, still=True)
TABLE = Panel(
    *("topology", "Gossip and system.topology", draw_table, table_text), still=True, tab="Table"
)
BADGES = Panel("badges", "Status", draw_badges, still=True)
