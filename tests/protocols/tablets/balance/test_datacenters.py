"""Plans of clusters with transitions and with datacenters of their own: streams, drains."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kit.protocols.tablets.rules.balance import reasons
from kit.protocols.tablets.rules.balance.cluster import BalancerNode, NodeRole
from kit.protocols.tablets.rules.balance.planner import plan, why
from kit.protocols.tablets.rules.maps import Tablet
from kit.protocols.tablets.rules.replica_sets import Replicas, TabletReplica
from kit.protocols.tablets.rules.stages import TransitionKind
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from tests.examples import examples
from tests.protocols.tablets.balance.clusters import (
    TARGET,
    DrawnCluster,
    after,
    clusters,
    node,
    table,
)


def places(words: str) -> Replicas:
    """``A1 B`` as replicas on shard 1 of A and on shard 0 of B."""
    return tuple(TabletReplica(word[0], int(word[1:] or 0)) for word in words.split())


def begun(kind: TransitionKind, old: str, new: str, stage: str = "streaming") -> Tablet:
    """A tablet in transition."""
    return Tablet(2**63 - 1, places(old), places(new), stage, kind)


@pytest.mark.parametrize(
    ("tablet", "reads", "writes"),
    [
        (begun("migration", "A B", "D B"), {"A": 1}, {"D": 1}),
        (begun("migration", "A B", "D B", "use_new"), {}, {}),
        (begun("rebuild", "C B A", "D B A"), {"A": 1, "B": 1}, {"D": 1}),
        (begun("rebuild", "A B", "A B D"), {"A": 1, "B": 1}, {"D": 1}),
        (begun("rebuild", "A B D", "A B"), {}, {}),
        (begun("rebuild_v2", "C B A", "D B A"), {"A": 2, "B": 2}, {"A": 2, "B": 2, "D": 2}),
        (begun("repair", "A B C", "A B C", "repair"), {"A": 2, "B": 2}, {"A": 2, "B": 2}),
    ],
)
def test_what_streams_a_transition_takes(
    tablet: Tablet, reads: dict[str, int], writes: dict[str, int]
) -> None:
    """Of who takes part, by kind; C is removed, so that nothing is read from it."""
    nodes = (*map(node, "AB"), node("C", role="removing"), node("D"))
    one = replace(table("t", places("A B")), tablets=(tablet,))
    given = DrawnCluster(nodes, {"t": one}, {"t": (TARGET,)}).input
    for streams, said in ((given.reads, reads), (given.writes, writes)):
        shards = {host: streams[2 * at : 2 * at + 2].tolist() for at, host in enumerate("ABCD")}
        assert shards == {host: [said.get(host, 0), 0] for host in "ABCD"}


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


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_dead_node_is_no_busy_source(edition: Edition) -> None:
    """Two rebuilds run: others begin, as many as the shards that stay can be read for (until
    2025.1.1; later each repairs, too, and counts twice).
    """
    given = replace(removed(16, 2).input, rebuild="rebuild")
    moves = plan(given, edition).moves
    assert {move.kind for move in moves} == {"rebuild"}
    assert len(moves) == 6  # four shards of B and of C, two streams each, two run already


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


@pytest.mark.parametrize("edition", EDITIONS)
def test_nothing_is_evened_out_beside_a_drain_that_is_stuck(edition: Edition) -> None:
    """A's tablet has replicas on both others: that is said, and B keeps its tablets; the published
    server still evens out B's shards.
    """
    nodes = (node("A", role="leaving"), node("B"), node("C"))
    sets = [places("A B C"), *[places("B")] * 4]
    one = DrawnCluster(nodes, {"t": table("t", *sets)}, {"t": (TARGET,) * 5})
    step = plan(one.input, edition)
    assert [failure.source.host for failure in step.failures] == ["A"]
    kinds = {move.kind for move in step.moves}
    assert kinds == ({"intranode_migration"} if edition == "server" else set())
    answer = why(one.input, "t", 4, TabletReplica("C", 1), edition=edition)
    assert answer.reason == reasons.DrainsFirst("A")
    done = replace(one, nodes=(replace(nodes[0], role="normal"), *nodes[1:]))
    assert plan(done.input, edition).moves


@pytest.mark.parametrize("edition", EDITIONS)
def test_siblings_wait_while_one_of_them_moves(edition: Edition) -> None:
    """The odd one leaves C alone; on A both are together, and stay until it has come to its end."""
    even = (TabletReplica("A", 0), TabletReplica("B", 0))
    odd = (TabletReplica("A", 0), TabletReplica("C", 0))
    one = DrawnCluster(
        (node("C", role="leaving"), node("A", role="leaving"), *map(node, "BDE")),
        {"ks.t": table("ks.t", even, odd, resize_type="merge")},
        {"ks.t": (TARGET,) * 2},
    )
    step = plan(one.input, edition)
    assert [(move.source.host, move.tablets) for move in step.moves] == [("C", (1,))]
    again = plan(after(one, step).input, edition)
    assert ("A", (0, 1)) in [(move.source.host, move.tablets) for move in again.moves]


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
