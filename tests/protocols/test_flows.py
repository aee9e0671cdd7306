"""What travels in the steps of every model: nothing is forgotten, and it goes where one can see."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from html import unescape
from typing import Any

import pytest

from kit.model.registry import build, entries, scenario_of
from kit.model.scenario import files, open_file
from kit.model.timeline import Timeline
from kit.protocols.tcm.cluster import TcmCluster
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.worlds.panels import part_scene
from kit.protocols.worlds.side_by_side import SideBySide, placed
from kit.views.panel import Scene
from kit.views.rendered import RenderedTimeline

MOST_LEGS = 3
KEY = re.compile(r' data-k="([^"]*)"')
SCENARIOS = [f"{entry.name}/{one.name}" for entry in entries().values() for one in entry.scenarios]
LONGEST = 120  # steps of a scenario that are walked here


def opened(name: str) -> Timeline:
    """A scenario, walked as its script and the default schedule lead."""
    entry, scenario = scenario_of(name)
    timeline = Timeline(build(entry.name, scenario.parameters, scenario.off), scenario.script)
    while len(timeline.moments) <= LONGEST and timeline.forward() is not None:
        pass
    return timeline


def histories() -> Iterator[Any]:
    """Every scenario of every model, and every other scenario file, by name."""
    others = {name: path for name, path in files().items() if name not in SCENARIOS}
    for name in (*SCENARIOS, *others):
        run = partial(open_file, others[name]) if name in others else partial(opened, name)
        yield pytest.param(run, id=f"file {name}" if name in others else name)


def absent(scene: Scene) -> set[str]:
    """The rows of nodes that apply epochs without a part in the cluster: no picture has them."""
    if isinstance(scene.model, SideBySide):
        return {placed(key, "epochs") for key in absent(part_scene(scene, "epochs"))}
    if not isinstance(scene.model, TcmCluster):
        return set()
    present = {one.node for one in facts.applied(scene.model, scene.state)}
    return {f"strip:{name}" for name in scene.model.names if name not in present}


@pytest.mark.sweep(12)
@pytest.mark.parametrize("history", list(histories()))
def test_every_flow_goes_between_parts_of_the_picture(history: Callable[[], Timeline]) -> None:
    """From the frame or the one before, to the frame, in at most three legs, the first at once."""
    timeline = history()
    rendered = RenderedTimeline(timeline)
    before: frozenset[str] = frozenset()
    for moment in timeline.moments:
        scene: Scene = rendered.scene(moment.id)
        parts = frozenset(map(unescape, KEY.findall(rendered.html(moment.id))))
        assert "frame" in parts
        flows, here = scene.flows(), f"moment {moment.id}: {moment.say}"
        assert {flow.to_key for flow in flows} <= parts | absent(scene), here
        assert {flow.from_key for flow in flows} <= parts | before, here
        assert {flow.around for flow in flows} <= parts | {""}, here
        legs = {flow.leg for flow in flows}
        assert min(legs, default=0) == 0, here
        assert len(legs) <= MOST_LEGS, here
        assert all(" → " in flow.text and flow.label for flow in flows), here
        before = parts
