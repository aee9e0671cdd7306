"""The drill of a recovery: the commands that an operator types, and how the run is graded."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from kit.engine.drill import DrillKind
from kit.protocols.recovery.drill.grading import checklist, grade
from kit.protocols.recovery.drill.words import FORMS, SLOTS
from kit.protocols.recovery.recovering_cluster import RecoveryState
from kit.protocols.recovery.recovery import MOST_CRASHES, Coordinate, Recovery

MISTAKES = ("isolation", "latest-index", "leader-first")
"""Rules that an operator may break in a drill; what a server refuses stays refused."""
EVENTS = 2
"""How often each thing may happen that no operator does."""


def opened(model: Recovery) -> Recovery:
    """The same group, in which an operator may make mistakes and nodes may come back."""
    live = len(model.names) - len(model.given_up)
    parameters = replace(
        model.parameters,
        choose_again=True,
        crashes=MOST_CRASHES,
        deaths=max(model.deaths, live - 1),
        returns=max(model.returns, len(model.given_up)),
        changes=max(model.changes, EVENTS),
        writes=max(model.writes, live),
    )
    return Recovery(parameters, tuple(sorted({*model.off, *MISTAKES})))


def begun(model: Recovery) -> list[str]:
    """Each live node has stored data in the newest column that it knows."""
    start = model.start()
    live = model.named(start.where(lambda node: node.takes_part))
    newest = (start.nodes[model.number(name)].index for name in live)
    return [f"write {name} column {column}" for name, column in zip(live, newest, strict=True)]


def own_step(model: Recovery, state: RecoveryState) -> Any:
    """The coordinator of the new group ends the operation that was under way."""
    coordinate = Coordinate()
    return None if model.refusal(state, coordinate) else coordinate


DRILL = DrillKind(
    title="Recover a group 0 that lost its majority",
    task="The dead will not come back by themselves. Bring the cluster together in one new group "
    "0, without them, and lose nothing that need not be lost. help lists the commands.",
    forms=FORMS,
    slots=SLOTS,
    opened=opened,
    starts_at=lambda model: model.named(model.start().where(lambda node: node.takes_part))[0],
    begun=begun,
    own_step=own_step,
    checklist=checklist,
    grade=grade,
)
