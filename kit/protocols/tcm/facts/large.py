"""Rows of tables too long to read: how many, which of them changed, whom they name.

Columns tell what ``kit.protocols.tcm.facts.moment`` tells of every row; only what is shown is made
a row. Where reads and writes are cut differently (a safeguard is off) rows are asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import combinations, product
from typing import Any

from msgspec import Struct

from kit.masks import majority
from kit.protocols.tcm.cluster import TcmCluster
from kit.protocols.tcm.facts import moment
from kit.ring.columns import np
from kit.ring.placements import Placement, Table, same_sets
from kit.ring.ranges import Range
from kit.ring.topology import Mask, Tokens

Served = tuple[str, int, int]
"""A node, and how many ranges it is read from and written to."""


class ChangedRanges(Struct, frozen=True):
    """The first ranges that a step changed, and in how many it changed reads, writes, either.

    Each as it is, and the rows that held its tokens before. ``bins`` are the parts of the line,
    of ``DENSITY``, in which ranges end that it changed.
    """

    rows: tuple[tuple[moment.RangeRow, tuple[moment.RangeRow, ...]], ...]
    reads: int
    writes: int
    either: int
    bins: tuple[int, ...] = ()


DENSITY = 720
"""Parts of the line in which a drawing can still tell marks apart."""


@moment.kept("tcm.events")
def length(m: TcmCluster, s: Any, keyspace: str) -> int | None:
    """How many ranges a keyspace's tables have; None where they cannot be compared by columns."""
    if (group := m.snapshot(s).metadata.group_of(keyspace)) is None:
        return None
    reads, writes = m.snapshot(s).placements[group].reads, m.snapshot(s).placements[group].writes
    whole = reads.partitions and writes.partitions
    return len(reads) if whole and np.array_equal(reads.rights, writes.rights) else None


def _placement(m: TcmCluster, s: Any, keyspace: str) -> Placement:
    group = m.snapshot(s).metadata.group_of(keyspace)
    assert group is not None
    return m.snapshot(s).placements[group]


def listed(
    m: TcmCluster, s: Any, keyspace: str, first: int, last: int
) -> tuple[moment.RangeRow, ...]:
    """Some rows of a keyspace, from number ``first`` to before ``last``, without who holds them."""
    placement = _placement(m, s, keyspace)
    return tuple(_row(m, placement, at) for at in range(first, min(last, len(placement.reads))))


def look(m: TcmCluster, s: Any, keyspace: str, first: int, last: int) -> bytes:
    """The content of some rows, to tell at once whether they are the same as others."""
    placement, part = _placement(m, s, keyspace), slice(first, last)
    reads, writes = placement.reads, placement.writes
    parts = [reads.lefts[part].tobytes()]
    for table in (reads,) if reads is writes else (reads, writes):
        groups = table.groups[part]
        used = groups[:, (groups >= 0).any(axis=0)]
        parts += [table.rights[part].tobytes(), str(used.shape).encode(), used.tobytes()]
    return b"|".join(parts)


def _row(
    m: TcmCluster, placement: Placement, at: int, holder: str | None = None
) -> moment.RangeRow:
    reads, writes, line = placement.reads, placement.writes, moment.space(m)
    left, right = int(reads.lefts[at]), int(reads.rights[at])
    names = tuple(m.names[code] for code in reads.codes(at))
    others = names if reads is writes else tuple(m.names[code] for code in writes.codes(at))
    return moment.RangeRow(left, right, Range(left, right).label(line), names, others, holder)


def rows_of(
    m: TcmCluster, s: Any, keyspace: str, tokens: Iterable[int], most: int
) -> tuple[moment.RangeRow, ...]:
    """The first rows that hold any of these tokens, without who holds them."""
    placement = _placement(m, s, keyspace)
    places = np.unique(np.searchsorted(placement.reads.rights, np.fromiter(tokens, np.int64)))
    return tuple(_row(m, placement, at) for at in places[:most].tolist())


def _bins(m: TcmCluster, tokens: Tokens, bins: int) -> tuple[int, ...]:
    line = moment.space(m)
    share = (tokens.astype(np.float64) - line.low) / (float(line.high) - line.low)
    return tuple(np.unique(np.minimum((share * bins).astype(np.int64), bins - 1)).tolist())


@moment.kept_rows("tcm.events")
def served(m: TcmCluster, s: Any, keyspace: str) -> Iterator[Served]:
    """How many ranges each node serves, by name."""

    def counts(table: Table) -> Any:  # without the padding
        return np.bincount(table.groups[table.groups >= 0], minlength=len(m.names))

    placement = _placement(m, s, keyspace)
    reads = counts(placement.reads)
    writes = reads if placement.writes is placement.reads else counts(placement.writes)
    for name, code in sorted(m.codes.items()):
        if reads[code] or writes[code]:
            yield name, int(reads[code]), int(writes[code])


def changes(m: TcmCluster, s: Any, before: Any, keyspace: str, most: int) -> ChangedRanges:
    """The changes of the step from ``before``; both states have columns (see ``length``)."""
    if before is None or before.tcm.events == s.tcm.events:
        return ChangedRanges((), 0, 0, 0)
    key = ("changes", s.tcm.events, before.tcm.events, keyspace, most)
    return moment.memo(m, key, lambda: _changes(m, s, before, keyspace, most))


def _changes(m: TcmCluster, s: Any, before: Any, keyspace: str, most: int) -> ChangedRanges:
    now, then = _placement(m, s, keyspace), _placement(m, before, keyspace)
    ours, theirs = now.reads.rights, then.reads.rights
    same = np.array_equal(ours, theirs)
    # For each row the former one that held its last token, and for each former one who has its own;
    # both cut the whole line into pieces.
    was = np.arange(len(ours)) if same else np.searchsorted(theirs, ours)
    has = was if same else np.searchsorted(ours, theirs)

    def other(table: Table, former: Table) -> Mask:
        if same:
            return ~same_sets(table.groups, former.groups)
        differ = ~same_sets(table.groups, former.groups[was])
        differ[has[~same_sets(table.groups[has], former.groups)]] = True  # where ranges merged
        return differ

    reads, writes = other(now.reads, then.reads), other(now.writes, then.writes)
    either = np.flatnonzero(reads | writes)
    group = m.snapshot(s).metadata.group_of(keyspace)
    held = [] if group is None else moment.holders(m.snapshot(s), group)
    rows = []
    for at in either[:most].tolist():
        right = int(ours[at])
        holder = next((title for lock, title in held if lock.left < right <= lock.right), None)
        row = _row(m, now, at, holder)
        first = int(np.searchsorted(theirs, row.left, "right"))
        rows.append((row, tuple(_row(m, then, each) for each in range(first, int(was[at]) + 1))))
    bins = _bins(m, ours[either], DENSITY)
    return ChangedRanges(tuple(rows), int(reads.sum()), int(writes.sum()), len(either), bins)


Group = tuple[str, ...]


class Majorities(Struct, frozen=True):
    """The majorities of a range's two groups; ``shared[i][j]`` are the nodes that are in both."""

    row: moment.RangeRow
    reads: tuple[Group, ...]
    writes: tuple[Group, ...]
    shared: tuple[tuple[Group, ...], ...]

    @property
    def meet(self) -> bool:
        """Whether each pair shares at least one node."""
        return all(both for line in self.shared for both in line)


def majorities(m: TcmCluster, s: Any, keyspace: str | None = None) -> tuple[Majorities, ...]:
    """Every range of a keyspace that has replicas, with all its pairs of majorities."""
    pairs = []
    for row in moment.rows(m, s, keyspace):
        if row.reads and row.writes:
            reads, writes = _smallest(row.reads), _smallest(row.writes)
            pairs.append(Majorities(row, reads, writes, _shared(reads, writes)))
    return tuple(pairs)


@lru_cache(1024)
def _shared(reads: tuple[Group, ...], writes: tuple[Group, ...]) -> tuple[tuple[Group, ...], ...]:
    return tuple(
        tuple(tuple(name for name in reading if name in writing) for writing in writes)
        for reading in reads
    )


def _smallest(group: Group) -> tuple[Group, ...]:
    return tuple(combinations(group, majority(len(group))))


def first_missed(readers: Group, writers: Group) -> tuple[Group, Group] | None:
    """The first majority of ``readers`` and majority of ``writers`` without a common node."""
    pairs = product(_smallest(readers), _smallest(writers))
    return next(((r, w) for r, w in pairs if not set(r) & set(w)), None)
