"""Exercises on reads and writes: runs that lose a write, plans that go stale, groups that meet."""

from __future__ import annotations

import random
from itertools import combinations
from typing import Any

from kit.engine.timeline import Timeline
from kit.lessons.judge import Arguments, judged
from kit.lessons.replays import Ground, after_its_steps
from kit.lessons.replays import judged as replayed
from kit.lessons.tasks import Task
from kit.protocols.storage.facts import moment as facts

NAMES = "ABCDEFG"


def always_meet(readers: list[str], writers: list[str]) -> bool:
    """Whether every majority of the one group shares a member with every one of the other."""
    return all(
        set(some) & set(others)
        for some in combinations(readers, len(readers) // 2 + 1)
        for others in combinations(writers, len(writers) // 2 + 1)
    )


def still_quorum(answered: list[str], group: list[str]) -> bool:
    """Whether the answers of members of the newest group are a majority of it."""
    return len({*answered} & {*group}) > len(group) // 2


def _two_groups(chance: random.Random) -> Arguments:
    return [sorted(chance.sample(NAMES[:5], chance.randint(1, 4))) for _ in range(2)]


def _answers(chance: random.Random) -> Arguments:
    sizes = chance.randint(0, 5), chance.randint(1, 5)
    return [sorted(chance.sample(NAMES, size)) for size in sizes]


def misses_a_write(timeline: Timeline) -> str | None:
    """The goal that a read of the run missed a write that had succeeded."""
    broken = {verdict.name for verdict in timeline.verdicts() if not verdict.ok}
    if "visible" in broken:
        return None
    return f"{after_its_steps(timeline)} no read has missed a write."


def failed_by_its_plan(timeline: Timeline) -> str | None:
    """The goal that a request failed although its plan, as it was sent, had its answers."""
    model: Any = timeline.model
    for moment in timeline.path()[1:]:
        step = timeline.moments[moment]
        before = timeline.moments[step.parent].state
        stale = [row for row in facts.requests(model, before) if row.enough and not row.valid]
        now = facts.requests(model, step.state)
        if any(now[row.number].phase == "failed" for row in stale):
            return None
    return "No request of your run failed because its plan had gone stale."


TASKS = (
    Task(
        "miss-a-write",
        "lose it yourself",
        "The barrier (S-01) is off. Give a run, as verbs or as a Player, in which a write "
        "succeeds and a later read misses it.",
        "verbs",
        "let X alone follow; commit as far as the read switch. Then one coordinator writes at an "
        "old epoch and another reads at a new one.",
        replayed(Ground("dataplane/no-barrier"), (misses_a_write,)),
    ),
    Task(
        "always-meet",
        "do they always meet?",
        "Write always_meet(readers, writers): two groups of node names. True when every majority "
        "of the one shares a node with every majority of the other.",
        "function",
        "a majority of a group of n is more than n / 2 of it. The groups need not be of equal "
        "size; try every majority of both.",
        judged(
            "always_meet",
            always_meet,
            (
                [["A", "B", "C"], ["A", "B", "C", "X"]],
                [["A", "B", "C"], ["B", "C", "X"]],
                [["A", "B"], ["B", "C"]],
            ),
            _two_groups,
        ),
        seeded=True,
    ),
    Task(
        "stale-plan",
        "too late",
        "You are the replicas. Give a run of the real coordinator, as verbs or as a Player, in "
        "which its plan gets all the answers that it asked for, and the request fails all the "
        "same, because the plan has gone stale.",
        "verbs",
        "let it plan at epoch 100, and let the second answer come with an epoch in which the "
        "write group has four members.",
        replayed(Ground("coordinator"), (failed_by_its_plan,)),
    ),
    Task(
        "still-quorum",
        "validate the plan again",
        "Write still_quorum(answered, group): who has answered, and the group by the newest epoch "
        "that the coordinator knows. True when the answers are still a quorum.",
        "function",
        "an answer of somebody who is not in the group does not count, and the majority is one of "
        "the group, not of those who were asked.",
        judged(
            "still_quorum",
            still_quorum,
            (
                [["A", "B"], ["A", "B", "C"]],
                [["A", "B"], ["A", "B", "C", "X"]],
                [["A", "B"], ["B", "C", "X"]],
            ),
            _answers,
        ),
        seeded=True,
    ),
)
