"""The panels of balancing: the grid, a bar for the load of each node, the plan with its reasons."""

from __future__ import annotations

from kit.errors import counted
from kit.protocols.tablets.facts import balancing as facts
from kit.protocols.tablets.facts.balancing import LoadedNode
from kit.protocols.tablets.panels.grid import grid_panel, storage_panel
from kit.protocols.tablets.panels.plans import plan_panel
from kit.views.declared import Badges, Column, Table, of_state, panel_of, status
from kit.views.fragment import Frag, h
from kit.views.panel import Scene
from kit.views.promises import LAMPS
from kit.views.registry import Views

BAR, THICK = 120.0, 12.0


def _bar(each: LoadedNode) -> Frag:
    """A bar as long as the load."""
    return h(
        "svg",
        h("rect", width=max(1.0, BAR * each.part), height=THICK, class_="box"),
        viewBox=f"0 0 {BAR:.0f} {THICK:.0f}",
        width=BAR,
        role="img",
        aria_label=f"load {each.load}",
    )


def _badges(scene: Scene) -> Badges:
    """How many replicas there are, and how many moves the plan has."""
    plan = scene.of(facts.plan)
    moves = len(plan.moves)
    replicas = sum(each.replicas for each in scene.of(facts.node_loads))
    yield "replicas", f"replicas {replicas}", "plain"
    words = f"plan: {counted(moves, 'move')}" if moves else "no move left"
    yield "plan", words, "busy" if moves else ""
    yield "stuck", "a drain is stuck" if plan.stuck else "", "broken"


LOADS = Table(
    of_state(facts.node_loads),
    "load:{0.node}",
    (
        Column("node", "node"),
        Column("replicas", "replicas"),
        Column("load", "load"),
        Column("as a bar", _bar),
    ),
    of="{0.node}",
    line=lambda each: f"{each.node}: {each.load}, {counted(each.replicas, 'replica')}",
)
BALANCE = Views(
    (
        status(_badges, "badges"),
        grid_panel(of_state(facts.grid)),
        panel_of("loads", "Load by node", LOADS, still=True, tab="Loads"),
        plan_panel(of_state(facts.plan)),
        storage_panel(of_state(facts.grid)),
        LAMPS,
    ),
    evidence=("loads",),
    picture="grid",
    table="loads",
    badges="badges",
)
