"""The panels of balancing: the grid, a bar for the load of each node, the plan with its reasons."""

from __future__ import annotations

from kit.errors import counted
from kit.protocols.tablets.facts import balancing as facts
from kit.protocols.tablets.facts.balancing import LoadedNode
from kit.protocols.tablets.facts.loads import PlanFacts
from kit.protocols.tablets.panels.grid import grid_panel, storage_panel
from kit.protocols.tablets.panels.plans import plan_panel
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import badge, badges, heads, scroll

BAR, THICK = 120.0, 12.0


def _loads(scene: Scene) -> tuple[LoadedNode, ...]:
    loads: tuple[LoadedNode, ...] = scene.once(
        "node loads", lambda: facts.node_loads(scene.model, scene.state)
    )
    return loads


def _plan(scene: Scene) -> PlanFacts:
    now: PlanFacts = scene.once("plan", lambda: facts.plan(scene.model, scene.state))
    return now


def draw_loads(scene: Scene) -> Frag:
    """Draw a row for each node: its replicas, its load, and a bar as long as that."""
    return scroll(
        "loads",
        h(
            "table",
            heads("node", "replicas", "load", "as a bar"),
            h("tbody", [_load(each) for each in _loads(scene)]),
        ),
    )


def _load(each: LoadedNode) -> Frag:
    bar = h("rect", width=max(1.0, BAR * each.part), height=THICK, class_="box")
    svg = h(
        "svg",
        bar,
        viewBox=f"0 0 {BAR:.0f} {THICK:.0f}",
        width=BAR,
        role="img",
        aria_label=f"load {each.load}",
    )
    return h(
        "tr",
        h("th", each.node, scope="row"),
        h("td", str(each.replicas)),
        h("td", each.load),
        h("td", svg),
        k=f"load:{each.node}",
        data_of=each.node,
    )


def loads_text(scene: Scene) -> str:
    """Write a line for each node."""
    return "\n".join(
        f"  {each.node}: {each.load}, {counted(each.replicas, 'replica')}" for each in _loads(scene)
    )


def draw_badges(scene: Scene) -> Frag:
    """Draw how many replicas there are, and how many moves the plan has."""
    moves = len(_plan(scene).moves)
    return badges(
        sum(each.replicas for each in _loads(scene)),
        badge("plan", f"plan: {counted(moves, 'move')}", "busy")
        if moves
        else badge("plan", "no move left"),
        badge("stuck", "a drain is stuck", "broken") if _plan(scene).stuck else None,
        counts="replicas",
    )


GRID = grid_panel(lambda scene: facts.grid(scene.model, scene.state))
STORAGE = storage_panel(lambda scene: facts.grid(scene.model, scene.state))
LOADS = Panel("loads", "Load by node", draw_loads, loads_text, still=True, tab="Loads")
PLAN = plan_panel(_plan)
BADGES = Panel("badges", "Status", draw_badges, still=True)
