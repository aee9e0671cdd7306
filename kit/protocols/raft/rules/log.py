"""The log of one server: entries behind a snapshot, and what other logs are compared with.

Sources: Raft paper, figure 2, sections 5.3, 5.4.1 and 7; Scylla, Raft in Scylla.
"""

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from msgspec import Struct

from kit.chunks import Row, added, at, each, part, row_of, shared
from kit.protocols.raft.rules.configuration import Configuration

Data: TypeAlias = str | Configuration | None
"""What an entry holds: a command, a configuration, or nothing (the first of a new leader)."""


class Entry(Struct, frozen=True, cache_hash=True):
    """One entry: the term of the leader that made it, its index (from 1), what it holds."""

    term: int
    index: int
    data: Data = None


class Snapshot(Struct, frozen=True, cache_hash=True):
    """The state after all entries up to ``index``, the last of which is of ``term``."""

    index: int = 0  # 0: before all entries, with the configuration that the group begins with
    term: int = 0
    configuration: Configuration = Configuration()
    state: str = ""  # what the state machine holds, in its own words


class Log(Struct, frozen=True, cache_hash=True):
    """A snapshot and the entries behind it; ``configured`` are the indexes of configurations."""

    snapshot: Snapshot = Snapshot()
    chunks: Row[Entry] = ()
    configured: tuple[int, ...] = ()

    def __iter__(self) -> Iterator[Entry]:
        return each(self.chunks)

    @property
    def last_index(self) -> int:
        """The index of the last entry, or of the snapshot."""
        return self.chunks[-1].entries[-1].index if self.chunks else self.snapshot.index

    @property
    def last_term(self) -> int:
        """The term of the last entry, or of the snapshot."""
        return self.chunks[-1].entries[-1].term if self.chunks else self.snapshot.term

    @property
    def first_index(self) -> int:
        """The index of the first entry that is there, or would be there next."""
        return self.chunks[0].entries[0].index if self.chunks else self.snapshot.index + 1

    def entry(self, index: int) -> Entry | None:
        """The entry at an index; None where there is none (any more)."""
        return at(self.chunks, index)

    def term(self, index: int) -> int | None:
        """The term of the entry at an index; of the snapshot its own; else None."""
        if index == self.snapshot.index:
            return self.snapshot.term
        entry = self.entry(index)
        return entry.term if entry else None

    def matches(self, index: int, term: int) -> bool:
        """Whether the log has this entry. What is within the snapshot is committed: it matches."""
        return index < self.snapshot.index or self.term(index) == term

    def newest(self, index: int, term: int) -> tuple[int, int]:
        """The newest entry up to an index whose term is no newer: its index and its term."""
        index = min(index, self.last_index)
        while (held := self.term(index) or 0) > term:
            index -= 1
        return index, held

    def shared(self, other: "Log") -> int:
        """The index up to which both have the same entries, from the first one on (0: none)."""
        return shared(self.chunks, other.chunks)

    def admits(self, index: int, term: int) -> bool:
        """Whether a log that ends with this entry is at least as up to date as this one."""
        return (term, index) >= (self.last_term, self.last_index)

    @property
    def configuration(self) -> Configuration:
        """The newest one: what the log has is newer than that of the snapshot."""
        return self.configuration_at(self.last_index)

    def configuration_at(self, index: int) -> Configuration:
        """The newest one up to an index: the snapshot's where the log has none."""
        entry = next((self.entry(at) for at in reversed(self.configured) if at <= index), None)
        held = entry.data if entry else None
        return held if isinstance(held, Configuration) else self.snapshot.configuration

    @property
    def configured_at(self) -> int:
        """The index of the newest configuration."""
        return max((self.snapshot.index, *self.configured))

    def part(self, first: int, most: int = 0) -> tuple[Entry, ...]:
        """The entries from an index on; no more than ``most`` (0: all)."""
        return part(self.chunks, first, first + most - 1 if most else self.last_index)

    def appended(self, entry: Entry) -> "Log":
        """The log with one more entry."""
        changes = isinstance(entry.data, Configuration)
        configured = (*self.configured, entry.index) if changes else self.configured
        return Log(self.snapshot, added(self.chunks, entry), configured)

    def cut(self, index: int) -> "Log":
        """The log without this entry and all behind it."""
        return self._between(self.snapshot, self.first_index, index - 1)

    def _between(self, snapshot: Snapshot, first: int, last: int) -> "Log":
        kept = row_of(part(self.chunks, first, last))
        configured = tuple(index for index in self.configured if first <= index <= last)
        return Log(snapshot, kept, configured)

    def merged(self, entries: Iterable[Entry]) -> "Log":
        """The log with entries of a leader: what differs from them goes, with all behind it.

        What is behind entries that it has already stays: an old message takes nothing away.
        """
        log = self
        for entry in entries:
            if entry.index <= log.snapshot.index or log.term(entry.index) == entry.term:
                continue
            log = (log.cut(entry.index) if entry.index <= log.last_index else log).appended(entry)
        return log

    def compacted(self, snapshot: Snapshot, trailing: int = 0) -> "Log":
        """The log behind a snapshot; of the entries before it the last ``trailing`` are kept.

        A log that does not have the snapshot's last entry holds nothing that counts, and is empty.
        """
        if self.term(snapshot.index) != snapshot.term:
            return Log(snapshot)
        return self._between(snapshot, snapshot.index - trailing + 1, self.last_index)
