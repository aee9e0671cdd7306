"""Faults in the slot of actions: one press each, as the model declares them."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.views.actions import MOST_FAULTS, draw_actions, mark
from kit.views.fragment import Frag
from kit.views.panel import Scene
from tests.views.frames import classed

BUDGETS = {"crashes": 1, "changes": 1, "failures": 1, "cuts": 1, "late": 1}


def scene_of(timeline: Timeline) -> Scene:
    """The scene at the moment that is shown."""
    return Scene(timeline.model, timeline.state, timeline.before, timeline.now.action)


def offered(scene: Scene) -> list[Frag]:
    """The buttons of faults in the slot, outside the sheet of all actions."""
    for part in draw_actions(scene):
        if "kp-faults" in (part.get("class") or ""):
            return classed(part, "act")
    return []


def streaming(**given: Any) -> Timeline:
    """A join whose stream runs."""
    timeline = Timeline(build("topology", {"nodes": 3, **given}))
    while not timeline.state.attempted.streaming:
        timeline.forward()
    return timeline


def test_each_sort_of_fault_is_one_press() -> None:
    """Failing the step, killing the coordinator, cutting off and delaying stand there in words."""
    timeline = streaming(**BUDGETS)
    buttons = offered(scene_of(timeline))
    words = [button.text() for button in buttons]
    assert words == [
        "the RPC is late and is left behind",
        "fail this step: stream",
        "kill the coordinator, A",
        "cut off A",
    ]
    acts = {
        mark(timeline.model, action): action for action in timeline.model.actions(timeline.state)
    }
    for button in buttons:
        action = acts[(button.get("data-act") or "").removeprefix("do:")]
        assert timeline.model.kind(action) in timeline.model.faults


def test_what_may_not_go_wrong_is_not_offered() -> None:
    """Without budgets there is no such button; nor in a model that declares no faults."""
    assert offered(scene_of(streaming())) == []
    assert [b.text() for b in offered(scene_of(streaming(crashes=1)))] == [
        "kill the coordinator, A"
    ]


@pytest.mark.parametrize("name", ["group0", "join", "discovery", "tcm", "dataplane"])
def test_other_models_offer_theirs(name: str) -> None:
    """At each step of the default schedule: a few, of different sorts, all of them faults."""
    timeline = Timeline(build(name))
    for _ in range(12):
        scene = scene_of(timeline)
        buttons = offered(scene)
        kinds = {
            type(action): timeline.model.kind(action) in timeline.model.faults
            for action in timeline.model.actions(timeline.state)
        }
        assert len(buttons) == min(MOST_FAULTS, sum(kinds.values()))
        if timeline.forward() is None:
            break
