"""Exercises on loads and sizes: even loads by hand, a split that is revoked, what is decided."""

from __future__ import annotations

import random
from typing import Any

from kit.engine.runs import played_out
from kit.engine.timeline import Timeline
from kit.errors import counted
from kit.lessons.judge import Arguments, judged
from kit.lessons.questions import model_of
from kit.lessons.replays import Ground
from kit.lessons.replays import judged as replayed
from kit.lessons.tasks import Task
from kit.protocols.tablets.balance import Balance
from kit.protocols.tablets.lessons.balancing import NAME
from kit.protocols.tablets.lessons.resizing import KINDS, decision_on

DECISIONS = (1, "split"), (2, "none"), (3, "split")


def evened(timeline: Timeline) -> str | None:
    """The goal that the planner has nothing to do at the end."""
    moves = model_of(timeline, Balance, NAME).plan(timeline.state).moves
    return (
        f"At the end the planner would still make {counted(len(moves), 'move')}." if moves else None
    )


def in_few_moves(timeline: Timeline) -> str | None:
    """The goal that there are no more moves than the planner needs."""
    planner = played_out(Timeline(timeline.model))
    mine, least = (len(each.path()) - 1 for each in (timeline, planner))
    return (
        None if mine <= least else f"You made {counted(mine, 'move')}; the planner needs {least}."
    )


def split_after_all(timeline: Timeline) -> str | None:
    """The goal that a split is decided, revoked, and decided again, and takes effect."""
    states = [timeline.moments[moment].state for moment in timeline.path()]
    first = states[0].map.count
    seen = {(s.map.resize_seq_number, s.map.resize_type) for s in states if s.map.count == first}
    for number, kind in DECISIONS:
        if (number, kind) not in seen:
            return f"Before the first split takes effect, decision {number} has to be {kind!r}."
    if states[-1].map.count <= first:
        return "At the end of your run there are no more tablets than at first."
    return None


def resize_decided(average: int, under_way: str, count: int, initial: int) -> str:
    """What is decided on a table: the truth is the planner's rule."""
    kind = next(each for each in KINDS if each == under_way)
    return decision_on(average, kind, count, initial).resize_type


def _drawn(chance: random.Random) -> Arguments:
    average = chance.choice((10, 49, 50, 80, 100, 120, 199, 201, 400))
    return [average, chance.choice(KINDS), 2 ** chance.randint(0, 4), 2 ** chance.randint(0, 4)]


_REVOKED: dict[str, Any] = {"tablets": ("A B",), "nodes": 2, "grows": 2, "shrinks": 1}

TASKS = (
    Task(
        "even-by-hand",
        "as good as the planner",
        "In the cluster of section 3 (scenario balance/two-tables), give a run of moves, as verbs "
        "or as a Player, after which the planner has nothing to do. It may have no more moves than "
        "the planner itself makes.",
        "verbs",
        "with equal loads each node has the mean. Which sizes, taken from A and from B, bring all "
        "three to it?",
        replayed(Ground("balance/two-tables"), (evened, in_few_moves)),
    ),
    Task(
        "split-after-all",
        "a split that is revoked and decided again",
        "A table may grow twice and shrink once. Give a run, as verbs or as a Player, in which a "
        "split is decided, is revoked before it takes effect, and is decided again. At the end the "
        "table has more tablets.",
        "verbs",
        "grow, resize, shrink, resize: that was the first half. The second split has number 3, and "
        "every replica has to show it.",
        replayed(Ground("resize", _REVOKED), (split_after_all,)),
    ),
    Task(
        "resize-decided",
        "what is decided",
        "Write resize_decided(average, under_way, count, initial) for edition server: 'split', "
        "'merge' or 'none'. average is the average tablet in percent of the target size, "
        "under_way what is decided until now, count how many tablets there are, initial how many "
        "the schema asked for.",
        "function",
        "first ask what is under way: a split ends below 100 %, a merge above 100 %. With nothing "
        "under way compare with 50 % and 200 %; a table with no more tablets than its initial "
        "count, or with one only, is not merged.",
        judged(
            "resize_decided",
            resize_decided,
            (
                [210, "none", 4, 0],
                [40, "none", 4, 0],
                [40, "none", 4, 4],
                [150, "split", 4, 0],
                [90, "split", 4, 0],
                [90, "merge", 4, 0],
            ),
            _drawn,
        ),
        seeded=True,
    ),
)
