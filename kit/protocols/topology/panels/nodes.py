"""The nodes: where they stand for what travels between them, and a table of their rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import cos, pi, sin
from typing import Any

from msgspec.structs import replace

from kit.protocols.topology import facts
from kit.protocols.topology.control import NETWORK, spot
from kit.protocols.topology.coordinator import LOG
from kit.protocols.topology.facts import NodeFacts
from kit.views.declared import (
    NONE,
    Alike,
    Column,
    Drawn,
    Several,
    Table,
    of_state,
    panel_of,
    unsaid,
)
from kit.views.fragment import Frag, h
from kit.views.labels import NAME_LETTER, tags
from kit.views.panel import Scene, alternative

LEADS = "★"
MOST_DRAWN = 12
"""Nodes that are drawn in a circle; of more there is the table alone."""
WIDTH, HEIGHT, BOX = 376.0, 150.0, (56.0, 26.0)
SMALL = 272.0
"""How wide the drawing of few nodes is: what a pane has on half a screen."""
WIDEST = 110.0
MOST_WIDE = 6
"""So many boxes of the widest kind have room in the circle."""
TILT = 2.2  # radians: no two of four nodes stand above one another


def cells(node: NodeFacts) -> tuple[str, ...]:
    """The row behind the node's name, as texts."""
    asks = f"asks for {node.request}" + (f" of {node.replaced}" if node.replaced else "")
    replaces = f"replaces {node.replaced}" if node.replaced and not node.request else ""
    words = [
        asks if node.request else replaces,
        f"at {node.address}" if node.address else "",
        node.health,
        "ignored" if node.is_ignored else "",
        f"cleanup {node.cleanup}" if node.cleanup != "clean" else "",
        "no tokens (join_ring=false)" if node.state == "normal" and not node.tokens else "",
        "lags" if node.is_behind else "",
        node.rack,
    ]
    goes_by = (str(node.version), str(node.fence), str(node.session or NONE))
    versions = goes_by if node.is_member else (NONE,) * 3
    return node.state, *versions, ", ".join(filter(None, words))


def _cell(at: int, node: NodeFacts) -> str:
    return cells(node)[at]


def _is_named(scene: Scene, node: NodeFacts) -> bool:
    """Whether the step is about a node, or it is the coordinator."""
    ends = (key for flow in scene.flows() for key in (flow.from_key, flow.to_key))
    return node.is_coordinator or spot(node.name) in ends


def _look(node: NodeFacts) -> tuple[str, ...]:
    state, version, fence, session, notes = cells(node)
    goes_by = (f"version {version}", f"fence {fence}") if node.is_member else ()
    return (state, *goes_by, *([f"session {session}"] if node.session else []), notes)


def _line(node: NodeFacts) -> str:
    state, *others = filter(None, _look(node))
    leads = ["coordinator"] if node.is_coordinator else []
    return f"{node.name}: {', '.join([state, *leads, *others])}"


def _circle(scene: Scene) -> Frag:
    """Each node in its place; one that comes finds its place free."""
    names = scene.model.names
    wide, shown = _boxes(names)
    width = SMALL if len(names) <= MOST_WIDE and wide <= BOX[0] else WIDTH
    places = {name: _place(i, len(names), wide, width) for i, name in enumerate(names)}
    newest = f"group 0: state {scene.state.state_id}"
    # The log of group 0 in the middle, with the id of its newest state; below, the network.
    middle = h(
        "g",
        h("text", newest, k=LOG, text_anchor="middle"),
        h("g", k=NETWORK, transform="translate(0 26)"),
        transform=f"translate({width / 2:.0f} {HEIGHT / 2:.0f})",
    )
    return h(
        "svg",
        middle,
        [_node(node, shown[node.name], *places[node.name], wide) for node in scene.of(facts.nodes)],
        viewBox=f"0 0 {width:.0f} {HEIGHT:.0f}",
        width=width,
        role="img",
        aria_label=alternative("nodes", "\n".join([newest, *TABLE.words(scene)])),
    )


def _boxes(names: Sequence[str]) -> tuple[float, Mapping[str, str]]:
    """How wide each box is, and what stands in it: the name, or so much as tells it apart."""
    wide = NAME_LETTER * (max(map(len, names)) + len(LEADS)) + 6
    if wide <= (WIDEST if len(names) <= MOST_WIDE else BOX[0]):
        return max(wide, BOX[0]), {name: name for name in names}
    return BOX[0], tags(names)


def _place(i: int, count: int, wide: float, width: float) -> tuple[float, float]:
    angle = 2 * pi * i / count - TILT
    x, y = (width - wide) / 2 - 2, (HEIGHT - BOX[1]) / 2 - 2
    return width / 2 + x * cos(angle), HEIGHT / 2 + y * sin(angle)


def _node(node: NodeFacts, shown: str, x: float, y: float, wide: float) -> Frag:
    dashed = " dashed" if node.health or not node.is_member else ""
    high, letters = BOX[1], f"{LEADS if node.is_coordinator else ''}{shown}"
    box: dict[str, Any] = {"x": -wide / 2, "y": -high / 2, "width": wide, "height": high, "rx": 6}
    return h(
        "g",
        h("title", f"{node.name}: {node.state}{f', {node.health}' if node.health else ''}"),
        h("rect", **box, class_=f"box{dashed}"),
        h("text", letters, y=5, text_anchor="middle", class_="on"),
        k=spot(node.name),
        transform=f"translate({x:.0f} {y:.0f})",
        data_of=node.name,
    )


TABLE = Table(
    of_state(facts.nodes),
    "row:{0.name}",
    (
        Column("node", lambda node: f"{LEADS} {node.name}" if node.is_coordinator else node.name),
        *(
            Column(head, partial(_cell, at))
            for at, head in enumerate(("state", "version", "fence", "session", "notes"))
        ),
    ),
    caption=f"What each node has applied ({LEADS} coordinator)",
    of="{0.name}",
    line=_line,
    alike=Alike(_look, _is_named),
)


def _parts(scene: Scene) -> Iterator[Drawn | Table]:
    """Of very many nodes there is the table alone, and what travels goes to its rows."""
    if len(scene.model.names) <= MOST_DRAWN:
        yield Drawn(_circle, unsaid)
        yield TABLE
    else:
        yield replace(TABLE, key=lambda node: spot(node.name))


NODES = panel_of("nodes", "Nodes", Several(_parts), still=True)
