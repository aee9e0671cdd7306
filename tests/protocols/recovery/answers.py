"""A right answer to every exercise of the family."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kit.lessons.replays import verbs_to
from kit.model.timeline import played_out
from tests.protocols.recovery.drill.walks import MODE_WALK, WHOLE
from tests.views.frames import after


def one_start() -> list[str]:
    """D makes four of six."""
    return ["alter A", "lose dc2", "start D", "catch up D", "alter A"]


def twice_led() -> list[str]:
    """B leads two of four and dies; A, which is left alone, leads a group of its own."""
    first = "delete A, delete B, choose B, set B, restart B, restart A"
    removed = "removenode C, removenode D, clean A"
    second = "die B, choose A, delete A, set A, restart A, removenode B"
    return ", ".join((first, removed, second)).split(", ")


def one_more_dies() -> list[str]:
    """C dies when A is in RECOVERY mode; the schedule does the rest."""
    given = {"commit_indexes": (2,) * 7, "dead": "D E F G", "deaths": 1}
    verbs = ("isolate", "set A", "set B", "set C", "stop A", "start A", "die C")
    return list(verbs_to(played_out(after("recovery_mode", given, *verbs))))


def typed_recovery() -> list[str]:
    """Every line of the manual."""
    return list(WHOLE["server"])


RIGHT: dict[str, Callable[[], Any]] = {
    "typed-recovery-mode": lambda: list(MODE_WALK),
    "one-more-dies": one_more_dies,
    "one-start-is-enough": one_start,
    "typed-recovery": typed_recovery,
    "lead-after-the-leader": twice_led,
}
