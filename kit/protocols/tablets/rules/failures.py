"""Where a stage leads whose work has failed.

Sources: the error edges in the diagrams of Topology over Raft, read by Q-09 (replicas that are
alive and not ignored are counted, and a tie goes on) and Q-24 (without an edge the work is tried
again); the published server, which asks whether a participant is excluded, and counts who is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from kit.protocols.tablets.rules.replica_sets import Replicas, ReplicaSets
from kit.protocols.topology.rules.machines import EdgeRow, Machine

_BACK_OR_ON = ("rollback", "proceed")


def after_failure(
    table: Machine, stage: str, sets: ReplicaSets, excluded: Collection[str]
) -> EdgeRow | None:
    """The edge that a stage takes whose work failed; None: the work is tried again.

    ``excluded`` are the hosts that are dead or ignored.
    """
    for edge in table.edges:
        if edge.source == stage and edge.kind in _BACK_OR_ON and holds(edge.when, sets, excluded):
            return edge
    work = table.state(stage).work
    if any(each.on_failure == "proceed" for each in work):
        return table.edge(stage, "happy")
    return None


def holds(when: str, sets: ReplicaSets, excluded: Collection[str]) -> bool:
    """Whether the condition of an error edge is met; an edge without one is always taken.

    Raises:
        KeyError: for a name that no table uses.
    """
    return not when or CONDITIONS[when](sets, excluded)


def _gone(replicas: Replicas, excluded: Collection[str]) -> int:
    return sum(replica.host in excluded for replica in replicas)


def _more_old(sets: ReplicaSets, excluded: Collection[str]) -> bool:
    old, new = (len(each) - _gone(each, excluded) for each in (sets.old, sets.new))
    return old > new


CONDITIONS: dict[str, Callable[[ReplicaSets, Collection[str]], bool]] = {
    "excluded": lambda sets, excluded: _gone(sets.both, excluded) > 0,
    "more_old": _more_old,
    "more_new": lambda sets, excluded: not _more_old(sets, excluded),
    "more_new_excluded": lambda sets, excluded: (
        _gone(sets.new, excluded) > _gone(sets.old, excluded)
    ),
}
"""What error edges ask for, by the names that the tables use."""
