"""The drill of a recovery by RECOVERY mode, as the older documents have it."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from kit.engine.drill import DrillKind
from kit.protocols.recovery import recovery_mode as act
from kit.protocols.recovery.drill.mode_grading import checklist, grade
from kit.protocols.recovery.drill.mode_words import FORMS, SLOTS
from kit.protocols.recovery.lost_majority import MOST_FAULTS
from kit.protocols.recovery.mode_cluster import ModeState
from kit.protocols.recovery.recovery_mode import RecoveryMode

EVENTS = 2
"""How often each thing may happen that no operator does."""


def opened(model: RecoveryMode) -> RecoveryMode:
    """The same group, in which nodes may crash and come back, and a value may be mistyped."""
    live = len(model.names) - len(model.given_up)
    return RecoveryMode(
        replace(
            model.parameters,
            crashes=max(model.crashes, EVENTS),
            deaths=max(model.deaths, live - 1),
            returns=max(model.returns, len(model.given_up)),
            changes=max(model.changes, EVENTS),
            mistypes=MOST_FAULTS,
        )
    )


def own_step(model: RecoveryMode, state: ModeState) -> Any:
    """What servers do by themselves: they pull schema, and go through the Raft upgrade."""
    return next((a for a in model.actions(state) if isinstance(a, act.BY_SERVERS)), None)


DRILL = DrillKind(
    title="Recover a group 0 by RECOVERY mode",
    task="The dead will not come back by themselves. Enter RECOVERY mode, remove them, leave it "
    "again, and let the Raft upgrade run to its end. help lists the commands.",
    forms=FORMS,
    slots=SLOTS,
    opened=opened,
    starts_at=lambda model: model.named(model.start().live)[0],
    own_step=own_step,
    checklist=checklist,
    grade=grade,
)
