"""Exercises on one tablet: a way back, a late RPC that is refused, whom a request asks."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

from kit.engine.timeline import Timeline
from kit.lessons.judge import Arguments, judged
from kit.lessons.replays import Ground
from kit.lessons.replays import judged as replayed
from kit.lessons.tasks import Task
from kit.protocols.tablets.rules.replica_sets import ReplicaSets, TabletReplica
from kit.protocols.tablets.rules.stages import TRANSITIONS, stages
from kit.protocols.tablets.tablets import Tablets

HOSTS = "ABCDEF"


def _states(timeline: Timeline) -> list[Any]:
    return [timeline.moments[moment].state for moment in timeline.path()]


def taken_back(timeline: Timeline) -> str | None:
    """The goal that the tablet was to move, and is on its old replicas again."""
    states = _states(timeline)
    passed = [each.stage for s in states for row in s.tablets for each in row.transitions]
    if "cleanup_target" not in passed:
        return "Your run never went through cleanup_target."
    first, last = states[0].tablets[0], states[-1].tablets[0]
    if last.transitions or last.replicas != first.replicas:
        return "At the end of your run the tablet is not back on its first replicas for good."
    return None


def late_refused(timeline: Timeline) -> str | None:
    """The goal that a late RPC is turned away, and that the tablet has moved."""
    path = [timeline.moments[moment] for moment in timeline.path()]
    refused = any(
        isinstance(moment.action, Tablets.arrive_late) and moment.state.late is None
        for _, moment in pairwise(path)
    )
    if not refused:
        return "No late RPC was refused in your run."
    first, last = path[0].state.tablets[0], path[-1].state.tablets[0]
    if last.transitions or last.replicas == first.replicas:
        return "At the end of your run the tablet has not come to new replicas for good."
    return None


def replicas_used(stage: str, write: bool, old: list[str], new: list[str]) -> list[str]:
    """The hosts that a request is for in a stage, sorted. The truth is the table of stages."""
    sets = ReplicaSets(*(tuple(map(TabletReplica, hosts)) for hosts in (old, new)))
    tables = TRANSITIONS["server"].values()
    row = next(row for table in tables for row in table.states if row.name == stage)
    return sorted(each.host for each in sets.chosen(row.writes if write else row.reads))


def _drawn(chance: random.Random) -> Arguments:
    old = sorted(chance.sample(HOSTS, 3))
    others = [host for host in HOSTS if host not in old]
    new = sorted([*chance.sample(old, 2), chance.choice(others)])
    return [chance.choice(stages("server")), chance.random() < 0.5, old, new]


_BACK: dict[str, Any] = {"edition": "documents", "crashes": 1, "moves": 1}
_LATE: dict[str, Any] = {"moves": 1, "late": 1}

TASKS = (
    Task(
        "take-it-back",
        "a tablet that comes back",
        "In the edition of the documents, one node may crash. Give a run, as verbs or as a Player, "
        "in which the tablet begins to move, is taken back, and has its first replicas and no "
        "transition at the end.",
        "verbs",
        "let the node die that is to get the tablet, then the work of the stage fail, and go on to "
        "the end. From use_new on it is too late.",
        replayed(Ground("tablets", _BACK), (taken_back,)),
    ),
    Task(
        "knock-too-late",
        "an RPC that comes too late",
        "One RPC of a stage may be late. Give a run, as verbs or as a Player, in which it arrives "
        "and is refused, and the tablet has new replicas and no transition at the end.",
        "verbs",
        "delay 0 while the stage's work is still to be done; the coordinator does it once more. "
        "Every node refuses it once a barrier has passed since the stage's end.",
        replayed(Ground("tablets", _LATE), (late_refused,)),
    ),
    Task(
        "replicas-used",
        "whom a request is for",
        "Write replicas_used(stage, write, old, new): the hosts, as a sorted list, that a write "
        "(or a read) of a tablet is for in a stage of edition server. `old` and `new` are the "
        "hosts of its replicas before and after the transition.",
        "function",
        "writes go to both sets from write_both_read_old on; reads go to the new set from "
        "write_both_read_new on; use_new is where writes leave the old one. On the way back it is "
        "the other way round.",
        judged(
            "replicas_used",
            replicas_used,
            (
                ["streaming", True, ["A", "B", "C"], ["B", "C", "D"]],
                ["streaming", False, ["A", "B", "C"], ["B", "C", "D"]],
                ["write_both_read_new", False, ["A", "B", "C"], ["B", "C", "D"]],
                ["use_new", True, ["A", "B", "C"], ["B", "C", "D"]],
                ["cleanup_target", True, ["A", "B", "C"], ["B", "C", "D"]],
            ),
            _drawn,
        ),
        seeded=True,
    ),
)
