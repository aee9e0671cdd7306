"""A run that does what an exercise asks for, found on its model: what an answer key prints.

Where a safeguard is off it may be the shortest run that breaks a promise. Else walks follow the
model's own schedule and leave it now and then; the first that meets every goal is made small. Where
none does, walks go one goal after the other: from the end of one that met some on to one that
meets more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kit.engine.chance import Chance
from kit.engine.model import Model
from kit.engine.shrink import least
from kit.engine.timeline import Timeline
from kit.lessons.breaches import shortest_breach

SEEDS = 400
LONGEST = 90  # steps of a walk
LEAVES = (0.05, 0.12, 0.25, 0.5)
"""How often walks leave the schedule, in turn."""
MORE_SEEDS, MORE_LEAVES = 3000, (0.3, 0.6, 0.9)
"""The same of walks from one goal to the next."""
Goals = tuple[Callable[[Timeline], str | None], ...]


def run_to(model: Model[Any, Any], goals: Goals) -> tuple[str, ...] | None:
    """The verbs of a run that meets every goal and needs each of its steps; None: none was found.

    The same model and goals give the same run on every machine.
    """
    broken = shortest_breach(model).violation if model.off else None
    if broken is not None and _met(goals, Timeline.along(model, broken.actions)):
        return tuple(model.verb(action) for action in broken.actions)
    actions = _at_once(model, goals) or _one_by_one(model, goals)
    if actions is None:
        return None
    small = least(actions, lambda some: _meeting(model, goals, some))
    return tuple(model.verb(action) for action in small)


def _at_once(model: Model[Any, Any], goals: Goals) -> Any:
    """The actions of the first walk that meets every goal."""
    for seed in range(SEEDS):
        walk = _walk(model, goals, (), len(goals), Chance(seed), LEAVES[seed % len(LEAVES)])
        if walk is not None:
            return walk
    return None


def _one_by_one(model: Model[Any, Any], goals: Goals) -> Any:
    """The actions of a walk that met one goal more than another one, until it meets all."""
    begun: Any = ()
    met = _count(goals, Timeline(model))
    for seed in range(MORE_SEEDS):
        share = MORE_LEAVES[seed % len(MORE_LEAVES)]
        walk = _walk(model, goals, begun, met + 1, Chance(seed), share)
        if walk is not None:
            begun, met = walk, _count(goals, Timeline.along(model, walk))
            if met == len(goals):
                return begun
    return None


def _walk(
    model: Model[Any, Any],
    goals: Goals,
    begun: Sequence[Any],
    wanted: int,
    chance: Chance,
    share: float,
) -> Any:
    """The actions of a walk up to the first moment at which so many goals are met; None: never."""
    timeline = Timeline.along(model, begun)
    while len(timeline.moments) <= LONGEST:
        options = list(model.actions(timeline.state))
        if not options:
            return None
        suggested = model.suggest(timeline.state)
        if suggested is None or chance.under(share):
            kind = chance.pick(tuple(dict.fromkeys(map(model.kind, options))))
            some = [action for action in options if model.kind(action) == kind]
            suggested = some[chance.below(len(some))]
        timeline.do(suggested)
        if _count(goals, timeline) >= wanted:
            return tuple(moment.action for moment in timeline.moments[1:])
    return None


def _count(goals: Goals, timeline: Timeline) -> int:
    return sum(goal(timeline) is None for goal in goals)


def _met(goals: Goals, timeline: Timeline) -> bool:
    return _count(goals, timeline) == len(goals)


def _meeting(model: Model[Any, Any], goals: Goals, actions: Sequence[Any]) -> Any:
    """Those of the actions that can be done one after the other, if they meet every goal."""
    timeline = Timeline(model)
    for action in actions:
        if model.refusal(timeline.state, action) is None:
            timeline.do(action)
    done = tuple(moment.action for moment in timeline.moments[1:])
    return done if _met(goals, timeline) else None
