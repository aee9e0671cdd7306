"""Runs of the join handshake, by their verbs."""

from __future__ import annotations

from typing import Any

from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.views.panel import scene_at
from kit.views.registry import for_model
from tests.views.frames import go_on, part


def refused(timeline: Timeline, verb: str) -> str:
    """Why an action may not be done now."""
    option = timeline.model.find(timeline.state, verb)
    assert option is not None
    assert option[1] is not None
    return option[1].reason


def played(*verbs: str, **given: Any) -> Timeline:
    """A run of these verbs; without any, of the default schedule to its end."""
    timeline = Timeline(build("join", given))
    go_on(timeline, *verbs)
    while not verbs and timeline.forward() is not None:
        pass
    return timeline


def shown(timeline: Timeline, panel: str, key: str) -> str:
    """The words of a part of a panel."""
    drawn = next(p for p in for_model(timeline.model).panels if p.name == panel)
    found = part(drawn.draw(scene_at(timeline, timeline.at)), key)
    assert found is not None, key
    return found.text()


def asked(contact: str, call: int = 1) -> tuple[str, ...]:
    """The joiner asks this member how to join, is told, and asks to be let in."""
    return (
        *(f"deliver N>{contact} query N1 {call}", f"deliver {contact}>N mode {call} raft"),
        f"deliver N>{contact} request N1 {call} prod simple f -",
    )


PLACED = (*asked("B"), "place B")
