"""Exercises on large clusters: what a worker owns of the line, and what a loss leaves standing."""

from __future__ import annotations

import random

from kit.lessons.judge import Arguments, judged
from kit.lessons.tasks import Task
from kit.protocols.tcm.rules.barrier import majority
from kit.ring.tokens import small
from kit.ring.topology import Node, Ring


def counts(rights: list[int], cuts: list[int]) -> list[int]:
    """How many ranges each part of the line has, by the engine's own parts."""
    # Only here, so that asking for another exercise loads no columns.
    from kit.protocols.tcm.spark.parts import cut_at, rows_in  # noqa: PLC0415  # heavy, and only for this one

    ring = Ring.of([Node("a", tuple(rights[:-1]))], small(rights[-1]))
    return [len(rows_in(ring.rights, part)) for part in cut_at(ring, cuts)]


def _some_line(chance: random.Random) -> Arguments:
    rights = sorted(chance.sample(range(1, 100), chance.randint(2, 12)))
    rights = [10 * right for right in rights]
    on, between = chance.choice(rights[:-1]), chance.randint(1, rights[-1] - 1)
    return [rights, sorted({on, between})]


def surviving(groups: list[list[str]], racks: dict[str, str], lost: str) -> int:
    """How many groups have a majority outside a rack."""
    alive = [sum(racks[name] != lost for name in group) for group in groups]
    return sum(n >= majority(len(group)) for n, group in zip(alive, groups, strict=True))


def _some_cluster(chance: random.Random) -> Arguments:
    names = [f"n{i}" for i in range(1, 9)]
    racks = {name: f"r{chance.randint(1, 3)}" for name in names}
    groups = [chance.sample(names, chance.randint(2, 5)) for _ in range(8)]
    return [groups, racks, "r1"]


_RACKS = {"A": "r1", "B": "r2", "C": "r3", "X": "r1"}
TASKS = (
    Task(
        "parts-of-the-line",
        "which part a range belongs to",
        "Write parts(rights, cuts). cuts holds the tokens at which the line is cut, ascending; "
        "each worker gets one part. rights holds the closing tokens of all ranges, ascending; the "
        "last is the end of the line. A cut may lie inside a range. So that each range is counted "
        "once, it belongs to the part in which it ends. Give the number of ranges of each part, "
        "from left to right.",
        "function",
        "a part, like a range, is open on the left and closed on the right: a range that ends at "
        "a cut belongs to the part before the cut. There is one part more than there are cuts.",
        judged(
            "parts",
            counts,
            ([[100, 200, 300, 400], [150]], [[100, 200, 300, 400], [200, 350]]),
            _some_line,
        ),
        seeded=True,
    ),
    Task(
        "surviving",
        "what a rack leaves",
        "Write surviving(groups, racks, lost). groups holds the replicas of each range, as lists "
        "of names; racks maps a name to its rack; lost is a rack whose nodes are all down. Give "
        "the number of ranges that still have a majority of their replicas.",
        "function",
        "a majority is more than half of the whole group, and those who are down still count in "
        "the whole.",
        judged(
            "surviving",
            surviving,
            (
                [[["A", "B", "C"]], _RACKS, "r1"],
                [[["A", "B", "C"], ["A", "B", "C", "X"]], _RACKS, "r1"],
            ),
            _some_cluster,
        ),
        seeded=True,
    ),
)
