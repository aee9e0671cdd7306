"""How many tablets the published server wants a table to have: its size is one rule of several.

The largest of what the rules ask for counts; then no shard is to get more tablets than a goal, and
what is left becomes a power of two. A resize doubles or halves once, whatever is wanted. The
documents know the size alone. Source: the sizing plan of the published tablet allocator.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from fractions import Fraction
from math import ceil, floor

from msgspec import Struct
from msgspec.structs import replace

from kit.protocols.tablets.rules.maps import ResizeType
from kit.protocols.tablets.rules.replication import Replication
from kit.protocols.tablets.rules.resize import (
    CountCompared,
    ResizeDecision,
    TableSize,
    Thresholds,
    decide,
)
from kit.protocols.topology.rules.cluster import Factor

SHARD_GOAL = 100
"""Tablets a shard that no rack is to pass on the average."""

INITIAL_SCALE = 10
"""Tablets a shard that a table has at the least where its schema says nothing."""

GIB = 2**30
Shards = Mapping[str, Mapping[str, int]]
"""How many shards each rack of each datacenter has."""


class CountOptions(Struct, frozen=True):
    """What the schema asks for; 0 and None stand for what it does not say."""

    initial: int = 0
    min_tablet_count: int = 0
    max_tablet_count: int = 0
    expected_data_size_in_gb: int = 0
    min_per_shard_tablet_count: int | Fraction | None = None


class TargetCount(Struct, frozen=True):
    """What each rule asks for, the count within the goal, that as a power of two, the step."""

    rules: Mapping[str, int]
    count: int
    aligned: int
    resize_type: ResizeType


def by_size(size: TableSize, limits: Thresholds) -> int:
    """The count that the size asks for; the present one where sizes are not known.

    Where a resize under way is not wanted any more, that of a table without one: it may be the
    opposite.
    """
    average = size.average_table
    if average is None:
        return size.count
    fitting = -(-average // limits.target)
    kind = decide(size, limits).resize_type
    if kind == "none":
        kind = decide(replace(size, resize_type="none"), limits).resize_type
    match kind:
        case "split":
            return max(2 * size.count, fitting)
        case "merge":
            return max(1, min(-(-size.count // 2), fitting))
    return size.count


def rules_of(
    size: TableSize,
    options: CountOptions,
    replication: Replication,
    shards: Shards,
    limits: Thresholds,
) -> dict[str, int]:
    """What each rule asks for. A rack that is named has a replica of each tablet.

    Co-located tables share the target size: a tablet of one of them holds its part of it.
    """
    per_shard = options.min_per_shard_tablet_count
    if per_shard is None:
        per_shard = 0 if options.initial or options.min_tablet_count else INITIAL_SCALE
    by_shards = [
        ceil(Fraction(per_shard * width, factor))
        for width, factor in _widths(replication, shards)
        if factor
    ]
    share = max(1, limits.target // size.tables)
    return {
        "size": by_size(size, limits),
        "initial": options.initial,
        "min_tablet_count": options.min_tablet_count,
        "expected_data_size_in_gb": options.expected_data_size_in_gb * GIB // share,
        "min_per_shard_tablet_count": max(by_shards, default=0),
    }


def _widths(replication: Replication, shards: Shards) -> Iterator[tuple[int, int]]:
    """The shards that have so many replicas of each tablet: of datacenters, of racks by name."""
    for datacenter, factor in replication.items():
        racks = shards.get(datacenter, {})
        if isinstance(factor, int):
            yield sum(racks.values()), factor
        else:
            yield from ((racks.get(rack, 0), 1) for rack in factor)


def wanted(rules: Mapping[str, int], options: CountOptions) -> int:
    """The largest count of all rules, at least one, and no more than the schema allows."""
    most = max(1, *rules.values())
    return min(most, options.max_tablet_count) if options.max_tablet_count else most


def within_goal(
    counts: Mapping[str, int],
    factors: Mapping[str, Replication],
    shards: Shards,
    goal: int = SHARD_GOAL,
) -> dict[str, int]:
    """Counts by table, made smaller where a rack's shards would get more than the goal.

    Every table that has replicas in such a rack shrinks by the same part; the smallest part counts.
    """
    parts = dict.fromkeys(counts, Fraction(1))
    for datacenter, racks in shards.items():
        for rack, width in racks.items():
            held = {
                name: _in_rack(factors[name].get(datacenter, 0), rack, racks) for name in counts
            }
            tablets = sum((counts[name] * part for name, part in held.items()), Fraction(0))
            average = tablets / width
            if average > goal:
                for name, part in held.items():
                    if part:
                        parts[name] = min(parts[name], goal / average)
    return {name: max(1, floor(count * parts[name])) for name, count in counts.items()}


def _in_rack(factor: Factor, rack: str, racks: Collection[str]) -> Fraction:
    """How many replicas of each tablet a rack has, on the average."""
    if isinstance(factor, int):
        return Fraction(factor, len(racks))
    return Fraction(rack in factor)


def power_of_two(count: int) -> int:
    """The next power of two."""
    return 1 << (count - 1).bit_length()


def towards(count: int, aligned: int) -> ResizeType:
    """The one resize that leads towards a count."""
    if aligned > count:
        return "split"
    return "merge" if aligned < count and aligned <= -(-count // 2) else "none"


def target_counts(
    sizes: Mapping[str, TableSize],
    options: Mapping[str, CountOptions],
    factors: Mapping[str, Replication],
    shards: Shards,
    limits: Thresholds,
) -> dict[str, TargetCount]:
    """The target of each table, or group of co-located ones; they share the goal for shards."""
    rules = {
        name: rules_of(size, options.get(name, CountOptions()), factors[name], shards, limits)
        for name, size in sizes.items()
    }
    counts = {name: wanted(asks, options.get(name, CountOptions())) for name, asks in rules.items()}
    scaled = within_goal(counts, factors, shards)
    return {
        name: TargetCount(
            rules[name],
            scaled[name],
            power_of_two(scaled[name]),
            towards(sizes[name].count, power_of_two(scaled[name])),
        )
        for name in sizes
    }


def decide_by_count(
    size: TableSize, limits: Thresholds, target: TargetCount | None
) -> ResizeDecision:
    """The decision on a table: by its target count, or by its size where no target is known.

    What differs from the resize under way revokes it first. While sizes are not known nothing new
    is decided.
    """
    if target is None or size.bytes is None:
        return decide(size, limits)
    kind = target.resize_type
    if size.resize_type not in ("none", kind):
        kind = "none"
    number = size.resize_seq_number + (kind != size.resize_type)
    reason = CountCompared(size.count, target.aligned)
    return ResizeDecision(size.table, kind, number, reason)
