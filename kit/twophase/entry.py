"""Two-phase commit in the registry."""

from __future__ import annotations

from kit.errors import BadInput
from kit.registry import Diagram, Entry, Scenario
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
    diagrams=(
        Diagram(
            "twophase-manager",
            "a resource manager",
            (
                ("working", "prepare", "prepared"),
                ("working", "give-up", "aborted"),
                ("working", "obey", "committed or aborted"),
                ("prepared", "obey", "committed or aborted"),
            ),
        ),
    ),
)
