"""Gestures of actions: what the hand takes, and where to, is in the picture."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.views.fragment import Frag
from kit.views.frame import frame
from kit.views.panel import scene_of
from kit.views.registry import for_model

STEPS = 12
GIVEN: dict[str, dict[str, Any]] = {
    "balance": {},
    "failures": {},
    "gossip_join": {"cuts": 1},
    "group0": {"crashes": 1},
    "raft_upgrade": {"cuts": 1, "crashes": 1},
    "recovery_mode": {"crashes": 1},
    "resize": {"moves": 1},
    "tablets": {},
    "topology": {"cuts": 1, "crashes": 1},
}
"""What makes something of a model that the hand can do."""


MEANT = {
    "failures": {"drag", "cut"},
    "gossip_join": {"cut"},
    "raft_upgrade": {"drag", "cut"},
    "topology": {"drag", "cut"},
}


def shown(timeline: Timeline) -> tuple[Frag, list[Frag]]:
    """The frame of a moment, and the buttons of actions that the hand does, too."""
    scene, views = scene_of(timeline, timeline.at), for_model(timeline.model)
    whole = frame(scene, views.panels, views.macros, views)
    return whole, [part for part in whole.walk() if part.get("data-hand")]


@pytest.mark.parametrize("name", GIVEN)
def test_what_the_hand_does_is_in_the_picture(name: str) -> None:
    """Each part that is taken, and each place, has its key; names of groups are characters."""
    timeline, found = Timeline(build(name, GIVEN[name])), set()
    for _ in range(STEPS):
        whole, buttons = shown(timeline)
        known = {part.key for part in whole.walk()}
        parts = (part for part in whole.walk() if "character" in str(part.get("class")))
        nodes = {part.get("data-of") for part in parts}
        for button in buttons:
            source, target = json.loads(button.get("data-hand") or "")
            if isinstance(source, str):
                assert source in known
                assert not target or target in known
            else:
                assert source
                assert not {*source} & {*target}
                assert {*source} <= nodes
            found.add("drag" if isinstance(source, str) else "cut")
        if timeline.forward() is None:
            break
    assert found == MEANT.get(name, {"drag"})
