"""Whether a table's tablets are to be split or merged, and when a decision takes effect.

Co-located tables are one group: their bytes are added up, and the group's tablets are compared with
the target size. In edition ``server`` the size is one rule of several: the largest count that the
rules ask for counts; then no shard is to get more tablets than a goal, and what is left becomes a
power of two. A resize doubles or halves once, whatever is wanted, and one round begins few of them.
Sources: Topology over Raft, "Tablet resize", "Tablet splitting", "Tablet merging", read by Q-10
(the literal thresholds), Q-11 (a revocation takes a number, too) and Q-34 (growing mode); for
edition ``server`` the sizing plan and the resize plan of the published allocator.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import ceil, floor
from typing import Literal

from msgspec import Struct
from msgspec.structs import asdict, replace

from kit.errors import BadInput, Refusal, counted
from kit.protocols.group0.rules.releases import NEWEST, Release, has
from kit.protocols.tablets.rules.maps import ResizeType, TabletMap, apart, merged, split
from kit.protocols.tablets.rules.replica_sets import TabletReplica
from kit.protocols.tablets.rules.replication import Replication
from kit.protocols.topology.rules.machines import Edition

TARGET_SIZE = 5 * 2**30  # bytes: 5 GiB
SHARD_GOAL = 100  # tablets per shard that no rack is to pass on the average
INITIAL_SCALE = 10  # tablets per shard that a table has at the least where its schema says nothing
LocalNumbers = Mapping[tuple[int, TabletReplica], int]
"""The ``resize_seq_number`` that each replica of each tablet (by number) has copied."""


class Thresholds(Struct, frozen=True):
    """When an average tablet size, in bytes, asks for a resize; percentages of the target size.

    Of a server also its options ``tablets_per_shard_goal`` and ``tablets_initial_scale_factor``,
    and what differs by release (``thresholds``). ``at_once``: the size asks for all tablets that it
    needs, not only for twice or half as many. ``by_rack``: the goal is that of each rack, not of a
    datacenter. ``sizes_only``: the size alone asks for a resize.
    """

    target: int = TARGET_SIZE
    split_percent: int = 100
    merge_percent: int = 50
    at_once: bool = False
    by_rack: bool = True
    sizes_only: bool = False
    goal: int | Fraction = SHARD_GOAL
    scale: int | Fraction = INITIAL_SCALE

    @property
    def split_above(self) -> int:
        """A larger average asks for a split."""
        return self.target * self.split_percent // 100

    @property
    def merge_below(self) -> int:
        """A smaller average asks for a merge."""
        return self.target * self.merge_percent // 100

    @property
    def split_ends_below(self) -> int:
        """With a smaller average a split under way would be followed by a merge."""
        return 2 * self.merge_below

    @property
    def merge_ends_above(self) -> int:
        """With a larger average a merge under way would be followed by a split."""
        return self.split_above // 2


THRESHOLDS: dict[Edition, Thresholds] = {
    "documents": Thresholds(),
    "server": Thresholds(split_percent=200),
}


def thresholds(
    edition: Edition = "server", release: Release = NEWEST, target: int = TARGET_SIZE
) -> Thresholds:
    """The limits that decide on resizes in a release, with this target size in bytes."""
    return replace(
        THRESHOLDS[edition],
        target=target,
        at_once=has("desired-by-size", release),
        by_rack=has("goal-by-rack", release),
        sizes_only=not has("sizing-rules", release),
    )


class TableSize(Struct, frozen=True):
    """The size of a table, or of a group of co-located ones, as far as it is known.

    ``bytes`` are those of all replicas in all datacenters, of all tables of the group; None where
    some replica's are not known. ``replicas`` is the replication factor, summed over datacenters.
    ``initial`` is the tablet count that the schema asks for; a table that is ``growing`` keeps it.
    ``tables`` is how many the group has.
    """

    table: str
    count: int
    replicas: int
    bytes: int | None
    resize_type: ResizeType = "none"
    resize_seq_number: int = 0
    initial: int = 0
    growing: bool = False
    tables: int = 1

    @property
    def average_table(self) -> int | None:
        """The bytes of one copy of the whole table."""
        return None if self.bytes is None else self.bytes // self.replicas

    @property
    def average_tablet(self) -> int | None:
        """The bytes of one copy of one tablet."""
        return None if self.average_table is None else self.average_table // self.count


class ToldReason(Struct, frozen=True, tag=True):
    """A reason whose docstring begins with its sentence, in which its fields are named."""

    @classmethod
    def sentence(cls) -> str:
        """That sentence as a part of another one."""
        words = " ".join((cls.__doc__ or "").partition("\n\n")[0].split())
        return words[:1].lower() + words[1:-1]


class ResizeReason(ToldReason, frozen=True):
    """Why a table is resized, or is not."""


class Compared(ResizeReason, frozen=True):
    """The average is {average}, and one threshold is {threshold}."""

    average: int
    threshold: int


class AboveSplit(Compared, frozen=True):
    """An average of {average} is above {threshold}."""


class BelowMerge(Compared, frozen=True):
    """An average of {average} is below {threshold}."""


class WithinThresholds(ResizeReason, frozen=True):
    """An average of {average} lies between {lower} and {upper}.

    So it asks for nothing, or not yet for an end of what is under way.
    """

    average: int
    lower: int
    upper: int


class OppositeAfterwards(Compared, frozen=True):
    """The opposite would be needed afterwards: average {average}, threshold {threshold}."""


class SingleTablet(Compared, frozen=True):
    """An average of {average} is below {threshold}, but there is only one tablet."""


class StillGrowing(ResizeReason, frozen=True):
    """The table is growing: it has {tablets} and began with {initial}."""

    count: int
    initial: int


class CountCompared(ResizeReason, frozen=True):
    """The target is {tablets}.

    Edition ``server`` compares the target count of all rules with the present one.
    """

    count: int
    target: int


class SizesUnknown(ResizeReason, frozen=True):
    """Sizes are not known."""


def percents_said(*sizes: int) -> tuple[str, ...]:
    """Sizes in hundredths of the target size."""
    return tuple(f"{size} %" for size in sizes)


def resize_said(reason: ResizeReason, said: Callable[..., tuple[str, ...]] = percents_said) -> str:
    """Why a table is split or merged, or is not, in a few words; ``said`` writes sizes that are
    compared: in bytes, in percent.
    """
    numbers = asdict(reason)
    if isinstance(reason, StillGrowing | CountCompared):
        tablets = reason.count if isinstance(reason, StillGrowing) else reason.target
        return reason.sentence().format(tablets=counted(tablets, "tablet"), **numbers)
    return reason.sentence().format_map(dict(zip(numbers, said(*numbers.values()), strict=True)))


class ResizeDecision(Struct, frozen=True):
    """What a table's resize is from now on, and why; a new decision has the next sequence number,
    any other the same.
    """

    table: str
    resize_type: ResizeType
    resize_seq_number: int
    reason: ResizeReason


def decide(size: TableSize, limits: Thresholds) -> ResizeDecision:
    """The decision on a table: a new one, the same as before, or a revocation."""
    kind, reason = _wanted(size, limits)
    number = size.resize_seq_number + (kind != size.resize_type)
    return ResizeDecision(size.table, kind, number, reason)


def _wanted(size: TableSize, limits: Thresholds) -> tuple[ResizeType, ResizeReason]:
    average, under_way = size.average_tablet, size.resize_type
    if average is None:
        return under_way, SizesUnknown()
    if under_way == "split" and average < limits.split_ends_below:
        return "none", OppositeAfterwards(average, limits.split_ends_below)
    if under_way == "merge" and average > limits.merge_ends_above:
        return "none", OppositeAfterwards(average, limits.merge_ends_above)
    if under_way == "none" and average < limits.merge_below and size.growing:
        return "none", StillGrowing(size.count, size.initial)
    if under_way == "none" and average < limits.merge_below and size.count == 1:
        return "none", SingleTablet(average, limits.merge_below)
    kind: ResizeType = "none"
    reason: ResizeReason = WithinThresholds(average, limits.merge_below, limits.split_above)
    if average > limits.split_above:
        kind, reason = "split", AboveSplit(average, limits.split_above)
    elif average < limits.merge_below:
        kind, reason = "merge", BelowMerge(average, limits.merge_below)
    return (kind if under_way == "none" else under_way), reason


def until_revoked(size: TableSize, limits: Thresholds) -> int | None:
    """By how many bytes an average tablet would have to shrink for its split under way to be
    revoked, or to grow for its merge; None where there is none, or sizes are not known.
    """
    if (average := size.average_tablet) is None or size.resize_type == "none":
        return None
    splits = size.resize_type == "split"
    to_go = average - limits.split_ends_below if splits else limits.merge_ends_above - average
    return max(0, to_go + 1)


def is_growing(count: int, initial: int) -> bool:
    """Whether a table is in growing mode: it has not been split beyond its initial count."""
    return count <= initial


def decided(given: TabletMap, decision: ResizeDecision) -> TabletMap:
    """The map with a decision written into it."""
    return replace(
        given, resize_type=decision.resize_type, resize_seq_number=decision.resize_seq_number
    )


def unready(given: TabletMap, local: LocalNumbers) -> tuple[tuple[int, TabletReplica], ...]:
    """The replicas that have not divided their storage for the split that is decided now."""
    every = ((i, replica) for i, tablet in enumerate(given.tablets) for replica in tablet.replicas)
    return tuple(place for place in every if local.get(place) != given.resize_seq_number)


def not_final(given: TabletMap, local: LocalNumbers) -> Refusal | None:
    """Why the decision on a table cannot take effect now; None: it can. A split waits for the
    current number of every replica of every tablet, a merge for siblings with equal replica sets,
    both for the end of all transitions.
    """
    if given.resize_type == "none":
        return Refusal(f"no resize is decided for {given.table}")
    begun = [f"tablet {i}: {t.transition}" for i, t in enumerate(given.tablets) if t.transition]
    if begun:
        return Refusal("tablets are in transition", tuple(begun))
    if given.resize_type == "split":
        waits = [f"tablet {index} on {replica}" for index, replica in unready(given, local)]
        reason = f"replicas do not yet report {given.resize_seq_number}, the number of the split"
    else:
        waits = [f"tablets {pair.even} and {pair.odd}" for pair in apart(given)]
        reason = "siblings have different replica sets"
    return Refusal(reason, tuple(waits)) if waits else None


def finalized(given: TabletMap, edition: Edition = "server") -> TabletMap:
    """The map after its resize, which is no longer decided: in edition ``server`` by a decision
    that takes the next number. BadInput where ``split`` or ``merged`` refuse the map.
    """
    resized = split(given) if given.resize_type == "split" else merged(given)
    number = given.resize_seq_number + (edition == "server")
    return replace(resized, resize_type="none", resize_seq_number=number)


def group_bytes(sizes: Iterable[int | None]) -> int | None:
    """The bytes of co-located tables together; None where those of one are not known."""
    every = list(sizes)
    known = [size for size in every if size is not None]
    return sum(known) if len(known) == len(every) else None


GIB = 2**30
Shards = Mapping[str, Mapping[str, int]]  # how many shards each rack of each datacenter has


class CountOptions(Struct, frozen=True):
    """The counts that the schema asks for; 0 and None stand for what it does not say."""

    initial: int = 0
    min_tablet_count: int = 0
    max_tablet_count: int = 0
    expected_data_size_in_gb: int = 0
    min_per_shard_tablet_count: int | Fraction | None = None
    pow2_count: bool | None = None


def combined(options: Sequence[CountOptions]) -> CountOptions:
    """What co-located tables ask for together (published ``combine_tablet_options``): a power of
    two is a requirement, any other count a preference.
    """
    most = [each.max_tablet_count for each in options if each.max_tablet_count]
    per_shard = [each.min_per_shard_tablet_count for each in options]
    expected = [each.expected_data_size_in_gb for each in options if each.expected_data_size_in_gb]
    powers = [each.pow2_count for each in options if each.pow2_count is not None]
    return CountOptions(
        max(each.initial for each in options),
        max(each.min_tablet_count for each in options),
        min(most, default=0),
        sum(expected) // max(1, len(expected)),
        max((each for each in per_shard if each is not None), default=None),
        any(powers) if powers else None,
    )


class TargetCount(Struct, frozen=True):
    """The count of each rule, the count within the goal, that as a power of two unless the table
    takes any count, the step.
    """

    rules: Mapping[str, int]
    count: int
    aligned: int
    resize_type: ResizeType


def by_size(size: TableSize, limits: Thresholds) -> int:
    """The count that the size asks for; the present one where sizes are not known. Where a resize
    under way is not wanted any more, that of a table without one: it may be the opposite.
    """
    if (average := size.average_table) is None:
        return size.count
    fitting = -(-average // limits.target)
    if (kind := decide(size, limits).resize_type) == "none":
        kind = decide(replace(size, resize_type="none"), limits).resize_type
    more, less = 2 * size.count, -(-size.count // 2)
    if limits.at_once:
        more, less = max(more, fitting), max(1, min(less, fitting))
    return {"split": more, "merge": less, "none": size.count}[kind]


def rules_of(
    size: TableSize,
    options: CountOptions,
    replication: Replication,
    shards: Shards,
    limits: Thresholds,
) -> dict[str, int]:
    """The count of each rule; of rules that ask for as many the first counts. A rack that is named
    has a replica of each tablet. Co-located tables share the target size: a tablet of one of them
    holds its part of it.
    """
    if (per_shard := options.min_per_shard_tablet_count) is None:
        per_shard = 0 if options.initial or options.min_tablet_count else limits.scale
    by_shards = [
        ceil(Fraction(per_shard * width, factor))
        for width, factor in _widths(replication, shards)
        if factor
    ]
    share = max(1, limits.target // size.tables)
    return {
        "initial": options.initial,
        "min_tablet_count": options.min_tablet_count,
        "expected_data_size_in_gb": options.expected_data_size_in_gb * GIB // share,
        "min_per_shard_tablet_count": max(by_shards, default=0),
        "size": by_size(size, limits),
    }


def _widths(replication: Replication, shards: Shards) -> Iterator[tuple[int, int]]:
    for datacenter, factor in replication.items():
        racks = shards.get(datacenter, {})
        if isinstance(factor, int):
            yield sum(racks.values()), factor
        else:
            yield from ((racks.get(rack, 0), 1) for rack in factor)


def within_goal(
    counts: Mapping[str, int],
    factors: Mapping[str, Replication],
    shards: Shards,
    goal: int | Fraction = SHARD_GOAL,
    *,
    by_rack: bool = True,
) -> dict[str, int]:
    """Counts by table, made smaller where the shards of a rack (else of a datacenter, where all
    factors are numbers) would get more than the goal: every table that has replicas there shrinks
    by the same part; the smallest part counts.
    """
    parts = dict.fromkeys(counts, Fraction(1))
    for datacenter, by_name in shards.items():
        racks = by_name if by_rack else {"": sum(by_name.values())}
        for rack, width in racks.items():
            # How many replicas of each tablet the rack has, on the average.
            replicas = {name: factors[name].get(datacenter, 0) for name in counts}
            held = {
                name: Fraction(factor, len(racks))
                if isinstance(factor, int)
                else Fraction(rack in factor)
                for name, factor in replicas.items()
            }
            tablets = sum((counts[name] * part for name, part in held.items()), Fraction(0))
            average = tablets / width
            for name, part in held.items():
                if part:
                    parts[name] = min(parts[name], goal / average)
    return {name: max(1, floor(count * parts[name])) for name, count in counts.items()}


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
    """The target of each table, or group of co-located ones; they share the goal for shards.

    ``options`` are what the schema asks for, ``factors`` the replication (replicas or racks, by
    datacenter), each by table; ``shards`` those of nodes that are to stay, by datacenter and rack.
    What a table of a release has in the end is found by asking again after each resize, which
    doubles the count or halves it (rounded up). BadInput for a table without factors.
    """
    if missing := sorted(sizes.keys() - factors.keys()):
        raise BadInput("factors", sorted(factors), f"those of each table, as of {missing[0]}")
    chosen = {name: options.get(name, CountOptions()) for name in sizes}
    rules = {
        name: rules_of(size, chosen[name], factors[name], shards, limits)
        for name, size in sizes.items()
    }
    # The largest count of all rules, but no more than the schema allows.
    most = {name: max(asks.values()) for name, asks in rules.items()}
    counts = {name: min(n, chosen[name].max_tablet_count or n) for name, n in most.items()}
    scaled = within_goal(counts, factors, shards, limits.goal, by_rack=limits.by_rack)
    aligned = {
        name: count if chosen[name].pow2_count is False else power_of_two(count)
        for name, count in scaled.items()
    }
    return {
        name: TargetCount(rules[name], scaled[name], goal, towards(sizes[name].count, goal))
        for name, goal in aligned.items()
    }


def decide_by_count(
    size: TableSize, limits: Thresholds, target: TargetCount | None
) -> ResizeDecision:
    """The decision on a table: by its target count, or by its size where no target is known, or
    nothing else is looked at.

    What differs from the resize under way revokes it first. While sizes are not known nothing new
    is decided.
    """
    if target is None or size.bytes is None or limits.sizes_only:
        return decide(size, limits)
    kind = target.resize_type if size.resize_type in ("none", target.resize_type) else "none"
    number = size.resize_seq_number + (kind != size.resize_type)
    return ResizeDecision(size.table, kind, number, CountCompared(size.count, target.aligned))


MOST_NEW = 10  # resizes that begin in one round


class WantedResize(Struct, frozen=True):
    """A table that is resized or is to be: its average tablet (bytes; of co-located ones that of
    one table), the replicas of all its tablets; ``begun`` says that its resize is under way, though
    it may be revoked in this round.
    """

    table: str
    average: int
    replicas: int
    begun: bool


class LaterRound(Struct, frozen=True):
    """A resize that waits: for others of this round, for shards, or its turn.

    With *turn* there are shards enough, but one with larger tablets waits, and none overtakes it.
    When its turn came, the resizes of the round had ``taken`` replicas, for ``limit`` shards; its
    own table has ``needs`` (of requests: so many began, of at most ``limit``).
    """

    waits_for: Literal["requests", "shards", "turn"]
    taken: int
    needs: int
    limit: int


def later(wanted: Sequence[WantedResize], shards: int) -> dict[str, LaterRound]:
    """The tables whose resize does not begin in this round, and why."""
    taken = sum(each.replicas for each in wanted if each.begun)
    begins = 0
    waiting: dict[str, LaterRound] = {}
    new = (each for each in wanted if not each.begun)
    for each in sorted(new, key=lambda table: (-table.average, table.table)):
        if begins == MOST_NEW:
            waiting[each.table] = LaterRound("requests", begins, 1, MOST_NEW)
        elif begins and taken + each.replicas > shards:
            waiting[each.table] = LaterRound("shards", taken, each.replicas, shards)
        elif waiting:
            waiting[each.table] = LaterRound("turn", taken, each.replicas, shards)
        else:
            begins += 1
            taken += each.replicas
    return waiting
