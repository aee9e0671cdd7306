"""Two-phase commit in the registry."""

from __future__ import annotations

from typing import Any

from kit.engine.former import Former
from kit.engine.model import TransitionRows
from kit.engine.registry import Diagram, Entry, Scenario
from kit.errors import BadInput
from kit.protocols.twophase.model import (
    GiveUp,
    Prepare,
    ReceiveDecision,
    TwoPhase,
    TwoPhaseParameters,
    TwoPhaseState,
)


def _build(parameters: TwoPhaseParameters, off: tuple[str, ...]) -> TwoPhase:
    if off:
        raise BadInput("safeguard", off[0], "none: twophase has no switches")
    return TwoPhase(parameters)


MANAGER = (
    ("working", "prepare", "prepared"),
    ("working", "give-up", "aborted"),
    ("working", "receive-decision", "committed or aborted"),
    ("prepared", "receive-decision", "committed or aborted"),
)


def _rows(model: TwoPhase) -> TransitionRows:
    """The rules, and the rows of the managers' diagram that a manager's own action takes."""
    kinds = {rule.action: rule.kind for rule in model.rules}
    names = {(state, event): f"manager: {state} - {event}" for state, event, _ in MANAGER}

    def taken(before: TwoPhaseState, action: Any, after: TwoPhaseState) -> tuple[str, ...]:
        kind = kinds[type(action)]
        if not isinstance(action, Prepare | GiveUp | ReceiveDecision):
            return (kind,)
        state = "prepared" if before.prepared >> action.rm & 1 else "working"
        return kind, names[state, str(action.__struct_config__.tag)]

    return TransitionRows((*kinds.values(), *names.values()), taken)


ENTRY = Entry(
    name="twophase",
    title=TwoPhase.title,
    parameters=TwoPhaseParameters,
    build=_build,
    scenarios=(
        Scenario("commit", "Three managers prepare and commit"),
        Scenario(
            "one-gives-up",
            "One manager gives up, so that everybody aborts",
            script=(
                "give-up RM0",
                "prepare RM1",
                "decide abort",
                "receive-decision RM1",
                "receive-decision RM2",
            ),
        ),
    ),
    diagrams=(
        Diagram(
            "twophase-manager",
            "a resource manager",
            MANAGER,
        ),
    ),
    rows=_rows,
    former=Former(
        actions={"hear-prepared": "receive-prepared", "obey": "receive-decision"},
        verbs={"hear-prepared": "receive-prepared", "obey": "receive-decision"},
    ),
)
