"""Histories to test with: of a scenario, of a lift, run to the end, told whole."""

from __future__ import annotations

from typing import Any

from kit.model.registry import build, scenario_of
from kit.model.timeline import Timeline
from tests.model.toys import LiftModel, LiftParameters


def scenario(name: str, *, scripted: bool = False) -> Timeline:
    """A timeline on the model of a scenario."""
    entry, found = scenario_of(name)
    model = build(entry.name, found.parameters, found.off)
    return Timeline(model, found.script if scripted else ())


def to_the_end(timeline: Timeline) -> Timeline:
    """Forward until nothing moves."""
    while timeline.forward() is not None:
        pass
    return timeline


def a_lift(floors: int = 4, script: tuple[str, ...] = ()) -> Timeline:
    """A timeline on a lift."""
    return Timeline(LiftModel(LiftParameters(floors)), script)


def everything(timeline: Timeline) -> tuple[Any, ...]:
    """All there is to a history."""
    children = tuple(tuple(found) for found in timeline.children)
    return tuple(timeline.moments), children, timeline.at, timeline.tip, tuple(timeline.path())
