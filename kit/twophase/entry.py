"""Two-phase commit in the registry."""

from __future__ import annotations

from kit.errors import BadInput
from kit.registry import Entry, Scenario
from kit.twophase.model import TwoPhase, TwoPhaseParameters


def _build(parameters: TwoPhaseParameters, off: tuple[str, ...]) -> TwoPhase:
    if off:
        raise BadInput("safeguard", off[0], "none: twophase has no switches")
    return TwoPhase(parameters)


ENTRY = Entry(
    "twophase",
    TwoPhase.title,
    TwoPhaseParameters,
    _build,
    scenarios=(
        Scenario("commit", "Three managers prepare and commit"),
        Scenario(
            "one-gives-up",
            "One manager gives up, so that everybody aborts",
            script=("give-up RM0", "prepare RM1", "decide abort", "obey RM1", "obey RM2"),
        ),
    ),
)
