"""What a family says of its views fits together."""

from __future__ import annotations

import pytest

from kit.engine.registry import build, entries
from kit.engine.timeline import Timeline
from kit.views.registry import for_model
from kit.views.rendered import RenderedTimeline
from tests.views.frames import walk

NAMES = [f"{entry.name}/{one.name}" for entry in entries().values() for one in entry.scenarios]
MOST_STEPS = 60


@pytest.mark.parametrize("name", sorted(entries()))
def test_the_main_slots_are_filled_by_panels_of_the_model(name: str) -> None:
    """The picture, the table and the evidence of a model are among its panels; a table there is."""
    views = for_model(build(name))
    panels = {panel.name for panel in views.panels}
    assert {views.table, *views.evidence} <= panels
    assert views.picture in {"", *panels}


@pytest.mark.parametrize("name", NAMES)
def test_every_scenario_can_be_drawn(name: str) -> None:
    """No moment of a scenario has a frame in which two parts share a key: the store refuses it."""
    timeline: Timeline = walk(name)
    while timeline.forward() is not None and len(timeline.moments) < MOST_STEPS:
        pass
    assert RenderedTimeline(timeline).undrawn < len(timeline.moments)
