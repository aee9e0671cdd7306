"""Walks through scenarios, and what their frames show, for the tests of the views."""

from __future__ import annotations

from typing import Any

from kit.model.flows import Flow, flows
from kit.model.registry import build, scenario_of
from kit.model.timeline import Timeline
from kit.views.actions import action_board
from kit.views.fragment import Frag
from kit.views.frame import frame, frame_text
from kit.views.panel import Scene, is_shown, scene_of
from kit.views.registry import for_model
from tests.keyed import check_keys


def walk(name: str, **changes: Any) -> Timeline:
    """A timeline of a scenario, with some of its parameters changed."""
    entry, scenario = scenario_of(name)
    off = changes.pop("off", scenario.off)
    model = build(entry.name, {**scenario.parameters, **changes}, off)
    return Timeline(model, scenario.script)


def after(name: str, given: dict[str, Any], *verbs: str, off: tuple[str, ...] = ()) -> Timeline:
    """A run of a model by verbs, with these parameters."""
    timeline = Timeline(build(name, given, off))
    go_on(timeline, *verbs)
    return timeline


def go_on(timeline: Timeline, *verbs: str) -> None:
    """Do these verbs, too."""
    for verb in verbs:
        option = timeline.model.find(timeline.state, verb)
        assert option is not None, verb
        timeline.do(option[0])


def last_flows(timeline: Timeline) -> tuple[Flow, ...]:
    """What travels in the last step."""
    last = timeline.moments[timeline.at]
    before = timeline.moments[last.parent].state
    return flows(timeline.model, before, last.action, last.state)


def panel_text(timeline: Timeline, name: str) -> str:
    """The words of a panel at the moment that is shown."""
    [panel] = [each for each in for_model(timeline.model).panels if each.name == name]
    return panel.text(scene_of(timeline, timeline.at))


def why_not(timeline: Timeline, label: str) -> str:
    """What the button with this label says when it cannot be pressed; empty where it can."""
    board = action_board(scene_of(timeline, timeline.at))
    [button] = [one for one in board.walk() if one.tag == "button" and one.text() == label]
    return button.get("data-refused") or ""


def milestones(timeline: Timeline) -> list[Scene]:
    """The scenes of the start and of every committed epoch, as far as the schedule goes."""
    while timeline.forward() is not None:
        pass
    return [
        scene_of(timeline, m.id) for m in timeline.moments if m.id == 0 or m.milestone is not None
    ]


def scenes(timeline: Timeline) -> list[Scene]:
    """The scenes of every moment, as far as the schedule goes."""
    while timeline.forward() is not None:
        pass
    return [scene_of(timeline, m.id) for m in timeline.moments]


def check_frame(scene: Scene) -> None:
    """Keys are unique, every panel has words as well as a picture, every drawing a label; panels
    that have nothing to show are left out.

    Raises:
        AssertionError: for what is missing.
    """
    views = for_model(scene.model)
    drawn = frame(scene, views.panels, views.macros)
    check_keys(drawn)
    text = frame_text(scene, views.panels)
    for panel in views.panels:
        assert panel.text(scene).strip(), panel.title
        if is_shown(panel, scene):
            assert panel.title in text
        else:
            assert panel.title not in text.splitlines()
    for one in drawn.walk():
        if one.tag == "svg":
            assert one.get("aria-label")


def part(frag: Frag, key: str) -> Frag | None:
    """The part of a fragment with a key."""
    return next((one for one in frag.walk() if one.key == key), None)


def classed(frag: Frag, name: str) -> list[Frag]:
    """The parts that have a class."""
    return [one for one in frag.walk() if name in (one.get("class") or "").split()]


def table(frag: Frag, side: str) -> dict[str, list[str]]:
    """The first placement table: the words of each range's chips on one side, in order."""
    return {
        next(cell for cell in row.walk() if cell.tag == "th").text(): [
            chip.text() for chip in classed(classed(row, side)[0], "chip")
        ]
        for row in table_rows(frag)
    }


def table_rows(frag: Frag) -> list[Frag]:
    """The rows of the first placement table."""
    found = classed(frag, "placement")[0]
    return [one for one in found.walk() if one.tag == "tr" and one.key is not None]
