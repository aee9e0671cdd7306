"""A right answer to every exercise of the family."""

from __future__ import annotations

from typing import Any

from kit.model.scenario import file_named, open_file


def played(name: str, last: str) -> list[str]:
    """The verbs of a scenario of this family, up to one of them."""
    timeline = open_file(file_named(f"vnodes/{name}"))
    verbs = [timeline.model.verb(moment.action) for moment in timeline.moments[1:]]
    return verbs[: verbs.index(last) + 1]


RIGHT: dict[str, Any] = {
    "bring-it-back": lambda: played("off-cleanup-first", "answer read 3"),
    "wrong-permit": lambda: played("late-stream-turned-away", "late copy of session 1, B to C"),
    "refused-though-alive": lambda: played("two-of-four-server", "time out write 1"),
}
