"""The state of the old procedure."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from kit.protocols.recovery.state import NO_GROUP

Value = Literal[
    "",
    "use_pre_raft_procedures",
    "synchronize",
    "use_post_raft_procedures",
    "recovery",
    "unknown",
]
"""``group0_upgrade_state`` in ``system.scylla_local``; empty: there is no row."""

Mode = Literal["down", "group 0", "upgrade", "synchronize", "recovery"]
"""What a node runs by since it started: a value that is written later waits for a restart."""

MODES: dict[Value, Mode] = {
    "": "upgrade",
    "use_pre_raft_procedures": "upgrade",
    "synchronize": "synchronize",
    "use_post_raft_procedures": "group 0",
    "recovery": "recovery",
    "unknown": "recovery",
}
"""The mode in which a node starts, by the value that it reads."""

Standing = Literal["live", "dead", "returned", "removed"]
"""Whether the operator counts on a node; *returned* ones were given up and are back."""

Command = tuple[int, int]
"""An entry of a group's log: the state id that it builds on (0: none), and its own."""


class OldNode(Struct, frozen=True, cache_hash=True, kw_only=True):
    """A node: what it runs by, and what it has persisted.

    ``group`` is the group 0 that its Raft server runs in, ``group_id`` the persisted value of
    ``raft_group0_id``. ``discovery`` are the peers in ``system.discovery`` (a mask), ``history`` is
    the newest state id in ``system.group0_history`` (0: the table is empty). ``columns`` are the
    entries that its schema holds (a mask). ``version`` names the change that last wrote
    ``group0_schema_version``: positive where group 0 wrote it, negative where a tombstone did.
    ``applied`` counts the entries of its group's log that it has gone through.
    """

    standing: Standing
    mode: Mode
    value: Value
    group: int
    group_id: int
    discovery: int
    history: int
    columns: int
    version: int
    applied: int

    @property
    def is_up(self) -> bool:
        """Whether its server runs."""
        return self.mode != "down"

    @property
    def hashed(self) -> bool:
        """Whether its schema version is a hash: the entry has a tombstone."""
        return self.version <= 0

    @property
    def schema_version(self) -> tuple[bool, int]:
        """What it gossips as its schema version: a hash of its mutations, or the entry's value."""
        return (True, self.columns) if self.hashed else (False, self.version)

    @property
    def waits_for_group(self) -> bool:
        """Whether the Raft upgrade has yet to bring it into a group."""
        return self.mode in ("upgrade", "synchronize") and self.group == NO_GROUP


class OldState(Struct, frozen=True, cache_hash=True, kw_only=True):
    """Every node, every group, and what the operator has done and seen.

    ``groups`` are the members of each group (masks), ``voters`` those who vote (none are told where
    all members do), ``logs`` its entries; group 0 is the one that lost its majority. ``entries``
    counts all schema changes ever, ``answered`` are the columns of those that a group 0 answered
    since the disaster (a mask). What follows counts what may still happen.
    """

    nodes: tuple[OldNode, ...]
    groups: tuple[int, ...]
    voters: tuple[int, ...] = ()
    logs: tuple[tuple[Command, ...], ...]
    entries: int
    answered: int = 0
    isolated: bool = False
    logs_read: bool = False
    compared: bool = False
    crashes: int
    deaths: int
    returns: int
    changes: int
    mistypes: int
