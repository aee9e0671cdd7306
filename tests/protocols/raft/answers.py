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


def votes_for(term: int, vote: str, log: list[int], asker: str, wants: list[int]) -> bool:
    """One vote a term, and only for a log that is as new."""
    asked, last, last_term = wants
    is_free = asked > term or (asked == term and vote in ("", asker))
    return is_free and (last_term, last) >= (log[-1] if log else 0, len(log))


def committed_up_to(term: int, log: list[int], stored: list[int]) -> int:
    """What the middle one of them stores, if it is of this term."""
    end = sorted(stored)[(len(stored) - 1) // 2]
    return end if end and log[end - 1] == term else 0


def known(name: str) -> list[str]:
    """The run that comes with an exercise, where none is found in reasonable time."""
    judge = tasks()[name].judge
    assert isinstance(judge, ReplayJudge)
    return list(judge.known)


RIGHT: dict[str, Any] = {
    "three-candidates": lambda: known("three-candidates"),
    "without-c": without_c,
    "votes-for": lambda: votes_for,
    "committed-up-to": lambda: committed_up_to,
    "figure-8": lambda: known("figure-8"),
    "stale-read": lambda: known("stale-read"),
}
