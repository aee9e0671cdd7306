"""Long rows of entries that never change: one that grows shares all but its last chunk.

An entry has an ``index``, and those of a row follow one another from any index on. Chunks hold
neighbours whose indexes have the same quotient by ``CHUNK``, so that two rows of one origin compare
chunk by chunk; equal full ones are one object. No row is empty but ``()``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, takewhile
from typing import Generic, Protocol, TypeAlias, TypeVar

from msgspec import Struct

CHUNK = 256
"""Entries that stand together: about the root of the longest row, so that both parts are short."""


class Indexed(Protocol):
    """A row of things that have places in it."""

    @property
    def index(self) -> int:
        """Its place."""


E = TypeVar("E", bound=Indexed)


class Chunk(Struct, Generic[E], frozen=True, cache_hash=True):
    """Neighbouring entries."""

    entries: tuple[E, ...]


Row: TypeAlias = tuple[Chunk[E], ...]
_full = lru_cache(1 << 8)(Chunk)


def each(row: Row[E]) -> Iterator[E]:
    """All entries in order."""
    return (entry for chunk in row for entry in chunk.entries)


def at(row: Row[E], index: int) -> E | None:
    """The entry at an index; None where there is none."""
    if not row or not row[0].entries[0].index <= index <= row[-1].entries[-1].index:
        return None
    entries = row[index // CHUNK - row[0].entries[0].index // CHUNK].entries
    return entries[index - entries[0].index]


def part(row: Row[E], first: int, last: int) -> tuple[E, ...]:
    """The entries from an index to another one, as far as they are there."""
    if not row:
        return ()
    begin = row[0].entries[0].index
    first, last, place = max(first, begin), min(last, row[-1].entries[-1].index), begin // CHUNK
    if first > last:
        return ()
    some = [chunk.entries for chunk in row[first // CHUNK - place : last // CHUNK - place + 1]]
    entries = some[0] if len(some) == 1 else tuple(chain.from_iterable(some))
    before = first - entries[0].index
    return entries[before : before + last - first + 1]


def added(row: Row[E], entry: E) -> Row[E]:
    """The row with one more entry."""
    if not row or entry.index % CHUNK == 0:
        return (*row, Chunk((entry,)))
    entries = (*row[-1].entries, entry)
    return (*row[:-1], _full(entries) if (entry.index + 1) % CHUNK == 0 else Chunk(entries))


def row_of(entries: Iterable[E]) -> Row[E]:
    """A row of these entries."""
    chunks: dict[int, list[E]] = {}
    for entry in entries:
        chunks.setdefault(entry.index // CHUNK, []).append(entry)
    return tuple(Chunk(tuple(some)) for some in chunks.values())


def shared(row: Row[E], other: Row[E]) -> int:
    """The index up to which both have the same entries, from the first one on (0: none)."""
    last = 0
    for chunk, twin in zip(row, other, strict=False):
        size = min(len(chunk.entries), len(twin.entries))
        mine, theirs = chunk.entries[:size], twin.entries[:size]
        if chunk is not twin and mine != theirs:
            same = takewhile(lambda pair: pair[0] == pair[1], zip(mine, theirs, strict=True))
            return max((entry.index for entry, _ in same), default=last)
        last = mine[-1].index
        if len(chunk.entries) != len(twin.entries):
            return last
    return last
