"""Which model a question is about: asked of another one, it says so in a line."""

from __future__ import annotations

from typing import Any, TypeVar

from kit.engine.model import Model
from kit.engine.timeline import Timeline
from kit.errors import BadInput

M = TypeVar("M", bound=Model[Any, Any])


def model_of(timeline: Timeline, kind: type[M], what: str) -> M:
    """The model of a timeline, where it must be of this kind; ``what`` names it to people.

    Raises:
        BadInput: when it is another.
    """
    if not isinstance(timeline.model, kind):
        raise BadInput("model", timeline.model.name, what)
    return timeline.model
