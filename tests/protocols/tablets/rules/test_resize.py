"""Resize decisions: averages against thresholds, sequence numbers, readiness, finalization."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from kit.protocols.tablets.rules.maps import ResizeType, TabletMap
from kit.protocols.tablets.rules.resize import (
    THRESHOLDS,
    OppositeAfterwards,
    SizesUnknown,
    StillGrowing,
    TableSize,
    Thresholds,
    decide,
    decided,
    finalized,
    group_bytes,
    is_growing,
    not_final,
    unready,
    until_revoked,
)
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from tests.protocols.tablets.rules.drawn_maps import maps

GIB = 2**30
SERVER, DOCUMENTS = THRESHOLDS["server"], THRESHOLDS["documents"]
sizes = st.builds(
    TableSize,
    st.just("ks.t"),
    st.sampled_from([1, 2, 8, 64]),
    st.integers(1, 6),
    st.integers(0, 10**13),
    st.sampled_from(["none", "split", "merge"]),
    st.integers(0, 9),
)


def of_average(average: int, **columns: object) -> TableSize:
    """A table of 8 tablets, RF 3 in two datacenters, of this average size."""
    return TableSize("ks.t", 8, 6, average * 8 * 6, **columns)  # type: ignore[arg-type]  # any columns


@pytest.mark.spec("E-039")
def test_the_average_tablet_size_is_that_of_one_replica() -> None:
    """It is rounded to whole bytes. Without sizes there is none."""
    table = TableSize("ks.t", 4, 5, 1003)
    assert (table.average_table, table.average_tablet) == (200, 50)
    assert TableSize("ks.t", 4, 5, None).average_tablet is None


@pytest.mark.spec("E-040", "E-041")
@pytest.mark.parametrize(
    ("limits", "average", "kind"),
    [
        (DOCUMENTS, 5 * GIB, "none"),
        (DOCUMENTS, 5 * GIB + 1, "split"),
        (DOCUMENTS, 5 * GIB // 2, "none"),
        (DOCUMENTS, 5 * GIB // 2 - 1, "merge"),
        (SERVER, 10 * GIB, "none"),
        (SERVER, 10 * GIB + 1, "split"),
        (SERVER, 5 * GIB // 2 - 1, "merge"),
        (Thresholds(target=100), 101, "split"),
        (Thresholds(target=100, split_percent=200), 101, "none"),
    ],
)
def test_a_table_is_resized_only_beyond_its_threshold(
    limits: Thresholds, average: int, kind: str
) -> None:
    """The documents split above the target, and the server above twice the target."""
    assert decide(of_average(average), limits).resize_type == kind


@pytest.mark.spec("E-042")
@pytest.mark.parametrize(
    ("edition", "running", "average", "kind"),
    [
        ("documents", "split", 5 * GIB - 1, "none"),
        ("documents", "split", 5 * GIB, "split"),
        ("documents", "merge", 5 * GIB // 2 + 1, "none"),
        ("documents", "merge", 5 * GIB // 2, "merge"),
        ("server", "split", 5 * GIB - 1, "none"),
        ("server", "split", 5 * GIB, "split"),
        ("server", "merge", 5 * GIB + 1, "none"),
        ("server", "merge", 5 * GIB, "merge"),
    ],
)
def test_a_resize_that_its_opposite_would_follow_is_revoked(
    edition: Edition, running: str, average: int, kind: str
) -> None:
    """The revocation takes the next number, and says why."""
    size = of_average(average, resize_type=running, resize_seq_number=7)
    decision = decide(size, THRESHOLDS[edition])
    assert decision.resize_type == kind
    assert decision.resize_seq_number == (8 if kind == "none" else 7)
    assert isinstance(decision.reason, OppositeAfterwards) == (kind == "none")


@pytest.mark.spec("E-037", "E-038")
@given(sizes, st.sampled_from(EDITIONS))
def test_each_new_resize_decision_takes_the_next_number(size: TableSize, edition: Edition) -> None:
    """A revocation does so too. An unchanged decision keeps its number."""
    decision = decide(size, THRESHOLDS[edition])
    is_new = decision.resize_type != size.resize_type
    assert decision.resize_seq_number - size.resize_seq_number == int(is_new)
    written = decided(TabletMap("ks.t"), decision)
    assert (written.resize_type, written.resize_seq_number) == (
        decision.resize_type,
        decision.resize_seq_number,
    )


@given(sizes, st.sampled_from(EDITIONS))
def test_a_finished_resize_is_not_followed_by_its_opposite(
    size: TableSize, edition: Edition
) -> None:
    """Random sizes are tried, in both editions."""
    limits = THRESHOLDS[edition]
    kind = decide(replace(size, resize_type="none"), limits).resize_type
    assume(kind != "none")
    count = size.count * 2 if kind == "split" else size.count // 2
    after = decide(TableSize("ks.t", count, size.replicas, size.bytes), limits).resize_type
    assert after in ("none", kind)


@pytest.mark.spec("E-049")
def test_a_growing_table_is_not_merged_before_passing_its_initial_count() -> None:
    """It may be split."""
    empty = of_average(0, initial=8, growing=is_growing(8, 8))
    assert decide(empty, DOCUMENTS).reason == StillGrowing(8, 8)
    full = of_average(6 * GIB, initial=8, growing=True)
    assert decide(full, DOCUMENTS).resize_type == "split"
    assert not is_growing(16, 8)
    assert decide(replace(empty, count=16, growing=False), DOCUMENTS).resize_type == "merge"


def test_a_table_of_unknown_size_keeps_its_resize_decision() -> None:
    """A group's bytes are known only where those of all its tables are."""
    unknown = replace(of_average(0, resize_type="split", resize_seq_number=3), bytes=None)
    decision = decide(unknown, SERVER)
    assert (decision.resize_type, decision.resize_seq_number) == ("split", 3)
    assert decision.reason == SizesUnknown()
    assert (group_bytes([1, 2]), group_bytes([1, None])) == (3, None)


@pytest.mark.spec("E-044", "E-045")
@given(maps(most=2), st.data())
def test_a_split_is_not_final_until_every_replica_reports_its_number(
    table: TabletMap, data: st.DataObject
) -> None:
    """A number of another decision, or none, names the replica."""
    table = replace(table, resize_type="split", resize_seq_number=4)
    places = unready(table, {})
    assert len(places) == 3 * table.count
    numbers = dict.fromkeys(places, 4)
    assert not_final(table, numbers) is None
    late = data.draw(st.sampled_from(places))
    without = {place: number for place, number in numbers.items() if place != late}
    for shown in ({**numbers, late: 3}, {**numbers, late: 5}, without):
        refusal = not_final(table, shown)
        assert refusal is not None
        assert refusal.evidence == (f"tablet {late[0]} on {late[1]}",)


@given(maps(most=2), st.sampled_from(EDITIONS))
def test_a_finalized_split_has_twice_the_tablets_and_no_decision(
    table: TabletMap, edition: Edition
) -> None:
    """Only the server counts that as a decision."""
    split = finalized(replace(table, resize_type="split", resize_seq_number=4), edition)
    assert split.count == 2 * table.count
    assert (split.resize_type, split.resize_seq_number) == ("none", 5 if edition == "server" else 4)


@pytest.mark.spec("E-055")
@given(maps(most=2))
def test_a_merge_is_finalized_only_if_still_decided_at_rest_and_together(table: TabletMap) -> None:
    """A revoked decision, a tablet in transition, or siblings apart are refused."""
    assume(table.count > 1)
    table = replace(table, resize_type="merge")
    even_ones = [table.tablets[index & ~1].replicas for index in range(table.count)]
    together = replace(
        table,
        tablets=tuple(
            replace(tablet, replicas=replicas[::-1] if index & 1 else replicas)
            for index, (tablet, replicas) in enumerate(zip(table.tablets, even_ones, strict=True))
        ),
    )
    assert not_final(together, {}) is None
    assert finalized(together).count == table.count // 2
    assert not_final(replace(together, resize_type="none"), {}) is not None
    moving = replace(together.tablets[0], transition="migration", stage="streaming")
    busy = not_final(replace(together, tablets=(moving, *together.tablets[1:])), {})
    assert busy is not None
    assert busy.evidence == ("tablet 0: migration",)
    if together.tablets != table.tablets and set(even_ones[1]) != set(table.tablets[1].replicas):
        refusal = not_final(table, {})
        assert refusal is not None
        assert "tablets 0 and 1" in refusal.evidence


@given(st.sampled_from(["split", "merge"]), st.integers(0, 20 * GIB))
def test_the_bytes_until_a_resize_is_revoked_are_exact(kind: ResizeType, average: int) -> None:
    """One byte less does not revoke it."""
    for limits in THRESHOLDS.values():
        size = TableSize("ks.t", 4, 1, 4 * average, kind)
        left = until_revoked(size, limits)
        assert left is not None
        assert (left == 0) == (decide(size, limits).resize_type == "none")
        step = -1 if kind == "split" else 1
        for change, ends in ((left, True), (left - 1, False)):
            if left:
                there = replace(size, bytes=4 * (average + step * change))
                assert (decide(there, limits).resize_type == "none") == ends, (change, ends)
    assert until_revoked(TableSize("ks.t", 4, 1, 4, "none"), DOCUMENTS) is None
