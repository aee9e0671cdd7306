"""The balancer on random clusters: what every plan keeps to, and where plans end."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from benchmarks.plain_balancer import PlainBalancer
from benchmarks.tablet_balancer import as_plain, plain_tablets
from kit.protocols.tablets.rules.balance.cluster import BalancerNode
from kit.protocols.tablets.rules.balance.evening import TableSpread, _may_cross
from kit.protocols.tablets.rules.balance.loads import Loads, candidates
from kit.protocols.tablets.rules.balance.planner import (
    BalancePlan,
    DrainFailure,
    WhyAnswer,
    _obstacles,
    _steps,
    brought_together,
    drained,
    plan,
    planned,
    why,
)
from kit.protocols.tablets.rules.balance.reasons import (
    Balanced,
    DrainsFirst,
    EvenByRack,
    JoinsSibling,
    MovesElsewhere,
    NoGain,
    NotEmptier,
    OthersFirst,
    RackNamed,
    Reason,
    ReplicaThere,
    StreamsFull,
    WouldInvert,
)
from kit.protocols.tablets.rules.maps import faults
from kit.protocols.tablets.rules.replica_sets import TabletReplica, replica_of
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.ring.columns import np
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
def test_what_every_plan_keeps_to(cluster: DrawnCluster, edition: Edition) -> None:
    """One move a tablet, at most one replica a node, racks no worse, streams within limits."""
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
        read = [m for m in step.moves if m.source == move.source and m.kind != "rebuild"]
        written = [m for m in step.moves if m.target == move.target]
        for streams, limit in ((read, given.streams_read), (written, given.streams_write)):
            assert sum(len(m.tablets) for m in streams) <= limit


@given(clusters(), editions)
def test_plans_end(cluster: DrawnCluster, edition: Edition) -> None:
    """The balancer asked again and again has nothing to do at last."""
    settled(cluster, edition)


@given(clusters(("normal", "leaving", "removing")), editions)
def test_a_drained_node_ends_empty_or_says_why(cluster: DrawnCluster, edition: Edition) -> None:
    """What is left on it are the failures, each with no node that may take it."""
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


@given(clusters(("normal", "normal", "leaving", "excluded")), editions, st.data())
def test_all_at_once_is_one_by_one(
    cluster: DrawnCluster, edition: Edition, data: st.DataObject
) -> None:
    """The candidates of a shard are those replicas that nothing forbids to move."""
    loads = Loads(cluster.input, edition)
    source = data.draw(st.integers(0, loads.count - 1))
    target = data.draw(st.integers(0, loads.count - 1))
    loads.reads[source] = data.draw(st.integers(0, 2))
    loads.writes[target] = data.draw(st.integers(0, 2))
    one_by_one = [place for place in loads.rows_on(source) if not loads.refusal(*place, target)]
    assert [tuple(place) for place in candidates(loads, source, target).tolist()] == one_by_one


@pytest.mark.spec("E-029")
@examples(200)
@given(clusters())
def test_another_planner_makes_the_same_plan(cluster: DrawnCluster) -> None:
    """Heaps and lists in plain Python, one pair of shards after the other."""
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
def test_another_planner_makes_the_same_plan_by_bytes(
    cluster: DrawnCluster, named: bool, sized: bool
) -> None:
    """The published rules once more, one replica after the other, in the same order: what is
    moved, from where and to where. Racks may be named, capacities unknown.
    """
    nodes = tuple(cluster.nodes if sized else (replace(n, capacity=0) for n in cluster.nodes))
    maps = {name: replace(one, resize_type="none") for name, one in cluster.maps.items()}
    lists = frozenset((name, "dc0") for name in list(maps)[:1]) if named else frozenset()
    one = replace(DrawnCluster(nodes, maps, cluster.sizes).input, rack_lists=lists)
    peer = PlainServerBalancer(nodes, maps, cluster.sizes, TARGET, lists)
    moves = [(m.table, m.tablets[0], m.source, m.target) for m in plan(one, "server").moves]
    assert moves == peer.plan()


def test_counts_are_even_at_last() -> None:
    """Four tablets of RF 1 on one shard of two nodes with two shards: one each."""
    one = DrawnCluster(
        (node("A"), node("B")),
        {"ks.t": table("ks.t", *[(TabletReplica("A", 0),)] * 4)},
        {"ks.t": (TARGET,) * 4},
    )
    for edition in EDITIONS:
        end, moves = settled(one, edition)
        assert set(counts(end).values()) == {1}
        assert moves == 3


def test_a_move_is_worth_it_while_the_fullest_gets_emptier() -> None:
    """30 beside 12 GiB: ten go though the target is then fuller by two; then nothing comes back."""
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


def test_a_full_node_without_candidates_keeps_the_plan_going() -> None:
    """A is full, and B has all that A has. C and B are near enough, but not A and B: so C gives."""
    sizes = {"A": 1100, "B": 2060, "C": 2048, "D": 2048}
    nodes = tuple(BalancerNode(h, "dc1", "r1", 1, gib * GIB) for h, gib in sizes.items())
    a, b, c, d = (TabletReplica(host, 0) for host in "ABCD")
    maps = {
        "ks.x": table("ks.x", *[(a, b)] * 256),
        "ks.y": table("ks.y", *[(c, d)] * 256),
    }
    one = DrawnCluster(nodes, maps, dict.fromkeys(maps, (4 * GIB,) * 256))
    [move] = plan(one.input, "server").moves
    assert (move.table, move.source.host, move.target.host) == ("ks.y", "C", "B")
    even = replace(one, nodes=(replace(nodes[0], capacity=2060 * GIB), *nodes[1:]))
    assert not plan(even.input, "server").moves


@pytest.mark.spec("E-031")
@pytest.mark.parametrize("edition", EDITIONS)
def test_siblings_part_where_no_node_may_take_both(edition: Edition) -> None:
    """One of them may go to C alone, the other one to D alone: the drain comes before the merge."""
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


def test_a_balanced_cluster_is_left_alone() -> None:
    """No plan, so no work for the topology coordinator."""
    places = [TabletReplica(host, shard) for host in "AB" for shard in (0, 1)]
    one = DrawnCluster(
        (node("A"), node("B")),
        {"ks.t": table("ks.t", *[(place,) for place in places])},
        {"ks.t": (TARGET,) * 4},
    )
    for edition in EDITIONS:
        assert not plan(one.input, edition).moves


@pytest.mark.spec("E-052")
@pytest.mark.spec("E-053")
@pytest.mark.parametrize("edition", EDITIONS)
def test_siblings_come_together_and_stay(edition: Edition) -> None:
    """The odd one follows the even one, within a node by shards; both then move as one."""
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


def held_by(*counts: int, **columns: Any) -> DrawnCluster:
    """Nodes A, B and so on of a shard each, with so many tablets of one replica."""
    names = "ABCDEFGH"[: len(counts)]
    sets = [(TabletReplica(h, 0),) for h, n in zip(names, counts, strict=True) for _ in range(n)]
    roles = columns.get("roles", {})
    nodes = tuple(node(name, shards=1, role=roles.get(name, "normal")) for name in names)
    return DrawnCluster(nodes, {"ks.t": table("ks.t", *sets)}, {"ks.t": (TARGET,) * len(sets)})


@pytest.mark.parametrize(
    ("counts", "full", "moves"),
    [
        ((3, 3, 3, 2, 0), "", "AE BE"),  # the mean is 2.2: those at 3 give, in turn
        ((3, 3, 3, 1, 1), "", "AD BE"),
        ((2, 2, 2, 2, 2), "", ""),
        ((3, 2, 2, 2, 1), "", "AE"),
        ((4, 2, 0), "", "AC AC"),
        ((4, 2, 0), "C", ""),  # it waits for C, which is below the mean, and B is at it
        ((4, 1, 1), "C", "AB"),
        ((3, 3, 0), "C", ""),
    ],
)
def test_counts_are_evened_out(counts: tuple[int, ...], full: str, moves: str) -> None:
    """From the fullest to the emptiest; who takes as many streams as it can is waited for."""
    given = held_by(*counts).input
    loads = Loads(given, "documents")
    for name in full:
        loads.writes["ABCDEFGH".index(name)] = given.streams_write
    assert [f"{m.source.host}{m.target.host}" for m in planned(loads).moves] == moves.split()


RACKS = {"A": "r1", "B": "r1", "C": "r2", "D": "r3", "E": "r1"}


def in_racks(hosts: str, *tablets: str) -> DrawnCluster:
    """Nodes of a shard each in their racks, and tablets with their hosts; E is elsewhere."""
    nodes = [node(name, RACKS[name], shards=1) for name in hosts]
    nodes = [replace(each, datacenter="dc2") if each.host == "E" else each for each in nodes]
    sets = [tuple(TabletReplica(name, 0) for name in each) for each in tablets]
    return DrawnCluster(
        tuple(nodes), {"ks.t": table("ks.t", *sets)}, {"ks.t": (TARGET,) * len(sets)}
    )


@pytest.mark.parametrize(
    ("hosts", "tablets", "crosses"),
    [
        ("AB", ("A", "AB"), False),
        ("ABC", ("A",), True),
        ("ABC", ("AB",), True),
        ("ABC", ("AC",), False),
        ("ABC", ("AC", "BC"), False),
        ("ABC", ("AC", "B"), True),
        ("ABC", ("ABC",), True),
        ("ABCD", ("ACD", "BCD"), False),
        ("ABCD", ("AC",), True),
        ("ABCD", ("ABCD",), True),
        ("ACE", ("E",), False),
        ("ACE", ("ACE",), False),
        ("ACE", ("AE",), True),
    ],
)
def test_a_replica_may_cross_racks_where_one_has_fewer(
    hosts: str, tablets: tuple[str, ...], crosses: bool
) -> None:
    """Off a rack that has the most of a tablet, if another rack of the datacenter has fewer."""
    loads = Loads(in_racks(hosts, *tablets).input, "documents")
    assert _may_cross(loads, loads.dc == loads.dc[0]) == crosses


@pytest.mark.parametrize(
    ("hosts", "tablets", "moves"),
    [
        ("AC", ("A", "A", "A"), "AC"),
        ("ABC", ("A", "A", "A"), "AB AC"),
        ("ABC", ("AC",) * 4, "AB AB"),
        ("ABCD", ("ACD",) * 2 + ("BCD",) * 2, ""),
        ("ABCD", ("ACD",) * 4, "AB AB"),
    ],
)
def test_counts_are_even_in_a_datacenter_else_in_each_rack(
    hosts: str, tablets: tuple[str, ...], moves: str
) -> None:
    """Where no replica may leave its rack, each rack has a mean of its own."""
    begun = plan(in_racks(hosts, *tablets).input, "documents").moves
    assert [f"{m.source.host}{m.target.host}" for m in begun] == moves.split()


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(
    ("busy", "moved"),
    [((), [0, 1]), ((0,), [1, 2]), ((0, 1), [2]), ((1,), [0, 2]), ((0, 1, 2), [])],
)
def test_what_is_in_transition_is_passed_over_in_a_drain(
    edition: Edition, busy: tuple[int, ...], moved: list[int]
) -> None:
    """A is to be empty; it reads for two streams at once."""
    loads = Loads(held_by(3, 0, 0, roles={"A": "leaving"}).input, edition)
    loads.busy[list(busy)] = True
    assert [move.tablets for move in planned(loads).moves] == [(number,) for number in moved]


SIBLINGS = DrawnCluster(
    tuple(map(node, "ABC")),
    {
        "ks.t": table(
            "ks.t",
            (TabletReplica("A", 0), TabletReplica("B", 1)),
            (TabletReplica("B", 0), TabletReplica("C", 0)),
            resize_type="merge",
        )
    },
    {"ks.t": (TARGET, TARGET)},
)


@pytest.mark.parametrize("edition", EDITIONS)
def test_siblings_meet_at_the_nearest_places(edition: Edition) -> None:
    """Within B from its shard 0 to 1, then from C to A; each replica has one place to go to."""
    loads = Loads(SIBLINGS.input, edition)
    steps = [(column, str(loads.replica(shard))) for column, shard in _steps(loads, 0, 1)]
    assert steps == [(0, "B:1"), (1, "A:0")]


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(
    ("busy", "full", "moves"),
    [
        ((), "", [("B:0", "B:1")]),
        ((0,), "", []),
        ((1,), "", []),
        ((), "B:1", [("C:0", "A:0")]),
    ],
)
def test_an_odd_sibling_makes_one_move_at_once(
    edition: Edition, busy: tuple[int, ...], full: str, moves: list[tuple[str, str]]
) -> None:
    """The first that streams allow; none while either of both is in transition."""
    loads = Loads(SIBLINGS.input, edition)
    loads.busy[list(busy)] = True
    if full:
        loads.writes[loads.shard_number(replica_of(full))] = loads.given.streams_write
    begun = [(str(move.source), str(move.target)) for move in brought_together(loads, 0)]
    assert begun == moves


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("tablet", [0, 1])
def test_siblings_that_are_together_are_asked_about_as_one(edition: Edition, tablet: int) -> None:
    """The odd one could go to B by itself, but the even one that it is with has a replica there."""
    a, b, c = (TabletReplica(host, 0) for host in "ABC")
    one = DrawnCluster(
        tuple(map(node, "ABC")),
        {"ks.t": table("ks.t", (a, b), (a, c), resize_type="merge")},
        {"ks.t": (GIB, GIB)},
    )
    answer = why(one.input, "ks.t", tablet, b, source=a, edition=edition)
    assert answer == WhyAnswer(a, b, False, ReplicaThere(0))


def moving_on(*sets: str, leaving: str = "", merges: bool = False) -> Loads:
    """Nodes A to D, of which some leave, and tablets on these hosts."""
    table_of = {"resize_type": "merge" if merges else "none"}
    replicas = [tuple(TabletReplica(host, 0) for host in hosts) for hosts in sets]
    nodes = tuple(node(host, role="leaving" if host in leaving else "normal") for host in "ABCD")
    one = DrawnCluster(
        nodes, {"ks.t": table("ks.t", *replicas, **table_of)}, {"ks.t": (GIB,) * len(sets)}
    )
    return Loads(one.input, "server")


def test_one_host_is_drained_alone_where_it_is_named() -> None:
    """While others that are to be empty stay as they are."""
    for only, hosts in (("", "AB"), ("A", "A"), ("B", "B"), ("C", "")):
        moves = [*drained(moving_on("A", "B", "C", "D", leaving="AB"), only)]
        assert [move.source.host for move in moves] == [*hosts]


def test_a_replica_that_no_node_may_take_is_told() -> None:
    """With its tablet; two siblings that were together there part, and each is told."""
    everywhere, rest = "ABCD", "BCD"
    steps = [*drained(moving_on(rest, everywhere, rest, rest, leaving="A"))]
    assert steps == [DrainFailure("ks.t", (1,), TabletReplica("A", 0))]
    loads = moving_on(rest, rest, everywhere, everywhere, leaving="A", merges=True)
    assert [*drained(loads)] == [
        DrainFailure("ks.t", (number,), TabletReplica("A", 0)) for number in (2, 3)
    ]


@pytest.mark.parametrize(
    ("even", "odd", "steps"),
    [
        ("AB", "AC", [(1, "B:0")]),
        ("AB", "CD", [(0, "A:0"), (1, "B:0")]),
        ("AB", "BA", []),
        ("ABC", "DAB", [(0, "C:0")]),
    ],
)
def test_an_odd_sibling_goes_where_only_the_even_one_is(
    even: str, odd: str, steps: list[tuple[int, str]]
) -> None:
    """Each replica that is apart, to a place of its own."""
    loads = moving_on(even, odd, merges=True)
    told = [(column, str(loads.replica(shard))) for column, shard in _steps(loads, 0, 1)]
    assert told == steps


def test_siblings_that_are_busy_do_not_keep_others_apart() -> None:
    """The first two wait for what one of them does; the others come together."""
    loads = moving_on("A", "B", "C", "D", merges=True)
    loads.busy[0] = True
    moves = [*brought_together(loads, 0)]
    assert [(move.tablets, str(move.target)) for move in moves] == [((3,), "C:0")]
    assert BalancePlan(tuple(moves)).bytes == moves[0].bytes == GIB
    assert BalancePlan((*moves, *moves)).bytes == 2 * GIB
    assert BalancePlan(()).bytes == 0


def test_a_plan_has_what_it_begins_and_what_is_stuck() -> None:
    """What is drained comes first; where there is nothing else to do siblings come together."""
    begun = planned(moving_on("A", "ABCD", leaving="A"))
    assert [(move.tablets, str(move.source)) for move in begun.moves] == [((0,), "A:0")]
    assert begun.failures == (DrainFailure("ks.t", (1,), TabletReplica("A", 0)),)
    together = planned(moving_on("A", "B", "C", "D", merges=True))
    moves = [(move.tablets, str(move.target)) for move in together.moves]
    assert (moves, together.failures) == ([((1,), "A:0"), ((3,), "C:0")], ())
    even = planned(moving_on("A", "B", "A", "A", merges=True))
    assert {str(move.source) for move in even.moves} == {"A:0"}
    assert not any(isinstance(move.reason, JoinsSibling) for move in even.moves)
    off = moving_on("A", "B", "A", "A", merges=True)
    off.given = replace(off.given, enabled=False)
    assert planned(off) == BalancePlan(())


def test_what_is_asked_of_a_plan() -> None:
    """Whether it moves a tablet to a shard, to another one, or not at all."""
    given = moving_on("A", "C", leaving="A").given
    [move] = plan(given).moves
    assert (move.tablets, move.source.host) == ((0,), "A")
    told = why(given, "ks.t", 0, move.target)
    assert told == WhyAnswer(move.source, move.target, True, move.reason)
    assert why(given, "ks.t", 0, move.target, source=move.source) == told
    elsewhere = next(
        TabletReplica(host, shard)
        for host in "BD"
        for shard in range(2)
        if TabletReplica(host, shard) != move.target
    )
    assert why(given, "ks.t", 0, elsewhere) == WhyAnswer(
        move.source, elsewhere, False, MovesElsewhere(*move.target)
    )
    stays = why(given, "ks.t", 1, move.target)
    assert (stays.source, stays.moves) == (TabletReplica("C", 0), False)
    assert stays.reason == DrainsFirst("A")


EIGHTH = 2**36
"""A tablet that takes an eighth of a shard of ``node``, a sixteenth of the node."""


def spread_of(*places: str) -> TableSpread:
    """A table on A and B, with a tablet of an eighth at each of these places; C is down."""
    sets = [(replica_of(place),) for place in places]
    nodes = (node("A"), node("B"), node("C", role="down"))
    one = DrawnCluster(nodes, {"ks.t": table("ks.t", *sets)}, {"ks.t": (EIGHTH,) * len(sets)})
    return TableSpread(Loads(one.input, "server"), np.array([True, True, False]))


EVEN_ONES = {"A:0": 1, "B:0": 1, "C:0": 1}
EVERYWHERE = {**EVEN_ONES, "A:1": 1, "B:1": 1, "C:1": 1}
SIXTEENTH = 1 / 16


def in_16(*numbers: float) -> tuple[float, ...]:
    """Loads of nodes, in sixteenths."""
    return tuple(number * SIXTEENTH for number in numbers)


@pytest.mark.parametrize(
    ("held", "way", "server", "documents"),
    [
        ({"A:0": 3, "B:0": 1}, "A:0 B:0",
         [OthersFirst(*in_16(3, 1, 3, 0))], [OthersFirst(3, 1, 3, 0)]),
        ({"A:0": 3, "B:0": 1}, "B:0 A:0",
         [NotEmptier(*in_16(1, 3)), OthersFirst(*in_16(1, 3, 3, 0))],
         [NotEmptier(1, 3), OthersFirst(1, 3, 3, 0)]),
        ({"A:0": 3, "B:0": 2}, "A:0 B:0",
         [NoGain(*in_16(3, 3)), OthersFirst(*in_16(3, 2, 3, 0))],
         [WouldInvert(2, 3), OthersFirst(3, 2, 3, 0)]),
        (EVEN_ONES, "A:0 B:0",
         [Balanced(*in_16(1, 1, 0.01)), NotEmptier(*in_16(1, 1)), OthersFirst(*in_16(1, 1, 1, 1))],
         [Balanced(1, 0, 1), NotEmptier(1, 1), OthersFirst(1, 1, 1, 0)]),
        (EVERYWHERE, "A:0 B:0",
         [Balanced(*in_16(2, 2, 0.02)), NotEmptier(*in_16(2, 2)), OthersFirst(*in_16(2, 2, 2, 2))],
         [Balanced(1, 1, 1), NotEmptier(1, 1), OthersFirst(1, 1, 1, 1)]),
        # B would have 2.5 sixteenths then, which is less than A has now, but more than A keeps.
        ({"A:0": 3, "small": "B"}, "A:0 B:0",
         [OthersFirst(*in_16(3, 0, 3, 0))], [OthersFirst(3, 0, 3, 0)]),
        ({"A:0": 2}, "A:0 B:0", [OthersFirst(*in_16(2, 0, 2, 0))], [OthersFirst(2, 0, 2, 0)]),
        # Within a node the shards of that one are to be even.
        ({"A:1": 5, "B:0": 3, "C:0": 5}, "B:0 B:1",
         [OthersFirst(*in_16(6, 0, 6, 0))], [OthersFirst(3, 0, 5, 0)]),
        ({"A:1": 5, "B:1": 3, "C:0": 5}, "B:1 B:0",
         [OthersFirst(*in_16(6, 0, 6, 0))], [OthersFirst(3, 0, 5, 0)]),
        ({"A:0": 3, "full": 1}, "A:0 B:0",
         [StreamsFull(False, 2, 1, 2), OthersFirst(*in_16(3, 0, 3, 0))],
         [StreamsFull(False, 2, 1, 2), OthersFirst(3, 0, 3, 0)]),
        ({"A:0": 3, "leaving": "A"}, "A:0 B:0",
         [OthersFirst(*in_16(3, 0, 0, 0))], [OthersFirst(3, 0, 0, 0)]),
        ({"A:0": 3, "C:0": 1, "leaving": "C"}, "A:0 B:0",
         [DrainsFirst("C"), OthersFirst(*in_16(3, 0, 3, 0))],
         [DrainsFirst("C"), OthersFirst(3, 0, 3, 0)]),
        # What is on a node that takes nothing makes no load uneven.
        ({"A:0": 4, "B:0": 1, "C:0": 9, "excluded": "C"}, "A:0 B:0",
         [OthersFirst(*in_16(4, 1, 4, 1))], [OthersFirst(4, 1, 4, 0)]),
        ({"A:0": 3, "rack": "B"}, "A:0 B:0",
         [RackNamed("r1", "r2"), EvenByRack("r1", "r2"), Balanced(0, 0, 0),
          OthersFirst(*in_16(3, 0, 0, 0))],
         [RackNamed("r1", "r2"), OthersFirst(3, 0, 3, 0)]),
    ],
)  # fmt: skip
def test_all_that_keeps_a_tablet_from_a_shard(
    held: dict[str, Any], way: str, server: list[Reason], documents: list[Reason]
) -> None:
    """What forbids it, what is done before, whether loads ask for it, streams, and others."""
    places = [place for place, count in held.items() if ":" in place for _ in range(count)]
    roles = {held[role]: role for role in ("leaving", "excluded") if role in held}
    nodes = tuple(
        node(host, "r2" if host == held.get("rack") else "r1", role=roles.get(host, "normal"))
        for host in "ABC"
    )
    nodes = tuple(
        replace(each, capacity=2**41 // 5) if each.host == held.get("small") else each
        for each in nodes
    )
    sets = [(replica_of(place),) for place in places]
    one = DrawnCluster(nodes, {"ks.t": table("ks.t", *sets)}, {"ks.t": (2**36,) * len(sets)})
    racks = frozenset({("ks.t", "dc1")} if "rack" in held else ())
    given, (source, target) = replace(one.input, rack_lists=racks), way.split()
    for edition, expected in (("server", server), ("documents", documents)):
        before, after = Loads(given, edition), Loads(given, edition)  # type: ignore[arg-type]  # it is one
        at = before.shard_number(replica_of(target))
        if "full" in held:
            after.writes[at] = given.streams_write
        assert [*_obstacles(before, after, places.index(source), 0, at)] == expected


THREE = ("A:0", "A:0", "B:0", "C:0")
"""Three within: ideal is 3/32 of each capacity."""


@pytest.mark.parametrize(
    ("places", "target", "shard", "of_node"),
    [
        # A:0 keeps 4/32 and B:1 gets 4/32; A keeps 2/32 and B gets 4/32.
        (THREE, "B:1", 1 / 3, 1 / 3),
        (THREE, "B:0", 5 / 3, 1 / 3),
        (THREE, "A:1", 1 / 3, 0),
        # A keeps 4/32 and B gets 2/32: both are nearer to the ideal.
        (("A:0", "A:0", "A:1"), "B:1", 1 / 3, 0),
        # A:0 keeps nothing, B:0 gets 8/32, with an ideal of 2/32; A keeps nothing, B gets 4/32.
        (("A:0", "B:0"), "B:0", 3, 1),
    ],
)
def test_a_move_is_as_bad_as_it_spreads_a_table(
    places: tuple[str, ...], target: str, shard: float, of_node: float
) -> None:
    """By how much the source would have too little or the target too much, in parts of the ideal;
    of nodes nothing within one, or where it is no worse.
    """
    spread = spread_of(*places)
    to = spread.loads.shard_number(replica_of(target))
    own = np.array([[0, 0]], np.int32)
    assert [each.tolist() for each in spread.of(own, 0, to)] == [
        pytest.approx([shard]),
        pytest.approx([of_node]),
    ]


@pytest.mark.parametrize(("to", "shard", "of_node"), [("B:1", 5 / 3, 1), ("A:1", 1, 1 / 3)])
def test_a_spread_counts_what_has_moved(to: str, shard: float, of_node: float) -> None:
    """The first tablet has gone to B or within A, and the second one is asked about for B:1."""
    spread = spread_of(*THREE)
    spread.moved(0, 0, spread.loads.shard_number(replica_of(to)))
    target = spread.loads.shard_number(replica_of("B:1"))
    second = np.array([[1, 0]], np.int32)
    assert [each.tolist() for each in spread.of(second, 0, target)] == [
        pytest.approx([shard]),
        pytest.approx([of_node]),
    ]


def _row(loads: Loads, name: str, number: int) -> int:
    rows, tables = loads.given.rows, loads.given.tables
    fits = (rows.table == tables.index(name)) & (rows.number == number)
    return int(fits.argmax())
