"""Where the discs of a ring's nodes stand: none hides behind the name of another."""

from __future__ import annotations

import pytest

from kit.engine.registry import build
from kit.engine.timeline import Timeline
from kit.protocols.tcm.panels.spots import TokenPlace, disc_boxes, labelled, places, seated
from kit.views.circle import SMALL_DISC
from kit.views.labels import Box, fitting
from tests.views.frames import scene_of


@pytest.mark.parametrize("tokens", [(100, 120, 500), (100, 110, 120, 500, 515, 530, 990), (1, 500)])
def test_no_disc_lies_on_a_name(tokens: tuple[int, ...]) -> None:
    """Of nodes with tokens close together some have their names; the others stand outside."""
    members = [{"name": f"n{token}", "tokens": [token]} for token in tokens]
    timeline = Timeline(build("tcm", {"members": members, "low": 0, "high": 1000, "rf": 1}))
    scene = scene_of(timeline, 0)
    asked = places(scene)
    texts = labelled(scene, asked)
    spots = seated(asked, texts)
    wished = [(key, box) for key, box in disc_boxes(spots, texts) if key.startswith("name:")]
    named = fitting(wished)
    names = [box for key, (box,) in wished if key in named]
    small = [place for place in spots if f"name:{place.key}" not in named]
    assert {place.key for place in spots} == {place.key for place in asked}
    assert bool(small) == (len(tokens) > 2)
    assert not [place for place in small if any(_body(place).meets(name) for name in names)]


def _body(place: TokenPlace) -> Box:
    return Box(*place.middle, 2 * SMALL_DISC, 2 * SMALL_DISC)
