"""The board fits what is seen of it: the window, or what a notebook shows; the picture is large."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page

from kit.widgets import Player
from tests.widgets.browsing import MakeDesk
from tests.widgets.exporting import Pages, opened
from tests.widgets.legible import SMALL_WORDS

pytestmark = pytest.mark.browser

WINDOWS = ((840, 560), (1280, 720), (1920, 1080))
NAMES = ("twophase/commit", "resize/table-splits", "topology/join-with-coordinator")
PLACES = """() => {
  const place = (name) => document.querySelector(`.kp-board .kp-${name}`).getBoundingClientRect();
  const board = document.querySelector(".kp-board").getBoundingClientRect();
  const [picture, acts, time] = ["picture", "acts", "time"].map(place);
  const sizes = [...document.querySelectorAll(".kp-stage svg text")]
    .filter((one) => one.checkVisibility() && one.textContent.trim())
    .map((one) => parseFloat(getComputedStyle(one).fontSize) * one.getScreenCTM().a);
  return { bottom: Math.max(acts.bottom, time.bottom), share: picture.width / board.width,
    high: picture.height / innerHeight, width: picture.width, height: picture.height,
    letters: Math.max(...sizes), top: board.top };
}"""
LARGE = "() => { Element.prototype.requestFullscreen = () => Promise.reject(); }"


def measured(reader: Page, size: tuple[int, int]) -> dict[str, Any]:
    """Where the slots of an opened page lie in a window of that size."""
    reader.set_viewport_size({"width": size[0], "height": size[1]})
    reader.evaluate("() => new Promise(requestAnimationFrame)")
    found: dict[str, Any] = reader.evaluate(PLACES)
    return found


@pytest.mark.parametrize("size", WINDOWS)
@pytest.mark.parametrize("name", NAMES)
def test_all_of_the_board_is_in_sight(
    reader: Page, pages: Pages, name: str, size: tuple[int, int]
) -> None:
    """What happened, what is next and *Predict* are above the fold, and the picture has about two
    thirds of the width, whatever it shows.
    """
    opened(reader, pages(name))
    seen = measured(reader, size)
    assert size[1] - 24 <= seen["bottom"] <= size[1]  # and no room is left over
    assert 0.62 <= seen["share"] <= 0.72


@pytest.mark.parametrize("size", WINDOWS[1:])
@pytest.mark.parametrize("name", NAMES)
def test_the_projector_makes_all_of_it_larger(
    reader: Page, pages: Pages, name: str, size: tuple[int, int]
) -> None:
    """Two thirds of the screen are the picture, which is as large as before, and no word beside it
    has less than 22 pixels. No step moves it.
    """
    opened(reader, pages(name))
    reader.evaluate(LARGE)
    reader.keyboard.press("Home")
    before = measured(reader, size)
    reader.keyboard.press("p")
    reader.wait_for_selector(".kp[data-my-large]")
    seen = measured(reader, size)
    assert seen["share"] >= 0.65
    assert seen["high"] >= 0.75
    assert seen["letters"] >= 0.95 * before["letters"]
    assert seen["bottom"] <= size[1]
    small = SMALL_WORDS.replace("12.9", "21.9")
    for _ in range(4):
        assert reader.evaluate(small) == []
        reader.keyboard.press("j")
        now = measured(reader, size)
        assert [now[k] for k in ("width", "height", "top")] == [
            seen[k] for k in ("width", "height", "top")
        ]
    reader.keyboard.press("p")


APART = """() => {
  const box = (one) => document.querySelector(one).getBoundingClientRect();
  const marks = document.querySelector(".kp-marks>summary");
  return { time: box(".kp-time").top, picture: box(".kp-picture").bottom,
    film: { top: box(".kp-film").top, right: box(".kp-film").right },
    words: box(".kp-stage .kp-said").left, small: box(".kp-film>figure").width,
    lines: marks.clientHeight / parseFloat(getComputedStyle(marks).lineHeight) };
}"""


def test_in_the_projector_nothing_lies_over_the_time_bar(reader: Page, pages: Pages) -> None:
    """The film is over the picture alone, and what the marks mean stands in one line."""
    opened(reader, pages("commit/two-submit"))
    reader.evaluate(LARGE)
    reader.set_viewport_size({"width": 1280, "height": 720})
    reader.keyboard.press("p")
    reader.wait_for_selector(".kp[data-my-large]")
    reader.keyboard.press("o")
    reader.wait_for_selector(".kp-film>figure")
    seen = reader.evaluate(APART)
    reader.keyboard.press("Escape")
    reader.keyboard.press("p")
    assert seen["picture"] <= seen["time"]
    assert seen["film"]["right"] <= seen["words"] + 4
    assert seen["small"] >= 340
    assert seen["lines"] < 1.9


AROUND = '<main class=jp-WindowedPanel-outer style="overflow:auto"><div id=player></div></main>'


def test_it_is_as_high_as_the_notebook_shows(desk: MakeDesk) -> None:
    """Whatever a notebook shows of itself, the whole Player fits, and follows when that changes."""
    table = desk(Player("tcm/bootstrap"))
    page, html = table.page, table.file.read_text(encoding="utf-8")
    table.file.write_text(html.replace("<main id=player></main>", AROUND), encoding="utf-8")
    page.goto(table.file.as_uri())
    page.wait_for_selector(".kp-frame")
    for height in (600, 680, 590):
        page.evaluate("(h) => { document.querySelector('main').style.height = `${h}px`; }", height)
        high = "document.querySelector('.kp-board').offsetHeight"
        page.wait_for_function(f"() => {high} <= {height} - 8 && {high} > {height} - 24")


SHEETS = """() => [...document.querySelectorAll(".kp-paper>section")].map((sheet) => ({
  pictures: sheet.querySelectorAll("figure svg").length,
  captions: [...sheet.querySelectorAll("figcaption")].map((one) => one.textContent),
  controls: sheet.querySelectorAll("button, input, select").length,
  cut: [...sheet.querySelectorAll("figcaption")].filter((one) =>
    one.getBoundingClientRect().bottom > one.parentNode.getBoundingClientRect().bottom + 1).length,
}))"""


def test_paper_has_six_captioned_milestones_a_sheet(reader: Page, pages: Pages) -> None:
    """Each milestone of the branch is a picture with its step and what happened; nothing to press
    is printed, and the page is as before afterwards.
    """
    opened(reader, pages("topology/join-with-coordinator"))
    reader.locator(".kp-ticks>b").first.wait_for(state="attached")
    names = reader.locator(".kp-ticks>b:not(:empty)").count()
    reader.emulate_media(media="print")
    reader.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    sheets = reader.evaluate(SHEETS)
    assert sum(len(each["captions"]) for each in sheets) == names >= 6
    assert sheets[0]["pictures"] >= 6
    assert len(sheets) == -(-names // 6)
    assert all(each["controls"] == each["cut"] == 0 for each in sheets)
    assert all(one.startswith("Step ") for each in sheets for one in each["captions"])
    assert reader.locator(".kp-board").is_hidden()
    reader.evaluate("() => dispatchEvent(new Event('afterprint'))")
    reader.emulate_media(media="screen")
    assert reader.locator(".kp-board").is_visible()
    assert reader.locator(".kp-paper").count() == 0
