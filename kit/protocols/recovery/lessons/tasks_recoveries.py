"""Exercises on recoveries: one that is typed, one in which the leader dies, what a leader costs."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

from kit.engine.registry import build, scenario_of
from kit.engine.timeline import Timeline
from kit.lessons.judge import Arguments, TypedJudge
from kit.lessons.judge import judged as compared
from kit.lessons.replays import Ground
from kit.lessons.replays import judged as replayed
from kit.lessons.tasks import Task
from kit.protocols.recovery.drill import DRILL
from kit.protocols.recovery.drill.typing_out import procedure_lines
from kit.protocols.recovery.recovery import Die
from kit.protocols.recovery.rules.leader import regressing

TYPED = "recovery/manual-order"
MOST_LIVE, MOST_INDEX = 5, 20


def whole(timeline: Timeline) -> str | None:
    """The goal that the recovery is done."""
    m: Any = timeline.model
    done = m.is_recovered(timeline.state)
    return None if done else "At the end of your run the recovery is not done."


def leader_died(timeline: Timeline) -> str | None:
    """The goal that the leader of a new group died once all were in it."""
    m: Any = timeline.model
    path = timeline.path()
    for before, after in pairwise(path):
        state, action = timeline.moments[before].state, timeline.moments[after].action
        together = isinstance(action, Die) and state.is_together
        if together and action.node == m.names[state.leader]:
            return None
    return "The leader does not die in your run once all live nodes are in the new group."


def entries_back(indexes: list[int], leader: int) -> list[int]:
    """By how many entries each live node goes back if the one at this place leads."""
    names = {str(at): index for at, index in enumerate(indexes)}
    back = regressing(names, str(leader))
    return [back.get(name, 0) for name in names]


def _drawn(chance: random.Random) -> Arguments:
    live = chance.randint(1, MOST_LIVE)
    indexes = [chance.randint(0, MOST_INDEX) for _ in range(live)]
    return [indexes, chance.randrange(live)]


def _solved() -> tuple[str, ...]:
    entry, scenario = scenario_of(TYPED)
    return procedure_lines(DRILL, build(entry.name, scenario.parameters))


TASKS = (
    Task(
        "typed-recovery",
        "the whole recovery, typed",
        f"Recover the cluster of the drill {TYPED} in the order of the published manual. Give the "
        "lines that you typed, as a list, or board.typed of a DrillBoard on this drill.",
        "verbs",
        "cut the dead off; read every index before an id goes; the leader restarts first; "
        "recovery_leader is taken away before Raft's old rows are. help lists the commands.",
        TypedJudge(TYPED, _solved),
    ),
    Task(
        "lead-after-the-leader",
        "the leader dies, too",
        "Four nodes, C and D are dead, and one more may die. Give a run, as verbs or as a Player, "
        "in which the recovery leader dies once all live nodes are in its group, and the recovery "
        "is done at the end all the same.",
        "verbs",
        "the group of two has lost its majority: the last node is chosen, deletes the id of the "
        "new group, and leads itself.",
        replayed(
            Ground("recovery", {"commit_indexes": (1, 2, 2, 2), "dead": "C D", "deaths": 1}),
            (leader_died, whole),
        ),
    ),
    Task(
        "entries-that-go-back",
        "what a leader costs",
        "Write entries_back(indexes, leader). `indexes` are the commit indexes of the live nodes, "
        "`leader` is the place, from 0 on, of the one that leads. Answer with a list: by how many "
        "entries each node's state goes back.",
        "function",
        "the leader's state becomes everybody's; who knows no more than the leader loses nothing.",
        compared(
            "entries_back",
            entries_back,
            ([[10, 11], 0], [[10, 11], 1], [[3, 3, 5], 0], [[7], 0]),
            _drawn,
        ),
        seeded=True,
    ),
)
