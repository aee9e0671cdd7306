"""A right answer to every exercise of the family."""

from __future__ import annotations

from typing import Any

from kit.engine.scenario import file_named, open_file


def played(name: str, last: str) -> list[str]:
    """The verbs of a scenario of this family, up to one of them."""
    timeline = open_file(file_named(f"vnodes/{name}"))
    verbs = [timeline.model.verb(moment.action) for moment in timeline.moments[1:]]
    return verbs[: verbs.index(last) + 1]


def acknowledged(edition: str, old: list[str], new: list[str], answered: list[str]) -> bool:
    """Counted by hand: in each set, or once in both together."""
    if edition == "documents":
        return all(2 * len({*answered} & {*group}) > len(group) for group in (old, new))
    pending = len({*new} - {*old})
    return len({*answered} & {*old, *new}) >= len(old) // 2 + 1 + pending


RIGHT: dict[str, Any] = {
    "bring-it-back": lambda: played("off-cleanup-first", "answer read 3"),
    "wrong-permit": lambda: played("late-stream-turned-away", "late copy of session 1, B to C"),
    "refused-though-alive": lambda: played("two-of-four-server", "time out write 1"),
    "acknowledged": lambda: acknowledged,
}
