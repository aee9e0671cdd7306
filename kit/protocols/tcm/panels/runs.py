"""The runs of the Player's buttons: catch up all, run to the barrier."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kit.engine.model import Model
from kit.engine.runs import catch_up, suggested
from kit.views.actions import Macro


def to_barrier(model: Model[Any, Any], state: Any) -> Iterator[Any]:
    """Yield what the model suggests until the next thing to do is a commit, or nothing is."""
    return suggested(model, state, lambda action: model.kind(action) in ("commit", "begin"))


RUNS = (
    (Macro("catch-up", "catch up all"), catch_up),
    (Macro("barrier", "run to the barrier"), to_barrier),
)
