"""Nodes that fail: where each stands, what it does, whether a majority of the voters is there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kit.errors import are, counted
from kit.protocols.recovery import failures as act
from kit.protocols.recovery.facts import failures as facts
from kit.protocols.recovery.facts.failures import FailingNode, LevelLine, SideLine
from kit.protocols.recovery.facts.flows import spot
from kit.protocols.recovery.failures import Failures
from kit.views.actions import mark
from kit.views.fragment import Frag, Kid, h
from kit.views.node_boxes import NodeBox, node_box
from kit.views.panel import Panel, Scene, alternative
from kit.views.parts import act_button, badge, badge_row, bulb, heads, moved, scroll, table_part

BOX_WIDE, BOX_HIGH, GAP = 118.0, 42.0, 10.0
TOP = 22.0  # the name of a datacenter
GAUGE_HIGH = 20.0
VOTES = "●"
DOES_NOT = "○"


def _nodes(scene: Scene) -> tuple[FailingNode, ...]:
    lines: tuple[FailingNode, ...] = scene.once(
        "nodes", lambda: facts.nodes(scene.model, scene.state)
    )
    return lines


def _sides(scene: Scene) -> tuple[SideLine, ...]:
    return facts.side_lines(scene.model, scene.state)


def draw_picture(scene: Scene) -> Frag:
    """Draw the datacenters as columns of nodes, and below them a gauge of voters for each side."""
    columns = scene.model.dcs
    high = max(scene.model.datacenters)
    wide = len(columns) * (BOX_WIDE + GAP) + GAP
    below = TOP + high * (BOX_HIGH + GAP)
    sides = _sides(scene)
    width, height = max(wide, 260.0), below + len(sides) * GAUGE_HIGH + GAP
    left = (width - wide) / 2
    at: dict[str, int] = {}
    drawn: list[Frag] = []
    for line in _nodes(scene):
        row = at.get(line.datacenter, 0)
        at[line.datacenter] = row + 1
        x = left + GAP + columns.index(line.datacenter) * (BOX_WIDE + GAP) + BOX_WIDE / 2
        drawn.append(_node(line, x, TOP + row * (BOX_HIGH + GAP) + BOX_HIGH / 2))
    names = [
        h("text", dc, x=left + GAP + i * (BOX_WIDE + GAP) + BOX_WIDE / 2, y=15,
          text_anchor="middle", class_="soft")
        for i, dc in enumerate(columns)
    ]  # fmt: skip
    gauges = [_gauge(side, i, width, below + i * GAUGE_HIGH + 14) for i, side in enumerate(sides)]
    return h(
        "svg",
        names,
        drawn,
        gauges,
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=width,
        role="img",
        aria_label=alternative("nodes", picture_text(scene)),
    )


def _node(line: FailingNode, x: float, y: float) -> Frag:
    cut = " (cut off)" if line.is_apart else ""
    lines = f"{_sign(line)} {line.name}{cut}", f"{line.standing} · {line.schema}"
    title = f"{line.name}: {line.standing}{cut}"
    box = NodeBox(spot(line.name), line.name, lines, title, line.standing == "down")
    return node_box(box, x, y, BOX_WIDE, BOX_HIGH)


def _sign(line: FailingNode) -> str:
    return VOTES if line.votes else DOES_NOT


def _gauge(side: SideLine, at: int, width: float, y: float) -> Frag:
    return h("text", _gauged(side), x=width / 2, y=y, text_anchor="middle", class_="strong",
             k=f"gauge:{at}")  # fmt: skip


def _gauged(side: SideLine) -> str:
    """The gauge of a side: a dot for each voter that it reaches, the mark that it has to get to."""
    dots = VOTES * side.reached + DOES_NOT * (side.voters - side.reached)
    sign = "✓ majority" if side.can_commit else f"! {side.needed} {are(side.needed)} needed"
    if not side.needed:
        sign = "✓ none is needed"
    return f"{dots[: side.needed]}│{dots[side.needed :]} {side.reached} of {side.voters} {sign}"


def picture_text(scene: Scene) -> str:
    """Write a line for each node, and one for each side."""
    lines = [
        f"  {line.name}: {line.datacenter} {line.rack}, {line.standing}, schema {line.schema}"
        f"{'' if line.votes else ', does not vote'}{', cut off' if line.is_apart else ''}"
        for line in _nodes(scene)
    ]
    return "\n".join([*lines, *(f"  {_side_words(side)}" for side in _sides(scene))])


def _side_words(side: SideLine) -> str:
    can = "can" if side.can_commit else "cannot"
    needed = f"{side.needed} {are(side.needed)} needed" if side.needed else "none is needed"
    return (
        f"{', '.join(side.nodes) or 'nobody'}: {side.reached} of {side.voters} voters, "
        f"{needed}: {can} change the schema"
    )


def draw_nodes(scene: Scene) -> Frag:
    """Draw a row for each node with the button that stops or starts it; then several at once."""
    buttons = _buttons(scene)
    before = {} if scene.before is None else _lines_before(scene)
    rows = [
        _row(
            line.name,
            (line.standing, "yes" if line.votes else "no", line.schema),
            buttons.get(line.name, ""),
            line != before.get(line.name, line),
        )
        for line in _nodes(scene)
    ]
    whole = [
        _row(several, ("", "", ""), buttons[several], False)
        for several in (*scene.model.dcs, *map(", ".join, scene.model.at_once))
        if several in buttons
    ]
    head = ("node", "press", "is", "votes", "schema")
    return table_part("nodes", "Click nodes off, and on again", head, [*rows, *whole])


def _lines_before(scene: Scene) -> dict[str, FailingNode]:
    return {line.name: line for line in facts.nodes(scene.model, scene.before)}


def _row(name: str, cells: Sequence[str], button: Kid, changed: bool) -> Frag:
    return h(
        "tr",
        h("th", name, scope="row"),
        h("td", button),
        [h("td", cell) for cell in cells],
        k=f"row:{name}",
        data_of=name,
        class_=moved(changed),
    )


def _buttons(scene: Scene) -> dict[str, Frag]:
    """What a press does to each node and each datacenter: stop it, start it, let it serve."""
    shown: dict[str, Frag] = {}
    for action, refusal in scene.options():
        place = _pressed(action)
        if place and refusal is None and place not in shown:
            verb = scene.model.verb(action)
            do = f"do:{mark(scene.model, action)}"
            shown[place] = act_button(
                verb.removesuffix(f" {place}"), f"press:{place}", do, scene.closed, verb
            )
    return shown


def _pressed(action: Any) -> str:
    match action:
        case act.CatchUp(node) | act.Serve(node) | act.StartNode(node) | act.Stop(node):
            return str(node)
        case act.StartAll(datacenter) | act.Lose(datacenter):
            return str(datacenter)
        case act.StopTogether(nodes):
            return ", ".join(nodes)
    return ""


def nodes_text(scene: Scene) -> str:
    """Write a line for each node."""
    return "\n".join(
        f"  {line.name}: {line.standing}, {'votes' if line.votes else 'does not vote'}, "
        f"schema {line.schema}"
        for line in _nodes(scene)
    )


def _levels(scene: Scene, side: int) -> tuple[LevelLine, ...]:
    return facts.level_lines(scene.model, scene.state, side)


def draw_badges(scene: Scene) -> Frag:
    """Draw both lamps apart: schema changes, and data at QUORUM."""
    state = scene.state
    able = [side for side in _sides(scene) if side.can_commit]
    nodes = ", ".join(name for side in able for name in side.nodes)
    where = f" at {nodes}" if able and state.apart else ""
    best = max(
        (each for side in state.sides() for each in _levels(scene, side)
         if each.level == "QUORUM"),
        key=lambda each: each.met,
    )  # fmt: skip
    broken = f"data at QUORUM in {best.met} of {counted(best.ranges, 'range')}"
    return badge_row(
        badge("schema", f"✓ schema changes{where}")
        if able
        else badge("schema", "! no schema changes", "broken"),
        badge("data", "✓ data at QUORUM")
        if best.standing == "available"
        else badge("data", f"! {broken}", "broken"),
    )


def draw_data(scene: Scene) -> Frag:
    """Draw for each side the levels that are met, and its ranges with their replicas."""
    return h("div", [_side_data(scene, side) for side in scene.state.sides()])


def _side_data(scene: Scene, side: int) -> Frag:
    names = ", ".join(scene.model.named(side & scene.state.serving)) or "nobody"
    levels = h(
        "table",
        h("caption", f"Data for clients of {names}, {_factor(scene.model)}"),
        heads("level", "met", "ranges"),
        h("tbody", [_level(each, side) for each in _levels(scene, side)]),
    )
    ranges = h(
        "table",
        heads("range", "replicas", "serving"),
        h(
            "tbody",
            [
                h("tr", h("th", each.label, scope="row"), h("td", ", ".join(each.replicas)),
                  h("td", ", ".join(each.live) or "nobody"), k=f"range:{side}:{each.label}")
                for each in facts.range_lines(scene.model, scene.state, side)
            ],
        ),
    )  # fmt: skip
    return scroll(f"data for {names}", levels, ranges)


def _factor(m: Failures) -> str:
    """The replication factor, and which datacenters have fewer nodes."""
    rf = m.rf
    small = [dc for dc in m.dcs if m.members(dc).bit_count() < rf]
    missing = f": {', '.join(small)} lacks replicas, and levels count them" if small else ""
    return f"RF {rf}{missing}"


def _level(each: LevelLine, side: int) -> Frag:
    met = each.standing == "available"
    return h(
        "tr",
        h("th", each.name, scope="row"),
        h("td", bulb("✓" if met else "!", f"{each.name} {each.standing}")),
        h("td", f"{each.met} of {each.ranges}"),
        k=f"level:{side}:{each.name}",
    )


def data_text(scene: Scene) -> str:
    """Write the replication factor, and a line for each level of each side."""
    lines = (
        f"  for clients of {', '.join(scene.model.named(side & scene.state.serving)) or 'nobody'}: "
        f"{each.name} in {each.met} of {counted(each.ranges, 'range')}"
        for side in scene.state.sides()
        for each in _levels(scene, side)
    )
    return "\n".join((f"  {_factor(scene.model)}", *lines))


PICTURE = Panel("nodes", "Nodes", draw_picture, picture_text, still=True)
NODES = Panel("presses", "Nodes", draw_nodes, nodes_text, tab="Nodes")
DATA = Panel("ranges", "Availability of data", draw_data, data_text, tab="Data")
BADGES = Panel("badges", "Status", draw_badges, still=True)
