"""A run that does what an exercise asks for, found on its model: what an answer key prints.

Where a safeguard is off it may be the shortest run that breaks a promise. Else walks follow the
model's own schedule and leave it now and then; the first that meets every goal is made small.
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
Goals = tuple[Callable[[Timeline], str | None], ...]


def run_to(model: Model[Any, Any], goals: Goals) -> tuple[str, ...] | None:
    """The verbs of a run that meets every goal and needs each of its steps; None: none was found.

    The same model and goals give the same run on every machine.
    """
    broken = shortest_breach(model).violation if model.off else None
    if broken is not None and _met(goals, Timeline.along(model, broken.actions)):
        return tuple(model.verb(action) for action in broken.actions)
    for seed in range(SEEDS):
        actions = _walk(model, goals, Chance(seed), LEAVES[seed % len(LEAVES)])
        if actions is not None:
            small = least(actions, lambda some: _meeting(model, goals, some))
            return tuple(model.verb(action) for action in small)
    return None


def _walk(model: Model[Any, Any], goals: Goals, chance: Chance, share: float) -> Any:
    """The actions of a walk up to the first moment at which every goal is met; None: never."""
    timeline = Timeline(model)
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
        if _met(goals, timeline):
            return tuple(moment.action for moment in timeline.moments[1:])
    return None


def _met(goals: Goals, timeline: Timeline) -> bool:
    return all(goal(timeline) is None for goal in goals)


def _meeting(model: Model[Any, Any], goals: Goals, actions: Sequence[Any]) -> Any:
    """Those of the actions that can be done one after the other, if they meet every goal."""
    timeline = Timeline(model)
    for action in actions:
        if model.refusal(timeline.state, action) is None:
            timeline.do(action)
    done = tuple(moment.action for moment in timeline.moments[1:])
    return done if _met(goals, timeline) else None
