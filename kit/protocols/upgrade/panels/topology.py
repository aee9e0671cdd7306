"""The topology upgrade: three boxes of progress over the nodes, gossip beside the table, the route,
how a node joins.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from operator import itemgetter

from kit.protocols.upgrade.panels.states import UPGRADE
from kit.protocols.upgrade.rules import FEATURE, NOT_UPGRADED, ORDER, ROUTE, join_way
from kit.protocols.upgrade.topology_upgrade import (
    GENERATIONS,
    Cluster,
    Post,
    Serve,
    TopologyUpgrade,
)
from kit.views.actions import mark
from kit.views.declared import NONE, Badges, Column, Drawn, Note, Table, panel_of, status
from kit.views.fragment import Frag, h
from kit.views.labels import SLOT
from kit.views.node_boxes import NodeBox, node_box
from kit.views.panel import Panel, Scene, alternative
from kit.views.parts import act_button, bulb
from kit.views.promises import LAMPS
from kit.views.registry import Views

WIDTH, HEIGHT = 408.0, 330.0
STATES_WIDE, STATE_HIGH, APART = (120.0, 190.0, 70.0), 34.0, 12.0
NODE_WIDE, NODE_HIGH, IN_A_ROW = 160.0, 42.0, 2
TOP, BELOW = 20.0, 44.0  # the middle of the states, where the room for nodes begins
TOKENS_APART = 100
MARKS = {"passed": "✓", "now": "●", "ahead": "○"}


# -- the picture -----------------------------------------------------------------------------------


def _draw(scene: Scene) -> Frag:
    boxes = tuple(_boxes(scene.model, scene.state))
    high = (HEIGHT - BELOW) / ceil(len(boxes) / IN_A_ROW)
    middles = [
        (WIDTH * (2 * place + 1) / (2 * IN_A_ROW), BELOW + high * (line + 0.5))
        for line, place in (divmod(at, IN_A_ROW) for at in range(len(boxes)))
    ]
    return h(
        "svg",
        [_state(at, *each) for at, each in enumerate(_states(scene.state))],
        [node_box(b, *at, NODE_WIDE, NODE_HIGH) for b, at in zip(boxes, middles, strict=True)],
        viewBox=f"0 0 {WIDTH:.0f} {HEIGHT:.0f}",
        width=SLOT,
        role="img",
        aria_label=alternative("topology upgrade", _text(scene)),
    )


def _state(at: int, name: str, standing: str) -> Frag:
    wide = STATES_WIDE[at]
    x = sum(STATES_WIDE[:at]) + APART * at + wide / 2 + 2
    return h(
        "g",
        h("title", f"{name}: {standing}"),
        h("rect", x=-wide / 2, y=-STATE_HIGH / 2, width=wide, height=STATE_HIGH, rx=6,
          class_=f"box{' dashed' * (standing == 'ahead')}"),
        h("text", f"{MARKS[standing]} {name}", y=4, text_anchor="middle",
          class_="on" if standing == "now" else "on soft"),
        k=f"upgrade-state:{name}",
        transform=f"translate({x:.0f} {TOP:.0f})",
    )  # fmt: skip


def _boxes(m: TopologyUpgrade, s: Cluster) -> Iterator[NodeBox]:
    for at, (name, node) in enumerate(zip(m.names, s.nodes, strict=True)):
        lines: tuple[str, ...] = (name, "outside")
        if not node.is_up or node.standing != "outside":
            standing = node.standing if node.is_up else "down"
            version = "newer" if node.is_new else "older"
            lines = (f"{'★' * (s.leader == at)}{name} · {version} · {standing}", node.view)
        is_off = not node.is_up or node.standing == "outside"
        yield NodeBox(f"node:{name}", name, lines, ", ".join(lines), is_off)


def _states(s: Cluster) -> Iterator[tuple[str, str]]:
    """The states of the upgrade in order, each *passed*, *now* or *ahead*."""
    at = ORDER.index(s.upgrade_state)
    for place, name in enumerate(ORDER):
        yield name, "passed" if place < at else "now" if place == at else "ahead"


def _text(scene: Scene) -> str:
    states = " → ".join(f"{MARKS[word]} {name}" for name, word in _states(scene.state))
    titles = (box.title for box in _boxes(scene.model, scene.state))
    return "\n".join(f"  {line}" for line in (states, *titles))


# -- tables ----------------------------------------------------------------------------------------


def _gossiped(scene: Scene) -> Iterator[tuple[str, str, str]]:
    for number, (name, node) in enumerate(zip(scene.model.names, scene.state.nodes, strict=True)):
        tokens = f"tokens {{{TOKENS_APART * (number + 1)}}}"
        row = f"normal, {tokens}" if scene.state.rows >> number & 1 else ""
        gossip = "BOOT" if node.standing == "joining" else ""
        if node.standing == "normal":
            gossip = f"NORMAL{'' if node.is_up else ' (down)'}, {tokens}"
        if gossip or row:
            yield name, gossip, row


def _generations(scene: Scene) -> str:
    return (
        f"system.cdc_generations_v3: {'1' if scene.state.has_generation else 'no'} new generation"
    )


def _route(scene: Scene) -> Iterator[tuple[str, str, Frag]]:
    for name, node in zip(scene.model.names, scene.state.nodes, strict=True):
        if node.standing == "normal":
            refusal = scene.model.why_not(scene.state, Post(name))
            why = "the node is down" if not node.is_up else refusal.reason if refusal else ""
            yield name, why, h("code", node.view if node.is_up else "no answer")


def _post(scene: Scene, row: tuple[str, str, Frag]) -> Frag:
    name, why, _ = row
    act = f"do:{mark(scene.model, Post(name))}"
    return act_button(f"POST at {name}", f"route:{name}:button", act, scene.closed or why or None)


def _answers(row: tuple[str, str, Frag]) -> str:
    name, why, state = row
    return f"{name}: POST {f'refused: {why}' if why else 'taken'}; GET {state.text()}"


def _joins(scene: Scene) -> Iterator[tuple[str, str, str]]:
    """Every node on its way into the cluster: in the old way, or in the queue, and why it waits."""
    for name, node in zip(scene.model.names, scene.state.nodes, strict=True):
        if node.standing == "joining":
            yield name, "old way", ""
        if node.standing == "queued":
            refusal = scene.model.why_not(scene.state, Serve(name))
            yield name, "request", refusal.reason if refusal else ""


def _branches(s: Cluster) -> tuple[tuple[str, str, bool], ...]:
    """The flow chart of a join: question and answer, what follows, whether it is taken now.

    A cluster that exists is joined here, so that discovery finds a group.
    """
    old = join_way(True, s.upgrade_state) == "old way"
    request = "JOIN_NODE_REQUEST: a request, served once the upgrade is done"
    return (
        ("discovery finds no group", "the node creates the cluster, with the new topology", False),
        (f"a member answers {NOT_UPGRADED}", "old way: GROUP0_MODIFY_CONFIG, then gossip", old),
        ("a member answers otherwise", request, not old),
    )


def _chart(scene: Scene) -> Frag:
    lit = [
        h("li", bulb("✓", "now"), f" {when} → ", h("strong", then), k=f"join-way:{at}")
        if taken
        else h("li", bulb("·", "not now"), f" {when} → ", then, k=f"join-way:{at}", class_="soft")
        for at, (when, then, taken) in enumerate(_branches(scene.state))
    ]
    return h("ul", lit, aria_label="how a node joins")


def _chart_words(scene: Scene) -> Iterator[str]:
    for when, then, taken in _branches(scene.state):
        yield f"{'✓' if taken else '·'} {when} → {then}"


def _badges(scene: Scene) -> Badges:
    enabled = scene.state.has_feature
    yield "feature", f"✓ {FEATURE}" if enabled else f"no {FEATURE}", "busy" * (not enabled)
    waiting = [name for name, _, waits in _joins(scene) if waits]
    yield "queue", f"waits: {', '.join(waiting)}" if waiting else "", "busy"


VIEWS = Views(
    (
        status(_badges, "badges"),
        Panel("states", "The topology upgrade", _draw, _text, still=True),
        UPGRADE,
        panel_of(
            "topology",
            "Gossip and system.topology",
            Table(
                _gossiped,
                "row:{0[0]}",
                (
                    "node",
                    Column("gossip", itemgetter(1), key="gossip:{0[0]}"),
                    Column(
                        "system.topology",
                        lambda row: row[2] and f"→ {row[2]}",
                        key="topology:{0[0]}",
                    ),
                ),
                caption="What gossip tells, and what system.topology has",
                of="{0[0]}",
                line=lambda row: (
                    f"{row[0]}: gossip {row[1] or NONE} | system.topology {row[2] or NONE}"
                ),
            ),
            Note(_generations, GENERATIONS, None),
            still=True,
            tab="Table",
        ),
        panel_of(
            "route",
            "POST and GET of the route",
            Table(
                _route,
                "route:{0[0]}",
                ("node", Column("POST", draws=_post), Column("GET", itemgetter(2))),
                caption=ROUTE,
                titled=True,
                line=_answers,
            ),
            tab="Route",
        ),
        panel_of(
            "joins",
            "How a node joins",
            Drawn(_chart, _chart_words),
            Table(
                _joins,
                "join:{0[0]}",
                ("node", "joins by", "waits"),
                caption="Nodes on their way",
                line=lambda row: f"{row[0]}: {row[1]}{f', waits: {row[2]}' if row[2] else ''}",
                empty="No node is on its way into the cluster.",
            ),
            tab="Joins",
        ),
        LAMPS,
    ),
    evidence=("topology",),
    picture="states",
    table="topology",
    badges="badges",
)
