"""The letters of every picture, as they are shown: large enough in a window, and for a class."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.widgets.exporting import NAMES, Pages, opened

pytestmark = pytest.mark.browser

FIRST = list({name.partition("/")[0]: name for name in reversed(NAMES)}.values())
"""A scenario of each model."""
PAIRS = [name for name in NAMES if name.startswith("worlds/") and name not in FIRST]
"""Two pictures on a board, of other families in each."""
SMALL = """(least) => {
  const size = (text) => parseFloat(getComputedStyle(text).fontSize)
    * Math.hypot(text.getScreenCTM().a, text.getScreenCTM().b);
  const texts = [...document.querySelectorAll(
    ".kp-stage .kp-picture .panel svg text, .kp-stage .kp-page>.stage text")]
    .filter((one) => one.textContent.trim() && one.checkVisibility({ visibilityProperty: true }));
  return texts.filter((one) => size(one) < least - 0.05)
    .map((one) => `${size(one).toFixed(1)} px: ${one.textContent.trim()}`);
}"""
SHARE = """() => {
  const { width, height } = document.querySelector(".kp-picture").getBoundingClientRect();
  return Math.min(width / document.querySelector(".kp-board").clientWidth, height / innerHeight);
}"""
LARGE = "() => { Element.prototype.requestFullscreen = () => Promise.reject(); }"
GO = """(step) => {
  const range = document.querySelector("[data-do=scrub]");
  range.value = step;
  range.dispatchEvent(new Event("input", { bubbles: true }));
  return new Promise(requestAnimationFrame);
}"""
HALVES = tuple(name for name in (*FIRST, *PAIRS) if name.startswith("worlds"))
STEPS = 6
"""Steps of a run that are looked at, from its start to its end."""


def small(page: Page, least: float) -> set[str]:
    """What is smaller than it may be, in some steps of a run."""
    last = int(page.get_attribute("[data-do=scrub]", "max") or 0)
    found = set()
    for step in range(0, last + 1, max(1, last // STEPS)):
        page.evaluate(GO, step)
        found |= set(page.evaluate(SMALL, least))
    return found


@pytest.mark.sweep(6)
@pytest.mark.parametrize("name", [*FIRST, *PAIRS])
def test_letters_are_large_enough(reader: Page, pages: Pages, name: str) -> None:
    """At least 13 pixels on the smallest board; in the projector at least 17, and its picture has
    three fifths of the screen in both directions, of two pictures each a part.
    """
    reader.emulate_media(reduced_motion="reduce")
    reader.set_viewport_size({"width": 840, "height": 560})
    opened(reader, pages(name))
    assert small(reader, 13) == set()
    reader.evaluate(LARGE)
    reader.keyboard.press("p")
    reader.wait_for_selector(".kp[data-my-large]")
    for size in ((1280, 720), (1920, 1080)):
        reader.set_viewport_size({"width": size[0], "height": size[1]})
        assert small(reader, 17) == set()
        assert reader.evaluate(SHARE) >= (0.48 if name in HALVES else 0.64)
    reader.emulate_media(reduced_motion="no-preference")
