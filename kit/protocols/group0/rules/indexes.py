"""How far one node is in the log: what it stores, what it knows to be committed, what it applied.

All three survive a crash. They count entries, so index 2 means the first two entries.
Source: "Raft application in Scylla", table ``raft``; published code, ``db/system_keyspace`` (commit
index).
"""

from __future__ import annotations

from msgspec import Struct


class Indexes(Struct, frozen=True, cache_hash=True):
    """The three indexes of a node; each is at most the one before it."""

    stored: int = 0
    commit: int = 0
    applied: int = 0

    def storing(self, index: int) -> Indexes:
        """The node stores the log up to ``index``."""
        return Indexes(max(self.stored, index), self.commit, self.applied)

    def knowing(self, index: int) -> Indexes:
        """The node stores the log up to ``index``, and knows that it is committed."""
        return Indexes(max(self.stored, index), max(self.commit, index), self.applied)

    def applying(self) -> Indexes:
        """The node has applied one more command; there is one to apply."""
        return Indexes(self.stored, self.commit, self.applied + 1)

    @property
    def to_apply(self) -> int:
        """How many commands it knows to be committed and has not applied."""
        return self.commit - self.applied


def snapshot_index(entries: int, applied: int, kept: int) -> int:
    """Up to where a leader has dropped the log of ``entries`` and has its own state in their place.

    It keeps the last ``kept`` entries (0: all), and drops none that it has not ``applied``.
    """
    return max(0, min(entries - kept, applied)) if kept else 0
