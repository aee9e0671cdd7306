"""Which procedure a cluster that lost nodes needs. Sources: seed 003, "Handling Failures", "Manual
Recovery Procedure"; seed 000, "Raft topology recovery".
"""

from __future__ import annotations

from typing import Literal

from kit.protocols.recovery.rules.quorum import Quorum

Procedure = Literal["nothing", "restart", "replace", "recovery leader", "recovery mode"]
BY_HAND: tuple[Procedure, ...] = ("recovery leader", "recovery mode")


def which_procedure(
    quorum: Quorum, down: int, lost: int, stuck: bool = False
) -> tuple[Procedure, str]:
    """The procedure, and why; nodes (masks) that are ``down`` may be restarted, ``lost`` may not.

    ``stuck`` is the upgrade into Raft.
    """
    if stuck and lost:
        return "recovery mode", "the Raft upgrade is stuck, and needs nodes that are lost"
    if stuck:
        return "restart", "the Raft upgrade needs every node alive, then a rolling restart"
    if not down | lost:
        return "nothing", "all nodes live"
    if not quorum.holds and Quorum(quorum.voters, quorum.voters & ~lost).holds:
        return "restart", "no quorum of group 0, but enough voters may come back"
    if not quorum.holds:
        return "recovery leader", "a majority of group 0's voters does not come back"
    if lost:
        return "replace", "group 0 has a quorum; nodes are lost"
    return "restart", "group 0 has a quorum"
