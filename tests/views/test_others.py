"""What stands beside the next action: two others, of which one goes on and one goes wrong."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.views.actions import MOST_OTHERS, draw_actions, mark
from kit.views.headlines import act_words
from kit.views.panel import scene_of

BUDGETS = {"crashes": 1, "changes": 1, "failures": 1, "cuts": 1, "late": 1}


def offered(timeline: Timeline) -> list[Any]:
    """The actions whose buttons stand beside the next one."""
    model, scene = timeline.model, scene_of(timeline, timeline.at)
    acts = {f"do:{mark(model, action)}": action for action in model.actions(timeline.state)}
    parts = [part for part in draw_actions(scene) if part.get("class") == "kp-other"]
    actions = [acts[part.get("data-act") or ""] for part in parts]
    said = [act_words(scene, action) for action in actions]
    assert [part.text() for part in parts] == said
    return actions


def streaming(**given: Any) -> Timeline:
    """A join whose stream runs."""
    timeline = Timeline(build("topology", {"nodes": 3, **given}))
    while not timeline.state.attempted.streaming:
        timeline.forward()
    return timeline


def is_fault(timeline: Timeline, action: Any) -> bool:
    """Whether a model says that an action is one that goes wrong."""
    return timeline.model.kind(action) in timeline.model.faults


def test_what_can_go_wrong_is_one_press() -> None:
    """Where budgets allow it, one of the two is a fault, in words; without budgets none is."""
    timeline = streaming(**BUDGETS)
    faults = [each for each in offered(timeline) if is_fault(timeline, each)]
    assert faults
    calm = streaming()
    assert not [each for each in offered(calm) if is_fault(calm, each)]


@pytest.mark.parametrize("name", ["group0", "join", "discovery", "tcm", "dataplane", "topology"])
def test_other_models_offer_theirs(name: str) -> None:
    """At each step of the default schedule: two that may happen, as far as there are two, neither
    of them the next; a fault and one that is none, where there are both.
    """
    timeline = Timeline(build(name))
    for _ in range(12):
        able = [act for act in timeline.model.actions(timeline.state)
                if timeline.model.refusal(timeline.state, act) is None]  # fmt: skip
        able = [each for each in able if each != timeline.suggest()]
        sorts = {(type(each), is_fault(timeline, each)) for each in able}
        shown = offered(timeline)
        assert len(shown) == min(MOST_OTHERS, len(sorts))
        assert set(shown) <= set(able)
        both = {wrong for _, wrong in sorts}
        assert {is_fault(timeline, each) for each in shown} == both or len(shown) < len(both)
        if timeline.forward() is None:
            break
