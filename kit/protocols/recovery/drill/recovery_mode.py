"""The drill of a recovery by RECOVERY mode, as the older documents have it."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from kit.engine.drill import DrillKind
from kit.protocols.recovery.drill.mode_grading import checklist, grade
from kit.protocols.recovery.drill.mode_words import FORMS, SLOTS
from kit.protocols.recovery.old import actions as act
from kit.protocols.recovery.old import cluster
from kit.protocols.recovery.old.model import RecoveryMode
from kit.protocols.recovery.old.state import OldState
from kit.protocols.recovery.parameters import MOST_FAULTS

EVENTS = 2
"""How often each thing may happen that no operator does."""


def opened(model: RecoveryMode) -> RecoveryMode:
    """The same group, in which nodes may crash and come back, and a value may be mistyped."""
    given = model.parameters
    live = len(model.names) - len(model.given_up)
    return RecoveryMode(
        replace(
            given,
            crashes=max(given.crashes, EVENTS),
            deaths=max(given.deaths, live - 1),
            returns=max(given.returns, len(model.given_up)),
            changes=max(given.changes, EVENTS),
            mistypes=MOST_FAULTS,
        )
    )


def own_step(model: RecoveryMode, state: OldState) -> Any:
    """What servers do by themselves: they pull schema, and go through the Raft upgrade."""
    return next((a for a in model.actions(state) if isinstance(a, act.BY_SERVERS)), None)


DRILL = DrillKind(
    title="Recover a group 0 by RECOVERY mode",
    task="The dead will not come back by themselves. Enter RECOVERY mode, remove them, leave it "
    "again, and let the Raft upgrade run to its end. help lists the commands.",
    forms=FORMS,
    slots=SLOTS,
    opened=opened,
    starts_at=lambda model: model.names[cluster.live(model.start())[0]],
    own_step=own_step,
    checklist=checklist,
    grade=grade,
)
