"""Runs: ordinary actions in a row, as one button or one line of a scenario file does them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from kit.engine.model import Model
from kit.engine.timeline import Timeline
from kit.errors import BadInput

MOST_ACTIONS = 10_000


def every(model: Model[Any, Any], state: Any, wanted: Callable[[Any], bool]) -> Iterator[Any]:
    """Yield the first enabled action that is wanted, again and again, until none is enabled."""
    for _ in range(MOST_ACTIONS):
        action = next(filter(wanted, model.actions(state)), None)
        if action is None:
            return
        yield action
        state = model.apply(state, action)


def catch_up(model: Model[Any, Any], state: Any) -> Iterator[Any]:
    """Every node that can be reached applies all that it lacks."""
    return every(model, state, lambda action: model.kind(action) == "apply")


def suggested(
    model: Model[Any, Any], state: Any, stop: Callable[[Any], bool] = lambda action: False
) -> Iterator[Any]:
    """Yield what the model suggests until it suggests nothing, or what ``stop`` holds back."""
    for _ in range(MOST_ACTIONS):
        action = model.suggest(state)
        if action is None or stop(action):
            return
        yield action
        state = model.apply(state, action)


MOST = 2_000
"""Steps: several times the longest run of a lesson."""


def played_out(timeline: Timeline) -> Timeline:
    """The timeline itself, led on to where its script and its model's schedule end.

    Raises:
        BadInput: when they do not end within ``MOST`` steps.
    """
    for _ in range(MOST):
        if timeline.forward() is None:
            return timeline
    allowed = f"a run that ends within {MOST:,} steps"
    raise BadInput("timeline", timeline.model.name, allowed)
