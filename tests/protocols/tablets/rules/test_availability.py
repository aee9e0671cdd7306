"""What lives after a loss, what requests can have meanwhile, and what a repair passes over."""

from __future__ import annotations

from itertools import combinations

import pytest

from kit.protocols.tablets.facts.tablets import tablet_map
from kit.protocols.tablets.rules.availability import (
    ServedTablet,
    availability,
    lost_with,
    primary_replica,
    selectors,
    served,
    skipped_by_primary_repair,
    unrepaired_in_time,
)
from kit.protocols.tablets.rules.maps import Tablet, TabletMap, last_tokens
from kit.protocols.tablets.rules.replica_sets import TabletReplica
from kit.protocols.tablets.rules.stages import KINDS, TRANSITIONS, TransitionKind
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.ring.tokens import INT64_HIGH
from tests.protocols.test_on_record import opened


def table(*replicas: str) -> TabletMap:
    """A map with these hosts' replicas, tablet by tablet."""
    rows = zip(last_tokens(len(replicas)), replicas, strict=True)
    return TabletMap(
        "ks.t",
        tuple(
            Tablet(last, tuple(TabletReplica(host) for host in hosts.split()))
            for last, hosts in rows
        ),
    )


PLACES = dict.fromkeys("ABCDX", ("dc1", "r1"))
GIVEN = table("A B C", "B C D", "A C D", "A B D")


@pytest.mark.spec("E-033")
def test_after_a_replace_tablets_have_less_to_spare_until_the_rebuild() -> None:
    """Losing another node of such a tablet costs its quorum. Rebuilt, it has one to spare again."""
    assert [each.spare for each in availability(GIVEN, ())] == [1, 1, 1, 1]
    assert [each.spare for each in availability(GIVEN, {"C"})] == [0, 0, 0, 1]
    assert lost_with(GIVEN, {"C"}, "ABD") == {"A": (0, 2), "B": (0, 1), "D": (1, 2)}
    rebuilt = table("A B X", "B X D", "A X D", "A B D")
    assert lost_with(rebuilt, {"C"}, "ABD") == {"A": (), "B": (), "D": ()}


def test_a_tablet_without_a_quorum_is_no_cost_of_one_more_loss() -> None:
    """It has less than none to spare already."""
    [first, *_] = availability(GIVEN, {"A", "B"})
    assert first.spare == -1
    assert 0 not in lost_with(GIVEN, {"A", "B"}, "C")["C"]


def test_a_quorum_is_more_than_half_of_the_replicas() -> None:
    """One to five replicas are tried. With one host lost there is one less to spare."""
    for size, quorum in enumerate((1, 2, 2, 3, 3), 1):
        given = table(" ".join("ABCDX"[:size]))
        [whole], [less] = availability(given, ()), availability(given, {"A"})
        assert (whole.quorum, less.quorum) == (quorum, quorum), (size, quorum)
        assert (whole.spare, less.spare) == (size - quorum, size - quorum - 1), (size, quorum)


def test_each_host_is_primary_of_as_many_tablets() -> None:
    """Three of nine each, in turn. Other racks and datacenters change the order."""
    given = table(*["A B C"] * 9)
    hosts = [primary_replica(given, number, PLACES).host for number in range(9)]
    assert [hosts.count(host) for host in "ABC"] == [3, 3, 3]
    assert hosts[:3] == ["A", "B", "C"]
    assert hosts[3:6] == ["B", "C", "A"]
    elsewhere = {"A": ("dc2", "r1"), "B": ("dc1", "r2"), "C": ("dc1", "r1")}
    assert [primary_replica(given, number, elsewhere).host for number in range(3)] == [
        "C",
        "B",
        "A",
    ]


@pytest.mark.spec("E-035")
def test_a_primary_repair_skips_tablets_whose_primary_has_left() -> None:
    """After the rebuild none is skipped."""
    skipped = skipped_by_primary_repair(GIVEN, {"C"}, PLACES)
    assert skipped == tuple(n for n in range(4) if primary_replica(GIVEN, n, PLACES).host == "C")
    assert skipped
    rebuilt = table("A B X", "B X D", "A X D", "A B D")
    assert skipped_by_primary_repair(rebuilt, {"C"}, PLACES) == ()


@pytest.mark.spec("E-036")
def test_tablets_not_repaired_within_the_grace_period_are_named() -> None:
    """A tablet that was never repaired is among them, unless the period is over for none."""
    repaired_at = {0: 1000, 1: 500, 2: 90}
    assert unrepaired_in_time(GIVEN, repaired_at, 1010, 900) == (2, 3)
    assert unrepaired_in_time(GIVEN, repaired_at, 1500, 900) == (1, 2, 3)
    assert unrepaired_in_time(GIVEN, dict.fromkeys(range(4), 1500), 1500, 0) == ()


@pytest.mark.parametrize("edition", ["documents", "server"])
@pytest.mark.parametrize("story", ["truncate-waits-for-a-move", "removenode-rebuilds"])
def test_the_live_replicas_of_a_tablet_are_those_that_its_stage_reads(
    story: str, edition: Edition
) -> None:
    """In each step of a move and of a rebuild."""
    timeline, switched = opened(f"tablets/{story}"), 0
    for at in timeline.path():
        given = tablet_map(timeline.model, timeline.moments[at].state)
        for each, tablet in zip(availability(given, (), edition), given.tablets, strict=True):
            reads, _ = selectors(tablet, edition)
            assert {*each.live} == {*tablet.sets.chosen(reads)}
            switched += reads == "new"
    assert switched


DATACENTERS = {"A": "dc1", "B": "dc1", "C": "dc1", "D": "dc1", "X": "dc2"}


def tablet(old: str, new: str, kind: TransitionKind, stage: str) -> Tablet:
    """A tablet in transition, on the first shard of each host."""
    places = (tuple(map(TabletReplica, hosts)) for hosts in (old, new))
    return Tablet(INT64_HIGH, *places, stage, kind)


def counted(
    row: Tablet, edition: Edition, up: set[str], factor: int | None = None, inside: str = "ABCDX"
) -> tuple[bool, bool]:
    """Whether reads and writes have a quorum among some hosts, counted from the words of the
    documents; of a ``factor``, or (None) of the replicas that there are.
    """
    state = TRANSITIONS[edition][row.transition or "repair"].state(row.stage)
    every = (row.replicas, row.new_replicas)
    old, new = ({place.host for place in places if place.host in inside} for places in every)
    sets = {"old": old, "new": new}

    def needed(group: set[str]) -> int:
        size = len(group) if factor is None else factor
        return size // 2 + 1 if size else 0

    def most(group: set[str]) -> bool:
        return len(group & up) >= needed(group)

    reads = most(sets[state.reads])
    if state.writes != "both":
        return reads, most(sets[state.writes])
    if edition == "documents":
        return reads, most(old) and (new < old or most(new))  # nobody new: the old ones suffice
    return reads, len((old | new) & up) >= needed(old) + len(new - old)


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_loss_at_each_stage_is_judged_by_the_selected_replicas(
    edition: Edition, kind: TransitionKind
) -> None:
    """Every set of down hosts is tried, in both editions."""
    new = "ABCX" if kind == "repair" else "ABDX"
    for state in TRANSITIONS[edition][kind].states:
        row = tablet("ABCX", new, kind, state.name)
        for size in range(5):
            for down in combinations("ABCDX", size):
                left = served(row, edition, down, DATACENTERS)
                fine = tuple(kind not in left.without_quorum for kind in ("reads", "writes"))
                assert fine == counted(row, edition, set("ABCDX") - {*down}), (state.name, down)
                assert ("dc2" in left.datacenters) == ("X" in down), (size, down)


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("ABCX", "ABDX", "migration"),
        ("ABX", "ABDX", "rebuild"),  # a replica more
        ("ABCX", "ABX", "rebuild"),  # one less
        ("A", "AB", "rebuild_v2"),
    ],
)
def test_a_quorum_is_counted_of_the_keyspaces_factor(
    edition: Edition, old: str, new: str, kind: TransitionKind
) -> None:
    """Everywhere and in a datacenter, while a replica moves, comes or goes."""
    everybody = set("ABCDX")
    factors = range(5 if kind == "migration" else len({*new} - {"X"}) + 1)
    for state in TRANSITIONS[edition][kind].states:
        row = tablet(old, new, kind, state.name)
        sizes = range(len(old) + 1)
        for size, first, second in ((s, f, g) for s in sizes for f in factors for g in range(2)):
            for down in map(set, combinations(sorted({*old, *new}), size)):
                left = served(row, edition, down, DATACENTERS, {"dc1": first, "dc2": second})
                fine = tuple(kind not in left.without_quorum for kind in ("reads", "writes"))
                up = everybody - down
                assert fine == counted(row, edition, up, first + second), (state.name, down)
                local = all(counted(row, edition, up, first, "ABCD"))
                assert ("dc1" in left.datacenters) == (not local), (state.name, down, first)


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_datacenter_without_a_factor_needs_no_answers(edition: Edition) -> None:
    """X has a replica there nevertheless."""
    row = tablet("ABX", "ABX", "migration", "use_new")
    for factors in ({"dc1": 2}, {"dc1": 2, "dc2": 0}):
        left = served(row, edition, ("X",), DATACENTERS, factors)
        assert left == ServedTablet(("A", "B", "X"), ("A", "B"), (), ()), factors
    left = served(row, edition, ("X",), DATACENTERS, {"dc1": 2, "dc2": 1})
    assert left == ServedTablet(("A", "B", "X"), ("A", "B"), (), ("dc2",))
