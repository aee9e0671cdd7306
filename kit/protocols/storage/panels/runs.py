"""Macros over ordinary actions: catch up all, deliver all, run to the next commit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kit.engine.model import Model
from kit.engine.runs import catch_up, every, suggested
from kit.protocols.storage.actions import Commit, Finish, Serve, Start, WriteBack
from kit.views.actions import Macro


def deliver(model: Model[Any, Any], state: Any) -> Iterator[Any]:
    """Yield every message that can reach its replica."""
    return every(model, state, lambda action: isinstance(action, Serve | WriteBack))


def to_commit(model: Model[Any, Any], state: Any) -> Iterator[Any]:
    """Yield what the model suggests until the next thing is a commit or a new request."""
    first = model.suggest(state)
    for action in suggested(
        model, state, lambda a: isinstance(a, Commit) or (isinstance(a, Start) and a != first)
    ):
        yield action
        if isinstance(action, Finish):
            return


RUNS = (
    (Macro("catch-up", "catch up all"), catch_up),
    (Macro("deliver", "deliver all messages"), deliver),
    (Macro("commit", "run to the next commit"), to_commit),
)
