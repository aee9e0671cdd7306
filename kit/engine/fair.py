"""Fair schedules: whoever can act for long does act, so that what was begun comes to its end.

A search judges possible progress: from every state a *goal* is within reach. That some schedule
gets there is not yet that the usual one does. A fair schedule takes, every other step at least,
what has been enabled longest; from wherever a random walk ended it must come to each *goal* within
a number of steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kit.engine.chance import Chance
from kit.engine.model import Property
from kit.engine.rule import Rule

WITHIN = 1000  # steps


def led_on(
    rules: Sequence[Rule[Any, Any]], state: Any, goals: Sequence[Property], seed: int, within: int
) -> tuple[tuple[Any, ...], str, str] | None:
    """A fair schedule from a state; None when it comes to every goal within so many steps.

    Else what it did, the first goal that it did not come to, and why.
    """
    chance = Chance(seed)
    missing = [goal for goal in goals if not goal.check(state)]
    actions: list[Any] = []
    enabled_since: dict[Any, int] = {}
    while missing:
        ways = [way for rule in rules for way in rule.ready(state)]
        if not ways or len(actions) >= within:
            why = f"a fair schedule did not come to it within {within} steps"
            if not ways:
                why = "nothing can happen any more, and it does not hold"
            return tuple(actions), missing[0].name, why
        enabled_since = {action: enabled_since.get(action, len(actions)) for action, _ in ways}
        if len(actions) % 2:
            action, state = min(ways, key=lambda way: enabled_since[way[0]])
        else:
            action, state = ways[chance.below(len(ways))]
        del enabled_since[action]
        actions.append(action)
        missing = [goal for goal in missing if not goal.check(state)]
    return None
