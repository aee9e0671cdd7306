"""Clusters with tablets, drawn by hypothesis or written down, and what becomes of a plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from kit.protocols.tablets.rules.balance.cluster import (
    BalancerInput,
    BalancerNode,
    NodeRole,
    TabletSizes,
    balancer_input,
)
from kit.protocols.tablets.rules.balance.planner import BalancePlan, plan
from kit.protocols.tablets.rules.maps import Tablet, TabletMap, last_tokens
from kit.protocols.tablets.rules.replica_sets import Replicas, TabletReplica
from kit.protocols.topology.rules.machines import Edition
from tests.protocols.tablets.rules.drawn_maps import moved

GIB = 2**30
TARGET = 5 * GIB


class DrawnCluster(Struct, frozen=True):
    """Nodes, maps and sizes, from which the balancer's view is made."""

    nodes: tuple[BalancerNode, ...]
    maps: Mapping[str, TabletMap]
    sizes: Mapping[str, tuple[int, ...]]

    @property
    def input(self) -> BalancerInput:
        """The balancer's view; all replicas of a tablet are of one size."""
        sizes: TabletSizes = {
            name: [
                {replica.host: size for replica in tablet.replicas}
                for tablet, size in zip(table.tablets, self.sizes[name], strict=True)
            ]
            for name, table in self.maps.items()
        }
        return balancer_input(self.nodes, self.maps, sizes, target_size=TARGET)


def node(host: str, rack: str = "r1", shards: int = 2, role: NodeRole = "normal") -> BalancerNode:
    """A node of 1 TiB."""
    return BalancerNode(host, "dc1", rack, shards, 2**40, role)


def table(name: str, *sets: Replicas, **columns: object) -> TabletMap:
    """A table with a tablet for each replica set."""
    tablets = tuple(map(Tablet, last_tokens(len(sets)), sets))
    return TabletMap(name, tablets, **columns)  # type: ignore[arg-type]  # any columns


@st.composite
def clusters(draw: st.DrawFn, roles: Sequence[NodeRole] = ("normal",)) -> DrawnCluster:
    """Up to two datacenters, three racks in each, a few tables of up to three replicas in each."""
    nodes = []
    for dc in range(draw(st.integers(1, 2))):
        for host in range(draw(st.integers(3, 5))):
            rack = draw(st.sampled_from(["r1", "r2", "r3"]))
            role = draw(st.sampled_from(roles)) if host else "normal"
            capacity = draw(st.sampled_from([2**39, 2**40, 3 * 2**39]))
            shards = draw(st.integers(1, 3))
            nodes.append(BalancerNode(f"h{dc}{host}", f"dc{dc}", rack, shards, capacity, role))
    maps, sizes = {}, {}
    for name in [f"ks.t{number}" for number in range(draw(st.integers(1, 3)))]:
        count = draw(st.sampled_from([1, 2, 4, 8, 16]))
        factor = draw(st.integers(1, 3))
        sets = [_replicas(draw, nodes, factor) for _ in range(count)]
        resize = draw(st.sampled_from(["none", "merge"])) if count > 1 else "none"
        maps[name] = table(name, *sets, resize_type=resize)
        sizes[name] = tuple(draw(st.integers(0, 8)) * GIB for _ in range(count))
    return DrawnCluster(tuple(nodes), maps, sizes)


def _replicas(draw: st.DrawFn, nodes: Sequence[BalancerNode], factor: int) -> Replicas:
    chosen: list[TabletReplica] = []
    for dc in dict.fromkeys(node.datacenter for node in nodes):
        local = [node for node in nodes if node.datacenter == dc]
        chosen += [
            TabletReplica(place.host, draw(st.integers(0, place.shards - 1)))
            for place in draw(st.permutations(local))[:factor]
        ]
    return tuple(chosen)


def after(cluster: DrawnCluster, plan: BalancePlan) -> DrawnCluster:
    """The cluster once all moves of a plan are done."""
    maps = dict(cluster.maps)
    for move in plan.moves:
        tablets = list(maps[move.table].tablets)
        for number in move.tablets:
            held = moved(tablets[number].replicas, move.source, move.target)
            tablets[number] = replace(tablets[number], replicas=held)
        maps[move.table] = replace(maps[move.table], tablets=tuple(tablets))
    return replace(cluster, maps=maps)


def settled(cluster: DrawnCluster, edition: Edition, most: int = 200) -> tuple[DrawnCluster, int]:
    """The cluster when the balancer has nothing more to do, and how many moves that took.

    Raises:
        AssertionError: when it goes on and on.
    """
    moves = 0
    for _ in range(most):
        step = plan(cluster.input, edition)
        if not step.moves:
            return cluster, moves
        moves += len(step.moves)
        cluster = after(cluster, step)
    raise AssertionError(f"no end after {most} plans")


def most_in_a_rack(cluster: DrawnCluster, replicas: Replicas) -> dict[str, int]:
    """For each datacenter, how many replicas of a tablet the fullest rack holds."""
    places = {node.host: (node.datacenter, node.rack) for node in cluster.nodes}
    racks = Counter(places[replica.host] for replica in replicas)
    return {dc: max(n for (d, _), n in racks.items() if d == dc) for dc, _ in racks}


def counts(cluster: DrawnCluster) -> dict[TabletReplica, int]:
    """How many tablets each shard has."""
    every = {
        TabletReplica(node.host, shard): 0 for node in cluster.nodes for shard in range(node.shards)
    }
    for one in cluster.maps.values():
        for tablet in one.tablets:
            for replica in tablet.replicas:
                every[replica] += 1
    return every
