"""What lives after a loss, and what a repair passes over."""

from __future__ import annotations

import pytest

from kit.protocols.tablets.facts.tablets import tablet_map
from kit.protocols.tablets.rules.availability import (
    availability,
    lost_with,
    primary_replica,
    selectors,
    skipped_by_primary_repair,
    unrepaired_in_time,
)
from kit.protocols.tablets.rules.maps import Tablet, TabletMap, last_tokens
from kit.protocols.tablets.rules.replica_sets import TabletReplica
from kit.protocols.topology.rules.machines import Edition
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
def test_after_a_replace_tablets_have_less_to_spare_until_they_are_rebuilt() -> None:
    """Tablets of the replaced node C have no replica to spare; losing another of their nodes costs
    their quorum. Rebuilt ones have one to spare again.
    """
    assert [each.spare for each in availability(GIVEN, ())] == [1, 1, 1, 1]
    assert [each.spare for each in availability(GIVEN, {"C"})] == [0, 0, 0, 1]
    assert lost_with(GIVEN, {"C"}, "ABD") == {"A": (0, 2), "B": (0, 1), "D": (1, 2)}
    rebuilt = table("A B X", "B X D", "A X D", "A B D")
    assert lost_with(rebuilt, {"C"}, "ABD") == {"A": (), "B": (), "D": ()}


def test_what_is_lost_already_is_not_lost_again() -> None:
    """A tablet without a quorum is no cost of one more loss."""
    [first, *_] = availability(GIVEN, {"A", "B"})
    assert first.spare == -1
    assert 0 not in lost_with(GIVEN, {"A", "B"}, "C")["C"]


def test_a_quorum_is_more_than_half_of_the_replicas() -> None:
    """Counted for one replica to five; with one host lost there is one less to spare."""
    for size, quorum in enumerate((1, 2, 2, 3, 3), 1):
        given = table(" ".join("ABCDX"[:size]))
        [whole], [less] = availability(given, ()), availability(given, {"A"})
        assert (whole.quorum, less.quorum) == (quorum, quorum)
        assert (whole.spare, less.spare) == (size - quorum, size - quorum - 1)


def test_primary_replicas_are_spread() -> None:
    """With three replicas everywhere, each of nine tablets' hosts is primary of three."""
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
def test_a_primary_repair_passes_over_tablets_whose_primary_has_left() -> None:
    """Nobody takes those up, whose range stays unmarked; after the rebuild none is passed over."""
    skipped = skipped_by_primary_repair(GIVEN, {"C"}, PLACES)
    assert skipped == tuple(n for n in range(4) if primary_replica(GIVEN, n, PLACES).host == "C")
    assert skipped
    rebuilt = table("A B X", "B X D", "A X D", "A B D")
    assert skipped_by_primary_repair(rebuilt, {"C"}, PLACES) == ()


@pytest.mark.spec("E-036")
def test_tablets_that_were_not_repaired_within_the_grace_are_named() -> None:
    """In tombstone mode ``timeout`` a tablet that was repaired too long ago, or never, is named."""
    repaired_at = {0: 1000, 1: 500, 2: 90}
    assert unrepaired_in_time(GIVEN, repaired_at, 1010, 900) == (2, 3)
    assert unrepaired_in_time(GIVEN, repaired_at, 1500, 900) == (1, 2, 3)
    assert unrepaired_in_time(GIVEN, dict.fromkeys(range(4), 1500), 1500, 0) == ()


@pytest.mark.parametrize("edition", ["documents", "server"])
@pytest.mark.parametrize("story", ["truncate-waits-for-a-move", "removenode-rebuilds"])
def test_what_counts_is_whom_reads_ask(story: str, edition: Edition) -> None:
    """Once they ask the new replicas, the old one can be lost, and the new one cannot."""
    timeline, switched = opened(f"tablets/{story}"), 0
    for at in timeline.path():
        given = tablet_map(timeline.model, timeline.moments[at].state)
        for each, tablet in zip(availability(given, (), edition), given.tablets, strict=True):
            reads, _ = selectors(tablet, edition)
            assert {*each.live} == {*tablet.sets.chosen(reads)}
            switched += reads == "new"
    assert switched
