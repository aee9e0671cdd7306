"""Runs of the family's models, and what panels say of them."""

from __future__ import annotations

from typing import Any

from kit.engine.flows import flows
from kit.engine.registry import build
from kit.engine.timeline import Timeline
from kit.views.registry import for_model
from kit.views.rendered import RenderedTimeline


def after(name: str, given: dict[str, Any], *verbs: str, off: tuple[str, ...] = ()) -> Timeline:
    """A run of these verbs."""
    timeline = Timeline(build(name, given, off))
    for verb in verbs:
        option = timeline.model.find(timeline.state, verb)
        assert option is not None, verb
        timeline.do(option[0])
    return timeline


def panel_text(timeline: Timeline, name: str) -> str:
    """The words of a panel at the moment that is shown."""
    [panel] = [each for each in for_model(timeline.model).panels if each.name == name]
    return panel.text(RenderedTimeline(timeline, panels=()).scene(timeline.at))


def last_flows(timeline: Timeline) -> tuple[Any, ...]:
    """What travels in the last step."""
    last = timeline.moments[timeline.at]
    before = timeline.moments[last.parent].state
    return flows(timeline.model, before, last.action, last.state)
