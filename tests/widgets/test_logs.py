"""The log panel in a browser: its filters pick lines, and stay as they are after a step."""

from __future__ import annotations

import pytest

from kit.widgets import Player
from tests.views.logged import run
from tests.widgets.browsing import Desk, MakeDesk

pytestmark = pytest.mark.browser

ROOT = ".panel.log"
SEEN = """[...document.querySelectorAll('.panel.log li')].filter((one) => one.checkVisibility())
  .map((one) => one.dataset.tags)"""


@pytest.fixture
def table(desk: MakeDesk) -> Desk:
    """A player whose log has five lines."""
    return desk(Player(run()))


def test_filters_pick_lines_by_node_component_and_words(table: Desk) -> None:
    """All lines at first; each filter leaves out more, and says how many are left."""
    page = table.page
    assert len(page.evaluate(SEEN)) == 6
    page.select_option("[data-choose=log-node]", "|RM0|")
    assert page.evaluate(SEEN) == ["|RM0||disk|", "|RM0||network|"]
    assert page.get_attribute("[data-find]", "data-my-count") == "2 found"
    page.select_option("[data-choose=log-component]", "|network|")
    assert page.evaluate(SEEN) == ["|RM0||network|"]
    page.select_option("[data-choose=log-node]", "")
    page.fill(f"{ROOT} input[type=search]", "VOTE")
    assert page.evaluate(SEEN) == ["|RM0||network|", "|RM1||network|"]
    page.fill(f"{ROOT} input[type=search]", "")
    page.select_option("[data-choose=log-component]", "")
    assert len(page.evaluate(SEEN)) == 6
    assert page.get_attribute("[data-find]", "data-my-count") is None


def test_what_was_chosen_survives_a_step(table: Desk) -> None:
    """A step back takes lines away, a step on brings them, both through the filter."""
    page = table.page
    page.select_option("[data-choose=log-node]", "|TM|")
    assert page.evaluate(SEEN) == ["|TM||disk|", "|TM||network|"]
    page.keyboard.press("Escape")
    page.click("[data-do=back]")
    table.wait_where("2 / 3")
    assert page.evaluate(SEEN) == ["|TM||disk|"]
    page.click("[data-do=step]")
    table.wait_where("3 / 3")
    assert page.evaluate(SEEN) == ["|TM||disk|", "|TM||network|"]
