"""The key ``group0_upgrade_state`` of ``system.scylla_local``: what a node takes a value for.

Source: manual on Raft, "Verifying that Raft is enabled".
"""

from __future__ import annotations

from typing import Literal

UpgradeState = Literal[
    "use_pre_raft_procedures", "synchronize", "use_post_raft_procedures", "recovery"
]
KEY = "group0_upgrade_state"
PRE: UpgradeState = "use_pre_raft_procedures"
SYNCHRONIZE: UpgradeState = "synchronize"
POST: UpgradeState = "use_post_raft_procedures"
RECOVERY: UpgradeState = "recovery"
KNOWN: tuple[UpgradeState, ...] = (PRE, SYNCHRONIZE, POST, RECOVERY)


def state_at_start(value: str | None) -> UpgradeState:
    """The state in which a node starts that finds ``value`` in the row (None: there is no row).

    Without a row it has not begun; a value that it does not know it takes for ``recovery``.
    """
    if value is None:
        return PRE
    return next((state for state in KNOWN if state == value), RECOVERY)


def diagnosis(value: str | None) -> str:
    """What an operator learns from the value that the query returns (None: no row)."""
    if value is None:
        return "no row: the Raft upgrade has not ended here"
    if value in (PRE, SYNCHRONIZE):
        return "the Raft upgrade is under way"
    if value == POST:
        return "Raft manages the schema"
    if value == RECOVERY:
        return "manual recovery is under way: it has to be finished"
    return "unknown value, damage or a slip of the hand: the next restart takes it for recovery"
