"""Macros over ordinary actions: catch up all, deliver all, run to the next commit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kit.engine.model import Model
from kit.protocols.storage.actions import Commit, Finish, Learn, Serve, Start
from kit.views.actions import Macro

MOST = 1_000


def catch_up(model: Model[Any, Any], state: Any) -> Iterator[Any]:
    """Yield every ``apply`` that is possible, until nobody lags who can be reached."""
    yield from _all(model, state, Learn)


def deliver(model: Model[Any, Any], state: Any) -> Iterator[Any]:
    """Yield every message that can reach its replica."""
    yield from _all(model, state, Serve)


def _all(model: Model[Any, Any], state: Any, kind: type[Any]) -> Iterator[Any]:
    for _ in range(MOST):
        action = next((one for one in model.actions(state) if isinstance(one, kind)), None)
        if action is None:
            return
        yield action
        state = model.apply(state, action)


def to_commit(model: Model[Any, Any], state: Any) -> Iterator[Any]:
    """Yield what the model suggests until the next thing is a commit or a new request."""
    for number in range(MOST):
        action = model.suggest(state)
        if action is None or (number and isinstance(action, Start)) or isinstance(action, Commit):
            return
        yield action
        state = model.apply(state, action)
        if isinstance(action, Finish):
            return


RUNS = (
    (Macro("catch-up", "catch up all"), catch_up),
    (Macro("deliver", "deliver all messages"), deliver),
    (Macro("commit", "run to the next commit"), to_commit),
)
