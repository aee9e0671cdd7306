"""Every moment can be drawn: events that share a version have keys of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.model.registry import entry_of, scenario_of
from kit.model.scenario import files, open_file
from kit.model.timeline import Timeline
from kit.protocols.vnodes.vnodes import Vnodes
from kit.views.frame import frame
from kit.views.panel import scene_of
from kit.views.registry import for_model
from kit.views.store import FragmentStore

FILES = [path for name, path in files().items() if name.startswith("vnodes/")]
NAMES = [one.name for one in entry_of("vnodes").scenarios]


def each_key_once(timeline: Timeline) -> None:
    """The store refuses a frame that has a key twice; it takes each one of the history."""
    store, panels = FragmentStore(), for_model(timeline.model).panels
    for moment in timeline.moments:
        store.add(frame(scene_of(timeline, moment.id), panels))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_scenario_file_is_drawn(path: Path) -> None:
    """Fences, nodes that are shut down and lost messages among them."""
    each_key_once(open_file(path))


@pytest.mark.parametrize("name", NAMES)
def test_a_scenario_is_drawn(name: str) -> None:
    """As its default schedule leads, to the end: reads have moved."""
    _, scenario = scenario_of(f"vnodes/{name}")
    timeline: Timeline = Timeline(Vnodes(entry_of("vnodes").parameters(**scenario.parameters)))
    while timeline.forward() is not None:
        assert len(timeline.moments) < 200
    model = timeline.model
    assert model.views(timeline.state)[-1].reads != model.history.epochs[0].view.reads
    each_key_once(timeline)
