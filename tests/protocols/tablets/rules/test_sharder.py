"""The sharder: one shard per host outside a transition, stable ones in a move between hosts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kit.protocols.tablets.rules.availability import (
    Sharder,
    shard_for_reads,
    shard_for_writes,
    static_shard_of,
)
from kit.protocols.tablets.rules.maps import Tablet, TabletMap, has_replica, last_tokens
from kit.protocols.tablets.rules.replica_sets import TabletReplica
from kit.protocols.tablets.rules.stages import TRANSITIONS
from kit.protocols.topology.rules.machines import EDITIONS, Edition, Selector
from kit.ring.tokens import INT64_HIGH, INT64_LOW
from tests.protocols.tablets.rules.drawn_maps import maps

SELECTORS: tuple[Selector, ...] = ("old", "both", "new")
A1, B2, C0, D3, B5 = map(TabletReplica, "ABCDB", (1, 2, 0, 3, 5))
BETWEEN_HOSTS = Tablet(0, (A1, B2, C0), (D3, B2, C0), "streaming", "migration")
WITHIN_B = Tablet(0, (A1, B2, C0), (A1, B5, C0), "streaming", "intranode_migration")


@pytest.mark.spec("E-061")
@given(
    maps(),
    st.sampled_from("ABCDEF"),
    st.integers(INT64_LOW, INT64_HIGH),
    st.sampled_from(SELECTORS),
)
def test_outside_a_transition_a_host_serves_by_the_shard_of_its_replica(
    table: TabletMap, host: str, token: int, selector: Selector
) -> None:
    """A host without a replica gives shard 0 for reads, and none for writes."""
    tablet = table.of(token)
    mine = [replica.shard for replica in tablet.replicas if replica.host == host]
    assert shard_for_reads(tablet, host, selector) == (mine or [0])[0]
    assert shard_for_writes(tablet, host, selector) == tuple(mine)


@pytest.mark.parametrize("selector", SELECTORS)
def test_in_a_move_between_hosts_each_host_keeps_its_shard_at_every_stage(
    selector: Selector,
) -> None:
    """The leaving and the pending replica both serve."""
    assert [shard_for_reads(BETWEEN_HOSTS, host, selector) for host in "ABCDE"] == [1, 2, 0, 3, 0]
    writes = [shard_for_writes(BETWEEN_HOSTS, host, selector) for host in "ABCDE"]
    assert writes == [(1,), (2,), (0,), (3,), ()]


def test_in_a_move_within_a_host_the_selectors_choose_the_shards() -> None:
    """One shard for reads, and the old, the new or both for writes."""
    assert [shard_for_reads(WITHIN_B, "B", selector) for selector in ("old", "new")] == [2, 5]
    assert [shard_for_writes(WITHIN_B, "B", s) for s in SELECTORS] == [(2,), (2, 5), (5,)]
    assert {shard_for_writes(WITHIN_B, "A", selector) for selector in SELECTORS} == {(1,)}
    row = replace(WITHIN_B, last_token=INT64_HIGH, stage="write_both_read_new")
    asked = Sharder("B", "holding", 4, TabletMap("ks.t", (row,)))
    assert (asked.shard_for_reads(7), asked.shard_for_writes(7)) == (5, (2, 5))


@pytest.mark.spec("E-062")
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_request_one_stage_off_is_served_by_either_host_of_a_move(edition: Edition) -> None:
    """Each answers with the shard of its replica."""
    for row in TRANSITIONS[edition]["migration"].states:
        table = TabletMap("ks.t", (replace(BETWEEN_HOSTS, last_token=INT64_HIGH, stage=row.name),))
        for host, shard in (("A", 1), ("D", 3)):
            asked = Sharder(host, "holding", 4, table, edition)
            assert (asked.shard_for_reads(7), asked.shard_for_writes(7)) == (shard, (shard,))


NO_REPLICAS = [
    (Tablet(0, (A1, B2)), "C"),
    (Tablet(0, (A1, B2), (A1, B2), "repair", "repair"), "C"),
    (BETWEEN_HOSTS, "E"),
    (replace(BETWEEN_HOSTS, stage="cleanup_target"), "E"),
    (WITHIN_B, "D"),
    (Tablet(0, (A1,), (A1, C0), "write_both_read_old", "rebuild_v2"), "B"),
]


@pytest.mark.parametrize(("tablet", "host"), NO_REPLICAS, ids=str)
@pytest.mark.parametrize("selector", SELECTORS)
def test_a_host_without_a_replica_has_no_shard_for_writes(
    tablet: Tablet, host: str, selector: Selector
) -> None:
    """The shard for reads is 0 by default."""
    assert shard_for_writes(tablet, host, selector) == ()
    assert shard_for_reads(tablet, host, selector) == 0


@pytest.mark.spec("E-065")
def test_a_pending_replica_exists_before_its_shard_takes_writes() -> None:
    """The map says so, and the sharder does not."""
    assert B5.shard not in shard_for_writes(WITHIN_B, "B", "old")
    assert has_replica(WITHIN_B, B5)


@pytest.mark.spec("E-059", "E-060")
def test_a_holding_sharder_keeps_its_version_and_a_refreshing_one_follows() -> None:
    """Barriers wait for the first alone."""
    before = TabletMap("ks.t", (Tablet(INT64_HIGH, (A1,)),))
    after = TabletMap("ks.t", (Tablet(INT64_HIGH, (TabletReplica("A", 3),)),))
    holding = Sharder("A", "holding", 4, before).refreshed(5, after)
    assert (holding.holds, holding.shard_for_reads(7), holding.shard_for_writes(7)) == (4, 1, (1,))
    following = Sharder("A", "auto_refreshing", 4, before).refreshed(5, after)
    assert (following.holds, following.shard_for_reads(7)) == (None, 3)


@pytest.mark.parametrize(
    ("token", "shards", "shard"),
    [
        (INT64_LOW, 8, 0),
        (INT64_LOW + 2**52 - 1, 8, 7),  # the end of the first of 4,096 runs
        (INT64_LOW + 2**52, 8, 0),
        (INT64_LOW + 2**51, 8, 4),
        (0, 3, 0),
        (INT64_HIGH, 3, 2),
    ],
)
def test_static_sharding_goes_through_all_shards_4096_times(
    token: int, shards: int, shard: int
) -> None:
    """Each time in the order of the shards."""
    assert static_shard_of(token, shards) == shard


@pytest.mark.spec("E-005")
def test_a_tablet_map_need_not_give_neighbouring_tokens_to_neighbouring_shards() -> None:
    """Static sharding gives the next run of tokens to the next shard."""
    step = 2**50
    runs = [static_shard_of(INT64_LOW + run * step, 4) for run in range(8)]
    assert runs == [0, 1, 2, 3, 0, 1, 2, 3]
    shards = (3, 3, 0, 2)
    lasts = last_tokens(4)
    table = TabletMap(
        "ks.t",
        tuple(
            Tablet(last, (TabletReplica("A", shard),))
            for last, shard in zip(lasts, shards, strict=True)
        ),
    )
    assert [shard_for_reads(table.of(last), "A", "old") for last in lasts] == list(shards)
