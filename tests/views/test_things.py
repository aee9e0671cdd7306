"""What may be done is offered by a thing of the picture: who presses there finds it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from kit.views.actions import draw_actions
from kit.views.fragment import Frag, h
from kit.views.frame import frame
from kit.views.panel import Scene, scene_of
from kit.views.registry import for_model
from tests.widgets.exporting import NAMES, performed

FIRST = list({name.partition("/")[0]: name for name in reversed(NAMES)}.values())
IN_TIME = {"dataplane", "coordinator", "replica", "vnodes", "tablet"}
"""Pictures of a run in space and time: nobody there leads, so what names no node has no place."""


def pictures(scene: Scene) -> Iterator[Frag]:
    """The parts of a frame's picture as it is shown, and of a stage that is a second one."""
    views = for_model(scene.model)
    drawn = [*frame(scene, views.panels, (), views).walk()]
    pages = (part for part in drawn if "kp-page" in (part.get("class") or ""))
    stages = (kid for page in pages for kid in page.kids if isinstance(kid, Frag))
    yield from next(part for part in drawn if part.get("class") == "kp-picture").walk()
    for stage in stages:
        if stage.get("class") == "stage":
            yield from stage.walk()


def homeless(scene: Scene) -> Iterator[str]:
    """The actions that no thing of the picture offers, by the rule of ``menu.js``."""
    parts = [part for part in pictures(scene) if part.get("data-of")]
    leads = any("crown" in (each.get("class") or "") for part in parts for each in part.walk())
    aside = any("aside" in (part.get("class") or "").split() for part in parts)
    said = set()
    for part in parts:
        thing = part.get("data-of") or ""
        names = re.split(r"[\s:|]+", thing)
        said |= {one for one in (thing, " ".join(names[1:]), " ".join(names)) if not one.isdigit()}
    board = h("div", draw_actions(scene, for_model(scene.model).macros, ()))
    for button in board.walk():
        if (names_ := button.get("data-names")) and not (leads or aside):
            words = {*json.loads(names_), *re.split(r"[\s:,()>]+", button.text())}
            if not words & said:
                yield button.text()


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", [n for n in FIRST if n.partition("/")[0] not in IN_TIME])
def test_each_action_has_a_thing_to_press(name: str) -> None:
    """By its name, or as what the leader does, or who stands aside."""
    timeline = performed(name)
    left = {action for moment in timeline.path() for action in homeless(scene_of(timeline, moment))}
    assert not left


@pytest.mark.parametrize(
    ("name", "ends"),
    [
        ("failures/cut-in-two", "rejoin"),
        ("gossip/both-sides", "heal"),
        ("gossip_join/cut-off-meanwhile", "reconnect"),
    ],
)
def test_a_wall_offers_what_takes_it_away(name: str, ends: str) -> None:
    """A press on the line between two groups: there is the action that heals the cut."""
    timeline = performed(name)
    scenes = [scene_of(timeline, moment) for moment in timeline.path()]
    walls = [
        (scene, part)
        for scene in scenes
        for part in pictures(scene)
        if part.get("class") == "walls"
    ]
    assert walls
    for scene, wall in walls:
        assert wall.get("data-of") == f"wall:{ends}"
        model = scene.model
        assert any(ends in model.label(scene.state, act) for act, _ in scene.options())
