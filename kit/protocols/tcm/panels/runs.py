"""Macros over ordinary actions: catch up all, run to the barrier."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kit.engine.model import Model
from kit.views.frame import Macro

MOST = 10_000


def catch_up(model: Model[Any, Any], state: Any) -> Iterator[Any]:
    """Yield every ``apply`` that is possible, until nobody lags who can be reached."""
    for _ in range(MOST):
        action = next((one for one in model.actions(state) if model.kind(one) == "apply"), None)
        if action is None:
            return
        yield action
        state = model.apply(state, action)


def to_barrier(model: Model[Any, Any], state: Any) -> Iterator[Any]:
    """Yield what the model suggests until the next thing to do is a commit, or nothing is."""
    for _ in range(MOST):
        action = model.suggest(state)
        if action is None or model.kind(action) in ("commit", "begin"):
            return
        yield action
        state = model.apply(state, action)


RUNS = (
    (Macro("catch-up", "catch up all"), catch_up),
    (Macro("barrier", "run to the barrier"), to_barrier),
)
