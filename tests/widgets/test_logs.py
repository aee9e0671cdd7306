"""The log panel in a browser: its filters pick lines, and stay as they are after a step."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from kit.widgets import Player
from tests.views.logged import run
from tests.widgets.browsing import Desk, MakeDesk, do

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
    page.fill(f"{ROOT} input[type=search]", "nobody wrote this")
    expect(page.locator(".kp-live")).to_have_text("0 found")
    page.fill(f"{ROOT} input[type=search]", "")
    expect(page.locator(".kp-live")).to_have_text("3 found")
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
    do(page, "step")
    table.wait_where("3 / 3")
    assert page.evaluate(SEEN) == ["|TM||disk|", "|TM||network|"]


def test_what_was_chosen_is_kept_where_it_is_not_there(table: Desk) -> None:
    """A node that has written nothing yet stays in the drop-down, and nothing is found;
    a step on, its lines are there again.
    """
    page = table.page
    page.select_option("[data-choose=log-node]", "|RM0|")
    lines = page.evaluate(SEEN)
    for at in (2, 1, 0):
        page.click("[data-do=back]")
        table.wait_where(f"{at} / 3")
    assert page.evaluate(SEEN) == []
    picked = "document.querySelector('[data-choose=log-node]').selectedOptions[0]?.text"
    assert page.evaluate(picked) == "RM0"
    assert page.get_attribute("[data-find]", "data-my-count") == "0 found"
    for at in (1, 2, 3):
        do(page, "step")
        table.wait_where(f"{at} / 3")
    assert page.evaluate(SEEN) == lines
    assert page.evaluate("[...document.querySelectorAll('[value=\"|RM0|\"]')].length") == 1
