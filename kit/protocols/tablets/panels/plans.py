"""The tabs of the balancer: how the load of each shard went, and the next plan with its reasons.

How often the coordinator asks: when nothing else is to do, then at each change of a stage and as
long as there is something to begin, and not while a request of the topology waits. Source: Topology
over Raft, "Load balancing".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from kit.engine.breaches import PassedStep
from kit.errors import counted
from kit.protocols.tablets.cluster import TabletsState
from kit.protocols.tablets.facts import plans as facts
from kit.protocols.tablets.facts.plans import LoadHistory, PlanFacts, PlannedMove, PlanPriority
from kit.protocols.topology.rules.queue import pending
from kit.protocols.topology.topology import CommitDecision, CommitDeposed, FindImbalance
from kit.views.declared import MOST_ROWS, Column, Drawn, Note, Table, of_state, panel_of, unsaid
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import scroll
from kit.views.sizes import SLOT

LEFT, ROW, BAR = 50.0, 30.0, 24.0
MOST_SHARDS = 64
"""Shards that are drawn; the words say how many more there are."""
NO_MOVE = "Nothing is to be moved."
DISABLED = "Balancing is disabled: nodes are emptied, nothing else is begun."
COMMITS = (CommitDecision, CommitDeposed)
Loads = Callable[[Scene], LoadHistory]
Plans = Callable[[Scene], PlanFacts]
PlannedRow = tuple[PlanPriority, PlannedMove]


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
            h("text", "now", x=SLOT - 4, y=12, text_anchor="end", class_="soft"),
            [_shard(given, at, 18 + ROW * at) for at in range(len(shown))],
            viewBox=f"0 0 {SLOT:.0f} {height:.0f}",
            width=SLOT,
            role="img",
            aria_label="replicas of each shard: " + "; ".join(load_lines(given)),
        ),
        h("p", h("small", _spread(given)), class_="legend"),
    )


def _shard(given: LoadHistory, at: int, top: float) -> Frag:
    """The bars of a shard, by the highest of all; the number stands behind them."""
    step = (SLOT - LEFT - 34) / len(given.columns)
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
                x=SLOT - 34 - step * (last - time) - wide,
                y=BAR + 2 - high[time],
                width=wide,
                height=high[time],
                class_="box" if time == last else "wire",
            )
            for time in range(len(counts))
        ],
        h("path", d=f"M{LEFT} {BAR + 2:.0f}H{SLOT - 32:.0f}", class_="wire"),
        h("text", str(counts[-1]), x=SLOT - 4, y=ROW - 9, text_anchor="end"),
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


def plan_panel(plan: Plans, calls: Callable[[Scene], int] | None = None) -> Panel:
    """Make the panel of the next plan; ``calls`` counts how often there was one so far."""

    def so_far(scene: Scene) -> str:
        return f"The balancer was asked {counted(calls(scene), 'time')}." if calls else ""

    def disabled(scene: Scene) -> str:
        return "" if plan(scene).enabled else DISABLED

    def stuck(scene: Scene) -> list[str]:
        return [f"! no node may take {each}" for each in plan(scene).stuck[:MOST_ROWS]]

    def moves(scene: Scene) -> list[PlannedRow]:
        return [(each, move) for each in plan(scene).priorities for move in each.moves]

    def lines(scene: Scene) -> Iterator[str]:
        """A line for each priority, and below it one for each of its moves."""
        for each in plan(scene).priorities:
            yield f"{each.number} {each.name} ({each.when}): {counted(len(each.moves), 'move')}"
            yield from map(_move, each.moves[:MOST_ROWS])

    return panel_of(
        "plan",
        "The balancer's next plan",
        Drawn(Note(so_far, "plan:asked", None).draw, unsaid),
        Note(disabled, "plan:disabled", None),
        Table(
            lambda scene: plan(scene).priorities,
            "priority:{0.number}",
            (
                Column("priority", "number"),
                Column("what", "name"),
                Column("begins", "when"),
                Column("moves", lambda row: row.moves and counted(len(row.moves), "move")),
            ),
            caption="what goes first",
            lines=lines,
        ),
        Table(
            moves,
            "planned:{0[1].tablets[0]}:{0[1].source}",
            (
                Column("priority", lambda row: row[0].number),
                Column("tablet", lambda row: _tablets(row[1])),
                Column("from, to", "{0[1].source} → {0[1].target}".format),
                Column("why", lambda row: row[1].why),
            ),
            caption="the moves, and why",
            lines=unsaid,
            empty=NO_MOVE,
            most=MOST_ROWS,
            thing="move",
            named=1,
        ),
        Drawn(lambda scene: [h("p", words) for words in stuck(scene)], stuck),
        Drawn(lambda scene: None, lambda scene: filter(None, [so_far(scene)])),
        optional=True,
        tab="Plan",
    )


def _tablets(move: PlannedMove) -> str:
    return " and ".join(move.tablets)


def _move(move: PlannedMove) -> str:
    kind, way = move.kind.replace("_", " "), f"{move.source} → {move.target}"
    return f"  tablet {_tablets(move)}, {kind}, {way}: {move.why}"


# -- how often the coordinator asks ----------------------------------------------------------------


def balancer_calls(steps: Sequence[PassedStep]) -> int:
    """How often the balancer was asked on the way."""
    return sum(map(_asks, steps))


def _asks(step: PassedStep) -> bool:
    """Whether the coordinator asks after this step: a command has changed tablets."""
    if isinstance(step.action, FindImbalance):
        return True
    changed = step.before.tablets is not step.after.tablets
    return changed and isinstance(step.action, COMMITS) and is_asked(step.after)


def is_asked(s: TabletsState) -> bool:
    """Whether the coordinator asks the balancer in such a state."""
    topology = s.control.topology
    return topology.transition == "tablet_migration" and not pending(topology)


TABLETS_LOAD = load_panel(lambda s: facts.tablets_loads(s.model, s.state, s.way()))
TABLETS_PLAN = plan_panel(of_state(facts.tablets_plan), lambda s: balancer_calls(s.way()))
RESIZE_LOAD = load_panel(lambda s: facts.resize_loads(s.model, s.state, s.way()))
RESIZE_PLAN = plan_panel(of_state(facts.resize_plan))
