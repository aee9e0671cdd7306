"""The state of a recovery."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

NodeStatus = Literal["up", "down", "dead", "returned", "removed"]
"""*dead* and *returned* nodes are given up; *removed* ones are out of the cluster."""

Operation = Literal["none", "under way", "done", "rolled back"]
NOBODY = NO_GROUP = -1
OLD = 0
"""The group that lost its majority; groups are numbered as they are created."""


class RecoveryNode(Struct, frozen=True, cache_hash=True):
    """A node: what it runs by, and what it has persisted.

    ``group`` is the group 0 that it runs in (``NO_GROUP`` while it is not up), ``group_id`` the
    persisted one, ``option`` the node that its ``recovery_leader`` names. ``columns`` are the
    entries that its schema holds, ``data`` those columns in which it stores data (masks).
    ``old_rows``: Raft's rows of a former group are there.
    """

    status: NodeStatus
    group: int
    group_id: int
    option: int
    columns: int
    data: int = 0
    old_rows: bool = True

    @property
    def index(self) -> int:
        """Its commit index: how many entries it knows."""
        return self.columns.bit_count()

    @property
    def takes_part(self) -> bool:
        """Whether the operator counts on it."""
        return self.status in ("up", "down")


class RecoveryState(Struct, frozen=True, cache_hash=True, kw_only=True):
    """Every node, and what the operator knows.

    ``groups`` are the members of each group (masks), ``voters`` those who vote (none are told where
    all members do). Groups up to ``abandoned`` are given up.
    ``leader`` is the one chosen, ``indexes_read`` whether commit indexes were. ``entries`` counts
    all entries ever; ``acknowledged`` gives each group the entries that it reported since the
    disaster (masks). What follows counts what may still happen.
    """

    nodes: tuple[RecoveryNode, ...]
    groups: tuple[int, ...]
    voters: tuple[int, ...] = ()
    acknowledged: tuple[int, ...]
    entries: int
    abandoned: int = OLD
    leader: int = NOBODY
    indexes_read: bool = False
    isolated: bool = False
    operation: Operation
    crashes: int
    deaths: int
    returns: int
    changes: int
    writes: int
