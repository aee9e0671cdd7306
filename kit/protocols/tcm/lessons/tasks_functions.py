"""Exercises whose answer is a function: replicas of a token, barriers, locks."""

from __future__ import annotations

import random
from itertools import pairwise

from kit.lessons.judge import Arguments, judged
from kit.lessons.tasks import Task
from kit.protocols.tcm.rules.barrier import majority
from kit.ring.ranges import Range
from kit.ring.reference import replicas_reference
from kit.ring.replication import SimpleStrategy
from kit.ring.tokens import small
from kit.ring.topology import Node


def replicas(tokens: dict[str, int], token: int, rf: int) -> list[str]:
    """The replicas of a token, by the engine's plain reference."""
    nodes = [Node(name, (owned,)) for name, owned in tokens.items()]
    line = small(max(tokens.values()) + 100)
    return list(replicas_reference(nodes, SimpleStrategy(rf), token, line))


def _some_ring(chance: random.Random) -> Arguments:
    names = [f"n{i}" for i in range(1, chance.randint(1, 9) + 1)]
    owned = chance.sample(range(1, 1000), len(names))
    return [
        dict(zip(names, owned, strict=True)),
        chance.choice([*owned, chance.randint(1, max(owned) + 99)]),
        chance.randint(1, 5),
    ]


def needed(before: list[str], after: list[str]) -> int:
    """The acknowledgements that a range's barrier asks for."""
    return majority(len({*before, *after}))


def _some_groups(chance: random.Random) -> Arguments:
    size = chance.randint(1, 5)
    names = [chr(ord("A") + i) for i in range(2 * size)]
    return [chance.sample(names, size), chance.sample(names, size)]


def may_run_together(first: list[list[int]], second: list[list[int]]) -> bool:
    """Whether two operations that lock these ranges may be under way at once."""
    return not any(Range(*ours).overlaps(Range(*theirs)) for ours in first for theirs in second)


def _some_locks(chance: random.Random) -> Arguments:
    cuts = sorted(chance.sample(range(0, 1000, 10), 6))
    ranges = [list(pair) for pair in pairwise(cuts)]
    chance.shuffle(ranges)
    first, second = ranges[:2], ranges[2:4]
    if chance.random() < 0.5:
        left, right = first[0]
        second = [[left + (right - left) // 2, right + 5], *second]
    return [first, second]


_WORKED = {"A": 100, "B": 200, "C": 300}
TASKS = (
    Task(
        "replicas",
        "who holds a token",
        "Write replicas(tokens, token, rf). tokens maps a node's name to the one token that it "
        "owns. Give the names of the nodes that hold the token under SimpleStrategy, in the "
        "order of the walk. There may be fewer nodes than rf asks for.",
        "function",
        "the first replica owns the smallest token that is not below the given one. The walk "
        "goes on clockwise, past the end of the line to its beginning, and stops when it has rf "
        "nodes or has been everywhere.",
        judged("replicas", replicas, ([_WORKED, 130, 2], [_WORKED, 350, 2]), _some_ring),
        seeded=True,
    ),
    Task(
        "needed",
        "how many must know",
        "Write needed(before, after). before and after are the names of a range's replicas before "
        "and after an operation. Give the number of nodes that must have applied an event before "
        "the next one may be committed.",
        "function",
        "the barrier counts everybody who is a replica before or after, each once, and asks for "
        "more than half of them.",
        judged(
            "needed",
            needed,
            ([["A", "B", "C"], ["X", "B", "C"]], [["A", "B"], ["A", "X"]]),
            _some_groups,
        ),
        seeded=True,
    ),
    Task(
        "may-run-together",
        "two at once",
        "Write may_run_together(first, second). Each is a list of the ranges that an operation "
        "locks; a range is [left, right], open on the left and closed on the right. Tell whether "
        "the two operations may be under way at the same time.",
        "function",
        "two ranges share a token when each begins before the other ends. Mind the open left end: "
        "ranges that only touch share nothing.",
        judged(
            "may_run_together",
            may_run_together,
            ([[[0, 100]], [[100, 200]]], [[[0, 100], [300, 400]], [[50, 150]]]),
            _some_locks,
        ),
        seeded=True,
    ),
)
