"""The balancer on random clusters, datacenter by datacenter, with racks that are named."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from benchmarks.plain_balancer import PlainBalancer
from benchmarks.tablet_balancer import as_plain, plain_tablets
from kit.protocols.tablets.rules.balance.cluster import BalancerInput, BalancerNode, NodeRole
from kit.protocols.tablets.rules.balance.loads import Loads
from kit.protocols.tablets.rules.balance.planner import plan, why
from kit.protocols.tablets.rules.balance.reasons import JoinsSibling, NoGain, NotEmptier
from kit.protocols.tablets.rules.maps import faults
from kit.protocols.tablets.rules.replica_sets import Replicas, TabletReplica
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from tests.examples import examples
from tests.protocols.tablets.balance.clusters import (
    GIB,
    TARGET,
    DrawnCluster,
    after,
    clusters,
    counts,
    most_in_a_rack,
    node,
    settled,
    table,
)
from tests.protocols.tablets.balance.plain_server import PlainServerBalancer

editions = st.sampled_from(EDITIONS)


@given(clusters(("normal", "normal", "leaving", "removing", "excluded")), editions)
def test_every_balancing_plan_keeps_the_limits_of_nodes_racks_and_streams(
    cluster: DrawnCluster, edition: Edition
) -> None:
    """A tablet moves once, each node has at most one replica of it, and no rack gets worse."""
    given = cluster.input
    step = plan(given, edition)
    begun = [(m.table, tablet) for m in step.moves for tablet in m.tablets]
    assert len(set(begun)) == len(begun)
    then = after(cluster, step)
    for name, former in cluster.maps.items():
        assert not list(faults(then.maps[name]))
        for one, other in zip(former.tablets, then.maps[name].tablets, strict=True):
            before, now = (most_in_a_rack(cluster, t.replicas) for t in (one, other))
            assert all(now[dc] <= before[dc] for dc in before)
    roles = {entry.host: entry.role for entry in cluster.nodes}
    for move in step.moves:
        assert roles[move.target.host] == "normal"
        assert roles[move.source.host] != "excluded" or move.kind == "intranode_migration"
        read = [m for m in step.moves if m.source == move.source and "rebuild" not in m.kind]
        written = [m for m in step.moves if m.target == move.target]
        for streams, limit in ((read, given.streams_read), (written, given.streams_write)):
            assert sum(len(m.tablets) for m in streams) <= limit, (streams, limit)


@given(clusters(), editions)
def test_repeated_balancing_plans_come_to_an_end(cluster: DrawnCluster, edition: Edition) -> None:
    """In the end the balancer of a random cluster has nothing to do."""
    settled(cluster, edition)


@given(clusters(("normal", "leaving", "removing")), editions)
def test_a_drained_node_ends_empty_or_each_replica_left_has_a_failure(
    cluster: DrawnCluster, edition: Edition
) -> None:
    """No node may take a replica that is a failure."""
    end, _ = settled(cluster, edition)
    given = end.input
    failures = plan(given, edition).failures
    drained = {entry.host for entry in end.nodes if entry.role != "normal"}
    left = {
        (name, number, replica)
        for name, one in end.maps.items()
        for number, tablet in enumerate(one.tablets)
        for replica in tablet.replicas
        if replica.host in drained
    }
    assert {(f.table, number, f.source) for f in failures for number in f.tablets} == left
    loads = Loads(given, edition)
    for failure in failures:
        row = _row(loads, failure.table, failure.tablets[0])
        column = loads.place[row].tolist().index(loads.shard_number(failure.source))
        assert all(loads.misplaced(row, column, shard) for shard in range(loads.count))


@pytest.mark.spec("E-029")
@examples(200)
@given(clusters())
def test_the_documents_plan_is_that_of_a_planner_in_plain_python(cluster: DrawnCluster) -> None:
    """The plain one goes through pairs of shards, one after the other."""
    nodes = tuple(node for node in cluster.nodes if node.datacenter == "dc0")
    hosts = {node.host for node in nodes}
    maps = {}
    for name, one in cluster.maps.items():
        sets = [tuple(r for r in t.replicas if r.host in hosts) for t in one.tablets]
        maps[name] = table(name, *sets)
    given = DrawnCluster(nodes, maps, cluster.sizes).input
    racks = [node.rack for node in nodes]
    peer = PlainBalancer(list(map(racks.index, racks)), [node.shards for node in nodes])
    assert as_plain(given, plan(given, "documents").moves) == peer.plan(plain_tablets(given))


@examples(200)
@given(clusters(("normal", "normal", "normal", "down", "excluded")), st.booleans(), st.booleans())
def test_the_servers_plan_is_that_of_a_planner_in_plain_python(
    cluster: DrawnCluster, named: bool, sized: bool
) -> None:
    """Racks may be named, capacities unknown, and nodes down."""
    nodes = tuple(cluster.nodes if sized else (replace(n, capacity=0) for n in cluster.nodes))
    maps = {name: replace(one, resize_type="none") for name, one in cluster.maps.items()}
    lists = frozenset((name, "dc0") for name in list(maps)[:1]) if named else frozenset()
    one = replace(DrawnCluster(nodes, maps, cluster.sizes).input, rack_lists=lists)
    peer = PlainServerBalancer(nodes, maps, cluster.sizes, TARGET, lists)
    moves = [(m.table, m.tablets[0], m.source, m.target) for m in plan(one, "server").moves]
    assert moves == peer.plan()


def test_a_move_is_planned_only_if_the_fullest_shard_gets_emptier() -> None:
    """A refused move says how full both shards would be."""
    here, there = TabletReplica("A", 0), TabletReplica("B", 0)
    one = DrawnCluster(
        (node("A", shards=1), node("B", shards=1)),
        {"ks.t": table("ks.t", (here,), (here,), (here,), (there,))},
        {"ks.t": (10 * GIB, 10 * GIB, 10 * GIB, 12 * GIB)},
    )
    end, moves = settled(one, "server")
    assert moves == 1
    assert counts(end) == {here: 2, there: 2}
    answer = why(one.input, "ks.t", 3, here)
    assert answer.reason == NotEmptier(12 / 1024, 30 / 1024)
    answer = why(end.input, "ks.t", 3, here)
    assert answer.reason == NoGain(22 / 1024, 32 / 1024)


@pytest.mark.spec("E-031")
@pytest.mark.parametrize("edition", EDITIONS)
def test_siblings_are_drained_apart_where_no_node_may_take_the_pair(edition: Edition) -> None:
    """With one more node they go there together."""
    a, b, c, d = (TabletReplica(host, 0) for host in "ABCD")
    one = DrawnCluster(
        (node("A", role="leaving"), node("B"), node("C"), node("D")),
        {"ks.t": table("ks.t", (a, b, c), (a, b, d), resize_type="merge")},
        {"ks.t": (GIB, GIB)},
    )
    step = plan(one.input, edition)
    assert not step.failures
    assert [(m.tablets, m.target.host) for m in step.moves] == [((0,), "D"), ((1,), "C")]
    both = replace(one, nodes=(*one.nodes, node("E")))
    assert [m.tablets for m in plan(both.input, edition).moves] == [(0, 1)]


@pytest.mark.spec("E-052")
@pytest.mark.spec("E-053")
@pytest.mark.parametrize("edition", EDITIONS)
def test_siblings_of_a_merge_are_brought_together_and_stay_together(edition: Edition) -> None:
    """In the end no further move is planned."""
    even = (TabletReplica("A", 0), TabletReplica("B", 1))
    odd = (TabletReplica("B", 0), TabletReplica("C", 0))
    others = (TabletReplica("C", 1), TabletReplica("A", 1))
    one = DrawnCluster(
        tuple(map(node, "ABC")),
        {"ks.t": table("ks.t", even, odd, others, others, resize_type="merge")},
        {"ks.t": (TARGET,) * 4},
    )
    kinds = []
    for _ in range(6):
        step = plan(one.input, edition)
        kinds += [(m.kind, m.tablets) for m in step.moves if isinstance(m.reason, JoinsSibling)]
        one = after(one, step)
    tablets = one.maps["ks.t"].tablets
    assert kinds
    assert set(tablets[0].replicas) == set(tablets[1].replicas)
    assert set(tablets[2].replicas) == set(tablets[3].replicas)
    assert not plan(one.input, edition).moves


def _row(loads: Loads, name: str, number: int) -> int:
    rows, tables = loads.given.rows, loads.given.tables
    fits = (rows.table == tables.index(name)) & (rows.number == number)
    return int(fits.argmax())


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
def test_a_drain_does_not_stop_balancing_in_another_datacenter(edition: Edition) -> None:
    """A is drained in dc1, and X sheds tablets in dc2."""
    moves = plan(two_datacenters("leaving").input, edition).moves
    assert {(move.source.host, move.target.host) for move in moves} == {("A", "B"), ("X", "Y")}


@examples(150)
@given(clusters(("normal", "normal", "leaving", "excluded")), st.sampled_from(EDITIONS))
def test_the_plan_of_a_datacenter_does_not_depend_on_other_datacenters(
    cluster: DrawnCluster, edition: Edition
) -> None:
    """Neither replicas nor disks of another datacenter count, where nothing moves."""
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


def named(cluster: DrawnCluster, *tables: str) -> BalancerInput:
    """The balancer's view where these tables name their racks in every datacenter."""
    datacenters = {node.datacenter for node in cluster.nodes}
    lists = frozenset((name, dc) for name in tables or cluster.maps for dc in datacenters)
    return replace(cluster.input, rack_lists=lists)


@given(clusters(["normal", "leaving", "removing"]), st.booleans())
def test_no_plan_moves_a_replica_out_of_a_named_rack(
    cluster: DrawnCluster, all_tables: bool
) -> None:
    """Tables that name no racks keep their spread."""
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
