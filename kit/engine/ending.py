"""A run played on to its end, where it has one."""

from __future__ import annotations

from kit.engine.timeline import Timeline
from kit.errors import BadInput

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
