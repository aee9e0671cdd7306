"""The nodes of a large ring: to be chosen below the picture, and a row for each in its table.

Names are cut to what tells them apart; the whole name is in the title and in what is spoken.
"""

from __future__ import annotations

from collections.abc import Callable

from kit.errors import counted
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.memo import memo
from kit.protocols.tcm.facts.moment import NodeRow
from kit.views.declared import Column, Table
from kit.views.fragment import Frag, Kid, h
from kit.views.labels import apart
from kit.views.panel import Scene

MOST_NAMES = 128
"""Nodes that can be chosen one by one."""


def draw_names(scene: Scene) -> Frag:
    """Draw the nodes of a large ring as a list; one lights up wherever it is shown."""
    return _kept(scene, "ring-names", _names)


def draw_nodes(scene: Scene) -> Frag:
    """Draw a row for each node that the list of names has."""
    return _kept(scene, "rehearsed nodes", _rows)


def _kept(
    scene: Scene, key: str, draw: Callable[[Scene, list[NodeRow], dict[str, str]], Kid]
) -> Frag:
    """A part that changes with events and deaths alone is drawn once for all frames between."""
    model, state = scene.model, scene.state

    def work() -> Frag:
        nodes = [node for node in facts.nodes(model, state) if node.tokens]
        short = dict(apart([node.name for node in nodes]))
        rest = len(nodes) - MOST_NAMES
        more = h("p", f"and {counted(rest, 'more node')}", class_="soft") if rest > 0 else None
        return h("div", draw(scene, nodes[:MOST_NAMES], short), more, k=key, data_kept=True)

    return memo(model, (key, state.tcm.events, state.tcm.down), work)


def _names(scene: Scene, nodes: list[NodeRow], short: dict[str, str]) -> Frag:
    chips = [
        h("li", _name(node, short, i == 0), k=f"name:{node.name}") for i, node in enumerate(nodes)
    ]
    return h("ul", chips, class_="names", data_rove=True)


def _name(node: NodeRow, short: dict[str, str], first: bool) -> Frag:
    words = f"{node.name}: {counted(len(node.tokens), 'token')}, {_place(node)}, {_standing(node)}"
    return h(
        "span",
        short[node.name],
        class_="chip",
        role="button",
        tabindex="0" if first else "-1",
        aria_pressed="false",
        aria_label=words,
        title=words,
        data_roving=True,
        data_spot=node.name,
        data_of=node.name,
    )


def _rows(scene: Scene, nodes: list[NodeRow], short: dict[str, str]) -> Kid:
    return Table(
        lambda scene: nodes,
        "rehearsed node:{0.name}",
        (
            Column("node", lambda node: h("span", short[node.name], title=node.name)),
            Column("tokens", lambda node: len(node.tokens)),
            Column("place", _place),
            Column("state", _standing),
        ),
        caption="Nodes: choose one in the ring",
        of="{0.name}",
        marked=False,
    ).draw(scene)


def _place(node: NodeRow) -> str:
    return f"{node.dc}, rack {node.rack}"


def _standing(node: NodeRow) -> str:
    return node.status if node.up else f"{node.status}, down"
