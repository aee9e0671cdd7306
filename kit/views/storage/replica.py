"""The panels of a replica alone: you send it messages of any epoch."""

from __future__ import annotations

from kit.storage.facts_steps import Met
from kit.views.frame import LAMPS
from kit.views.panel import Scene
from kit.views.question import Question
from kit.views.registry import Views
from kit.views.storage.groups import VIEWS as GROUPS
from kit.views.storage.played import SENDS
from kit.views.storage.predict import meeting
from kit.views.storage.spacetime import SPACETIME
from kit.views.storage.told import events


def question(scene: Scene) -> Question | None:
    """Ask what the replica makes of a message: does it catch up, do it, or refuse?"""
    found = [event for i, event in events(scene) if i == len(scene.way()) - 1]
    if not found or not isinstance(found[-1], Met):
        return None
    return meeting(found[-1], scene.say)


VIEWS = Views((SENDS, SPACETIME, GROUPS, LAMPS), question=question)
