"""Keyspaces that name the racks of their replicas: each replica stays in its rack."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kit.protocols.tablets.rules.balance.cluster import BalancerInput
from kit.protocols.tablets.rules.balance.planner import plan
from tests.protocols.tablets.balance.clusters import DrawnCluster, clusters, most_in_a_rack


def named(cluster: DrawnCluster, *tables: str) -> BalancerInput:
    """The balancer's view where these tables name their racks in every datacenter."""
    datacenters = {node.datacenter for node in cluster.nodes}
    lists = frozenset((name, dc) for name in tables or cluster.maps for dc in datacenters)
    return replace(cluster.input, rack_lists=lists)


@given(clusters(["normal", "leaving", "removing"]), st.booleans())
def test_no_plan_changes_a_rack_that_is_named(cluster: DrawnCluster, all_tables: bool) -> None:
    """Whatever the loads are: tables that name racks keep theirs, others spread as before."""
    lists = tuple(cluster.maps) if all_tables else tuple(cluster.maps)[:1]
    given_lists = named(cluster, *lists)
    racks = {each.host: (each.datacenter, each.rack) for each in cluster.nodes}
    for move in plan(given_lists, "server").moves:
        if move.table in lists:
            assert racks[move.source.host] == racks[move.target.host]
        else:
            replicas = cluster.maps[move.table].tablets[move.tablets[0]].replicas
            moved = tuple(move.target if each == move.source else each for each in replicas)
            assert max(most_in_a_rack(cluster, moved).values()) <= max(
                most_in_a_rack(cluster, replicas).values()
            )
