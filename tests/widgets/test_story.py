"""*Story* folds what several nodes do alike; an address names a step, a tab and a lit thing."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from kit.widgets import Player
from tests.widgets.browsing import MakeDesk, do, walked
from tests.widgets.exporting import Pages

pytestmark = pytest.mark.browser

STORY = "tcm/bootstrap"
ON = ".kp[data-my-on] .kp-frame"


def at(page: Page, step: int) -> None:
    """Wait until the counter says the step."""
    expect(page.locator(".kp-where")).to_have_text(re.compile(f"^{step} / "))


def verbs(player: Player) -> list[str]:
    """What is done on the way, in words."""
    timeline = player.timeline
    return [player.model.verb(timeline.moments[one].action) for one in timeline.path()[1:]]


def test_what_nodes_do_alike_is_one_step_that_opens(desk: MakeDesk) -> None:
    """Its chip says how many there are; the counter counts all of them."""
    player = walked(STORY, 6)
    assert verbs(player)[1:5] == ["apply A", "apply B", "apply C", "apply X"]
    player.goto(1)
    player.stage.story = True
    table = desk(player)
    page = table.page
    table.wait_where("1 / 6")
    page.keyboard.press("Tab")
    do(page, "step")
    table.wait_where("5 / 6")
    assert page.text_content("[data-do=open]") == "×4"
    page.click("[data-do=back]")
    table.wait_where("1 / 6")
    do(page, "step")
    page.click("[data-do=open]")
    assert page.get_attribute("[data-do=story]", "aria-pressed") == "false"
    page.click("[data-do=back]")
    table.wait_where("4 / 6")
    assert table.errors == []


def test_an_exported_page_tells_the_story(reader: Page, pages: Pages) -> None:
    """It is on where no older address asks for a step."""
    reader.goto(pages(STORY).as_uri())
    reader.wait_for_selector(ON)
    assert reader.get_attribute("[data-do=story]", "aria-pressed") == "true"
    reader.keyboard.press("j")
    at(reader, 1)
    reader.keyboard.press("j")
    at(reader, 5)


def test_an_address_leads_to_a_step_a_tab_and_a_thing(
    context: BrowserContext, pages: Pages
) -> None:
    """Steps count unfolded; what the page says of where one is leads there again."""
    page = context.new_page()
    page.goto(f"{pages(STORY).as_uri()}#run=1&step=4&tab=log&lit=A&ask=1")
    page.wait_for_selector(ON)
    at(page, 4)
    assert page.get_attribute(".kp-stage [data-tab=log]", "aria-pressed") == "true"
    assert page.locator("[data-my-lit][data-of=A]").count()
    assert page.get_attribute("[data-do=predict]", "aria-pressed") == "true"
    page.wait_for_url(re.compile(r"#run=1&step=4&tab=\w+&lit=A&ask=1$"))
    page.evaluate("location.hash = '#step-2'")
    at(page, 2)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("run=99&step=2", "run: got '99', allowed: a number from 1 to 1."),
        ("run=x", "run: got 'x', allowed: a number from 1 to 1."),
        ("step=999", "step: got '999', allowed: a number from 0 to "),
        ("step=-1", "step: got '-1', allowed: a number from 0 to "),
        ("tab=none", "tab: got 'none', allowed: "),
        ("nonsense", "nonsense: got '', allowed: run, step, tab, lit, ask."),
    ],
)
def test_what_leads_nowhere_in_an_address_is_told(
    reader: Page, pages: Pages, address: str, said: str
) -> None:
    """The field, its value and what is allowed; the page can be used."""
    reader.goto(f"{pages(STORY).as_uri()}#{address}")
    reader.wait_for_selector(ON)
    reader.locator(".kp-note").get_by_text(said).wait_for()
    reader.keyboard.press("Home")
    at(reader, 0)
