"""Each datacenter is planned on its own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kit.protocols.tablets.rules.balance.cluster import BalancerNode, NodeRole
from kit.protocols.tablets.rules.balance.planner import plan
from kit.protocols.tablets.rules.replica_sets import Replicas, TabletReplica
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from tests.examples import examples
from tests.protocols.tablets.balance.clusters import TARGET, DrawnCluster, clusters, node, table


def places(words: str) -> Replicas:
    """``A1 B`` as replicas on shard 1 of A and on shard 0 of B."""
    return tuple(TabletReplica(word[0], int(word[1:] or 0)) for word in words.split())


def removed(tablets: int, running: int) -> DrawnCluster:
    """A is removed: all tablets are on A, B and C, the first ones are rebuilt on D already."""
    nodes = (node("A", shards=1, role="removing"), *(node(host, shards=4) for host in "BCDE"))
    sets = [places(f"A B{number % 4} C{number % 4}") for number in range(tablets)]
    one = table("t", *sets)
    rows = [
        replace(
            tablet,
            transition="rebuild",
            stage="streaming",
            new_replicas=(TabletReplica("D", number % 4), *tablet.replicas[1:]),
        )
        if number < running
        else tablet
        for number, tablet in enumerate(one.tablets)
    ]
    return DrawnCluster(nodes, {"t": replace(one, tablets=tuple(rows))}, {"t": (TARGET,) * tablets})


def two_datacenters(role: NodeRole) -> DrawnCluster:
    """In dc1 A is drained, in dc2 all tablets are on one of two nodes."""
    nodes = (
        BalancerNode("A", "dc1", "r1", 1, 2**40, role),
        BalancerNode("B", "dc1", "r1", 1, 2**40),
        BalancerNode("X", "dc2", "r1", 1, 2**40),
        BalancerNode("Y", "dc2", "r1", 1, 2**40),
    )
    sets = [places("A")] * 2 + [places("X")] * 4
    return DrawnCluster(nodes, {"t": table("t", *sets)}, {"t": (TARGET,) * 6})


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_drain_does_not_stop_other_datacenters(edition: Edition) -> None:
    """A is drained in dc1 while loads are evened out in dc2."""
    moves = plan(two_datacenters("leaving").input, edition).moves
    assert {(move.source.host, move.target.host) for move in moves} == {("A", "B"), ("X", "Y")}


@examples(150)
@given(clusters(("normal", "normal", "leaving", "excluded")), st.sampled_from(EDITIONS))
def test_a_datacenter_is_planned_as_if_it_were_alone(
    cluster: DrawnCluster, edition: Edition
) -> None:
    """Neither the replicas nor the disks of another one count, also for what is bad for a table.

    Nothing moves in the other one, for a tablet has one transition at a time.
    """
    local = tuple(node for node in cluster.nodes if node.datacenter == "dc0")
    others = (replace(node, role="excluded") for node in cluster.nodes if node not in local)
    both = replace(cluster, nodes=(*local, *others))
    hosts = {node.host for node in local}
    maps = {}
    for name, one in cluster.maps.items():
        tablets = (
            replace(tablet, replicas=tuple(r for r in tablet.replicas if r.host in hosts))
            for tablet in one.tablets
        )
        maps[name] = replace(one, tablets=tuple(tablets))
    alone = replace(cluster, nodes=local, maps=maps)
    assert plan(both.input, edition) == plan(alone.input, edition)
