"""The panels of balancing: the grid, a bar for the load of each node, the plan with its reasons."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from kit.errors import counted
from kit.protocols.tablets.balance import Balance, BalanceState
from kit.protocols.tablets.panels.grid import grid_panel
from kit.protocols.tablets.panels.plans import PlanFacts, plan_panel
from kit.protocols.tablets.rules.balance.reasons import load_said
from kit.protocols.tablets.rules.grid import GridHost, TabletGrid, grid_of_maps
from kit.views.actions import some_of
from kit.views.declared import Badges, Column, Note, Table, of_state, panel_of, status
from kit.views.fragment import Frag, h
from kit.views.gate import Gate
from kit.views.panel import Scene
from kit.views.parts import drawing
from kit.views.promises import LAMPS
from kit.views.registry import Views

BAR, THICK = 120.0, 12.0
MOST_EXACT = 6
"""Nodes up to which a picture has room for loads as the words have them."""
MOST_STUCK = 3
"""Replicas without a place that a sentence names, and moves of a plan."""


def grid(m: Balance, s: BalanceState) -> TabletGrid:
    """The tablets of each node, and how large."""
    several = len({node.datacenter for node in m.members}) > 1
    racks = len({(node.datacenter, node.rack) for node in m.members}) > 1
    digits = 2 if len(m.members) <= MOST_EXACT else 0
    hosts = tuple(
        GridHost(
            node.host,
            node.shards,
            (f"{node.datacenter}/{node.rack}" if several else node.rack) if racks else "",
            note="" if node.role == "normal" else node.role,
            health="down" if node.role == "excluded" else "up",
            is_banned=node.role == "excluded",
            tag=load,
        )
        for node, (_, _, load, _) in zip(m.members, node_loads(m, s, digits), strict=True)
    )
    sizes = {
        (*m.tables[i], place): m.bytes_of(i)
        for i, replicas in enumerate(s.replicas)
        for place in replicas
    }
    return replace(grid_of_maps(m.maps(s).values(), hosts, sizes), asks=False)


def next_plan(m: Balance, s: BalanceState) -> PlanFacts:
    """The planner's plan."""
    labels = dict(zip(m.tables, m.labels, strict=True))
    return PlanFacts(m.plan(s), m.edition, lambda *tablet: labels[tablet])


def node_loads(m: Balance, s: BalanceState, digits: int = 2) -> list[tuple[str, int, str, float]]:
    """Each node: how many replicas it holds, its load in words, that load by the largest one there
    was at the start: so no step changes a bar of a node of which nothing changed.
    """
    loads = m.loads(s).node_load.tolist()
    most = max(m.loads(m.start()).node_load.tolist()) or 1.0
    held = [each.host for replicas in s.replicas for each in replicas]
    return [
        (name, held.count(name), load_said(load, m.edition, digits), min(1.0, load / most))
        for name, load in zip(m.names, loads, strict=True)
    ]


def _bar(row: tuple[str, int, str, float]) -> Frag:
    _, _, load, part = row
    track = h("rect", width=BAR, height=THICK, class_="wire")
    bar = h("rect", width=max(1.0, BAR * part), height=THICK, class_="done")
    return drawing(f"load {load}", BAR, THICK, track, bar)


def _next(scene: Scene) -> str:
    plan = scene.of(next_plan)
    moves = (
        f"tablet {' and '.join(tablets)} from {source} to {target}"
        for _, tablets, source, target, _ in plan.moves
    )
    words = "; ".join(some_of(tuple(moves), MOST_STUCK))
    moving = f"The plan: {words or 'no move is left'}." if words or not plan.unknown else ""
    return " ".join(filter(None, (moving, plan.unknown)))


def _badges(scene: Scene) -> Badges:
    plan = scene.of(next_plan)
    moves = len(plan.moves)
    yield "replicas", counted(sum(map(len, scene.state.replicas)), "replica"), "plain"
    none = "sizes unknown" if plan.unknown else "no move left"
    words = f"{counted(moves, 'move')} planned" if moves else none
    yield "plan", words, "busy" if moves else ""
    yield "stuck", "a drain is stuck" if plan.stuck else "", "alarm"


def gates(scene: Scene) -> Iterator[Gate]:
    """A drain that is stuck waits for a place, which nobody has."""
    if stuck := scene.of(next_plan).stuck:
        named = "; ".join(some_of(stuck, MOST_STUCK))
        yield Gate("plan", "drain", "", (), (), 1, f"no node can take {named}")
    elif waits := scene.of(next_plan).step.waits_for:
        yield Gate("plan", "drain", "reported its tablets' sizes", (), waits, len(waits))


LOADS = Table(
    of_state(node_loads),
    "load:{0[0]}",
    ("node", "replicas", "load", Column("as a bar", _bar)),
    of="{0[0]}",
)
BALANCE = Views(
    (
        status(_badges, "badges"),
        grid_panel(of_state(grid)),
        panel_of("loads", "Load by node", LOADS, Note(_next, "next"), still=True, tab="Loads"),
        plan_panel(of_state(next_plan)),
        LAMPS,
    ),
    evidence=("loads",),
    picture="grid",
    table="loads",
    badges="badges",
    gates=gates,
)
