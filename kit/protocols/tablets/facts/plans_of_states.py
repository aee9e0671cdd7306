"""What the balancer would see of a model's state, and how loads went on the way to it."""

from __future__ import annotations

from collections.abc import Sequence

from kit.engine.breaches import PassedStep
from kit.protocols.tablets.cluster import TabletsState, removed_nodes, targets
from kit.protocols.tablets.facts import resizing, tracks
from kit.protocols.tablets.facts.loads import LoadHistory, PlanFacts, load_history, planned
from kit.protocols.tablets.facts.sharding import versions
from kit.protocols.tablets.resize import Resize, ResizeState
from kit.protocols.tablets.rules.balance.cluster import BalancerNode, NodeRole, gathered
from kit.protocols.tablets.rules.balance.planner import plan
from kit.protocols.tablets.rules.grid import TabletGrid
from kit.protocols.tablets.tablets import Tablets


def tracks_plan(m: Tablets, s: TabletsState) -> PlanFacts:
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
    given = tracks.tablet_map(m, s)
    enabled = m.balancing
    view = gathered(nodes, {given.table: given}, enabled=enabled)
    return planned(plan(view, m.edition), m.edition, enabled=enabled)


def _named(table: str, tablet: int) -> str:
    return f"{table} {tablet}"


def _place(rack: str) -> tuple[str, str]:
    datacenter, _, name = rack.partition("/")
    return datacenter, name


def tracks_loads(m: Tablets, s: TabletsState, steps: Sequence[PassedStep]) -> LoadHistory:
    """The replicas of each shard over time."""
    return load_history(versions(m, s, steps), tracks.grid(m, s).places)


def resize_plan(m: Resize, s: ResizeState) -> PlanFacts:
    """What the balancer would begin while a table is resized."""
    grid = resizing.grid(m, s)
    sizes = [
        {place.host: grid.sizes[s.map.table, number, place] for place in tablet.replicas}
        for number, tablet in enumerate(s.map.tablets)
    ]
    nodes = [BalancerNode(host.name, "dc1", "r1", host.shards) for host in grid.hosts]
    view = gathered(nodes, {s.map.table: s.map}, {s.map.table: sizes})
    return planned(plan(view, m.edition), m.edition)


def resize_loads(m: Resize, s: ResizeState, steps: Sequence[PassedStep]) -> LoadHistory:
    """The replicas of each shard over time."""
    grid: TabletGrid = resizing.grid(m, s)
    return load_history((*(each.before.map for each in steps), s.map), grid.places)
