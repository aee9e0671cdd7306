"""Keyspaces that name the racks of their replicas: each replica stays in its rack."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kit.protocols.tablets.rules.balance.cluster import BalancerInput
from kit.protocols.tablets.rules.balance.planner import plan, why
from kit.protocols.tablets.rules.balance.reasons import Drains, EvenByRack, RackNamed
from kit.protocols.tablets.rules.replica_sets import TabletReplica
from tests.protocols.tablets.balance.clusters import (
    DrawnCluster,
    clusters,
    most_in_a_rack,
    node,
    table,
)

A, B = TabletReplica("a"), TabletReplica("b")
NODES = (node("a", "r1"), node("b", "r2"), node("c", "r3"), node("d", "r1"))


def named(cluster: DrawnCluster, *tables: str) -> BalancerInput:
    """The balancer's view where these tables name their racks in every datacenter."""
    datacenters = {node.datacenter for node in cluster.nodes}
    lists = frozenset((name, dc) for name in tables or cluster.maps for dc in datacenters)
    return replace(cluster.input, rack_lists=lists)


def full(role: str = "normal") -> DrawnCluster:
    """Two nodes with eight tablets, in r1 and r2; another one in r1, and one in r3."""
    maps = {"ks.t": table("ks.t", *[(A, B)] * 8)}
    nodes = (NODES[0], replace(NODES[1], role=role), *NODES[2:])
    return DrawnCluster(nodes, maps, {"ks.t": (2**30,) * 8})


def test_a_replica_goes_to_its_own_rack_alone() -> None:
    """What leaves A comes to D; nothing goes to C, though that is empty, and the reason is told."""
    cluster = full()
    assert {move.target.host for move in plan(cluster.input, "server").moves} <= {"c", "d"}
    step = plan(named(cluster), "server")
    assert step.moves
    assert ("a", "d") in {(move.source.host, move.target.host) for move in step.moves}
    assert {move.target.host for move in step.moves} <= {"a", "b", "d"}
    answer = why(named(cluster), "ks.t", 7, TabletReplica("c"), source=B)
    assert answer.reason == RackNamed("r2", "r3")


def test_loads_of_other_tables_are_evened_out_within_racks_too() -> None:
    """What names no racks might go to C; no plan takes it there, and ``why`` says so."""
    maps = {"ks.t": table("ks.t", *[(A, B)] * 2), "other.t": table("other.t", *[(A,)] * 8)}
    cluster = DrawnCluster(
        NODES, maps, {name: (2**30,) * each.count for name, each in maps.items()}
    )
    assert ("a", "c") in ends(cluster.input)
    assert ends(named(cluster, "ks.t")) & {("a", "c"), ("a", "d")} == {("a", "d")}
    answer = why(named(cluster, "ks.t"), "other.t", 7, TabletReplica("c"))
    assert (answer.moves, answer.reason) == (False, EvenByRack("r1", "r3"))


def ends(view: BalancerInput) -> set[tuple[str, str]]:
    """The nodes that a plan moves from and to."""
    return {(move.source.host, move.target.host) for move in plan(view, "server").moves}


def test_a_drain_of_the_only_node_of_a_named_rack_is_stuck() -> None:
    """B is to be empty: with a number its tablets go to C, with racks by name to nobody."""
    cluster = full("leaving")
    free = [move for move in plan(cluster.input, "server").moves if isinstance(move.reason, Drains)]
    assert {move.target.host for move in free} == {"c"}
    step = plan(named(cluster), "server")
    assert not any(isinstance(move.reason, Drains) for move in step.moves)
    assert {failure.source.host for failure in step.failures} == {"b"}


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
