"""A right answer to every exercise of the family."""

from __future__ import annotations

from typing import Any

from kit.protocols.recovery.lessons.tasks_majorities import has_majority, met_levels

RIGHT: dict[str, Any] = {
    "majority-of-datacenters": has_majority,
    "levels-that-are-met": met_levels,
    "one-start-is-enough": ["alter A", "lose dc2", "start D", "catch up D", "alter A"],
}
