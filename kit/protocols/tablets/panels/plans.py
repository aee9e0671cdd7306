"""The tabs of the balancer: how the load of each shard went, and the next plan with its reasons."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from kit.errors import counted
from kit.protocols.tablets.facts import plans_of_states as facts
from kit.protocols.tablets.facts.asked import balancer_calls
from kit.protocols.tablets.facts.loads import LoadHistory, PlanFacts, PlannedMove, PlanPriority
from kit.views.alike import MOST_ROWS
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import heads, scroll

WIDTH, LEFT, ROW, BAR = 380.0, 50.0, 30.0, 24.0
MOST_SHARDS = 64
"""Shards that are drawn; the words say how many more there are."""
NO_MOVE = "Nothing is to be moved."
Loads = Callable[[Scene], LoadHistory]
Plans = Callable[[Scene], PlanFacts]


def load_panel(loads_of: Loads) -> Panel:
    """Make the panel of loads over time."""

    def draw(scene: Scene) -> Frag:
        return draw_loads(loads_of(scene))

    def text(scene: Scene) -> str:
        return "\n".join(f"  {line}" for line in load_lines(loads_of(scene)))

    return Panel("load", "Replicas of each shard over time", draw, text, optional=True, tab="Load")


def draw_loads(given: LoadHistory) -> Frag:
    """Draw a row for each shard: a bar for each time that loads changed, the last one is now."""
    shown = given.places[:MOST_SHARDS]
    height = 18 + ROW * len(shown)
    return scroll(
        "loads",
        h(
            "svg",
            h("text", "time →", x=LEFT, y=12, class_="soft"),
            h("text", "now", x=WIDTH - 4, y=12, text_anchor="end", class_="soft"),
            [_shard(given, at, 18 + ROW * at) for at in range(len(shown))],
            viewBox=f"0 0 {WIDTH:.0f} {height:.0f}",
            width=WIDTH,
            role="img",
            aria_label="replicas of each shard: " + "; ".join(load_lines(given)),
        ),
        h("p", h("small", _spread(given)), class_="legend"),
    )


def _shard(given: LoadHistory, at: int, top: float) -> Frag:
    """The bars of a shard, by the highest of all; the number stands behind them."""
    step = (WIDTH - LEFT - 34) / len(given.columns)
    wide = min(step - 2, 28)
    counts = [column[at] for column in given.columns]
    high = [BAR * count / (given.most or 1) for count in counts]
    last = len(counts) - 1
    return h(
        "g",
        h("title", f"{given.places[at]}: {', '.join(map(str, counts))}"),
        h("text", str(given.places[at]), x=2, y=ROW - 9, class_="strong"),
        [
            h(
                "rect",
                x=WIDTH - 34 - step * (last - time) - wide,
                y=BAR + 2 - high[time],
                width=wide,
                height=high[time],
                class_="box" if time == last else "wire",
            )
            for time in range(len(counts))
        ],
        h("path", d=f"M{LEFT} {BAR + 2:.0f}H{WIDTH - 32:.0f}", class_="wire"),
        h("text", str(counts[-1]), x=WIDTH - 4, y=ROW - 9, text_anchor="end"),
        k=f"loads:{given.places[at]}",
        transform=f"translate(0 {top:.0f})",
        data_of=given.places[at].host,
    )


def _spread(given: LoadHistory) -> str:
    if not given.now:
        return "no shard"
    least, most = min(given.now), max(given.now)
    rest = len(given.places) - MOST_SHARDS
    more = f"; {counted(rest, 'shard')} more" if rest > 0 else ""
    now = f"from {least} to {most} replicas" if least < most else counted(most, "replica")
    return f"now {now} on a shard{more}"


def load_lines(given: LoadHistory) -> Iterator[str]:
    """A line for each shard: its replicas, from the first time to now; then the spread."""
    for at, place in enumerate(given.places[:MOST_SHARDS]):
        yield f"{place}: {' → '.join(str(column[at]) for column in given.columns)}"
    yield _spread(given)


def plan_panel(plan_of: Plans, calls: Callable[[Scene], int] | None = None) -> Panel:
    """Make the panel of the next plan; ``calls`` counts how often there was one so far."""

    def said(scene: Scene) -> str:
        return "" if calls is None else f"The balancer was asked {counted(calls(scene), 'time')}."

    def draw(scene: Scene) -> Frag:
        drawn = draw_plan(plan_of(scene))
        return h("div", h("p", said(scene), k="plan:asked"), drawn) if calls else drawn

    def text(scene: Scene) -> str:
        lines = (*plan_lines(plan_of(scene)), *filter(None, [said(scene)]))
        return "\n".join(f"  {line}" for line in lines)

    return Panel("plan", "The balancer's next plan", draw, text, optional=True, tab="Plan")


def draw_plan(given: PlanFacts) -> Frag:
    """Draw the priorities with how much each has to do, then each move with its reason."""
    moves = [(each, move) for each in given.priorities for move in each.moves]
    return scroll(
        "plan",
        None if given.enabled else h("p", _disabled(), k="plan:disabled"),
        h(
            "table",
            h("caption", "what goes first"),
            heads("priority", "what", "begins", "moves"),
            h("tbody", [_priority(each) for each in given.priorities]),
        ),
        h(
            "table",
            h("caption", "the moves, and why"),
            heads("priority", "tablet", "from, to", "why"),
            h("tbody", [_move(each.number, move) for each, move in moves[:MOST_ROWS]]),
        )
        if moves
        else h("p", NO_MOVE, class_="soft"),
        h("p", f"and {counted(len(moves) - MOST_ROWS, 'move')} more", class_="soft")
        if len(moves) > MOST_ROWS
        else None,
        [h("p", _stuck(each)) for each in given.stuck[:MOST_ROWS]],
    )


def _disabled() -> str:
    return "Balancing is disabled: nodes are emptied, nothing else is begun."


def _stuck(replica: str) -> str:
    return f"! no node may take {replica}"


def _priority(each: PlanPriority) -> Frag:
    return h(
        "tr",
        h("th", str(each.number), scope="row"),
        h("td", each.name),
        h("td", each.when),
        h("td", counted(len(each.moves), "move") if each.moves else "–"),
        k=f"priority:{each.number}",
    )


def _move(priority: int, move: PlannedMove) -> Frag:
    numbers = _tablets(move)
    return h(
        "tr",
        h("td", str(priority)),
        h("th", numbers, scope="row"),
        h("td", f"{move.source} → {move.target}"),
        h("td", move.why),
        k=f"planned:{move.tablets[0]}:{move.source}",
    )


def _tablets(move: PlannedMove) -> str:
    return " and ".join(move.tablets)


def plan_lines(given: PlanFacts) -> Iterator[str]:
    """A line for each priority, and below it one for each of its moves."""
    if not given.enabled:
        yield _disabled()
    for each in given.priorities:
        yield f"{each.number} {each.name} ({each.when}): {counted(len(each.moves), 'move')}"
        for move in each.moves[:MOST_ROWS]:
            kind = move.kind.replace("_", " ")
            yield f"  tablet {_tablets(move)}, {kind}, {move.source} → {move.target}: {move.why}"
    yield from (_stuck(each) for each in given.stuck[:MOST_ROWS])


def _once(plan_of: Callable[[Any, Any], PlanFacts]) -> Plans:
    def planned(scene: Scene) -> PlanFacts:
        return scene.once("plan", lambda: plan_of(scene.model, scene.state))

    return planned


TRACKS_LOAD = load_panel(lambda s: facts.tracks_loads(s.model, s.state, s.way()))
TRACKS_PLAN = plan_panel(_once(facts.tracks_plan), lambda s: balancer_calls(s.way()))
RESIZE_LOAD = load_panel(lambda s: facts.resize_loads(s.model, s.state, s.way()))
RESIZE_PLAN = plan_panel(_once(facts.resize_plan))
