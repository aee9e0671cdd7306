"""Which procedure a cluster that lost nodes needs. Sources: manual on Raft, "Handling Failures",
"Manual Recovery Procedure"; Topology over Raft, "Raft topology recovery".
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from kit.protocols.recovery.rules.quorum import Quorum
from kit.protocols.topology.rules.machines import Edition

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


class ProcedureChoice(Struct, frozen=True):
    """A procedure, whether it may be chosen for a cluster, and why or why not."""

    procedure: Procedure
    offered: bool
    why: str


def choices(
    quorum: Quorum, down: int, lost: int, stuck: bool, edition: Edition
) -> tuple[ProcedureChoice, ...]:
    """Every procedure, and why it is offered or is not; the arguments are ``which_procedure``'s."""
    best, reason = which_procedure(quorum, down, lost, stuck)
    reasons: dict[Procedure, str] = {
        "restart": _not_restart(quorum, down, stuck),
        "replace": _not_replace(quorum, lost, stuck),
        "recovery leader": _not_leader(quorum, stuck),
        "recovery mode": _not_mode(quorum, lost, stuck, edition),
    }
    older = best == "recovery leader" and edition == "documents"
    rows = [ProcedureChoice(best, True, reason)] if best not in reasons else []
    for procedure, why_not in reasons.items():
        if procedure == best:
            rows.append(ProcedureChoice(best, True, reason))
        elif procedure == "recovery mode" and older:
            rows.append(ProcedureChoice("recovery mode", True, OLDER))
        else:
            rows.append(ProcedureChoice(procedure, False, why_not))
    return tuple(rows)


OLDER = "the same loss, on servers that have no recovery_leader"


def _not_restart(quorum: Quorum, down: int, stuck: bool) -> str:
    if not down:
        return "no node that may come back is down"
    if quorum.holds or stuck:
        return "it brings back those that are down, not those that are lost"
    return "those that may come back are too few"


def _not_replace(quorum: Quorum, lost: int, stuck: bool) -> str:
    if not lost:
        return "no node is lost"
    return "the Raft upgrade holds it up" if stuck else "group 0 has no quorum"


def _not_leader(quorum: Quorum, stuck: bool) -> str:
    if stuck:
        return "the Raft upgrade has not ended"
    return "group 0 has a quorum" if quorum.holds else "enough voters may come back"


def _not_mode(quorum: Quorum, lost: int, stuck: bool, edition: Edition) -> str:
    if edition == "server":
        return "the published server has no RECOVERY mode"
    if stuck:
        return "no node is lost: the upgrade goes on once all live"
    both = "for a stuck Raft upgrade with lost nodes, or a lost majority"
    return f"only {both}" if lost or quorum.holds else "enough voters may come back"
