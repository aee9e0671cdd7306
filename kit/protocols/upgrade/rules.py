"""What the two upgrades into Raft go by: states, the way to join, what to do when stuck."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

UpgradeState = Literal[
    "use_pre_raft_procedures", "synchronize", "use_post_raft_procedures", "recovery"
]
KEY = "group0_upgrade_state"
PRE: UpgradeState = "use_pre_raft_procedures"
SYNCHRONIZE: UpgradeState = "synchronize"
POST: UpgradeState = "use_post_raft_procedures"
RECOVERY: UpgradeState = "recovery"
KNOWN: tuple[UpgradeState, ...] = (PRE, SYNCHRONIZE, POST, RECOVERY)
RAFT_EDGES: tuple[tuple[str, str, str], ...] = (
    ("", "an older cluster", PRE),
    (PRE, "all joined, one schema", SYNCHRONIZE),
    (SYNCHRONIZE, "all here, one schema", POST),
    ("", "a new cluster", POST),
    (PRE, "an operator writes it", RECOVERY),
    (SYNCHRONIZE, "an operator writes it", RECOVERY),
    (POST, "an operator writes it", RECOVERY),
    (RECOVERY, "Raft data deleted, restart", PRE),
)
"""The states of ``group0_upgrade_state``: before, what happens, after; empty: no node has begun."""


def state_at_start(value: str | None) -> UpgradeState:
    """The state in which a node starts that finds ``value`` in the row (None: there is no row).

    Without a row it has not begun; a value that it does not know it takes for ``recovery``.
    """
    if value is None:
        return PRE
    return next((state for state in KNOWN if state == value), RECOVERY)


def diagnosis(value: str | None) -> str:
    """The meaning of the value that the query returns, for an operator (None: no row)."""
    if value is None:
        return "no row: the Raft upgrade has not finished here"
    if value in (PRE, SYNCHRONIZE):
        return "the Raft upgrade is in progress"
    if value == POST:
        return "Raft manages the schema"
    if value == RECOVERY:
        return "manual recovery is in progress and must be completed"
    return "unknown value (damage or a typo): it counts as recovery at the next restart"


TopologyUpgradeState = Literal["not_upgraded", "build_coordinator_state", "done"]
NOT_UPGRADED: TopologyUpgradeState = "not_upgraded"
BUILDING: TopologyUpgradeState = "build_coordinator_state"
DONE: TopologyUpgradeState = "done"
ORDER: tuple[TopologyUpgradeState, ...] = (NOT_UPGRADED, BUILDING, DONE)
TOPOLOGY_EDGES: tuple[tuple[str, str, str], ...] = (
    ("", "an older cluster", NOT_UPGRADED),
    (NOT_UPGRADED, "POST raft_topology/upgrade", BUILDING),
    (BUILDING, "all rows and a generation", DONE),
    ("", "a new cluster", DONE),
)
"""The states of ``upgrade_state``: before, what happens, after; empty: there is no cluster."""
FEATURE = "SUPPORTS_CONSISTENT_TOPOLOGY_CHANGES"
ROUTE = "/storage_service/raft_topology/upgrade"

JoinWay = Literal["creates the cluster", "old way", "request"]


def follows(before: TopologyUpgradeState, after: TopologyUpgradeState) -> bool:
    """Whether ``after`` is the next state, or the same."""
    return before == after or leads(TOPOLOGY_EDGES, before, after)


def leads(edges: Sequence[tuple[str, str, str]], before: str, after: str) -> bool:
    """Whether a table has an edge from one state to the other."""
    return any(edge[::2] == (before, after) for edge in edges)


def join_way(has_group: bool, state: TopologyUpgradeState) -> JoinWay:
    """How a new node joins: discovery finds a group or none, a member tells its state.

    A new cluster is in the new mode at once. The old way is ``GROUP0_MODIFY_CONFIG``; what comes
    once the upgrade has begun is a request, and waits until it is done.
    """
    if not has_group:
        return "creates the cluster"
    return "old way" if state == NOT_UPGRADED else "request"


class StuckQuestion(Struct, frozen=True):
    """A question of the tree, its answer here, and what to do where the answer is no."""

    asks: str
    is_good: bool
    then: str


def questions(
    down: Sequence[str],
    lost: Sequence[str],
    cut: Sequence[str],
    not_restarted: Sequence[str],
    mismatched: Sequence[str],
) -> tuple[StuckQuestion, ...]:
    """The tree of one cluster, from the top.

    ``down`` can be started again, ``lost`` are dead for good, ``cut`` are pairs without a
    connection, ``not_restarted`` are the nodes that a rolling restart has not come to,
    ``mismatched`` those whose schema differs from the others'.
    """
    apart = "ask support: the schema definitions have a problem on {}"
    tree = (
        ("Are all nodes up that can be started?", down, "restart {}"),
        ("Does every node reach every other one?", cut, "repair the connection between {}"),
        (
            "Has every node been restarted since the last failure, or is one lost?",
            () if lost else not_restarted,  # that helps where all nodes live
            "rolling restart: {}",
        ),
        ("Can every node come back?", lost, "manual recovery: {} cannot be brought back"),
        ("Do all nodes have the same schema version?", mismatched, apart),
    )
    return tuple(
        StuckQuestion(asks, not those, then.format(", ".join(those))) for asks, those, then in tree
    )


def next_step(in_order: Sequence[StuckQuestion]) -> str:
    """The first thing to do; nothing where every answer is good."""
    bad = (question.then for question in in_order if not question.is_good)
    return next(bad, "nothing: the upgrade continues on its own")
