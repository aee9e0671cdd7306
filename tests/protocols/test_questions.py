"""Questions of the Player: what stands for a choice in the picture can be pressed there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kit.model.registry import build, entries
from kit.model.timeline import Timeline
from kit.views.frame import frame
from kit.views.panel import Scene, scene_of
from kit.views.question import MOST, Question
from kit.views.registry import for_model

STEPS = 40
IN_THE_PICTURE = {"tcm", "topology", "recovery", "recovery_mode", "raft_upgrade"}


def asked(name: str) -> Iterator[tuple[Question, Scene]]:
    """The questions along the usual run, each with what is shown while it is open."""
    model = build(name)
    timeline = Timeline(model)
    while len(timeline.moments) <= STEPS and timeline.forward() is not None:
        pass
    for moment in timeline.moments[1:]:
        question = for_model(model).question(scene_of(timeline, moment.id))
        if question is not None:
            yield question, scene_of(timeline, moment.parent)


@pytest.mark.parametrize("name", entries())
def test_what_answers_is_shown(name: str) -> None:
    """A thing that stands for a choice is in the frame before the step, but for what comes new."""
    views, pressed = for_model(build(name)), 0
    for question, scene in asked(name):
        assert len(question.things) <= len(question.choices) <= MOST
        assert set(question.right) <= set(question.choices)
        drawn = frame(scene, views.panels, views.macros)
        shown = {part.get("data-of") for part in drawn.walk()}
        things = set(filter(None, question.things))
        assert not things or things & shown
        pressed += bool(things)
    assert pressed or name not in IN_THE_PICTURE
