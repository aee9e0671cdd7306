"""Runs of model ``failures`` by verbs."""

from __future__ import annotations

from typing import Any

from kit.engine.registry import build
from kit.engine.timeline import Timeline
from kit.views.registry import for_model
from kit.views.rendered import RenderedTimeline

TWO: dict[str, Any] = {"datacenters": (3, 3)}
THREE: dict[str, Any] = {"datacenters": (3, 3, 3)}


def ran(given: dict[str, Any], *verbs: str, off: tuple[str, ...] = ()) -> Timeline:
    """A cluster after these steps."""
    timeline = Timeline(build("failures", given, off))
    for verb in verbs:
        option = timeline.model.find(timeline.state, verb)
        assert option is not None, verb
        timeline.do(option[0])
    return timeline


def words_of(timeline: Timeline, name: str) -> str:
    """The words of a panel at the moment that is shown."""
    [panel] = [each for each in for_model(timeline.model).panels if each.name == name]
    return panel.text(RenderedTimeline(timeline, panels=()).scene(timeline.at))


def why_not(timeline: Timeline, verb: str) -> str:
    """Why a step may not happen; empty if it may."""
    option = timeline.model.find(timeline.state, verb)
    assert option is not None, verb
    return str(option[1]) if option[1] else ""
