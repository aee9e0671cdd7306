"""The panels of reads and writes on a real page: equal to their fragments, and usable."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kit.lessons import story
from kit.model.registry import build
from kit.widgets import Player
from tests.widgets.browsing import Desk, serious, turn_to

pytestmark = pytest.mark.browser
STORIES = ["dataplane/anomaly-lost-write", "dataplane/no-longer-a-member"]


@pytest.mark.parametrize("name", STORIES)
def test_the_page_of_a_story_shows_each_of_its_frames(desk: Callable[..., Desk], name: str) -> None:
    """Stepping forth and back, the page equals the fragment of each moment."""
    player = story(name)
    found = desk(player)
    path = [m for m in player.timeline.path() if not player.rendered.moments[m].inner]
    for moment in [*path, *path[::-6]]:
        player.goto(moment)
        found.flush()
        assert found.difference() == "", moment
    assert found.errors == []


def test_coordinator_board_buttons_answer_for_replicas(desk: Callable[..., Desk]) -> None:
    """The replicas A and B answer as pressed. A refused button says why."""
    player = Player(build("coordinator"), controls=False)
    player.act("write 1 at epoch 100")
    found = desk(player)
    page = found.page
    turn_to(page, "answers")
    page.click("button[aria-label='A, ok, epoch 100']")
    found.settle()
    page.click("button[aria-label^='B, ok, epoch 99 is not possible now']", force=True)
    page.wait_for_selector(".kp-note:has-text('catches up before it answers')")
    page.click("button[aria-label='B, ok, epoch 101']")
    found.settle()
    assert found.difference() == ""
    assert "plan no longer valid" in (page.text_content(".kp-stage") or "")
    assert len(player.timeline.path()) == 4


def test_axe_finds_nothing_serious_in_pages_of_reads_and_writes(desk: Callable[..., Desk]) -> None:
    """A story and the board of a lone replica are tried."""
    for player in (story(STORIES[0]), Player(build("replica"), controls=False)):
        found = desk(player)
        player.goto(player.timeline.tip)
        found.flush()
        assert serious(found.page) == [], player
