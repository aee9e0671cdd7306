"""A right answer to every exercise on the way into Raft."""

from __future__ import annotations

from typing import Any

from tests.protocols.upgrade.runs import each

TWO = [*each("configure restart", "AB"), *each("join-group", "AB")]


def cut_and_ended() -> list[str]:
    """The pair is cut once A refuses schema changes, and healed at once."""
    cut = ["compare A", "synchronize A", "cut A B", "heal A B", "compare B", "synchronize B"]
    return [*TWO, *cut, *each("compare finish", "AB")]


def different_schemas() -> list[str]:
    """A's change stays on A, and A finishes."""
    return ["alter A", *TWO, *each("compare synchronize", "AB"), "compare A", "finish A"]


def not_in_the_group() -> list[str]:
    """B is down while A goes through all phases, and comes back without a group."""
    alone = ["join-group A", "compare A", "synchronize A", "compare A", "finish A"]
    return [*each("configure restart", "AB"), "crash B", *alone, "restart B"]


RIGHT: dict[str, Any] = {
    "cut-and-ended": cut_and_ended,
    "different-schemas": different_schemas,
    "not-in-the-group": not_in_the_group,
    "ring-without-a-member": lambda: ["post A", "build B", "bootstrap C", "serve C"],
}
"""What gives a right answer, by exercise."""
