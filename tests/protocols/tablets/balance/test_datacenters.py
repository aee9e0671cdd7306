"""Plans of clusters with transitions and with datacenters of their own: streams, drains."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kit.engine.registry import build
from kit.protocols.tablets.rules.balance import reasons
from kit.protocols.tablets.rules.balance.cluster import BalancerNode, NodeRole, gathered
from kit.protocols.tablets.rules.balance.evening import TableSpread
from kit.protocols.tablets.rules.balance.loads import Loads, candidates
from kit.protocols.tablets.rules.balance.planner import plan, why
from kit.protocols.tablets.rules.maps import Tablet
from kit.protocols.tablets.rules.replica_sets import Replicas, TabletReplica
from kit.protocols.tablets.rules.stages import TransitionKind
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.ring.columns import np
from tests.examples import examples
from tests.protocols.tablets.balance.clusters import (
    GIB,
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
    """Two rebuilds run: others begin, as many as the shards that stay can be read for."""
    moves = plan(removed(16, 2).input, edition).moves
    assert {move.kind for move in moves} == {"rebuild"}
    assert len(moves) == 6  # four shards of B and of C, two streams each, two run already
    given = removed(16, 2).input
    loads = Loads(given, edition)
    for number, move in enumerate(moves):
        row = move.tablets[0]
        target = loads.shard_number(move.target)
        assert loads.full(row, 0, target) is None, number
        loads.apply(row, 0, target, move.reason)
    assert loads.reads[0] == 0
    assert max(loads.reads) <= given.streams_read


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(
    ("to_b", "from_a", "target"),
    [
        ("", 0, "B0"),  # B1 has a tablet already
        ("B0", 0, "B0"),
        ("B0 B0", 0, "B1"),
        ("B0 B0 B1", 0, "B1"),
        ("B0 B0 B1 B1", 0, "C1"),  # C0 has nine
        ("", 1, "B0"),
        ("", 2, ""),  # no shard reads from A once more, wherever the tablet would go
    ],
)
def test_a_drain_passes_over_shards_that_are_written_to(
    to_b: str, from_a: int, target: str, edition: Edition
) -> None:
    """Two streams at most come to a shard and two leave it: the next shard, or node, takes it."""
    nodes = (node("A", shards=1, role="leaving"), node("B"), node("C"), node("D", role="excluded"))
    ways = [("D", to) for to in to_b.split()] + [("A", "D")] * from_a
    still = table("t", places("A"), *[places("B1")] * 3, *[places("C")] * 9)
    streaming = [begun("migration", old, new) for old, new in ways]
    one = replace(still, tablets=(*still.tablets, *streaming))
    sizes = (GIB,) * len(still.tablets) + (0,) * len(streaming)
    step = plan(DrawnCluster(nodes, {"t": one}, {"t": sizes}).input, edition)
    moves = [move for move in step.moves if move.tablets == (0,)]
    assert [f"{move.target.host}{move.target.shard}" for move in moves] == target.split()


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
    """The tablet of A has replicas on both others: that is said, and B keeps its tablets."""
    nodes = (node("A", role="leaving"), node("B"), node("C"))
    sets = [places("A B C"), *[places("B")] * 4]
    one = DrawnCluster(nodes, {"t": table("t", *sets)}, {"t": (TARGET,) * 5})
    step = plan(one.input, edition)
    assert [failure.source.host for failure in step.failures] == ["A"]
    assert not step.moves
    answer = why(one.input, "t", 1, TabletReplica("C", 1), edition=edition)
    assert answer.reason == reasons.DrainsFirst("A")
    done = replace(one, nodes=(replace(nodes[0], role="normal"), *nodes[1:]))
    assert plan(done.input, edition).moves


def test_a_tablet_is_moved_once_though_three_shards_would_give_it() -> None:
    """Two tablets on three full shards, three empty ones: the third pair has none of its own."""
    nodes = (*(node(host, shards=1) for host in "ABCD"), node("E"))
    one = table("t", *[places("A B D")] * 2)
    moves = plan(DrawnCluster(nodes, {"t": one}, {"t": (0, 0)}).input, "documents").moves
    assert sorted(move.tablets for move in moves) == [(0,), (1,)]


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


def test_what_is_ideal_for_a_table_is_so_in_its_datacenter() -> None:
    """A has three of ``y`` and two of ``x``: one of ``y`` goes to B. ``y`` is not in dc2."""
    far = BalancerNode("C", "dc2", "r1", 1, 10 * 2**40)
    cluster = DrawnCluster(
        (node("A", shards=1), node("B", shards=1), far),
        {"ks.x": table("ks.x", *[places("A C")] * 2), "ks.y": table("ks.y", *[places("A")] * 3)},
        {"ks.x": (GIB,) * 2, "ks.y": (GIB,) * 3},
    )
    assert plan(cluster.input, "server").moves[0].table == "ks.y"


@pytest.mark.parametrize("edition", EDITIONS)
def test_siblings_are_copied_whole(edition: Edition) -> None:
    """What A has of both, in whatever order their replicas stand; of what is on its way to D as
    much as B has, which it leaves.
    """
    nodes = (node("A", role="leaving"), *map(node, "BCD"))
    pair = table("ks.t", places("A B"), places("B A"), resize_type="merge")
    way = begun("migration", "B C", "D C")
    maps = {"ks.t": pair, "ks.u": replace(table("ks.u", places("B")), tablets=(way,))}
    sizes = {
        "ks.t": [{"A": 1 * GIB, "B": 10 * GIB}, {"A": 2 * GIB, "B": 20 * GIB}],
        "ks.u": [{"B": 3 * GIB, "C": 5 * GIB}],
    }
    given = gathered(nodes, maps, sizes, target_size=TARGET)
    [move] = [each for each in plan(given, edition).moves if each.source.host == "A"]
    assert (move.tablets, move.bytes) == ((0, 1), 3 * GIB)
    assert given.rows.sizes[2].tolist() == [3 * GIB, 5 * GIB]


@pytest.mark.parametrize(
    ("streams", "limit", "moves"), [(0, 1, True), (0, 2, True), (1, 2, False), (1, 3, True)]
)
def test_an_idle_shard_takes_two_siblings(streams: int, limit: int, moves: bool) -> None:
    """Whatever its limit is; beside another stream they count as two."""
    pair = table("ks.t", places("A"), places("A"), resize_type="merge")
    one = DrawnCluster((node("A"), node("B")), {"ks.t": pair}, {"ks.t": (GIB, GIB)})
    loads = Loads(replace(one.input, streams_read=limit, streams_write=limit), "server")
    target = loads.shard_number(TabletReplica("B"))
    loads.writes[target] = streams
    assert candidates(loads, 0, target).tolist() == [[0, 0]] * moves
    assert (loads.refusal(0, 0, target) is None) == moves


def test_of_three_replicas_on_few_racks_the_fullest_rack_counts() -> None:
    """A rack may get a replica while it has fewer than the fullest one, and no more."""
    nodes = tuple(map(BalancerNode, "ABCDE", ["dc1"] * 5, ["r1", "r1", "r2", "r2", "r3"], [1] * 5))
    one = DrawnCluster(nodes, {"t": table("t", places("A B C"))}, {"t": (GIB,)})
    loads = Loads(one.input, "server")
    fit = loads.places.fit(loads.given.rows, (0,), 2)  # away from C
    assert fit.tolist() == [False, False, False, True, True]
    fit = loads.places.fit(loads.given.rows, (0,), 0)  # away from A
    assert fit.tolist() == [False, False, False, True, True]


def test_most_replicas_in_a_rack() -> None:
    """Of whichever rack has the most."""
    model = build("balance", {"nodes": 3, "racks": ("r1", "r1", "r2"), "tablets": ("A C",)})
    counts = [model.most_in_a_rack(places(held)) for held in ("A", "A C", "A B C", "C A B")]
    assert counts == [1, 1, 2, 2]


@pytest.mark.parametrize(
    ("target", "busy", "moves"),
    [("B", (), False), ("C", (), False), ("D", (), True), ("D", (0,), False), ("D", (1,), False)],
)
def test_two_siblings_go_where_both_may(target: str, busy: tuple[int, ...], moves: bool) -> None:
    """The even one has a replica on B, the odd one on C; neither may be on its way elsewhere."""
    pair = table("ks.t", places("A B"), places("A C"), resize_type="merge")
    one = DrawnCluster(tuple(map(node, "ABCD")), {"ks.t": pair}, {"ks.t": (GIB, GIB)})
    loads = Loads(one.input, "server")
    loads.busy[list(busy)] = True
    place = loads.shard_number(TabletReplica(target))
    assert candidates(loads, 0, place).tolist() == [[0, 0]] * moves
    assert (loads.refusal(0, 0, place) is None) == moves


@pytest.mark.parametrize("target", ["A1", "B0"])
def test_what_is_moved_counts_for_the_spread_of_its_table(target: str) -> None:
    """As when it is counted again: of shards and, where it goes to another node, of nodes."""
    sets = [places("A")] * 3 + [places("A1"), places("B"), places("B1")]

    def cluster(sets: list[Replicas]) -> Loads:
        maps = {"ks.t": table("ks.t", *sets), "ks.u": table("ks.u", *[places("A")] * 6)}
        sizes = dict.fromkeys(maps, (GIB, 2 * GIB, 3 * GIB, GIB, GIB, GIB))
        return Loads(DrawnCluster((node("A"), node("B")), maps, sizes).input, "server")

    loads, then = cluster(sets), cluster([sets[0], places(target), *sets[2:]])
    spread, fresh = (TableSpread(each, each.takes) for each in (loads, then))
    rows = np.array([[row, 0] for row in range(len(sets))], np.int32)
    ways = [(source, to) for source in range(loads.count) for to in range(loads.count)]
    before = [spread.of(rows, *way) for way in ways]
    spread.moved(1, 0, loads.shard_number(places(target)[0]))
    found, wanted = ([each.of(rows, *way) for way in ways] for each in (spread, fresh))
    assert np.allclose(found, wanted)
    assert not np.allclose(found, before)
