"""The tabs of the balancer: how the load of each shard went, and the next plan with its reasons.

How often the coordinator asks: when nothing else is to do, then at each change of a stage and as
long as there is something to begin, and not while a request of the topology waits. Source: Topology
over Raft, "Load balancing".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from operator import itemgetter

from msgspec import Struct

from kit.errors import counted
from kit.model.timeline import PassedStep
from kit.protocols.tablets.cluster import TabletsState
from kit.protocols.tablets.facts import resize, tablets
from kit.protocols.tablets.resize import Resize, ResizeState
from kit.protocols.tablets.rules.balance.cluster import BalancerNode, balancer_input
from kit.protocols.tablets.rules.balance.planner import BalancePlan, plan
from kit.protocols.tablets.rules.balance.reasons import Drains, EvensOut, JoinsSibling, reason_said
from kit.protocols.tablets.rules.maps import TabletMap
from kit.protocols.tablets.rules.replica_sets import TabletReplica
from kit.protocols.tablets.tablets import Tablets
from kit.protocols.topology.rules.cluster import in_state
from kit.protocols.topology.rules.decide import pending
from kit.protocols.topology.rules.machines import Edition
from kit.protocols.topology.topology import CommitDecision, CommitDeposed, FindImbalance
from kit.views.actions import some_of
from kit.views.declared import MOST_ROWS, NONE, Column, Drawn, Note, Table, of_state, panel_of
from kit.views.fragment import Frag, h
from kit.views.labels import SLOT
from kit.views.panel import Panel, Scene
from kit.views.parts import box, drawing, scroll, word

LEFT, ROW, BAR = 50.0, 30.0, 24.0
MOST_TIMES = 12
MOST_SHARDS = 64  # shards that are drawn; the words say how many more there are
DISABLED = "Balancing is disabled: nodes are still emptied, but no other moves begin."
STALLS = "Nothing moves, and the drain stalls, until every tablet's size is known on"
LEFT_OUT = "Left out until every tablet's size is known there:"


PRIORITIES: tuple[tuple[type, str, str], ...] = (
    (Drains, "empty nodes", "always"),
    (EvensOut, "even out", "once priority 1 has no moves left"),
    (JoinsSibling, "bring siblings together", "once priorities 1 and 2 have no moves left"),
)
"""What the balancer does of each sort; a later sort waits until an earlier one has nothing."""


class PlanFacts(Struct, frozen=True):
    """The balancer's next plan as a person reads it; ``label`` says how a table's tablet is called.

    ``enabled``: loads are evened out; nodes are emptied all the same.
    """

    step: BalancePlan
    edition: Edition
    label: Callable[[str, int], str] = lambda table, tablet: str(tablet)
    enabled: bool = True

    @property
    def moves(self) -> list[tuple[int, list[str], TabletReplica, TabletReplica, str]]:
        """The moves by their place in ``PRIORITIES``: that, the tablets (two siblings, where they
        move as one), from where to where, and why.
        """
        return [
            (
                *(priority, [self.label(move.table, number) for number in move.tablets]),
                *(move.source, move.target, reason_said(move.reason, self.edition)),
            )
            for priority, (reason, _, _) in enumerate(PRIORITIES, 1)
            for move in self.step.moves
            if type(move.reason) is reason
        ]

    @property
    def stuck(self) -> tuple[str, ...]:
        """The replicas that no node may take."""
        label, failures = self.label, self.step.failures
        return tuple(f"tablet {label(e.table, e.tablets[0])} at {e.source}" for e in failures)

    @property
    def unknown(self) -> str:
        """What keeps still for want of sizes."""
        return " ".join(
            f"{said} {', '.join(some_of(hosts, MOST_ROWS))}."
            for said, hosts in ((STALLS, self.step.waits_for), (LEFT_OUT, self.step.left_out))
            if hosts
        )


def tablets_plan(m: Tablets, s: TabletsState) -> PlanFacts:
    """The plan of the balancer in a cluster with tablets."""
    if m.planner is not None:
        return PlanFacts(m.planner.plan(s).step, m.edition, "{} {}".format)
    nodes = list(m.balancer_nodes(m.roles(s)))
    view = balancer_input(nodes, m.maps(s.tablets), enabled=m.balancing, release=m.release)
    return PlanFacts(plan(view, m.edition), m.edition, enabled=m.balancing)


def resize_plan(m: Resize, s: ResizeState) -> PlanFacts:
    """The plan of the balancer while a table is resized."""
    grid, each_copy = resize.grid(m, s), resize.in_bytes(s.size) // s.map.count
    sizes = [
        dict.fromkeys((place.host for place in tablet.replicas), each_copy)
        for tablet in s.map.tablets
    ]
    nodes = [BalancerNode(host.name, "dc1", "r1", host.shards) for host in grid.hosts]
    view = balancer_input(nodes, {s.map.table: s.map}, {s.map.table: sizes})
    return PlanFacts(plan(view, m.edition), m.edition)


def plan_panel(
    plan: Callable[[Scene], PlanFacts], calls: Callable[[Scene], int] | None = None
) -> Panel:
    """Make the panel of the next plan; ``calls`` counts how often there was one so far."""

    def so_far(scene: Scene) -> str:
        so_often = counted(calls(scene), "time") if calls else ""
        return f"The balancer has been asked for a plan {so_often}." if calls else ""

    def disabled(scene: Scene) -> str:
        return " ".join(filter(None, (DISABLED * (not plan(scene).enabled), plan(scene).unknown)))

    def stuck(scene: Scene) -> list[Frag]:
        return [h("p", f"! no node can take {each}") for each in plan(scene).stuck[:MOST_ROWS]]

    def sorts(scene: Scene) -> Iterator[tuple[int, str, str, str]]:
        counts = Counter(priority for priority, *_ in plan(scene).moves)
        for at, (_, name, when) in enumerate(PRIORITIES, 1):
            yield at, name, when, counted(counts[at], "move") if counts[at] else NONE

    return panel_of(
        "plan",
        "The balancer's next plan",
        Note(so_far, "plan:asked", None),
        Note(disabled, "plan:disabled", None),
        Table(
            sorts,
            "priority:{0[0]}",
            ("priority", "what", "begins", "moves"),
            caption="what goes first",
        ),
        Table(
            lambda scene: plan(scene).moves,
            "planned:{0[1][0]}:{0[2]}",
            (
                "priority",
                Column("tablet", lambda row: " and ".join(row[1])),
                Column("from, to", "{0[2]} → {0[3]}".format),
                Column("why", itemgetter(4)),
            ),
            caption="the moves and their reasons",
            empty="There is nothing to move.",
            most=MOST_ROWS,
            thing="move",
            named=1,
        ),
        Drawn(stuck),
        optional=True,
        tab="Plan",
    )


class LoadHistory(Struct, frozen=True):
    """The replicas of each shard: a column of counts for each time that they changed, now last. The
    hosts that are ``gone`` take no more.
    """

    places: tuple[TabletReplica, ...]
    columns: tuple[tuple[int, ...], ...]
    gone: tuple[str, ...] = ()


def load_history(
    maps: Iterable[TabletMap], places: Sequence[TabletReplica], gone: Collection[str] = ()
) -> LoadHistory:
    """The counts by each version of a map, the oldest first, of very many the latest; a transition
    counts as if it were over, as it does for the balancer.
    """
    columns = list[tuple[int, ...]]()
    for given in maps:
        counts = Counter(place for tablet in given.tablets for place in tablet.sets.new)
        column = tuple(counts[place] for place in places)
        columns += [column] if columns[-1:] != [column] else []
    return LoadHistory(tuple(places), tuple(columns[-MOST_TIMES:]), tuple(gone))


def load_panel(loads_of: Callable[[Scene], LoadHistory]) -> Panel:
    """Make the panel of loads over time."""
    return Panel(
        "load",
        "Replicas per shard over time",
        lambda scene: draw_loads(loads_of(scene)),
        lambda scene: "\n".join(f"  {line}" for line in load_lines(loads_of(scene))),
        optional=True,
        tab="Load",
    )


def draw_loads(given: LoadHistory) -> Frag:
    """Draw a row for each shard: a bar for each time that loads changed, the last one is now."""
    shown = range(len(given.places[:MOST_SHARDS]))
    picture = drawing(
        "replicas per shard: " + "; ".join(load_lines(given)),
        SLOT,
        18 + ROW * len(shown),
        word("time →", LEFT, 12, "soft", None),
        word("now", SLOT - 4, 12, "soft", "end"),
        [_shard(given, at, 18 + ROW * at) for at in shown],
    )
    return scroll("loads", picture, h("p", h("small", _spread(given)), class_="legend"))


def _shard(given: LoadHistory, at: int, top: float) -> Frag:
    step = (SLOT - LEFT - 34) / len(given.columns)
    wide = min(step - 2, 28)
    most = max(map(max, given.columns)) or 1
    counts = [column[at] for column in given.columns]
    last = len(counts) - 1
    bars = [
        box(
            SLOT - 34 - step * (last - time) - wide,
            BAR + 2 - BAR * count / most,
            *(wide, BAR * count / most, "box" if time == last else "wire"),
        )
        for time, count in enumerate(counts)
    ]
    return h(
        "g",
        h("title", f"{given.places[at]}: {', '.join(map(str, counts))}"),
        word(str(given.places[at]), 2, ROW - 9, "strong", None),
        bars,
        h("path", d=f"M{LEFT} {BAR + 2:.0f}H{SLOT - 32:.0f}", class_="wire"),
        word(str(counts[-1]), SLOT - 4, ROW - 9, anchor="end"),
        k=f"loads:{given.places[at]}",
        transform=f"translate(0 {top:.0f})",
        data_of=given.places[at].host,
    )


def _spread(given: LoadHistory) -> str:
    counts = zip(given.places, given.columns[-1], strict=True)
    if not (now := [count for place, count in counts if place.host not in given.gone]):
        return "no shard"
    least, most = min(now), max(now)
    rest = len(given.places) - MOST_SHARDS
    more = f"; {counted(rest, 'more shard')}" if rest > 0 else ""
    held = f"from {least} to {most} replicas" if least < most else counted(most, "replica")
    return f"now {held} per shard{more}"


def load_lines(given: LoadHistory) -> Iterator[str]:
    """A line for each shard: its replicas, from the first time to now; then the spread."""
    for at, place in enumerate(given.places[:MOST_SHARDS]):
        yield f"{place}: {' → '.join(str(column[at]) for column in given.columns)}"
    yield _spread(given)


def balancer_calls(steps: Sequence[PassedStep]) -> int:
    """How often the balancer was asked on the way: also after commands that changed tablets."""
    commits = [
        step.after.control.topology
        for step in steps
        if isinstance(step.action, (CommitDecision, CommitDeposed))
        and step.before.tablets is not step.after.tablets
    ]
    asks = [t for t in commits if t.transition == "tablet_migration" and not pending(t)]
    return len(asks) + sum(isinstance(step.action, FindImbalance) for step in steps)


def _tablets_loads(scene: Scene) -> LoadHistory:
    m, s = scene.model, scene.state
    gone = m.control.named(in_state(s.control.topology, "left"))
    return load_history(tablets.versions(m, s, scene.way()), tablets.grid(m, s).places, gone)


def _resize_loads(scene: Scene) -> LoadHistory:
    maps = (*(each.before.map for each in scene.way()), scene.state.map)
    return load_history(maps, resize.grid(scene.model, scene.state).places)


TABLETS_LOAD, RESIZE_LOAD = load_panel(_tablets_loads), load_panel(_resize_loads)
TABLETS_PLAN = plan_panel(of_state(tablets_plan), lambda s: balancer_calls(s.way()))
RESIZE_PLAN = plan_panel(of_state(resize_plan))
