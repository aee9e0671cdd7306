"""Whatever a person presses, the next moment can be drawn: walks of every model, frame by frame."""

from __future__ import annotations

import pytest

from kit.model.registry import build, entries
from kit.model.timeline import Timeline
from kit.search.fuzz import Walker
from kit.views.fragment import Frag
from kit.views.frame import frame
from kit.views.registry import for_model
from tests.examples import share_of
from tests.keyed import check_keys
from tests.views.frames import check_frame, scene_of

STEPS = 40
EVERY = 5  # of the steps one is drawn, and the last
WALKS = 3


def is_character(part: Frag) -> bool:
    """Whether a part of a frame is somebody on the stage."""
    return (part.get("class") or "").startswith("character")


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", entries())
def test_every_frame_of_a_walk_has_each_key_once(name: str) -> None:
    """A node has a single kind of key, and the last frame is whole."""
    model = build(name)
    views = for_model(model)
    for seed in range(share_of(WALKS)):
        timeline = Timeline(model)
        timeline.run(Walker(model, steps=STEPS, properties=(), monitors=()).walk(seed).actions)
        last = len(timeline.moments) - 1
        for number in {*range(1, last, EVERY), last}:
            drawn = frame(scene_of(timeline, number), views.panels, views.macros, views)
            check_keys(drawn)
            cast = (part.key or "" for part in drawn.walk() if is_character(part))
            kinds = {kind for kind, colon, _ in (key.partition(":") for key in cast) if colon}
            # What stands before a gate, or on a disk of its own, is there once more.
            assert kinds - {"gate", "storage", "op"} in (set(), {"n"}, {"host"}), (seed, number)
        check_frame(scene_of(timeline, last))
