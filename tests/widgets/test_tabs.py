"""The switch and notes: three tabs, a list of all panels behind the three dots; no note takes a
click.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.widgets.browsing import MakeDesk, serious, walked
from tests.widgets.exporting import Pages, opened

pytestmark = pytest.mark.browser

MANY = "tablets/one-tablet-moves"
SMALL = (840, 560)
LINE = ".kp-stage .kp-tabs>[data-tab]"
LIST = ".kp-stage .kp-tabs .kp-sheet [data-tab]"
SHOWN = """() => [...document.querySelectorAll(".kp-stage .kp-page")]
  .filter((page) => !page.hidden).map((page) => page.dataset.k)"""
HIT = """() => {
  const tab = document.querySelector(`.kp-stage .kp-tabs>[data-tab]`);
  const { left, top, width, height } = tab.getBoundingClientRect();
  return tab.contains(document.elementFromPoint(left + width / 2, top + height / 2));
}"""
MEETS = """() => {
  const box = (one) => one.getBoundingClientRect();
  const note = box(document.querySelector(".kp-note"));
  return [...document.querySelectorAll(".kp-board :is(button, summary, select, input)")]
    .filter((one) => one.checkVisibility() && box(one).width)
    .filter((one) => box(one).left < note.right && note.left < box(one).right
      && box(one).top < note.bottom && note.top < box(one).bottom)
    .map((one) => one.textContent || one.dataset.do);
}"""


def at(reader: Page, pages: Pages, size: tuple[int, int] = SMALL) -> None:
    """Open the page with many tabs in a window of a size."""
    opened(reader, pages(MANY))
    reader.set_viewport_size({"width": size[0], "height": size[1]})


def test_picture_table_and_states_are_one_press(reader: Page, pages: Pages) -> None:
    """One of them is seen, at the same place and step; the picture is first."""
    at(reader, pages)
    tabs = reader.locator(LINE)
    assert tabs.all_text_contents()[:2] == ["Picture", "Table"]
    place = reader.locator(".kp-stage .kp-picture").bounding_box()
    assert place is not None
    for tab in [*tabs.all()[1:], tabs.first]:
        tab.focus()
        reader.keyboard.press("Enter")
        expect(tab).to_have_attribute("aria-pressed", "true")
        shown = reader.evaluate(SHOWN)
        assert shown == [f"panel:{tab.get_attribute('data-tab')}"][: tab != tabs.first] or not shown
        for page in reader.locator(".kp-stage .kp-page:not([hidden])").all():
            assert page.bounding_box() == place
    expect(reader.locator(".kp-stage .kp-picture")).to_be_visible()


def test_the_list_has_every_panel_by_its_whole_title(reader: Page, pages: Pages) -> None:
    """What is chosen there is shown, and closes the list."""
    at(reader, pages)
    listed = reader.locator(LIST)
    names = [tab.get_attribute("data-tab") for tab in listed.all()]
    assert len(set(names)) == len(names) > 3
    reader.click(".kp-more > summary")
    reader.click("[data-do=tables]")
    assert serious(reader, ".kp-board") == []
    listed.last.click()
    expect(listed.last).to_be_hidden()
    assert reader.evaluate(SHOWN) == [f"panel:{names[-1]}"]


def test_the_list_is_reached_by_touch_and_closed_by_escape(browser: Browser, pages: Pages) -> None:
    """A finger opens it and chooses; the keyboard opens and leaves it."""
    context = browser.new_context(has_touch=True, viewport={"width": SMALL[0], "height": SMALL[1]})
    page = context.new_page()
    opened(page, pages(MANY))
    page.locator(".kp-more > summary").tap()
    page.locator("[data-do=tables]").tap()
    page.locator(LIST).nth(7).tap()
    expect(page.locator(LIST).nth(7)).to_have_attribute("aria-pressed", "true")
    page.locator(".kp-more > summary").press("Enter")
    page.locator("[data-do=tables]").press("Enter")
    expect(page.locator(LIST).first).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator(LIST).first).to_be_hidden()
    expect(page.locator(".kp-more > summary")).to_be_focused()
    context.close()


def test_a_change_out_of_sight_is_told(reader: Page, pages: Pages) -> None:
    """The list carries the mark of a step that changed some panel, and says how many."""
    at(reader, pages)
    reader.keyboard.press("Home")
    told = reader.locator(".kp-stage .kp-tabs summary")
    expect(told).not_to_have_class("changed-tab")
    reader.keyboard.press("j")
    expect(told).to_have_class("changed-tab")
    marked = reader.locator(f"{LIST}.changed-tab").count()
    assert (told.get_attribute("aria-label") or "").endswith(f": {marked}")


@pytest.mark.parametrize("by", ["key", "button"])
def test_a_note_on_time_covers_no_control(desk: MakeDesk, by: str) -> None:
    """Where nothing goes on, the note stands over the narration, and tabs take their clicks."""
    table = desk(walked("twophase/one-gives-up", 5))
    if by == "key":
        table.page.focus("[data-do=scrub]")
        table.page.keyboard.press("j")
    else:
        table.do("step")
    table.page.wait_for_selector(".kp-note:not([hidden])")
    assert table.page.evaluate(MEETS) == []
    assert table.page.evaluate(HIT)
