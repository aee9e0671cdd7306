"""What to do about a Raft upgrade that is stuck, in order (manual on Raft, log message and list).

Each question is asked only once all before it have the good answer.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct


class StuckQuestion(Struct, frozen=True):
    """A question of the tree, its answer here, and what to do where the answer is no."""

    asks: str
    is_good: bool
    then: str


def questions(
    down: Sequence[str],
    lost: Sequence[str],
    cut: Sequence[str],
    not_restarted: Sequence[str],
    mismatched: Sequence[str],
) -> tuple[StuckQuestion, ...]:
    """The tree of one cluster, from the top.

    ``down`` can be started again, ``lost`` are dead for good, ``cut`` are pairs without a
    connection, ``not_restarted`` are the nodes that a rolling restart has not come to,
    ``mismatched`` those whose schema differs from the others'.
    """
    return (
        StuckQuestion(
            "Is every node up that can be started?", not down, f"restart {', '.join(down)}"
        ),
        StuckQuestion(
            "Does every node reach every other one?",
            not cut,
            f"repair the connection between {', '.join(cut)}",
        ),
        StuckQuestion(
            "Can every node come back?",
            not lost,
            f"manual recovery: {', '.join(lost)} cannot be brought back",
        ),
        StuckQuestion(
            "Was every node restarted since?",
            not not_restarted,
            f"rolling restart: {', '.join(not_restarted)}",
        ),
        StuckQuestion(
            "Do all nodes have one schema version?",
            not mismatched,
            f"the schema definitions have a problem on {', '.join(mismatched)}: ask support",
        ),
    )


def next_step(in_order: Sequence[StuckQuestion]) -> str:
    """What to do first; nothing where every answer is good."""
    bad = (question.then for question in in_order if not question.is_good)
    return next(bad, "nothing: the upgrade goes on by itself")
