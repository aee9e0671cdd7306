"""What can happen in the old procedure."""

from __future__ import annotations

from msgspec import Struct


class CutOffDead(Struct, frozen=True, tag="isolate"):
    """The operator cuts the nodes that are given up off from the others."""


class SetRecovery(Struct, frozen=True, tag="set"):
    """The operator sets ``group0_upgrade_state`` to ``recovery`` on a node."""

    node: str


class MistypeValue(Struct, frozen=True, tag="mistype"):
    """The operator sets ``group0_upgrade_state`` to a value that there is not."""

    node: str


class StopServer(Struct, frozen=True, tag="stop"):
    """The operator stops a node."""

    node: str


class StartServer(Struct, frozen=True, tag="start"):
    """The operator starts a node."""

    node: str


class ReadLogs(Struct, frozen=True, tag="logs"):
    """The operator looks for RECOVERY mode in the log of each live node."""


class RemoveDead(Struct, frozen=True, tag="removenode"):
    """The operator removes a dead node; the others that are dead are ignored."""

    node: str


class TruncateDiscovery(Struct, frozen=True, tag="discovery"):
    """The operator truncates ``system.discovery`` on a node."""

    node: str


class TruncateHistory(Struct, frozen=True, tag="history"):
    """The operator truncates ``system.group0_history`` on a node."""

    node: str


class DropGroupId(Struct, frozen=True, tag="id"):
    """The operator deletes the value of ``raft_group0_id`` on a node."""

    node: str


class CompareVersions(Struct, frozen=True, tag="describecluster"):
    """The operator looks whether all live nodes show one schema version."""


class DeleteStateRow(Struct, frozen=True, tag="unset"):
    """The operator deletes the row ``group0_upgrade_state`` on a node."""

    node: str


class PullLegacySchema(Struct, frozen=True, tag="pull"):
    """A node pulls the schema of another one, whose version differs."""

    node: str
    source: str


class EnterNewGroup(Struct, frozen=True, tag="enter"):
    """A node comes into group 0 in the Raft upgrade: discovery finds one, or it creates one."""

    node: str


class BeginSynchronize(Struct, frozen=True, tag="synchronize"):
    """A node sees every peer in its group with one schema, and enters ``synchronize``."""

    node: str


class FinishRaftUpgrade(Struct, frozen=True, tag="finish"):
    """A node enters ``use_post_raft_procedures``."""

    node: str


class AddAColumn(Struct, frozen=True, tag="alter"):
    """A client adds a column at a node, by whatever that node runs."""

    node: str


class CrashServer(Struct, frozen=True, tag="crash"):
    """A node goes down; its disk stays."""

    node: str


class LoseServer(Struct, frozen=True, tag="die"):
    """A live node dies for good: it is given up, too."""

    node: str


class ReviveDead(Struct, frozen=True, tag="return"):
    """A node that was given up comes back with all it had."""

    node: str


OldAction = (
    CutOffDead
    | SetRecovery
    | MistypeValue
    | StopServer
    | StartServer
    | ReadLogs
    | RemoveDead
    | TruncateDiscovery
    | TruncateHistory
    | DropGroupId
    | CompareVersions
    | DeleteStateRow
    | PullLegacySchema
    | EnterNewGroup
    | BeginSynchronize
    | FinishRaftUpgrade
    | AddAColumn
    | CrashServer
    | LoseServer
    | ReviveDead
)

BY_OPERATOR = (
    *(CutOffDead, SetRecovery, MistypeValue, StopServer, StartServer, ReadLogs, RemoveDead),
    *(TruncateDiscovery, TruncateHistory, DropGroupId, CompareVersions, DeleteStateRow),
)
"""What the operator does; the rest happens."""

BY_SERVERS = (PullLegacySchema, EnterNewGroup, BeginSynchronize, FinishRaftUpgrade)
"""What servers do on their own."""
