"""The picture of failures where nobody runs any more."""

from __future__ import annotations

import re

from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.views.frame import frame, frame_text
from kit.views.registry import for_model
from tests.keyed import check_keys
from tests.views.frames import panel_text, scene_of, scenes, walk


def test_two_sides_on_which_nobody_runs_are_one() -> None:
    """A node is cut off, then all stop: there is one side left to tell of, and a frame of it."""
    model = build("failures", {"datacenters": (3,)})
    timeline = Timeline(model)
    for verb in ("cut off A", "stop A", "stop B", "stop C"):
        [action] = [a for a in model.actions(timeline.state) if model.verb(a) == verb]
        timeline.do(action)
    views = for_model(model)
    check_keys(frame(scene_of(timeline, timeline.at), views.panels, views.macros))
    assert panel_text(timeline, "ranges").count("no node") >= 1


def test_a_cut_says_which_side_works_and_whose_schema_is_old() -> None:
    """While dc2 is cut off nobody counts all voters; who lacks a change says so until it has it."""
    seen = set()
    for scene in scenes(walk("failures/cut-in-two")):
        s, words = scene.state, frame_text(scene, for_model(scene.model).panels)
        assert not (s.apart and "5 of 5 voters" in words)
        assert ("not at D, E" in frame(scene, for_model(scene.model).panels).text()) is bool(
            s.apart
        )
        for at, name in enumerate(scene.model.names):
            lacks = s.schemas[at].bit_count() < s.entries
            [said] = re.findall(rf"{name}: dc\d r\d, [a-z ]+, schema (.*)", words)
            assert ("(old)" in said) is lacks
            seen.add((bool(s.apart), lacks))
    assert len(seen) == 4
