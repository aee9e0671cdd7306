"""The columns that a plan is made from: tables by row, loads, and what fits many shards at once."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kit.errors import BadInput
from kit.protocols.tablets.rules.balance import loads as columns
from kit.protocols.tablets.rules.balance.cluster import (
    NOT_MOVED,
    BalancerNode,
    NodePlaces,
    NodeRole,
    TabletSizes,
    gathered,
)
from kit.protocols.tablets.rules.balance.loads import (
    Loads,
    TabletMove,
    candidates,
    first_fits,
)
from kit.protocols.tablets.rules.balance.reasons import (
    EvensOut,
    GivesNone,
    InTransition,
    OtherDatacenter,
    RackNamed,
    RackSpread,
    ReplicaThere,
    StreamsFull,
    TakesNone,
)
from kit.protocols.tablets.rules.maps import TabletMap
from kit.protocols.tablets.rules.replica_sets import TabletReplica
from kit.protocols.topology.rules.machines import Edition
from kit.ring.columns import np
from tests.protocols.tablets.balance.clusters import GIB, TARGET, DrawnCluster, node, table
from tests.protocols.tablets.balance.test_datacenters import places


def test_a_co_located_table_is_no_row_of_its_own() -> None:
    """Its bytes count for the tablets of its base table."""
    maps = {"ks.v": TabletMap("ks.v", base_table="ks.t"), "ks.t": table("ks.t", *[places("A")] * 2)}
    sizes = {"ks.t": [{"A": GIB}, {"A": 2 * GIB}], "ks.v": [{"A": 4 * GIB}, {}]}
    given = gathered((node("A"),), maps, sizes, target_size=TARGET)
    assert given.tables == ("ks.t",)
    assert given.rows.table.tolist() == [0, 0]
    assert given.rows.number.tolist() == [0, 1]
    assert given.rows.sizes.tolist() == [[5 * GIB], [-1]]
    assert given.rows.weights.tolist() == [[5 * GIB], [2 * GIB + TARGET]]


def test_what_is_given_of_weights_counts() -> None:
    """In the place of what sizes would count for."""
    maps = {"ks.t": table("ks.t", *[places("A")] * 2)}
    sizes, weights = {"ks.t": [{"A": GIB}, {"A": GIB}]}, {"ks.t": [{"A": 7 * GIB}, {}]}
    given = gathered((node("A"),), maps, sizes, weights=weights, target_size=TARGET)
    assert given.rows.sizes.tolist() == [[GIB], [GIB]]
    assert given.rows.weights.tolist() == [[7 * GIB], [GIB]]


@pytest.mark.parametrize(
    ("replica", "said"),
    [
        ("Z", "replica: got 'Z'; allowed: a host of the cluster"),
        ("A2", "replica shard: got 2; allowed: a shard below 2, the shards of A"),
    ],
)
def test_a_replica_is_on_a_shard_of_a_node(replica: str, said: str) -> None:
    """Counted from 0."""
    gathered((node("A"),), {"ks.t": table("ks.t", places("A1"))})
    with pytest.raises(BadInput) as error:
        gathered((node("A"),), {"ks.t": table("ks.t", places(replica))})
    assert str(error.value) == said


def test_siblings_that_are_apart_are_counted_through_all_tables() -> None:
    """By their rows, however their replicas are ordered."""
    sets = [places(each) for each in ("A B", "B A", "A B", "A C")]
    maps = {
        "ks.s": table("ks.s", *sets[:2], resize_type="merge"),
        "ks.t": table("ks.t", *sets, resize_type="merge"),
        "ks.u": table("ks.u", *sets[2:], resize_type="merge"),
        "ks.v": table("ks.v", *sets[2:]),
    }
    assert gathered(tuple(map(node, "ABC")), maps).pairs == ((4, 5), (6, 7))


@pytest.mark.parametrize(
    ("lists", "giver", "fit"),
    [
        ((), 0, "B E"),
        ((("ks.t", "dc1"),), 0, "B"),
        ((("ks.t", "dc2"), ("ks.other", "dc1")), 0, "B E"),
        ((), 4, "Z"),
    ],
)
def test_which_nodes_a_replica_may_go_to(
    lists: tuple[tuple[str, str], ...], giver: int, fit: str
) -> None:
    """Of its datacenter, in its rack, or in one with fewer than the fullest one has."""
    nodes = (
        *(node("A", "r1"), node("B", "r1"), node("C", "r1"), node("E", "r2")),
        *(BalancerNode(host, "dc2", "r1", 1, 2**40) for host in "XZ"),
    )
    maps = {"ks.t": table("ks.t", places("A C X"))}
    given = replace(gathered(nodes, maps), rack_lists=frozenset(lists))
    found = NodePlaces(given, "server").fit(given.rows, (0,), giver).tolist()
    assert [each.host for each, may in zip(nodes, found, strict=True) if may] == fit.split()


def test_a_load_is_what_is_held_of_what_there_is_room_for() -> None:
    """A shard of A has 8 GiB and one of B 16: that is a half of each, or a quarter of both of A."""
    nodes = (
        BalancerNode("A", "dc1", "r1", 2, 16 * GIB),
        BalancerNode("B", "dc1", "r1", 1, 16 * GIB),
    )
    one = table("ks.t", places("A1"), places("B"), places("B"))
    given = DrawnCluster(nodes, {"ks.t": one}, {"ks.t": (4 * GIB, 4 * GIB, 4 * GIB)}).input
    loads = Loads(given, "server")
    assert loads.shard_load.tolist() == [0, 0.5, 0.5]
    assert loads.node_load.tolist() == [0.25, 0.5]
    in_node, apart = (0, 1), (1, 2)
    assert [loads.judged(*ends)[:2] for ends in (in_node, apart)] == [(0, 1), (0, 1)]
    assert [loads.judged(*ends)[2].tolist() for ends in (in_node, apart)] == [
        [0, 4 * GIB, 8 * GIB],
        [4 * GIB, 8 * GIB],
    ]
    loads = Loads(given, "documents")
    assert loads.judged(1, 2)[2].tolist() == [0, 1, 2]
    assert loads.shard_load.tolist() == [0, 1, 2]
    assert loads.node_load.tolist() == [0.5, 2]


@pytest.mark.parametrize(
    ("edition", "capacities", "held", "room"),
    [
        ("documents", (16, 4), [3, 1, 1], [1, 1, 1]),
        ("server", (16, 4), [9 * GIB, 2 * GIB, 4 * GIB], [8 * GIB, 8 * GIB, 4 * GIB]),
        ("server", (16, 0), [9 * GIB, 2 * GIB, 4 * GIB], [8 * GIB, 8 * GIB, TARGET]),
        ("server", (0, 0), [9 * GIB, 2 * GIB, 4 * GIB], [TARGET] * 3),
    ],
)
def test_what_shards_hold_of_siblings(
    edition: Edition, capacities: tuple[int, int], held: list[float], room: list[float]
) -> None:
    """Two that are together count for the even one, whose bytes are those of both.

    Where the capacity of a node is not known, its shards are as large as a tablet should be.
    """
    nodes = (
        BalancerNode("A", "dc1", "r1", 2, capacities[0] * GIB),
        BalancerNode("B", "dc1", "r1", 1, capacities[1] * GIB),
    )
    maps = {
        "ks.t": table("ks.t", places("A"), places("A"), resize_type="merge"),
        "ks.u": table("ks.u", places("A B"), places("A1")),
    }
    sizes = {"ks.t": (2 * GIB, 3 * GIB), "ks.u": (4 * GIB, 2 * GIB)}
    loads = Loads(DrawnCluster(nodes, maps, sizes).input, edition)
    assert loads.held.tolist() == held
    assert loads.room.tolist() == room
    assert loads.node_held.tolist() == [held[0] + held[1], held[2]]
    assert loads.node_room.tolist() == [room[0] + room[1], room[2]]
    assert loads.shard_load.tolist() == [h / r for h, r in zip(held, room, strict=True)]
    assert [[*loads.rows_on(shard)] for shard in range(3)] == [[(0, 0), (2, 0)], [(3, 0)], [(2, 1)]]
    assert loads.weight.tolist() == (
        [[2, 0], [0, 0], [1, 1], [1, 0]]
        if edition == "documents"
        else [[5 * GIB, 0], [0, 0], [4 * GIB, 4 * GIB], [2 * GIB, 0]]
    )
    assert [loads.by_load(0), loads.by_load(1)] == [[1, 0], [2]]
    assert [loads.replica(shard) for shard in range(3)] == [*places("A A1 B")]
    assert [loads.shard_number(place) for place in places("A A1 B")] == [0, 1, 2]
    for host, shard in (("A", 2), ("A", -1), ("B", 1), ("Z", 0)):
        with pytest.raises(KeyError):
            loads.shard_number(TabletReplica(host, shard))
    assert [*loads.moving(0, 0), *loads.moving(2, 0)] == [0, 1, 2]
    loads.busy[1] = True
    assert [loads.under_way(0, 0), loads.under_way(2, 0)] == [True, False]


@pytest.mark.parametrize("count", [2**16 - 1, 2**16])
def test_shards_are_told_apart_however_many_there_are(count: int) -> None:
    """A replica that a tablet does not have is on none of them."""
    last = count - 2
    maps = {"ks.t": table("ks.t", places(f"A{last} B"), places("A1"))}
    loads = Loads(gathered((node("A", shards=count - 1), node("B", shards=1)), maps), "documents")
    assert loads.count == count
    found = [[*loads.rows_on(shard)] for shard in (0, 1, last, last + 1)]
    assert found == [[], [(1, 0)], [(0, 0)], [(0, 1)]]


@pytest.mark.parametrize("edition", ["documents", "server"])
def test_without_tables_nobody_has_a_load(edition: Edition) -> None:
    """Of either kind."""
    loads = Loads(gathered((node("A"), node("B")), {}), edition)
    assert (loads.held.tolist(), loads.node_load.tolist()) == ([0] * 4, [0] * 2)
    assert [[*loads.rows_on(shard)] for shard in range(4)] == [[]] * 4


REASON = EvensOut(4, 1, 3, 2)


@pytest.mark.parametrize(
    ("edition", "target", "loads"),
    [
        ("server", 1, (9 / 8, 2 / 8, 5 / 8, 6 / 8)),
        ("server", 2, (11 / 16, 4 / 4, 7 / 16, 8 / 4)),
        ("documents", 1, (3, 1, 2, 2)),
        ("documents", 2, (3, 1, 2, 2)),
    ],
)
def test_loads_before_a_move_and_after_it(
    edition: Edition, target: int, loads: tuple[float, ...]
) -> None:
    """Of shards, where it stays in its node; else of nodes, where bytes count."""
    nodes = (
        BalancerNode("A", "dc1", "r1", 2, 16 * GIB),
        BalancerNode("B", "dc1", "r1", 1, 4 * GIB),
    )
    sets = ("A", "A", "A", "A1", "B")
    sizes = tuple(size * GIB for size in (4, 2, 3, 2, 4))
    one = table("ks.t", *map(places, sets))
    found = Loads(DrawnCluster(nodes, {"ks.t": one}, {"ks.t": sizes}).input, edition)
    assert found.compared(0, 0, target) == loads


def test_bytes_of_siblings_are_those_of_the_same_node() -> None:
    """However the replicas of both are ordered; what is not known counts as the load does."""
    one = table("ks.t", places("A B"), places("B A"), resize_type="merge")
    sizes: TabletSizes = {"ks.t": [{"A": GIB, "B": 2 * GIB}, {"A": 3 * GIB, "B": 5 * GIB}]}
    nodes = tuple(node(host, "r1", 1) for host in "ABC")
    maps = {"ks.a": table("ks.a", places("C A B")), "ks.t": one}
    given = gathered(nodes, maps, sizes | {"ks.a": [dict.fromkeys("ABC", GIB)]}, target_size=TARGET)
    loads = Loads(given, "server")
    assert loads.held.tolist() == [5 * GIB, 8 * GIB, GIB]
    assert [loads.apply(1, at, 2, REASON).bytes for at in (0, 1)] == [4 * GIB, 7 * GIB]
    given = gathered(nodes, {"ks.t": one}, {"ks.t": [{}, {"A": 7}]}, target_size=TARGET)
    assert Loads(given, "server").sizes().tolist() == [[TARGET, TARGET], [TARGET, 7]]


@pytest.mark.parametrize(
    ("reads", "writes", "row", "refusal"),
    [
        ((0, 0), (0, 0), 0, None),
        ((2, 0), (0, 1), 0, None),
        ((3, 0), (0, 1), 0, StreamsFull(True, 3, 1, 3)),
        ((2, 9), (9, 2), 0, StreamsFull(False, 2, 1, 2)),
        ((3, 0), (0, 2), 0, StreamsFull(True, 3, 1, 3)),
        ((1, 0), (0, 0), 1, None),
        ((2, 0), (0, 0), 1, StreamsFull(True, 2, 2, 3)),
        ((0, 0), (0, 1), 1, StreamsFull(False, 1, 2, 2)),
    ],
)
def test_a_shard_has_so_many_streams(
    reads: tuple[int, int], writes: tuple[int, int], row: int, refusal: object
) -> None:
    """Three that are read and two that are taken; two siblings need two at once."""
    nodes = (node("A", "r1", 1), node("B", "r1", 1))
    maps = {
        "ks.s": table("ks.s", places("A")),
        "ks.t": table("ks.t", *[places("A")] * 2, resize_type="merge"),
    }
    given = DrawnCluster(nodes, maps, {"ks.s": (1,), "ks.t": (1, 1)}).input
    given = replace(
        given, streams_read=3, streams_write=2,
        reads=np.array(reads, given.reads.dtype), writes=np.array(writes, given.writes.dtype),
    )  # fmt: skip
    loads = Loads(given, "server")
    assert loads.full(row, 0, 1) == loads.refusal(row, 0, 1) == refusal
    assert ([row, 0] in candidates(loads, 0, 1).tolist()) is (refusal is None)
    loads.busy[2] = True
    assert loads.refusal(1, 0, 1) == InTransition()
    assert [1, 0] not in candidates(loads, 0, 1).tolist()
    idle = replace(given, streams_read=1, streams_write=1, reads=given.reads * 0)
    alone = Loads(replace(idle, writes=given.writes * 0), "server")
    assert alone.refusal(row, 0, 1) is None
    assert candidates(alone, 0, 1).tolist() == [[0, 0], [1, 0]]


@pytest.mark.parametrize("role", ["normal", "leaving", "left", "removing", "down", "excluded"])
def test_off_a_node_that_is_down_nothing_is_moved(role: NodeRole) -> None:
    """It is said before anything else but that the tablet is on its way."""
    nodes = (node("A", "r1", 1, role), node("B", "r1", 1, "down"))
    loads = Loads(DrawnCluster(nodes, {"ks.t": table("ks.t", places("A"))}, {"ks.t": (1,)}).input,
                  "documents")  # fmt: skip
    gives = role not in NOT_MOVED
    open_to = Loads(replace(loads.given, nodes=(nodes[0], node("B", "r1", 1))), "documents")
    assert candidates(open_to, 0, 1).tolist() == ([[0, 0]] if gives else [])
    assert loads.refusal(0, 0, 1) == (TakesNone("down") if gives else GivesNone(role))
    loads.busy[0] = True
    assert loads.refusal(0, 0, 1) == InTransition()


def test_a_replica_that_there_is_not_is_in_no_rack() -> None:
    """Two columns of the first tablet are empty: it has one replica, which may change its rack."""
    nodes = (*(node(host, "r1", 1) for host in "AB"), *(node(host, "r2", 1) for host in "CD"))
    one = table("ks.t", places("A"), places("A B C"))
    loads = Loads(DrawnCluster(nodes, {"ks.t": one}, {"ks.t": (1, 1)}).input, "server")
    assert [loads.misplaced(0, 0, shard) for shard in range(4)] == [ReplicaThere(0), *[None] * 3]
    assert [loads.misplaced(1, 0, shard) for shard in range(4)] == [
        *[ReplicaThere(0)] * 3,
        None,
    ]
    assert candidates(loads, 0, 2).tolist() == [[0, 0]]
    assert candidates(loads, 0, 3).tolist() == [[0, 0], [1, 0]]


def test_a_move_is_counted_at_once() -> None:
    """What was held and what is read and written, at both ends; the tablets are in transition."""
    nodes = (*(node(host, "r1", 1) for host in "AB"), node("C", "r1", 2))
    maps = {
        "ks.t": table("ks.t", *[places("A")] * 2, resize_type="merge"),
        "ks.u": table("ks.u", places("A B"), places("B")),
    }
    sizes = {"ks.t": (2 * GIB, 3 * GIB), "ks.u": (4 * GIB, 1 * GIB)}
    given = DrawnCluster(nodes, maps, sizes).input
    loads = Loads(given, "server")
    reason = REASON
    assert loads.held.tolist() == [9 * GIB, 5 * GIB, 0, 0]
    move = loads.apply(0, 0, 3, reason)
    assert move == TabletMove(
        "ks.t", (0, 1), "migration", *places("A C1"), 5 * GIB, reason
    )  # fmt: skip
    assert loads.held.tolist() == [4 * GIB, 5 * GIB, 0, 5 * GIB]
    assert loads.node_held.tolist() == [4 * GIB, 5 * GIB, 5 * GIB]
    assert (loads.reads.tolist(), loads.writes.tolist()) == ([2, 0, 0, 0], [0, 0, 0, 2])
    assert loads.busy.tolist() == [True, True, False, False]
    several = np.array([[2, 1]], np.int32)
    [other] = loads.apply_all(several, np.array([2]), reason)
    assert other == TabletMove("ks.u", (0,), "migration", *places("B C"), 4 * GIB, reason)
    assert loads.held.tolist() == [4 * GIB, 1 * GIB, 4 * GIB, 5 * GIB]
    assert loads.node_held.tolist() == [4 * GIB, 1 * GIB, 9 * GIB]
    assert (loads.reads.tolist(), loads.writes.tolist()) == ([2, 1, 0, 0], [0, 0, 1, 2])
    assert loads.busy.tolist() == [True, True, True, False]
    inside = Loads(given, "documents")
    inside.apply(3, 0, 2, reason)
    assert inside.kind(2, 3) == "intranode_migration"
    assert (given.reads.tolist(), given.rows.busy.tolist()) == ([0] * 4, [False] * 4)
    assert inside.busy.tolist() == [False, False, False, True]


@pytest.mark.parametrize(
    ("role", "inside", "kind"),
    [
        ("normal", True, "intranode_migration"),
        ("normal", False, "migration"),
        ("leaving", False, "migration"),
        ("removing", False, "rebuild"),
        ("left", False, "rebuild"),
    ],
)
def test_what_moves_a_replica(role: NodeRole, inside: bool, kind: str) -> None:
    """Off a node that is removed it is rebuilt from the others."""
    nodes = (node("A", role=role), node("B"))
    loads = Loads(DrawnCluster(nodes, {"ks.t": table("ks.t", places("B"))}, {"ks.t": (1,)}).input,
                  "server")  # fmt: skip
    assert loads.kind(0, 1 if inside else 2) == kind


@pytest.mark.parametrize(
    ("role", "nodes", "together"),
    [
        ("normal", "ABCD", [[1, 1, 1], [2, 2, 1], [1, 0, 0], [1, 1, 1]]),
        ("leaving", "ABCD", [[1, 1, 1], [1, 2, 1], [1, 1, 0], [1, 1, 1]]),
        ("leaving", "ABCDE", [[1, 1, 1], [2, 2, 1], [1, 0, 0], [1, 1, 1]]),
    ],
)
def test_which_siblings_are_parted(role: str, nodes: str, together: list[list[int]]) -> None:
    """Those on A, which is to be empty: C has one of both, D the other one, and only E neither."""
    sets = [places(each) for each in ("B C D", "A B C", "D A B", "B C D")]
    maps = {
        "ks.s": table("ks.s", sets[0]),
        "ks.t": table("ks.t", *sets[1:3], resize_type="merge"),
        "ks.u": table("ks.u", sets[3]),
    }
    hosts = tuple(node(each, role=role if each == "A" else "normal") for each in nodes)  # type: ignore[arg-type]  # a role
    given = gathered(hosts, maps)
    assert NodePlaces(given, "server").parted(given.rows).together.tolist() == together


def of_racks(**columns: object) -> Loads:
    """In dc1 A and B are in r1, C and E in r2, D is in r3 and down; in dc2 X, Y and Z are in r1."""
    far = tuple(BalancerNode(host, "dc2", "r1", 1, 2**40) for host in "XYZ")
    near = [("A", "r1"), ("B", "r1"), ("C", "r2"), ("E", "r2")]
    nodes = (*(node(host, rack, 1) for host, rack in near), node("D", "r3", 1, "down"), *far)
    maps = {"ks.t": table("ks.t", places("A X Y"), places("A B X"), places("A C X Y"))}
    given = DrawnCluster(nodes, maps, {"ks.t": (GIB,) * 3}).input
    return Loads(replace(given, **columns), "server")


@pytest.mark.parametrize(
    ("row", "target", "refusal"),
    [
        (0, "B", None),
        (0, "C", None),
        (0, "D", TakesNone("down")),
        (0, "Z", OtherDatacenter("dc1", "dc2")),
        (0, "A", ReplicaThere(0)),
        (1, "B", ReplicaThere(0)),
        (1, "C", None),
        (2, "B", None),
        (2, "C", ReplicaThere(0)),
        (2, "E", RackSpread("r2", 2, 1)),
    ],
)
def test_racks_of_other_datacenters_do_not_count(row: int, target: str, refusal: object) -> None:
    """Two replicas in one rack of dc2 are no reason to put two of dc1 into one."""
    loads = of_racks()
    shard = loads.shard_number(places(target)[0])
    assert loads.misplaced(row, 0, shard) == refusal
    assert ([row, 0] in candidates(loads, 0, shard).tolist()) is (refusal is None)


def test_a_rack_that_is_named_keeps_its_replicas() -> None:
    """B has as many as it may in r1, C is in another rack."""
    loads = of_racks(rack_lists=frozenset({("ks.t", "dc1")}))
    assert [loads.misplaced(1, 0, shard) for shard in (1, 2)] == [
        ReplicaThere(0),
        RackNamed("r1", "r2"),
    ]
    assert candidates(loads, 0, 1).tolist() == [[0, 0], [2, 0]]
    assert candidates(loads, 0, 2).tolist() == []


def first(loads: Loads, *pairs: str) -> list[tuple[int, int, bool]]:
    """For pairs of shards, as in ``A B``: row, column, and whether it is known."""
    ends = [[loads.shard_number(place) for place in places(pair)] for pair in pairs]
    sources, targets = np.array(ends).T
    return list(zip(*(each.tolist() for each in first_fits(loads, sources, targets)), strict=True))


def test_the_first_tablets_that_many_shards_give() -> None:
    """Each pair has one that no pair before has; what is in the pair's way fits for another one."""
    nodes = (*(node(host, "r1") for host in "ABC"), node("D", "r2"), node("E", "r2"))
    sets = ("A B", "A B", "A D", "B1 D", "A B1")
    one = table("ks.t", *map(places, sets))
    loads = Loads(DrawnCluster(nodes, {"ks.t": one}, {"ks.t": (GIB,) * 5}).input, "documents")
    assert first(loads, "A C", "B C1") == [(0, 0, True), (1, 1, True)]
    assert first(loads, "B C", "A C1", "A A1") == [(0, 1, True), (1, 0, True), (2, 0, True)]
    assert first(loads, "A B") == [(2, 0, True)]  # the others have a replica on B
    assert first(loads, "A C", "A E") == [(0, 0, True), (1, 0, True)]  # two in r1, none in r2
    assert first(loads, "A E", "D C") == [(0, 0, True), (2, 1, False)]  # r1 has as many as r2
    loads.busy[:2] = True
    assert first(loads, "A C", "B C1") == [(2, 0, True), (0, 1, False)]


def test_two_siblings_are_looked_at_one_by_one() -> None:
    """They are not known to fit: both may have to."""
    one = table("ks.t", *[places("A")] * 2, resize_type="merge")
    cluster = DrawnCluster((node("A"), node("B")), {"ks.t": one}, {"ks.t": (GIB,) * 2})
    assert first(Loads(cluster.input, "documents"), "A B") == [(0, 0, False)]


def test_only_the_first_few_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """The third one would fit."""
    monkeypatch.setattr(columns, "FIRST_FEW", 2)
    one = table("ks.t", *map(places, ("A B", "A B", "A C")))
    cluster = DrawnCluster(tuple(map(node, "ABC")), {"ks.t": one}, {"ks.t": (GIB,) * 3})
    loads = Loads(cluster.input, "documents")
    assert first(loads, "A B") == [(0, 0, False)]
    assert first(loads, "A C") == [(0, 0, True)]
    monkeypatch.setattr(columns, "FIRST_FEW", 3)
    assert first(loads, "A B") == [(2, 0, True)]


def test_the_last_tablet_of_the_last_shard_is_looked_at() -> None:
    """Behind it there is nothing, not even a replica that a tablet does not have."""
    one = table("ks.t", *[places("B1")] * 3)
    cluster = DrawnCluster((node("A"), node("B")), {"ks.t": one}, {"ks.t": (GIB,) * 3})
    loads = Loads(cluster.input, "documents")
    pairs = ("B1 A", "B1 A1", "B1 B")
    assert first(loads, *pairs) == [(0, 0, True), (1, 0, True), (2, 0, True)]
