"""What can happen in a recovery."""

from __future__ import annotations

from msgspec import Struct


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
