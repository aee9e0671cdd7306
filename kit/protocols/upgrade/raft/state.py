"""The state of the Raft upgrade, and what can happen in it."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from kit.protocols.upgrade.rules.upgrade_state import POST, PRE, RECOVERY, SYNCHRONIZE, UpgradeState

NO_GROUP = 0
"""No group 0; groups are numbered from 1 as they are created."""

PROBLEM = 1
"""The bit of the definition that no other node can take over."""

Position = Literal[0, 1, 2, 3, 4, 5]
"""How many of the five phases are behind a node."""


class UpgradingNode(Struct, frozen=True, cache_hash=True):
    """A node: what it has persisted, what it runs by, and what it remembers.

    ``installed`` and ``configured`` (the newer version, ``consistent_cluster_management``) take
    effect at a restart, as ``row`` does; ``runs_new``, ``enabled`` and ``state`` are what it runs
    by, or ran by last. ``has_feature``: the cluster feature is enabled here, for good. ``compared``
    is what a crash takes: the schema comparison of this phase was good. ``schema`` are the changes
    that came by gossip (a mask), ``applied`` counts the commands of its group. ``by_group0``: the
    version of its schema is group 0's, no hash. Until it ``serves`` a node catches up. ``tries``
    counts how often it said that it waits.
    """

    status: Literal["up", "down", "lost"] = "up"
    installed: bool = True
    runs_new: bool = True
    configured: bool = False
    enabled: bool = False
    has_feature: bool = False
    row: str | None = None
    state: UpgradeState = PRE
    group: int = NO_GROUP
    compared: bool = False
    schema: int = 0
    applied: int = 0
    by_group0: bool = False
    serves: bool = True
    tries: int = 0

    @property
    def is_up(self) -> bool:
        """Whether it runs."""
        return self.status == "up"

    @property
    def has_finished(self) -> bool:
        """Whether Raft manages its schema."""
        return self.state == POST

    @property
    def position(self) -> Position:
        """How many of the five phases are behind it."""
        if self.state == POST:
            return 5
        if self.state == SYNCHRONIZE:
            return 4 if self.compared else 3
        if self.state == RECOVERY or self.group == NO_GROUP:
            return 0
        return 2 if self.compared else 1


class RaftUpgradeState(Struct, frozen=True, cache_hash=True, kw_only=True):
    """Every node, and the pairs that have no connection.

    ``entries`` are the commands of each group so far, ``made`` counts all schema changes. What
    follows counts what may still happen.
    """

    nodes: tuple[UpgradingNode, ...]
    cut: tuple[tuple[int, int], ...] = ()
    entries: tuple[int, ...] = ()
    made: int = 0
    changes: int
    crashes: int
    deaths: int
    cuts: int
    turns: int
    restarts: int
    edits: int


class InstallVersion(Struct, frozen=True, tag="install"):
    """The operator installs the newer version on a node."""

    node: str


class TurnOptionOn(Struct, frozen=True, tag="configure"):
    """The operator sets ``consistent_cluster_management: true`` on a node."""

    node: str


class TurnOptionOff(Struct, frozen=True, tag="turn-off"):
    """The operator takes the option away again."""

    node: str


class RestartUpgrading(Struct, frozen=True, tag="restart"):
    """The operator restarts a node, or starts one that is down."""

    node: str


class PullSchema(Struct, frozen=True, tag="pull"):
    """A node takes over the schema changes of another one, as gossip makes it."""

    node: str
    source: str


class JoinGroup(Struct, frozen=True, tag="join-group"):
    """A node joins group 0, or creates it."""

    node: str


class CompareSchema(Struct, frozen=True, tag="compare"):
    """A node compares its schema version with that of its peers, and finds them equal."""

    node: str


class EnterSynchronize(Struct, frozen=True, tag="synchronize"):
    """A node enters ``synchronize``: schema changes are off."""

    node: str


class FinishUpgrade(Struct, frozen=True, tag="finish"):
    """A node enters ``use_post_raft_procedures``."""

    node: str


class FetchNewestSchema(Struct, frozen=True, tag="catch-up"):
    """A node takes the newest schema from its group, and serves requests."""

    node: str


class ChangeSchema(Struct, frozen=True, tag="alter"):
    """A client asks a node for a schema change."""

    node: str


class AwaitPeers(Struct, frozen=True, tag="retry"):
    """A node that waits looks again, and says for whom it waits."""

    node: str


class WriteRow(Struct, frozen=True, tag="update"):
    """An operator writes the row ``group0_upgrade_state`` by hand."""

    node: str
    value: str


class CrashUpgrading(Struct, frozen=True, tag="crash"):
    """A node goes down; its disk stays."""

    node: str


class LoseUpgrading(Struct, frozen=True, tag="die"):
    """A node is lost for good."""

    node: str


class CutPair(Struct, frozen=True, tag="cut"):
    """Two nodes lose their connection."""

    first: str
    second: str


class HealPair(Struct, frozen=True, tag="heal"):
    """Two nodes get their connection back."""

    first: str
    second: str


RaftUpgradeAction = (
    InstallVersion
    | TurnOptionOn
    | TurnOptionOff
    | RestartUpgrading
    | PullSchema
    | JoinGroup
    | CompareSchema
    | EnterSynchronize
    | FinishUpgrade
    | FetchNewestSchema
    | ChangeSchema
    | AwaitPeers
    | WriteRow
    | CrashUpgrading
    | LoseUpgrading
    | CutPair
    | HealPair
)
