"""The role play in the browser: an answer in a bubble, and *try again* beside it."""

from __future__ import annotations

import pytest

from kit.model.registry import build
from kit.widgets import Player
from tests.widgets.browsing import MakeDesk, turn_to

pytestmark = pytest.mark.browser
ASKED = ("write 1 at epoch 100", "A answers ok at epoch 100", "B answers ok at epoch 101")


def test_an_answer_is_tried_again_and_the_first_way_stays(desk: MakeDesk) -> None:
    """*Try again* goes back to before the answer; another one begins a branch of its own."""
    player = Player(build("coordinator"), controls=False)
    for verb in ASKED:
        player.act(verb)
    table = desk(player)
    table.wait_where("3 / 3")
    turn_to(table.page, "answers")
    table.page.click("[aria-label^='A: go back']")
    table.wait_where("1 / 3")
    table.page.click("[aria-label='A, error, epoch 102']")
    table.wait_where("2 / 2")
    table.settle()
    timeline = player.timeline
    assert timeline.now.say == "A answers error at epoch 102; K1 catches up."
    assert timeline.now.parent == 1
    assert len(timeline.moments) == 5
    assert table.difference() == ""
    assert table.errors == []
