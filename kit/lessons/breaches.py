"""The shortest run that puts out a lamp: what lessons show of a model with something missing."""

from __future__ import annotations

from typing import Any

from kit.engine.check import Result, check
from kit.engine.model import Model


def shortest_breach(model: Model[Any, Any], most: int | None = None) -> Result:
    """A search of at most so many states for a run whose last moment shows what is broken.

    No state shows that a *goal* is lost, so that goals are left out.
    """
    shown = tuple(prop for prop in model.properties if prop.kind != "goal")
    return check(model, shown, monitors=model.monitors, max_states=most)
