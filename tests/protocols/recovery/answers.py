"""A right answer to every exercise of the family."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kit.engine.registry import build
from kit.engine.timeline import Timeline
from kit.lessons.replays import verbs_to
from tests.protocols.recovery.drill.walks import MODE_WALK, WHOLE


def has_majority(sizes: list[int], lost: list[int]) -> bool:
    """More than half are left."""
    left = sum(size for at, size in enumerate(sizes) if at not in lost)
    return 2 * left > sum(sizes)


def met_levels(replicas: list[str], down: list[str]) -> list[str]:
    """Counted: so many replicas are up."""
    up = sum(name not in down for name in replicas)
    needed = {"ONE": 1, "TWO": 2, "THREE": 3, "QUORUM": len(replicas) // 2 + 1}
    return [level for level, count in {**needed, "ALL": len(replicas)}.items() if up >= count]


def one_start() -> list[str]:
    """D makes four of six."""
    return ["alter A", "lose dc2", "start D", "catch up D", "alter A"]


def twice_led() -> list[str]:
    """B leads two of four and dies; A, which is left alone, leads a group of its own."""
    first = "isolate, delete A, delete B, read, choose B, set B, restart B, restart A"
    removed = "removenode C, removenode D, clean A"
    second = "die B, choose A, delete A, set A, restart A, removenode B"
    return ", ".join((first, removed, second)).split(", ")


def entries_back(indexes: list[int], leader: int) -> list[int]:
    """Whatever lies above the leader's index."""
    return [max(0, index - indexes[leader]) for index in indexes]


def one_more_dies() -> list[str]:
    """C dies when A is in RECOVERY mode; the schedule does the rest."""
    given = {"commit_indexes": (2,) * 7, "dead": "D E F G", "deaths": 1}
    timeline = Timeline(build("recovery_mode", given))
    for verb in ("isolate", "set A", "set B", "set C", "stop A", "start A", "die C"):
        option = timeline.model.find(timeline.state, verb)
        assert option is not None
        timeline.do(option[0])
    while timeline.forward() is not None:
        pass
    return list(verbs_to(timeline))


def runs_as(value: str) -> str:
    """Four values mean something else than recovery."""
    known = {"": "upgrade", "use_pre_raft_procedures": "upgrade"}
    known |= {"use_post_raft_procedures": "group 0", "synchronize": "synchronize"}
    return known.get(value, "recovery")


RIGHT: dict[str, Callable[[], Any]] = {
    "typed-recovery-mode": lambda: list(MODE_WALK),
    "one-more-dies": one_more_dies,
    "runs-as": lambda: runs_as,
    "majority-of-datacenters": lambda: has_majority,
    "levels-that-are-met": lambda: met_levels,
    "one-start-is-enough": one_start,
    "typed-recovery": lambda: list(WHOLE["server"]),
    "lead-after-the-leader": twice_led,
    "entries-that-go-back": lambda: entries_back,
}
