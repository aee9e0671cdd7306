"""Whether every read majority of a range meets every write majority: each pair, and who is in both.

Source: CEP-21, "Data Range" (reads and writes of a range have intersecting quorums at each epoch).
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations, product
from typing import Any

from msgspec import Struct

from kit.protocols.tcm.cluster import TcmCluster
from kit.protocols.tcm.facts.moment import RangeRow, rows
from kit.protocols.tcm.rules.barrier import majority

Group = tuple[str, ...]


class Majorities(Struct, frozen=True):
    """The majorities of a range's two groups; ``shared[i][j]`` are the nodes that are in both."""

    row: RangeRow
    reads: tuple[Group, ...]
    writes: tuple[Group, ...]
    shared: tuple[tuple[Group, ...], ...]

    @property
    def meet(self) -> bool:
        """Whether each pair shares at least one node."""
        return all(both for line in self.shared for both in line)


def majorities(m: TcmCluster, s: Any, keyspace: str | None = None) -> tuple[Majorities, ...]:
    """Every range of a keyspace that has replicas, with all its pairs of majorities.

    Raises:
        BadInput: for an unknown keyspace.
    """
    return tuple(_of(row) for row in rows(m, s, keyspace) if row.reads and row.writes)


def _of(row: RangeRow) -> Majorities:
    reads, writes = (_smallest(group) for group in (row.reads, row.writes))
    return Majorities(row, reads, writes, _shared(reads, writes))


@lru_cache(1024)
def _shared(reads: tuple[Group, ...], writes: tuple[Group, ...]) -> tuple[tuple[Group, ...], ...]:
    """Who is in both of each pair; ranges whose groups stay have the same pairs at each step."""
    return tuple(
        tuple(tuple(name for name in reading if name in writing) for writing in writes)
        for reading in reads
    )


def _smallest(group: Group) -> tuple[Group, ...]:
    """The smallest majorities; larger ones meet whatever these meet."""
    return tuple(combinations(group, majority(len(group))))


def first_missed(readers: Group, writers: Group) -> tuple[Group, Group] | None:
    """The first majority of ``readers`` and majority of ``writers`` without a common node."""
    pairs = product(_smallest(readers), _smallest(writers))
    return next(((r, w) for r, w in pairs if not set(r) & set(w)), None)
