"""A right answer to every exercise on Raft."""

from __future__ import annotations

from typing import Any

from kit.lessons.replays import ReplayJudge
from kit.lessons.tasks import tasks

ELECTED = [
    *("tick A election", "deliver A>B vote 1 0 0 trial", "deliver B>A voted 1 granted trial"),
    *("deliver A>B vote 1 0 0", "deliver B>A voted 1 granted"),
]


def without_c() -> list[str]:
    """A brings its first entry and x to B; what is for C stays on its way."""
    first = ["deliver A>B append 1 0 0 0 1:-", "deliver B>A accepted 1 0 1"]
    then = ["deliver A>B append 1 1 1 1 1:x", "deliver B>A accepted 1 1 2"]
    return [*ELECTED, *first, "request A x", *then]


def known(name: str) -> list[str]:
    """The run that comes with an exercise, where none is found in reasonable time."""
    judge = tasks()[name].judge
    assert isinstance(judge, ReplayJudge)
    return list(judge.known)


RIGHT: dict[str, Any] = {
    "three-candidates": lambda: known("three-candidates"),
    "without-c": without_c,
    "figure-8": lambda: known("figure-8"),
    "stale-read": lambda: known("stale-read"),
}
