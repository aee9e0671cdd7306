"""The panels of reads and writes on a real page: equal to their fragments, and usable."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kit.lessons import story
from kit.model.registry import build
from kit.widgets import Player
from tests.widgets.browsing import Desk, serious

pytestmark = pytest.mark.browser

STORIES = ["dataplane/anomaly-lost-write", "dataplane/no-longer-a-member"]
PARTS = (".kp-picture", ".kp-pane")
WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.mark.parametrize("name", STORIES)
def test_the_page_shows_each_frame_exactly(desk: Callable[..., Desk], name: str) -> None:
    """Stepping through a story, there and back, the page is the fragment of each moment."""
    player = story(name)
    found = desk(player)
    path = [m for m in player.timeline.path() if not player.rendered.moments[m].inner]
    for moment in [*path, *path[::-6]]:
        player.goto(moment)
        found.flush()
        assert found.difference() == ""
    assert found.errors == []


@pytest.mark.parametrize("name", STORIES)
def test_nothing_is_cut_off_at_the_side(desk: Callable[..., Desk], name: str) -> None:
    """At 1280 by 720 nothing runs out of the page sideways, at the start and at the end."""
    player = story(name)
    found = desk(player)
    for moment in (0, player.timeline.tip):
        player.goto(moment)
        found.flush()
        assert found.page.evaluate(WIDE) <= 0


def test_in_a_narrow_cell_the_tabs_go_below(desk: Callable[..., Desk]) -> None:
    """In a narrow window the other panels stand under the picture, and nothing is cut."""
    found = desk(story(STORIES[0]))
    found.page.set_viewport_size({"width": 600, "height": 720})
    boxes = [found.page.locator(f".kp-stage {name}").bounding_box() for name in PARTS]
    assert boxes[0] is not None
    assert boxes[1] is not None
    assert boxes[1]["y"] >= boxes[0]["y"] + boxes[0]["height"]
    assert found.page.evaluate(WIDE) <= 0


def test_the_replicas_are_played_on_the_board(desk: Callable[..., Desk]) -> None:
    """Buttons of the board answer for the replicas; a refused one says why."""
    player = Player(build("coordinator"), controls=False)
    player.act("write 1 at epoch 100")
    found = desk(player)
    page = found.page
    page.click("button[aria-label='A, ok, epoch 100']")
    found.settle()
    page.click("button[aria-label^='B, ok, epoch 99 is not possible now']", force=True)
    page.wait_for_selector(".kp-note :text('catches up before it answers'), .kp-note")
    page.click("button[aria-label='B, ok, epoch 101']")
    found.settle()
    assert found.difference() == ""
    assert "plan no longer valid" in (page.text_content(".kp-stage") or "")
    assert len(player.timeline.path()) == 4


def test_axe_finds_nothing_serious(desk: Callable[..., Desk]) -> None:
    """The panels of both lone nodes and of a story have no serious finding."""
    for player in (story(STORIES[0]), Player(build("replica"), controls=False)):
        found = desk(player)
        player.goto(player.timeline.tip)
        found.flush()
        assert serious(found.page) == []
