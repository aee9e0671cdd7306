"""A right answer to every exercise on Raft."""

from __future__ import annotations

from typing import Any

ELECTED = [
    *("tick A election", "deliver A>B vote 1 0 0 trial", "deliver B>A voted 1 granted trial"),
    *("deliver A>B vote 1 0 0", "deliver B>A voted 1 granted"),
]


def three_candidates() -> list[str]:
    """All ask in term 1; then A asks again, and has B's vote of term 2."""
    asked = [f"tick {name} election" for name in "ABCA"]
    return [*asked, "deliver A>B vote 2 0 0", "deliver B>A voted 2 granted"]


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


def figure_8() -> list[str]:
    """B and C store the entry of term 2, and E is elected with the votes of B and D."""
    spread = ["tick A repeat", *(f"deliver {way}" for way in ("A>B", "B>A", "A>C", "C>A"))]
    trial = [f"deliver {way}" for way in ("E>B", "E>D", "B>E", "D>E")]
    asked = [f"deliver E>{name} vote 5 2 3" for name in "BD"]
    return [
        *(*spread, "tick E election", *trial, *asked),
        *(f"deliver {name}>E voted 5 granted" for name in "BD"),
    ]


def stale_read() -> list[str]:
    """B is elected behind the cut and commits x; then A answers from its own log."""
    elected = ["tick C election", "tick B election", "deliver B>C", "deliver C>B voted"]
    voted = ["deliver B>C vote 2 1 1", "deliver C>B voted 2 granted"]
    first = ["deliver B>C append", "deliver C>B accepted", "request B x"]
    then = ["deliver B>C append 2 2", "deliver C>B accepted", "request A read"]
    return ["partition A | B C", *elected, *voted, *first, *then]


RIGHT: dict[str, Any] = {
    "three-candidates": three_candidates,
    "without-c": without_c,
    "votes-for": lambda: votes_for,
    "committed-up-to": lambda: committed_up_to,
    "figure-8": figure_8,
    "stale-read": stale_read,
}
