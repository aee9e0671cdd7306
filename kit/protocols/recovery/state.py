"""The state of a recovery, and what can happen in it."""

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

    ``groups`` are the members of each group (masks). Groups up to ``abandoned`` are given up.
    ``leader`` is the one chosen, ``indexes_read`` whether commit indexes were. ``entries`` counts
    all entries ever; ``acknowledged`` gives each group the entries that it reported since the
    disaster (masks). What follows counts what may still happen.
    """

    nodes: tuple[RecoveryNode, ...]
    groups: tuple[int, ...]
    acknowledged: tuple[int, ...]
    entries: int
    abandoned: int = OLD
    leader: int = NOBODY
    indexes_read: bool = False
    isolated: bool = False
    operation: Operation = "none"
    crashes: int = 0
    deaths: int = 0
    returns: int = 0
    changes: int = 0
    writes: int = 0


class IsolateDead(Struct, frozen=True, tag="isolate"):
    """The operator cuts the nodes that are given up off from the others."""


class ReadIndexes(Struct, frozen=True, tag="read"):
    """The operator reads the commit index of every live node."""


class ChooseLeader(Struct, frozen=True, tag="choose"):
    """The operator chooses the recovery leader."""

    node: str


class DeleteGroupId(Struct, frozen=True, tag="delete"):
    """The operator deletes a node's persisted group id and its state of discovery."""

    node: str


class SetOption(Struct, frozen=True, tag="set"):
    """The operator sets ``recovery_leader`` in a node's configuration."""

    node: str


class RestartLiveNode(Struct, frozen=True, tag="restart"):
    """The operator starts a node, or restarts it."""

    node: str


class EndOperation(Struct, frozen=True, tag="coordinate"):
    """The coordinator on the new group's leader ends the operation that was under way."""


class RemoveNode(Struct, frozen=True, tag="removenode"):
    """The operator removes a dead node; the others that are dead are ignored, or are not."""

    node: str
    ignoring: bool = True


class ReplaceNode(Struct, frozen=True, tag="replace"):
    """The operator replaces a dead node by a new one; the others that are dead are ignored."""

    node: str


class UnsetOption(Struct, frozen=True, tag="unset"):
    """The operator takes ``recovery_leader`` out of a node's configuration."""

    node: str


class CleanRows(Struct, frozen=True, tag="clean"):
    """The operator deletes a node's Raft rows of the old group."""

    node: str


class AddColumn(Struct, frozen=True, tag="alter"):
    """A client changes the schema, at the group that a node runs in."""

    node: str


class StoreData(Struct, frozen=True, tag="write"):
    """A node persists data in a column; columns are numbered from 1."""

    node: str
    column: int


class CrashLiveNode(Struct, frozen=True, tag="crash"):
    """A node goes down; its disk stays."""

    node: str


class LoseNode(Struct, frozen=True, tag="die"):
    """One more node dies for good."""

    node: str


class ReturnNode(Struct, frozen=True, tag="return"):
    """A node that was given up comes back with all it had."""

    node: str


RecoveryAction = (
    IsolateDead
    | ReadIndexes
    | ChooseLeader
    | DeleteGroupId
    | SetOption
    | RestartLiveNode
    | EndOperation
    | RemoveNode
    | ReplaceNode
    | UnsetOption
    | CleanRows
    | AddColumn
    | StoreData
    | CrashLiveNode
    | LoseNode
    | ReturnNode
)
