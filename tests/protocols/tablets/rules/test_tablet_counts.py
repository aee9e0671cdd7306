"""How many tablets the published server wants: rules, the goal for shards, powers of two."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kit.protocols.tablets.rules.maps import ResizeType
from kit.protocols.tablets.rules.resize import (
    SHARD_GOAL,
    THRESHOLDS,
    CountCompared,
    CountOptions,
    SizesUnknown,
    TableSize,
    by_size,
    combined,
    decide_by_count,
    power_of_two,
    target_counts,
    thresholds,
    towards,
    within_goal,
)

SERVER = THRESHOLDS["server"]
MASTER = replace(SERVER, at_once=True)
TARGET = SERVER.target
ONE_DC = {"dc1": {"r1": 8, "r2": 8, "r3": 8}}


@given(
    st.dictionaries(st.sampled_from("abcd"), st.integers(1, 10**6), min_size=1),
    st.integers(1, 3),
    st.integers(1, 40),
)
def test_scaled_tablet_counts_keep_every_rack_within_the_goal_of_a_shard(
    counts: dict[str, int], factor: int, width: int
) -> None:
    """Tables that have one tablet already are not counted. Within the goal nothing is scaled."""
    shards = {"dc1": {"r1": width, "r2": 2 * width}}
    factors = {name: {"dc1": factor} for name in counts}
    scaled = within_goal(counts, factors, shards)
    tablets = sum(count * factor for count in scaled.values())
    spare = sum(factor for count in scaled.values() if count == 1)
    assert (tablets - spare) / 2 / width <= SHARD_GOAL
    assert all(1 <= scaled[name] <= counts[name] for name in counts)
    if sum(counts.values()) * factor / 2 / width <= SHARD_GOAL:
        assert scaled == counts


@given(st.integers(1, 2**20), st.integers(1, 2**20))
def test_a_resize_steps_towards_the_next_power_of_two(count: int, asked: int) -> None:
    """A merge never goes below that count."""
    aligned = power_of_two(asked)
    assert asked <= aligned < 2 * asked
    step = towards(count, aligned)
    assert (step == "split") == (aligned > count)
    if step == "merge":
        assert -(-count // 2) >= aligned


@pytest.mark.parametrize(
    ("count", "was", "decision", "number"),
    [
        (8, "none", "split", 6),
        (8, "split", "split", 5),
        (8, "merge", "none", 6),
        (128, "merge", "none", 6),
        (128, "split", "none", 6),
        (512, "none", "merge", 6),
    ],
)
def test_a_table_is_resized_towards_its_target_count(
    count: int, was: ResizeType, decision: ResizeType, number: int
) -> None:
    """A decision under way that differs is revoked first. Without sizes it stays."""
    size = TableSize("t", count, 3, 0, was, 5)
    target = target_counts({"t": size}, {}, {"t": {"dc1": 3}}, ONE_DC, MASTER)["t"]
    decided = decide_by_count(size, SERVER, target)
    assert (decided.resize_type, decided.resize_seq_number) == (decision, number)
    assert decided.reason == CountCompared(count, 128)
    unknown = decide_by_count(TableSize("t", count, 3, None, was, 5), SERVER, target)
    assert (unknown.resize_type, unknown.reason) == (was, SizesUnknown())
    by_its_size = "merge" if was == "none" else was if was == "merge" else "none"
    assert decide_by_count(size, SERVER, None).resize_type == by_its_size


def test_a_table_in_named_racks_is_scaled_by_those_racks_alone() -> None:
    """r2 has room, so a table of r2 keeps its count."""
    shards = {"dc1": {"r1": 2, "r2": 2}}
    named = {"a": {"dc1": ("r1",)}, "b": {"dc1": ("r2",)}, "both": {"dc1": ("r1", "r2")}}
    scaled = within_goal({"a": 400, "b": 100, "both": 100}, named, shards)
    assert scaled == {"a": 160, "b": 100, "both": 40}
    every = {name: {"dc1": 1} for name in named}
    assert within_goal({"a": 400, "b": 0, "both": 0}, every, shards)["a"] == 400


@given(st.dictionaries(st.sampled_from("abcd"), st.integers(1, 10**4), min_size=1))
def test_a_list_of_all_racks_scales_like_the_same_number_of_replicas(
    counts: dict[str, int],
) -> None:
    """In racks of one width."""
    shards = {"dc1": {"r1": 3, "r2": 3}}
    listed = within_goal(counts, {name: {"dc1": ("r1", "r2")} for name in counts}, shards)
    assert listed == within_goal(counts, {name: {"dc1": 2} for name in counts}, shards)


@pytest.mark.parametrize(
    ("wants", "count", "pow2", "aligned", "step"),
    [
        (12, 8, None, 16, "split"),
        (12, 8, True, 16, "split"),
        (12, 8, False, 12, "split"),
        (5, 12, False, 5, "merge"),
        (5, 9, False, 5, "merge"),
        (5, 8, False, 5, "none"),
        (5, 8, None, 8, "none"),
        (3, 3, False, 3, "none"),
    ],
)
def test_without_pow2_count_a_tablet_count_is_not_rounded_up(
    wants: int, count: int, pow2: bool | None, aligned: int, step: str
) -> None:
    """A step still doubles or halves the count."""
    size = TableSize("t", count, 1, count * TARGET)
    options = {"t": CountOptions(min_tablet_count=wants, max_tablet_count=wants, pow2_count=pow2)}
    target = target_counts({"t": size}, options, {"t": {"dc1": 1}}, ONE_DC, SERVER)["t"]
    assert (target.count, target.aligned, target.resize_type) == (wants, aligned, step)


@pytest.mark.parametrize(
    ("several", "wanted_together"),
    [
        ([{"min_tablet_count": 8}, {"min_tablet_count": 16}], {"min_tablet_count": 16}),
        ([{"max_tablet_count": 8}, {"max_tablet_count": 4}], {"max_tablet_count": 4}),
        ([{"max_tablet_count": 8}, {}], {"max_tablet_count": 8}),
        (
            [{"expected_data_size_in_gb": 10}, {}, {"expected_data_size_in_gb": 15}],
            {"expected_data_size_in_gb": 12},
        ),
        ([{"pow2_count": False}, {"pow2_count": True}], {"pow2_count": True}),
        ([{"pow2_count": False}, {}], {"pow2_count": False}),
        (
            [{"min_per_shard_tablet_count": 1}, {"min_per_shard_tablet_count": 3}],
            {"min_per_shard_tablet_count": 3},
        ),
        ([{}, {}], {}),
    ],
)
def test_the_options_of_co_located_tables_are_combined(
    several: list[dict[str, int]], wanted_together: dict[str, int]
) -> None:
    """The largest minimum, the smallest maximum, the mean size, and any power of two."""
    assert combined([CountOptions(**each) for each in several]) == CountOptions(**wanted_together)


BY_RELEASE = """
tablets under way | size | published so far | desired-by-size
8 none            | 8    | 8                | 8
8 none            | 16   | 8                | 8
8 none            | 17   | 16               | 17
8 none            | 128  | 16               | 128
8 split           | 9    | 16               | 16
8 split           | 100  | 16               | 100
8 none            | 3    | 4                | 3
8 none            | 0    | 4                | 1
8 merge           | 7    | 4                | 4
5 merge           | 1    | 3                | 1
1 none            | 0    | 1                | 1
"""


@pytest.mark.parametrize("line", BY_RELEASE.strip().splitlines()[1:])
def test_a_tables_size_asks_for_its_count_by_the_release(line: str) -> None:
    """Up to 2026.3 at most twice or half as many tablets, later all at once."""
    now, size, before, after = (each.split() for each in line.split("|"))
    table = TableSize("t", int(now[0]), 1, int(size[0]) * TARGET, now[1])  # type: ignore[arg-type]  # a type
    for release, wants in (("2025.4", before), ("2026.3", before), ("master", after)):
        limits = thresholds("server", release, TARGET)  # type: ignore[arg-type]  # a release
        assert by_size(table, limits) == int(wants[0]), (release, wants)


def test_a_large_table_beside_many_others_is_split_by_the_at_once_rule() -> None:
    """By the published rule so far it is scaled down, and never grows."""
    names = ["big", *(f"t{number}" for number in range(30))]
    sizes = {name: TableSize(name, 16, 1, 0) for name in names}
    sizes["big"] = TableSize("big", 4, 1, 64 * TARGET)
    asked = (sizes, {}, {name: {"dc1": 1} for name in names}, {"dc1": {"r1": 1}})
    so_far, at_once = (target_counts(*asked, limits)["big"] for limits in (SERVER, MASTER))
    assert (so_far.rules["size"], at_once.rules["size"]) == (8, 64)
    assert (so_far.resize_type, at_once.resize_type) == ("none", "split")
