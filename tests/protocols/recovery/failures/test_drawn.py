"""The picture of failures where nobody runs any more."""

from __future__ import annotations

from kit.engine.registry import build
from kit.engine.timeline import Timeline
from kit.views.frame import frame
from kit.views.registry import for_model
from tests.keyed import check_keys
from tests.views.frames import panel_text, scene_of


def test_two_sides_on_which_nobody_runs_are_one() -> None:
    """A node is cut off, then all stop: there is one side left to tell of, and a frame of it."""
    model = build("failures", {"datacenters": (3,)})
    timeline = Timeline(model)
    for verb in ("cut off A", "stop A", "stop B", "stop C"):
        [action] = [a for a in model.actions(timeline.state) if model.verb(a) == verb]
        timeline.do(action)
    views = for_model(model)
    check_keys(frame(scene_of(timeline, timeline.at), views.panels, views.macros))
    assert panel_text(timeline, "ranges").count("nobody") >= 1
