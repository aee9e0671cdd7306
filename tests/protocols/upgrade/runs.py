"""Runs of the two models of family ``upgrade``: by verbs, their panels, logs and refusals."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kit.model.timeline import Timeline, played_out
from kit.views.frame import frame
from kit.views.panel import Scene, scene_of
from kit.views.registry import for_model
from tests.views.frames import after


def each(words: str, names: str = "ABC") -> list[str]:
    """``configure A``, ``restart A``, ``configure B`` and so on."""
    return [f"{word} {name}" for name in names for word in words.split()]


ROLLING = each("configure restart")
STARTED = [*ROLLING, *each("join-group")]
"""Three nodes restarted with the option, all in group 0."""
SWITCHING = [*STARTED, *each("compare synchronize")]
FINISHED = [*SWITCHING, *each("compare finish")]


def raft(given: dict[str, Any], verbs: Iterable[str] = (), off: str = "") -> Timeline:
    """A Raft upgrade after these verbs."""
    return after("raft_upgrade", given, *verbs, off=tuple(filter(None, [off])))


def to_the_end(timeline: Timeline) -> None:
    """Follow the model's own suggestions."""
    played_out(timeline)


def scene(timeline: Timeline) -> Scene:
    """What is drawn of the moment that is shown."""
    return scene_of(timeline, timeline.at)


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
