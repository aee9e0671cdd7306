"""The balancer's plans and loads as people read them: by priority, with reasons, over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from kit.engine.breaches import PassedStep
from kit.protocols.tablets.cluster import TabletsState, removed_nodes, targets
from kit.protocols.tablets.facts import resize, tablets
from kit.protocols.tablets.facts.tablets import versions
from kit.protocols.tablets.resize import Resize, ResizeState
from kit.protocols.tablets.rules.balance.cluster import BalancerNode, NodeRole, gathered
from kit.protocols.tablets.rules.balance.loads import TabletMove
from kit.protocols.tablets.rules.balance.planner import BalancePlan, plan
from kit.protocols.tablets.rules.balance.reasons import Drains, EvensOut, JoinsSibling, reason_said
from kit.protocols.tablets.rules.grid import TabletGrid
from kit.protocols.tablets.rules.maps import TabletMap
from kit.protocols.tablets.rules.replica_sets import TabletReplica
from kit.protocols.tablets.tablets import Tablets
from kit.protocols.topology.rules.machines import Edition

MOST_TIMES = 12


class LoadHistory(Struct, frozen=True):
    """The replicas of each shard: a column of counts for each time that they changed, now last."""

    places: tuple[TabletReplica, ...]
    columns: tuple[tuple[int, ...], ...]

    @property
    def now(self) -> tuple[int, ...]:
        """The replicas of each shard now."""
        return self.columns[-1]

    @property
    def most(self) -> int:
        """The most that a shard has had."""
        return max((max(column, default=0) for column in self.columns), default=0)


def load_history(maps: Iterable[TabletMap], places: Sequence[TabletReplica]) -> LoadHistory:
    """The counts by each version of a map, the oldest first; of very many the latest."""
    columns = list[tuple[int, ...]]()
    for given in maps:
        counts = Counter(place for tablet in given.tablets for place in tablet.sets.new)
        column = tuple(counts[place] for place in places)
        columns += [column] if columns[-1:] != [column] else []
    return LoadHistory(tuple(places), tuple(columns[-MOST_TIMES:]))


Label = Callable[[str, int], str]


def _number(table: str, tablet: int) -> str:
    return str(tablet)


class PlannedMove(Struct, frozen=True):
    """A transition of the plan, the tablets (two siblings, where they move as one), and why."""

    tablets: tuple[str, ...]
    kind: str
    source: TabletReplica
    target: TabletReplica
    why: str


class PlanPriority(Struct, frozen=True):
    """What the balancer does of one sort; a later sort waits until an earlier one has nothing."""

    number: int
    name: str
    when: str
    moves: tuple[PlannedMove, ...]


PRIORITIES: tuple[tuple[type, str, str], ...] = (
    (Drains, "empty nodes", "always"),
    (EvensOut, "even out", "once 1 has nothing to do"),
    (JoinsSibling, "bring siblings together", "once 1 and 2 have nothing to do"),
)


class PlanFacts(Struct, frozen=True):
    """The balancer's next plan by priority; ``stuck`` are replicas that no node may take.

    ``enabled``: loads are evened out; nodes are emptied all the same.
    """

    priorities: tuple[PlanPriority, ...]
    stuck: tuple[str, ...]
    enabled: bool

    @property
    def moves(self) -> tuple[PlannedMove, ...]:
        """All moves, by priority."""
        return tuple(move for each in self.priorities for move in each.moves)


def planned(
    step: BalancePlan, edition: Edition, label: Label = _number, *, enabled: bool = True
) -> PlanFacts:
    """A plan as a person reads it; ``label`` says how a table's tablet is called."""

    def named(move: TabletMove) -> PlannedMove:
        tablets = tuple(label(move.table, number) for number in move.tablets)
        words = reason_said(move.reason, edition)
        return PlannedMove(tablets, move.kind, move.source, move.target, words)

    return PlanFacts(
        tuple(
            PlanPriority(
                *(number, name, when),
                tuple(named(each) for each in step.moves if type(each.reason) is kind),
            )
            for number, (kind, name, when) in enumerate(PRIORITIES, 1)
        ),
        tuple(
            f"tablet {label(each.table, each.tablets[0])} at {each.source}"
            for each in step.failures
        ),
        enabled,
    )


def tablets_plan(m: Tablets, s: TabletsState) -> PlanFacts:
    """What the balancer would begin in a cluster with tablets."""
    if m.planner is not None:
        return planned(m.planner.plan(s).step, m.edition, _named)
    topology = s.control.topology
    roles: tuple[tuple[NodeRole, int], ...] = (
        ("removing", removed_nodes(topology)),
        ("leaving", m.leaving(topology)),
        ("normal", targets(s)),
    )
    nodes = [
        BalancerNode(
            name,
            *_place(m.rack(name)),
            m.shards,
            role=next((role for role, mask in roles if mask >> i & 1), "excluded"),
        )
        for i, name in enumerate(m.names)
    ]
    given = tablets.tablet_map(m, s)
    enabled = m.balancing
    view = gathered(nodes, {given.table: given}, enabled=enabled)
    return planned(plan(view, m.edition), m.edition, enabled=enabled)


def _named(table: str, tablet: int) -> str:
    return f"{table} {tablet}"


def _place(rack: str) -> tuple[str, str]:
    datacenter, _, name = rack.partition("/")
    return datacenter, name


def tablets_loads(m: Tablets, s: TabletsState, steps: Sequence[PassedStep]) -> LoadHistory:
    """The replicas of each shard over time."""
    return load_history(versions(m, s, steps), tablets.grid(m, s).places)


def resize_plan(m: Resize, s: ResizeState) -> PlanFacts:
    """What the balancer would begin while a table is resized."""
    grid = resize.grid(m, s)
    sizes = [
        {place.host: grid.sizes[s.map.table, number, place] for place in tablet.replicas}
        for number, tablet in enumerate(s.map.tablets)
    ]
    nodes = [BalancerNode(host.name, "dc1", "r1", host.shards) for host in grid.hosts]
    view = gathered(nodes, {s.map.table: s.map}, {s.map.table: sizes})
    return planned(plan(view, m.edition), m.edition)


def resize_loads(m: Resize, s: ResizeState, steps: Sequence[PassedStep]) -> LoadHistory:
    """The replicas of each shard over time."""
    grid: TabletGrid = resize.grid(m, s)
    return load_history((*(each.before.map for each in steps), s.map), grid.places)
