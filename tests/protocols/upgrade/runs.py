"""Runs of the two models of family ``upgrade``: by verbs, their panels, logs and refusals."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kit.engine.flows import Flow, flows
from kit.engine.registry import build
from kit.engine.timeline import Timeline
from kit.views.frame import frame
from kit.views.panel import Scene
from kit.views.registry import for_model
from kit.views.rendered import RenderedTimeline


def each(words: str, names: str = "ABC") -> list[str]:
    """``configure A``, ``restart A``, ``configure B`` and so on."""
    return [f"{word} {name}" for name in names for word in words.split()]


ROLLING = each("configure restart")
STARTED = [*ROLLING, *each("join-group")]
"""Three nodes restarted with the option, all in group 0."""
SWITCHING = [*STARTED, *each("compare synchronize")]
FINISHED = [*SWITCHING, *each("compare finish")]


def after(name: str, given: dict[str, Any], verbs: Iterable[str] = (), off: str = "") -> Timeline:
    """A model's run after these verbs."""
    timeline = Timeline(build(name, given, tuple(filter(None, [off]))))
    go_on(timeline, *verbs)
    return timeline


def raft(given: dict[str, Any], verbs: Iterable[str] = (), off: str = "") -> Timeline:
    """A Raft upgrade after these verbs."""
    return after("raft_upgrade", given, verbs, off)


def go_on(timeline: Timeline, *verbs: str) -> None:
    """Do these verbs, too."""
    for verb in verbs:
        option = timeline.model.find(timeline.state, verb)
        assert option is not None, verb
        timeline.do(option[0])


def to_the_end(timeline: Timeline) -> None:
    """Follow the model's own suggestions."""
    while timeline.forward() is not None:
        pass


def scene(timeline: Timeline) -> Scene:
    """What is drawn of the moment that is shown."""
    return RenderedTimeline(timeline, panels=()).scene(timeline.at)


def panel_text(timeline: Timeline, name: str) -> str:
    """The words of a panel, with the same facts as its picture."""
    [panel] = [panel for panel in for_model(timeline.model).panels if panel.name == name]
    return panel.text(scene(timeline))


def buttons(timeline: Timeline) -> list[str]:
    """How the buttons of the frame are spoken."""
    views = for_model(timeline.model)
    parts = frame(scene(timeline), views.panels, views.macros).walk()
    return [each.get("aria-label") or each.text() for each in parts if each.tag == "button"]


def refused(timeline: Timeline, verb: str) -> str:
    """Why a step may not happen; empty if it may."""
    option = timeline.model.find(timeline.state, verb)
    assert option is not None, verb
    return option[1].reason if option[1] else ""


def offered(timeline: Timeline) -> set[str]:
    """The verbs that may happen."""
    return {timeline.model.verb(action) for action in timeline.model.actions(timeline.state)}


def last_flows(timeline: Timeline) -> tuple[Flow, ...]:
    """What travels in the last step."""
    last = timeline.moments[timeline.at]
    before = timeline.moments[last.parent].state
    return flows(timeline.model, before, last.action, last.state)
