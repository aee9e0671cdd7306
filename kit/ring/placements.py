"""Placements: which nodes serve which range, as one read table and one write table.

CEP-21, "Data placements": the read and the write replica group of a range are two values; they are
equal when nothing is in progress.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TypeAlias

from msgspec import Struct

from kit.ring.columns import np
from kit.ring.natural import Index, replicas_from
from kit.ring.ranges import Range
from kit.ring.replication import Replication
from kit.ring.topology import Codes, Mask, Ring, Tokens, frozen_array

WIDE = 32  # slots; wider are only the groups of keyspaces that all nodes, or very many, hold

NamedGroups: TypeAlias = dict[bytes, tuple[str, ...]]
"""Groups of codes, as bytes, with their names."""


class Row(Struct, frozen=True, order=True):
    """One row of a table, with names: ``(left, right]`` is served by ``replicas``, in order."""

    left: int
    right: int
    replicas: tuple[str, ...]


class Table:
    """Rows by (left, right): ``lefts``, ``rights`` int64 (n,), ``groups`` int32 (n, k) codes.

    Groups are padded with -1 on the right. Rows normally partition the line; overlapping rows are
    representable, because a switched-off safeguard (S-54) produces them.
    """

    def __init__(self, lefts: Tokens, rights: Tokens, groups: Codes) -> None:
        """Trusts its caller that rows are sorted and groups are padded on the right."""
        for column in (lefts, rights, groups):
            frozen_array(column)
        self.lefts, self.rights, self.groups = lefts, rights, groups

    @classmethod
    def of(cls, rows: Iterable[tuple[int, int, tuple[int, ...]]]) -> Table:
        """A table of (left, right, node codes)."""
        given = sorted(rows, key=lambda row: row[:2])
        width = max((len(codes) for _, _, codes in given), default=0)
        groups = np.full((len(given), width), -1, np.int32)
        for at, (_, _, codes) in enumerate(given):
            groups[at, : len(codes)] = codes
        lefts = np.array([row[0] for row in given], np.int64)
        return cls(lefts, np.array([row[1] for row in given], np.int64), groups)

    def __len__(self) -> int:
        return len(self.rights)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        if not (_equal(self.lefts, other.lefts) and _equal(self.rights, other.rights)):
            return False
        own, others = self.groups, other.groups
        return own is others or np.array_equal(_trimmed(own), _trimmed(others))

    def __hash__(self) -> int:
        return hash((self.lefts.tobytes(), self.rights.tobytes(), _trimmed(self.groups).tobytes()))

    def __repr__(self) -> str:
        return f"Table({len(self)} rows)"

    @cached_property
    def partitions(self) -> bool:
        """Whether each row begins where the one before it ends."""
        return bool((self.lefts[1:] == self.rights[:-1]).all())

    def range_of(self, at: int) -> Range:
        """The range of row ``at``."""
        return Range(int(self.lefts[at]), int(self.rights[at]))

    def codes(self, at: int) -> tuple[int, ...]:
        """The group of row ``at`` as node codes, in order."""
        return members(self.groups[at].tolist())

    def rows(self, names: tuple[str, ...]) -> tuple[Row, ...]:
        """All rows with node names; ``names`` is indexed by code, for instance ``ring.names``."""
        both = zip(self.lefts.tolist(), self.rights.tolist(), self.named(names, {}), strict=True)
        return tuple(Row(left, right, group) for left, right, group in both)

    def named(self, names: tuple[str, ...], known: NamedGroups) -> Iterator[tuple[str, ...]]:
        """The group of each row by name; equal ones, those ``known`` too, are held once."""
        content, size = self.groups.tobytes(), self.groups[:1].nbytes
        for at in range(len(self)):
            key = content[at * size : (at + 1) * size]
            if key not in known:
                known[key] = tuple(map(names.__getitem__, self.codes(at)))
            yield known[key]

    def rows_of(self, token: int) -> tuple[int, ...]:
        """Indices of the rows that own the token: one, unless rows overlap or do not cover it."""
        if self.partitions:
            at = int(np.searchsorted(self.rights, token))
            inside = at < len(self) and self.lefts[at] < token
            return (at,) if inside else ()
        hit = (self.lefts < token) & (token <= self.rights)
        return tuple(np.flatnonzero(hit).tolist())

    def groups_of(self, token: int) -> tuple[tuple[int, ...], ...]:
        """The groups, as node codes, that own the token; one, unless rows overlap."""
        return tuple(self.codes(at) for at in self.rows_of(token))


class Placement(Struct, frozen=True, dict=True):
    """The read table and the write table of one keyspace (or of all with equal replication)."""

    reads: Table
    writes: Table

    @cached_property
    def apart(self) -> Index:
        """The rows in which reads and writes differ as sets, where both are cut alike."""
        return np.flatnonzero(~same_sets(self.reads.groups, self.writes.groups))


def stable_placement(
    ring: Ring, replication: Replication, rows: slice | Index | None = None
) -> Placement:
    """The natural replicas, to read and to write, of all rows of the ring or of these indices."""
    if isinstance(rows, slice):
        rows = np.arange(*rows.indices(len(ring.rights)))
    rights = ring.rights if rows is None else ring.rights[rows]
    groups = replicas_from(ring, replication, ring.row_starts(rows))
    table = Table(ring.row_lefts(rows), rights, groups)
    return Placement(table, table)


def members(group: Sequence[int]) -> tuple[int, ...]:
    """The node codes of a group that may be padded with -1, and as wide as the ring."""
    return tuple(group) if -1 not in group else tuple([code for code in group if code >= 0])


def padded(groups: Codes, width: int) -> Codes:
    """The groups with at least ``width`` columns, new ones filled with -1."""
    return groups if groups.shape[1] >= width else widened(groups, width)


def widened(groups: Codes, width: int) -> Codes:
    """A copy of the groups, to be changed, with at least ``width`` columns."""
    copy = np.full((len(groups), max(width, groups.shape[1])), -1, np.int32)
    copy[:, : groups.shape[1]] = groups
    return copy


def slots_of(codes: Codes, groups: Codes) -> Codes:
    """In which slot of the group of its row each node stands, -1 where it does not: (n, k)."""
    if groups.shape[1] > WIDE:
        # Every slot with every slot would be too many pairs; code -1 falls into the last column.
        most = int(max(codes.max(initial=0), groups.max(initial=0)))
        places = np.full((len(codes), most + 2), -1, np.int32)
        np.put_along_axis(places, groups, np.arange(groups.shape[1], dtype=np.int32)[None], axis=1)
        places[:, -1] = -1
        return np.asarray(np.take_along_axis(places, codes, axis=1), np.int32)
    slots = np.full(codes.shape, -1, np.int32)
    for slot in range(groups.shape[1]):
        slots[(codes == groups[:, [slot]]) & (codes >= 0)] = slot
    return slots


def same_sets(first: Codes, second: Codes) -> Mask:
    """Whether groups of the same row are equal as sets; shape (n,)."""
    same = np.ones(len(first), np.bool_)
    odd = differing(first, second)  # few, as a rule: only these are sorted
    width = max(first.shape[1], second.shape[1])
    # Sorted by code, padding first, equal sets are equal rows.
    ours, theirs = (np.sort(padded(each[odd], width), axis=1) for each in (first, second))
    same[odd] = (ours == theirs).all(axis=1)
    return same


def differing(first: Codes, second: Codes) -> Index:
    """The rows, ascending, in which two columns of groups differ; padding aside."""
    if first.shape[1] < second.shape[1]:
        first, second = second, first
    width, wider = second.shape[1], first.shape[1]
    cells = np.flatnonzero(first[:, :width] != second)
    rows = cells // max(width, 1)
    beyond = [np.flatnonzero(first[:, slot] >= 0) for slot in range(width, wider)]
    if any(map(len, beyond)):
        return np.unique(np.concatenate((rows, *beyond)))
    new = np.append(np.True_, rows[1:] != rows[:-1])
    return np.asarray(rows[new] if len(rows) else rows, np.intp)


def _equal(first: Tokens, second: Tokens) -> bool:
    """Whether two columns are equal; tables that come of each other share theirs."""
    return first is second or np.array_equal(first, second)


def _trimmed(groups: Codes) -> Codes:
    used = groups.shape[1]
    while used and not (groups[:, used - 1] >= 0).any():
        used -= 1
    return np.ascontiguousarray(groups[:, :used])
