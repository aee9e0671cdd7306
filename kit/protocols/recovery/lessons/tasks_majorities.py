"""Exercises on majorities: of voters, of replicas, and a cluster that is to change its schema."""

from __future__ import annotations

import random
from typing import Any

from kit.engine.timeline import Timeline
from kit.lessons.judge import Arguments
from kit.lessons.judge import judged as compared
from kit.lessons.replays import Ground
from kit.lessons.replays import judged as replayed
from kit.lessons.tasks import Task
from kit.protocols.recovery.failures import Alter, StartNode
from kit.protocols.recovery.rules.availability import answers
from kit.protocols.recovery.rules.quorum import after_deaths
from kit.protocols.storage.rules.levels import Level

LEVELS: tuple[Level, ...] = ("ONE", "TWO", "THREE", "QUORUM", "ALL")
MOST_NODES = 6


def has_majority(sizes: list[int], lost: list[int]) -> bool:
    """Whether group 0 keeps its majority when these datacenters are lost, and all members vote."""
    places = tuple((f"dc{dc}", "r1") for dc, size in enumerate(sizes) for _ in range(size))
    dead = sum(1 << at for at, (dc, _) in enumerate(places) if int(dc[2:]) in lost)
    return after_deaths("documents", places, [dead]).holds


def met_levels(replicas: list[str], down: list[str]) -> list[str]:
    """The consistency levels that a range with these replicas still meets."""
    live = sum(name not in down for name in replicas)
    return [each for each in LEVELS if answers(each, {"dc1": (len(replicas), live)}, "dc1")]


def _sizes(chance: random.Random) -> Arguments:
    sizes = [chance.randint(1, MOST_NODES) for _ in range(chance.randint(1, 4))]
    lost = sorted(chance.sample(range(len(sizes)), chance.randint(0, len(sizes))))
    return [sizes, lost]


def _replicas(chance: random.Random) -> Arguments:
    names = list("ABCDEFG")
    return [
        sorted(chance.sample(names, chance.randint(1, 5))),
        sorted(chance.sample(names, chance.randint(0, 4))),
    ]


def _starts(timeline: Timeline) -> int:
    actions = [timeline.moments[at].action for at in timeline.path()]
    return sum(isinstance(action, StartNode) for action in actions)


def altered(timeline: Timeline) -> str | None:
    """The goal that the schema was changed once more."""
    last: Any = timeline.moments[timeline.path()[-1]].action
    if isinstance(last, Alter) and timeline.state.entries > 1:
        return None
    return "Your run does not end with a second schema change."


def all_serve(timeline: Timeline) -> str | None:
    """The goal that whoever runs serves, with the newest schema."""
    s = timeline.state
    if s.up == s.serving and len({s.schemas[i] for i in range(6) if s.up >> i & 1}) == 1:
        return None
    return "At the end of your run some node runs that has not caught up."


def few_started(timeline: Timeline) -> str | None:
    """The goal that no node was started that the majority does not need."""
    starts = _starts(timeline)
    return None if starts <= 1 else f"Your run starts {starts} nodes; one is enough."


TASKS = (
    Task(
        "majority-of-datacenters",
        "does group 0 keep its majority?",
        "Write has_majority(sizes, lost). `sizes` gives the number of nodes of each datacenter, "
        "`lost` the numbers, from 0 on, of the datacenters that are lost. Every node votes. Answer "
        "whether the nodes that are left can still change the schema.",
        "function",
        "a majority is more than half of all voters, of those that are down as well.",
        compared(
            "has_majority",
            has_majority,
            ([[3, 3], [1]], [[3, 3, 3], [2]], [[3, 2], [1]], [[1, 1, 1, 1], [0, 1]]),
            _sizes,
        ),
        seeded=True,
    ),
    Task(
        "levels-that-are-met",
        "consistency levels that are met",
        "Write met_levels(replicas, down): those of ONE, TWO, THREE, QUORUM and ALL, in this "
        "order, that a range still meets. `replicas` are its nodes, `down` are nodes that are "
        "down.",
        "function",
        "a level counts the replicas of the range alone; QUORUM is more than half of them.",
        compared(
            "met_levels",
            met_levels,
            (
                [["A", "B", "C"], ["C"]],
                [["A", "B", "C"], ["B", "C"]],
                [["A", "B"], ["E"]],
                [["A", "B", "C", "D"], ["A", "B"]],
            ),
            _replicas,
        ),
        seeded=True,
    ),
    Task(
        "one-start-is-enough",
        "a schema change with half of the nodes down",
        "Six nodes in two datacenters. Write the verbs, one after the other: column 1 is added at "
        "A, then dc2 is lost. Add a second column with as few starts as possible, and leave no "
        "node that runs and has not caught up.",
        "verbs",
        "the verb start D starts one node of dc2; look at how many voters are needed.",
        replayed(Ground("failures", {"datacenters": (3, 3)}), (altered, all_serve, few_started)),
    ),
)
