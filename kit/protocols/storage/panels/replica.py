"""The panels of a replica alone: you send it messages of any epoch."""

from __future__ import annotations

from kit.protocols.storage.facts.steps import Delivered
from kit.protocols.storage.panels.event_lines import events
from kit.protocols.storage.panels.groups import VIEWS as GROUPS
from kit.protocols.storage.panels.predict import meeting
from kit.protocols.storage.panels.role_play import SENDS
from kit.protocols.storage.panels.spacetime import SPACETIME
from kit.views.panel import Scene
from kit.views.promises import LAMPS
from kit.views.question import Question
from kit.views.registry import Views


def question(scene: Scene) -> Question | None:
    """Ask what the replica makes of a message: does it catch up, do it, or refuse?"""
    last_events = [event for i, event in events(scene) if i == len(scene.way()) - 1]
    if not last_events or not isinstance(last_events[-1], Delivered):
        return None
    return meeting(last_events[-1], scene.say)


VIEWS = Views(
    (SENDS, SPACETIME, GROUPS, LAMPS),
    question=question,
    picture="sends",
    table="views",
    wide=True,
)
