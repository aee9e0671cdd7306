"""Where the discs of a ring's nodes stand: none hides behind the name of another."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from kit.model.registry import build
from kit.model.scenario import files, open_file
from kit.model.timeline import Timeline
from kit.protocols.tcm.panels.ring import RING
from kit.protocols.tcm.panels.spots import TokenPlace, disc_boxes, disks, labelled, places, seated
from kit.views.circle import DISC, SMALL_DISC
from kit.views.fragment import Frag
from kit.views.labels import Box, fitting
from tests.views.frames import part, scene_of


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


def _ring(story: str, step: int) -> tuple[Frag, str]:
    """The ring after so many steps of a story, and the same in words."""
    timeline = open_file(files()[story])
    while timeline.at < step:
        timeline.forward()
    scene = scene_of(timeline, step)
    return RING.draw(scene), RING.text(scene)


@pytest.mark.parametrize(
    ("story", "step", "told"),
    [
        ("tcm/held-back", 6, "The test holds back: commit X."),
        ("tcm/barrier-relaxes", 4, "The barrier of X asks for LOCAL_QUORUM"),
    ],
)
def test_what_is_held_back_and_asked_for_stands_beside_the_ring(
    story: str, step: int, told: str
) -> None:
    """It is marked in the step that makes it so, and stands there in words, too."""
    drawn, words = _ring(story, step)
    [notice] = [one for one in drawn.walk() if (one.key or "").startswith(f"told:{told}")]
    assert [one for one in notice.walk() if one.get("class") == "moved"]
    assert told in words


def test_more_notices_than_have_room_are_counted() -> None:
    """Two stand there, of the others the number; all of them are its title."""
    timeline = Timeline(build("tcm", {"nodes": 4, "rf": 1, "holds": True}))
    for node in "ABCD":
        action, _ = timeline.model.find(timeline.state, f"hold apply {node}") or (None, None)
        timeline.do(action)
    drawn = RING.draw(scene_of(timeline, timeline.at))
    told = [one for one in drawn.walk() if (one.key or "").startswith("told:")]
    assert [one.kids[-1].text() for one in told if isinstance(one.kids[-1], Frag)] == [
        "held: apply A", "held: apply B", "and 2 more",
    ]  # fmt: skip
    assert "apply D" in told[-1].text()


def test_who_has_no_token_yet_follows_the_log_stands_beside_the_ring() -> None:
    """D is taken out while its operation goes on: its epoch is seen as it applies the log."""
    drawn, _ = _ring("tcm/off-validate-committed", 24)
    aside = part(drawn, "outside:D")
    assert aside is not None
    assert aside.text().endswith("2")


def test_who_stands_beside_the_ring_is_whole_in_half_a_board() -> None:
    """The ring is cropped there, and its corner is nearer."""
    timeline = open_file(files()["tcm/off-validate-committed"])
    while timeline.at < 24:
        timeline.forward()
    drawn = RING.draw(replace(scene_of(timeline, 24), half=True))
    [box] = [one.get("viewBox") for one in drawn.walk() if one.get("class") == "ring-drawing"]
    aside = part(drawn, "outside:D")
    assert aside is not None
    x, y = map(float, re.findall(r"-?[\d.]+", str(aside.get("transform"))))
    left, top, wide, high = map(float, str(box).split())
    assert left <= x - DISC < x + DISC <= left + wide
    assert top <= y - DISC < y + DISC <= top + high


def test_disks_of_neighbours_both_have_room() -> None:
    """The second stands deeper inside, and on no name."""
    timeline = open_file(files()["tcm/off-range-locks"])
    while timeline.at < 28:
        timeline.forward()
    scene = scene_of(timeline, 28)
    asked = places(scene)
    texts = labelled(scene, asked)
    boxes = disks(seated(asked, texts), texts)
    assert {*boxes} == {place.key for place in asked if texts[place.key].arrived is not None}
    one, other = boxes.values()
    assert not one.meets(other)
