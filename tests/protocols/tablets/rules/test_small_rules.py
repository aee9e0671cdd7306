"""Rules on a tablet's replicas, each on both sides of its line, and the solutions of exercises."""

from __future__ import annotations

import pytest

from kit.errors import BadInput
from kit.protocols.tablets import solutions
from kit.protocols.tablets.dump import holders
from kit.protocols.tablets.rules.balance import evening
from kit.protocols.tablets.rules.balance.cluster import BalancerNode, gathered
from kit.protocols.tablets.rules.balance.planner import plan
from kit.protocols.tablets.rules.balance.reasons import HUGE, load_said
from kit.protocols.tablets.rules.grid import (
    GridHost,
    PlacedTablet,
    TabletGrid,
    TabletWay,
    held_replicas,
)
from kit.protocols.tablets.rules.maps import Tablet, TabletMap
from kit.protocols.tablets.rules.replica_sets import (
    Replicas,
    ReplicaSets,
    StreamLoad,
    replica_of,
    replicas_in,
    stream_load,
    streaming,
)
from kit.protocols.tablets.rules.resize import CountOptions, combined
from kit.protocols.tablets.rules.stages import TRANSITIONS, TransitionKind, onward
from kit.protocols.topology.rules.machines import EDITIONS
from kit.ring.tokens import INT64_HIGH
from tests.saying import like

A, B, C, D, E, F = map(replicas_in, "ABCDEF")


@pytest.mark.parametrize(
    ("kind", "new", "sources", "targets"),
    [
        ("migration", "C B", A, C),
        ("migration", "A B C", A + B, C),
        ("rebuild", "C B", B, C),
        ("rebuild", "A B C", A + B, C),
        ("rebuild_v2", "A B C", A, C),
    ],
)
def test_who_sends_to_whom(
    kind: TransitionKind, new: str, sources: Replicas, targets: Replicas
) -> None:
    """What leaves; where nothing leaves, those who stay."""
    task = streaming(kind, ReplicaSets(replicas_in("A B"), replicas_in(new)))
    assert (task.sources, task.targets) == (sources, targets)


@pytest.mark.parametrize(
    ("stage", "whole", "some"),
    [
        ("allow_write_both_read_old", A, A),
        ("write_both_read_old", A, A + B),
        ("cleanup_target", A, A + B),
        ("revert_migration", A, A),
        ("use_new", A + B, A + B),
        ("end_migration", B, B),
    ],
)
def test_who_has_data_at_a_stage(stage: str, whole: Replicas, some: Replicas) -> None:
    """On the way back the pending replica has some until it is cleaned up."""
    for edition in EDITIONS:
        table = TRANSITIONS[edition]["migration"]
        found = holders(table, stage, ReplicaSets(A, B))
        assert tuple(tuple(sorted(each)) for each in found) == (whole, some)


def way(old: Replicas, new: Replicas, reads: Replicas) -> TabletWay:
    """A transition that writes to both."""
    sets = ReplicaSets(old, new)
    return TabletWay("migration", "streaming", sets, reads, sets.both)


def test_a_place_is_used_by_whichever_of_two_transitions() -> None:
    """A tablet in two at once is a broken promise, and still one that is shown."""
    tablet = PlacedTablet("ks.t", 0, A, (way(A, B, A), way(A, C, C)))
    [a], [b], [c], [d] = A, B, C, D
    assert [tablet.is_used(each, write=False) for each in (a, b, c, d)] == [1, 0, 1, 0]
    assert [tablet.is_used(each, write=True) for each in (a, b, c, d)] == [1, 1, 1, 0]


GOES_TO_B = [("A", "leaving", "B"), ("B", "pending", "A")]


@pytest.mark.parametrize(
    ("ways", "held"),
    [
        ((way(A, B, A),), [("A", "leaving", "B"), ("B", "pending", "A")]),
        ((way(C, B, C),), [("A", "", None), ("B", "pending", None)]),
        ((way(A, B, A), way(A, B, A)), [("A", "leaving", "B"), ("B", "pending", "A")]),
        (
            (way(A, B, A), way(C, B, A)),
            [("A", "leaving", "B"), ("B", "pending", "A")],
        ),
        ((way(B, A, A),), [("A", "", None)]),
        ((way(A, B + C, A),), [*GOES_TO_B, ("C", "pending", None)]),
        ((way(D + A, B, A),), GOES_TO_B),
    ],
)
def test_a_replica_that_comes_is_held_once(
    ways: tuple[TabletWay, ...], held: list[tuple[str, str, str | None]]
) -> None:
    """Where what leaves by a transition is no replica any more, it comes from nowhere."""
    found = held_replicas(PlacedTablet("ks.t", 0, A, ways))
    assert [(each.place.host, each.part, each.twin and each.twin.host) for each in found] == held


@pytest.mark.parametrize(
    ("most", "least", "is_it"),
    [(0.0, 0.0, True), (2.0, 1.0, False), (2.0, 1.01, True), (2.0, 2.0, True), (2.0, 0.0, False)],
)
def test_loads_that_are_even(
    most: float, least: float, is_it: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nearer than half of the most; where nobody has anything, too."""
    monkeypatch.setattr(evening, "THRESHOLD", 0.5)
    assert evening.is_even(most, least) == is_it


def test_a_load_of_very_many_times_a_capacity() -> None:
    """From ten thousand times on it is written as a power of ten."""
    assert load_said(HUGE - 1, "server") == "999,900.00%"
    assert load_said(HUGE, "server") == "1.00e+06%"


NODES = tuple(BalancerNode(host, "dc1", rack, 1) for host, rack in (("A", "r1"), ("B", "r2")))


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_cluster_without_tablets_has_nothing_to_even_out(edition: str) -> None:
    """In two racks or in one."""
    for nodes in (NODES, NODES[:1]):
        assert plan(gathered(nodes, {}), edition).moves == ()  # type: ignore[arg-type]  # one of both


def test_a_stream_from_a_node_that_is_no_longer_there_counts_where_it_goes() -> None:
    """As after it has left: what it sends takes a stream of the target alone."""
    tablet = Tablet(INT64_HIGH, D, B, "streaming", "migration")
    given = gathered(NODES, {"ks.t": TabletMap("ks.t", (tablet,))})
    assert (given.reads.tolist(), given.writes.tolist()) == ([0, 0], [0, 1])


def test_co_located_tables_ask_for_the_most_of_all() -> None:
    """The largest initial count."""
    assert combined([CountOptions(initial=2), CountOptions(initial=8), CountOptions()]).initial == 8


def test_solutions_are_sorted() -> None:
    """Whatever the order of replicas or of racks."""
    assert solutions.replicas_used("streaming", False, ["C", "A"], ["D", "B"]) == ["A", "C"]
    assert solutions.replicas_used("use_new", False, ["C", "A"], ["D", "B"]) == ["B", "D"]
    racks = dict.fromkeys("FEDCBA", "r1")
    assert solutions.homes("A", ["A"], racks, ["C"]) == ["B", "D", "E", "F"]


@pytest.mark.parametrize(
    ("average", "under_way", "count", "initial", "decision"),
    [
        (100, "none", 4, 0, "none"),
        (101, "none", 4, 0, "split"),
        (50, "none", 4, 0, "none"),
        (49, "none", 4, 0, "merge"),
        (49, "none", 2, 1, "merge"),
        (49, "none", 2, 2, "none"),  # no fewer than at first
        (49, "none", 1, 0, "none"),  # nor fewer than one
        (100, "split", 4, 0, "split"),
        (99, "split", 4, 0, "none"),
        (50, "merge", 4, 0, "merge"),
        (51, "merge", 4, 0, "none"),
    ],
)
def test_a_resize_is_decided_at_the_thresholds(
    average: int, under_way: str, count: int, initial: int, decision: str
) -> None:
    """At 50 and at 100 all stays as it is, also what is under way."""
    assert solutions.resize_decided(average, under_way, count, initial) == decision


@pytest.mark.parametrize(
    ("now", "wanted", "nodes", "may"),
    [
        (1, 1, 1, True),
        (2, 1, 3, True),
        (1, 0, 3, False),
        (1, 2, 2, True),
        (1, 2, 1, False),
        (1, 3, 3, False),
        (3, 1, 3, False),
    ],
)
def test_a_factor_is_altered_by_one(now: int, wanted: int, nodes: int, may: bool) -> None:
    """While one replica is left, and each has a node."""
    assert solutions.may_alter(now, wanted, nodes) is may


def test_a_tablet_that_was_never_repaired_is_warned_of_whatever_the_grace() -> None:
    """One that was repaired is, once more than the grace has passed."""
    repaired = {"0": 9, "1": 10, "3": 0}
    assert solutions.to_be_warned_of("timeout", repaired, 20, 10) == [0, 2, 3]
    assert solutions.to_be_warned_of("timeout", repaired, 20, 5000) == [2]
    assert solutions.to_be_warned_of("repair", repaired, 20, 10) == []


def test_of_two_that_leave_for_one_that_comes_one_has_no_way() -> None:
    """A broken promise, and still one that is shown."""
    found = held_replicas(PlacedTablet("ks.t", 0, A + B, (way(A + B, C, A + B),)))
    assert [(each.place.host, each.part, each.twin and each.twin.host) for each in found] == [
        *(("A", "leaving", "C"), ("B", "leaving", None), ("C", "pending", "A"))
    ]


def test_a_node_that_goes_by_an_older_map_does_not_know_the_tablet() -> None:
    """It holds none of its replicas there; what it has of the older one is shown of that."""
    tablet = PlacedTablet("ks.t", 0, A + B, (way(A + B, A + C, A),), unknown_to=frozenset("A"))
    held = [(each.place.host, each.part, each.slot) for each in held_replicas(tablet)]
    assert held == [("B", "leaving", 1), ("C", "pending", 1)]
    older = PlacedTablet("ks.t", 0, A, whole=B, some=C, stray=D, count=4)
    assert [each.key for each in held_replicas(older)] == [
        "ks.t:0:0:of:4:A:0", "ks.t:0:-1:D:0:of:4:D:0"
    ]  # fmt: skip
    assert [older.arrived(*place) for place in (A, B, C, D)] == [0.0, 1.0, 0.5, 0.5]
    assert [PlacedTablet("ks.t", 0, A).arrived(*place) for place in (A, B)] == [1.0, 0.0]


def test_what_tells_the_replicas_of_a_tablet_apart() -> None:
    """Of a move both halves have one number; what only comes has the next one, stray data none."""
    ways = (way(A + B, C + B, A), way(A + B, A + B + D, A), way(A + B, A + B + E, A))
    tablet = PlacedTablet("ks.t", 7, A + B, ways, stray=A + C + F)
    held = [(each.place.host, each.part, each.slot, each.key) for each in held_replicas(tablet)]
    assert held == [
        ("A", "leaving", 0, "ks.t:7:0"),
        ("B", "", 1, "ks.t:7:1"),
        ("C", "pending", 0, "ks.t:7:0:to:C:0"),
        ("D", "pending", 3, "ks.t:7:3:to:D:0"),
        ("E", "pending", 4, "ks.t:7:4:to:E:0"),
        ("F", "stray", -1, "ks.t:7:-1:F:0"),
    ]


def test_what_a_grid_calls_its_tablets() -> None:
    """By number, and by table where there are several; a letter tells tables apart in pictures."""
    many = [PlacedTablet(f"ks.t{table}", 3, A) for table in range(28)]
    for count, letters in ((1, [""]), (2, ["a", "b"]), (3, ["a", "b", "c"])):
        grid = TabletGrid((), tuple(many[:count]))
        assert [grid.letter(table) for table in grid.tables] == letters
        of = " of ks.t0" if count > 1 else ""
        assert grid.called(many[0]) == f"tablet 3{of}"
    grid = TabletGrid((), tuple(many))
    assert [grid.letter(f"ks.t{table}") for table in (0, 25, 26, 27)] == ["a", "z", "ba", "bb"]


def test_what_a_shard_of_a_grid_holds() -> None:
    """What comes and goes counts, stray data do not; bytes are those that are known."""
    [a], [b], [c], [d] = A, B, C, D
    moving = PlacedTablet("ks.t", 0, A, (way(A, B, A),), stray=C)
    still, old = PlacedTablet("ks.t", 1, A), PlacedTablet("ks.t", 0, B, count=1)
    hosts = (GridHost("A", 1), GridHost("B", 2), GridHost("C", 1), GridHost("D", 1))
    sizes = {("ks.t", 0, a): 5, ("ks.t", 1, a): 7, ("ks.t", 0, b): 2}
    grid = TabletGrid(hosts, (moving, still, old), sizes)
    assert [str(place) for place in grid.places] == ["A:0", "B:0", "B:1", "C:0", "D:0"]
    assert [grid.count(place) for place in (a, b, c, d)] == [2, 2, 0, 0]
    assert [grid.bytes(place) for place in (a, b, c, d)] == [12, 4, 0, 0]
    assert grid.moving == (moving,)
    keys = {str(place): [each.key for each in all_held] for place, all_held in grid.held.items()}
    assert keys == {
        "A:0": ["ks.t:0:0", "ks.t:1:0"],
        "B:0": ["ks.t:0:0:to:B:0", "ks.t:0:0:of:1:B:0"],
        "C:0": ["ks.t:0:-1:C:0"],
    }
    assert [still.is_used(each, write=write) for each in (a, b) for write in (False, True)] == [
        True, True, False, False,
    ]  # fmt: skip


def test_how_much_of_a_tablet_is_at_a_place() -> None:
    """All of it, some of it, which is drawn as a half, or nothing."""
    tablet = PlacedTablet("ks.t", 0, A + B)
    assert [tablet.arrived(*each) for each in (A, B, C)] == [1, 1, 0]
    tablet = PlacedTablet("ks.t", 0, A + B, stray=D, whole=B, some=A)
    assert [tablet.arrived(*each) for each in (A, B, C, D)] == [0.5, 1, 0, 0.5]


@pytest.mark.parametrize(
    ("kind", "new", "excluded", "load"),
    [
        ("repair", "A B", "", StreamLoad(A + B, A + B, 2)),
        ("restore", "A B", "A", StreamLoad(B, B, 2)),
        ("rebuild_v2", "C B", "", StreamLoad(A + B, A + B + C, 2)),
        ("rebuild_v2", "A B C", "B", StreamLoad(A, A + C, 2)),
        ("rebuild", "C B", "", StreamLoad(B, C, 1)),
        ("rebuild", "A B C", "B", StreamLoad(A, C, 1)),
        ("rebuild", "A", "", StreamLoad((), (), 1)),
        ("migration", "C B", "A", StreamLoad(A, C, 1)),
    ],
)
def test_what_a_transition_takes_of_streams(
    kind: TransitionKind, new: str, excluded: str, load: StreamLoad
) -> None:
    """A repair counts twice, at whoever takes part; where nothing comes, nothing is read."""
    sets = ReplicaSets(A + B, replicas_in(new))
    assert stream_load(kind, sets, set(excluded)) == load


def test_a_stage_that_a_table_lacks() -> None:
    """It leads nowhere, which is an error."""
    table = TRANSITIONS["server"]["repair"]
    assert onward(table, "repair").target == "end_repair"
    with pytest.raises(KeyError, match="no stage streaming"):
        onward(table, "streaming")


@pytest.mark.parametrize(("text", "place"), [("Q", ("Q", 0)), ("Q:0", ("Q", 0)), ("Q:3", ("Q", 3))])
def test_a_replica_is_on_the_first_shard_unless_it_is_told(
    text: str, place: tuple[str, int]
) -> None:
    """Counted from 0."""
    assert replica_of(text) == place


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("", "at least one replica, and no more than one per host"),
        ("A A", "at least one replica, and no more than one per host"),
        ("B A:0 C A:1", "at least one replica, and no more than one per host"),
        ("A:", "hosts and shards, as in A:0 B:1"),
        ("A B:x", "hosts and shards, as in A:0 B:1"),
        ("A:-1", "hosts and shards, as in A:0 B:1"),
        ("A:0:1", "hosts and shards, as in A:0 B:1"),
    ],
)
def test_words_that_are_no_replicas_of_a_tablet(text: str, allowed: str) -> None:
    """None at all, a host twice, or a shard that is no number."""
    with pytest.raises(BadInput, match=like(f"tablets | {text!r} | {allowed}")):
        replicas_in(text)
