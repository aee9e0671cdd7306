"""The state of the topology upgrade, and what can happen in it."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from kit.protocols.upgrade.rules.topology_state import NOT_UPGRADED, TopologyUpgradeState

NOBODY = -1
"""No node leads group 0."""

Standing = Literal["outside", "joining", "queued", "normal"]
"""*joining*: in the old way; *queued*: a request of ``system.topology_requests`` waits."""


class TopologyNode(Struct, frozen=True, cache_hash=True):
    """A node: whether it is up, its version, its place in the cluster, the state that it knows.

    ``reads_table``: its ring comes from ``system.topology``, not from gossip.
    """

    is_up: bool = True
    is_new: bool = True
    standing: Standing = "normal"
    view: TopologyUpgradeState = NOT_UPGRADED
    reads_table: bool = False


class TopologyUpgradeRun(Struct, frozen=True, cache_hash=True, kw_only=True):
    """Every node, and what group 0 has committed.

    ``has_feature``: all nodes support the feature, for good. ``rows`` are the nodes that
    ``system.topology`` has (a mask), ``has_generation`` says whether the CDC generation of the
    build is in ``system.cdc_generations_v3``. ``crashes`` counts what may still happen.
    """

    nodes: tuple[TopologyNode, ...]
    leader: int = 0
    has_feature: bool = False
    upgrade_state: TopologyUpgradeState = NOT_UPGRADED
    rows: int = 0
    has_generation: bool = False
    crashes: int = 0


class UpgradeMember(Struct, frozen=True, tag="upgrade"):
    """The operator restarts a node with the newer version."""

    node: str


class PostUpgrade(Struct, frozen=True, tag="post"):
    """The administrator sends POST to the route at a node."""

    node: str


class BuildRow(Struct, frozen=True, tag="build"):
    """The coordinator copies what gossip tells of a node into ``system.topology``."""

    node: str


class InsertGeneration(Struct, frozen=True, tag="generation"):
    """The coordinator inserts a new generation into ``system.cdc_generations_v3``."""


class EndUpgrade(Struct, frozen=True, tag="done"):
    """The coordinator sets ``upgrade_state`` to ``done``."""


class ApplyUpgradeState(Struct, frozen=True, tag="apply"):
    """A node applies what group 0 has committed."""

    node: str


class StartJoining(Struct, frozen=True, tag="bootstrap"):
    """A new node asks a member how to join, and begins."""

    node: str


class EndOldJoin(Struct, frozen=True, tag="finish"):
    """A node that joins in the old way becomes normal, by itself."""

    node: str


class ServeJoin(Struct, frozen=True, tag="serve"):
    """The coordinator serves a queued join."""

    node: str


class ElectBuilder(Struct, frozen=True, tag="elect"):
    """A node becomes leader of group 0, and its coordinator starts."""

    node: str


class CrashMemberOfUpgrade(Struct, frozen=True, tag="crash"):
    """A node goes down; a joiner has to begin from scratch."""

    node: str


class RestartMemberOfUpgrade(Struct, frozen=True, tag="restart"):
    """A node comes back with what it has persisted."""

    node: str


TopologyUpgradeAction = (
    UpgradeMember
    | PostUpgrade
    | BuildRow
    | InsertGeneration
    | EndUpgrade
    | ApplyUpgradeState
    | StartJoining
    | EndOldJoin
    | ServeJoin
    | ElectBuilder
    | CrashMemberOfUpgrade
    | RestartMemberOfUpgrade
)
