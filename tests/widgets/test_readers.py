"""Each family for each reader: with colours of their own, twice as large, with nothing that moves.

A page of each model is gone through a few steps at a time.
"""

from __future__ import annotations

from typing import Literal

import pytest
from playwright.sync_api import Page

from tests.widgets.exporting import Pages, opened
from tests.widgets.legible import FAINT_WORDS, FLAWS, SMALL_WORDS
from tests.widgets.test_pages import FEW, FIRST, USUAL

pytestmark = pytest.mark.browser

THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
TWICE = (640, 360)
"""What a window of 1280 by 720 has at 200 %."""
WALK = """([looks, every]) => {
  const found = new Set();
  const [root, range] = [".kp", "[data-do=scrub]"].map((one) => document.querySelector(one));
  const press = (key) => root.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  press("Home");
  for (let i = 0; i <= Number(range.max); i += 1) {
    if (i % every === 0 || i === Number(range.max))
      for (const flaw of looks.flatMap((look) => eval(look)())) found.add(`step ${i}: ${flaw}`);
    press("j");
  }
  return [...found];
}"""
SIDEWAYS = """() => {
  const over = document.documentElement.scrollWidth - innerWidth;
  return over > 0 ? [`${over} px too wide`] : [];
}"""
# Shapes that were seen before and have the colour of the ground now.
SHAPES = """() => {
  const ground = getComputedStyle(document.querySelector(".kp")).backgroundColor;
  return [...document.querySelectorAll(".kp-picture svg :is(rect, circle, path, line, polygon)")]
    .map((one) => {
      const { fill, stroke } = getComputedStyle(one);
      const inked = [fill, stroke].some((colour) => colour !== "none" && colour !== ground
        && colour !== "rgba(0, 0, 0, 0)");
      return one.checkVisibility() && inked;
    });
}"""
MOVING = """() => {
  const root = document.querySelector(".kp");
  const press = (key) => root.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  press("Home");
  const seen = [];
  for (let i = 0; i < Number(document.querySelector("[data-do=scrub]").max); i += 1) {
    press("j");
    seen.push(document.getAnimations().length);
  }
  return Math.max(...seen);
}"""


# What has other colours or letters once the player is taken out of the page and put in again: a
# browser that moved a part may have kept those of the step before.
LEFT_OVER = """() => {
  const names = ["color", "fill", "stroke", "strokeWidth", "backgroundColor", "fontSize",
    "fontWeight", "opacity"];
  const parts = [...document.querySelectorAll(".kp-board *")];
  const looks = (one) => {
    const style = getComputedStyle(one);
    return names.map((name) => style[name]).join(" ");
  };
  const before = parts.map(looks);
  const root = document.querySelector(".kp");
  const { parentNode, nextSibling } = root;
  root.remove();
  parentNode.insertBefore(root, nextSibling);
  return parts.filter((one, i) => looks(one) !== before[i])
    .map((one) => `${one.tagName} ${one.getAttribute("class")}: ${one.textContent.slice(0, 40)}`);
}"""


@pytest.mark.sweep(6)
@pytest.mark.parametrize("name", FIRST)
def test_no_part_keeps_the_look_of_the_step_before(reader: Page, pages: Pages, name: str) -> None:
    """Whatever moves, comes or goes, each part looks as one that is drawn for the first time."""
    reader.emulate_media(reduced_motion="reduce")
    opened(reader, pages(name))
    reader.set_viewport_size({"width": USUAL[0], "height": USUAL[1]})
    assert reader.evaluate(WALK, [[LEFT_OVER], 1]) == []
    reader.emulate_media(reduced_motion="no-preference")


@pytest.mark.sweep(6)
@pytest.mark.parametrize("name", FIRST)
def test_colours_that_the_reader_chose_leave_nothing_invisible(
    reader: Page, pages: Pages, name: str
) -> None:
    """With forced colours, light ones and dark ones, every word of a drawing stands out, and each
    shape that is seen without them is seen.
    """
    opened(reader, pages(name))
    reader.set_viewport_size({"width": USUAL[0], "height": USUAL[1]})
    seen = reader.evaluate(SHAPES)
    for scheme in THEMES:
        reader.emulate_media(forced_colors="active", color_scheme=scheme)
        now = reader.evaluate(SHAPES)
        assert len(now) == len(seen) > 0
        assert not [i for i, (was, is_) in enumerate(zip(seen, now, strict=True)) if was > is_]
    for scheme in reversed(THEMES):
        reader.emulate_media(color_scheme=scheme)
        assert reader.evaluate(WALK, [[FAINT_WORDS], FEW]) == []
    reader.emulate_media(forced_colors="none")


@pytest.mark.sweep(6)
@pytest.mark.parametrize("name", FIRST)
def test_twice_as_large_nothing_is_cut(reader: Page, pages: Pages, name: str) -> None:
    """At 200 % no word is cut, small, or over another, and nothing has to be scrolled sideways."""
    reader.emulate_media(reduced_motion="reduce")
    opened(reader, pages(name))
    reader.set_viewport_size({"width": TWICE[0], "height": TWICE[1]})
    found = reader.evaluate(WALK, [[FLAWS, SMALL_WORDS, SIDEWAYS], FEW])
    reader.emulate_media(reduced_motion="no-preference")
    # Where the slots stand below one another, tabs and badges have as many lines as they need.
    free = ("tabs in two lines", "in lines")
    assert [flaw for flaw in found if not flaw.endswith(free)] == []


@pytest.mark.sweep(6)
@pytest.mark.parametrize("name", FIRST)
def test_nothing_moves_on_request(reader: Page, pages: Pages, name: str) -> None:
    """With reduced motion no step of any family starts an animation; without it some do."""
    opened(reader, pages(name))
    reader.set_viewport_size({"width": USUAL[0], "height": USUAL[1]})
    reader.emulate_media(reduced_motion="reduce")
    assert reader.evaluate(MOVING) == 0
    reader.emulate_media(reduced_motion="no-preference")
    assert reader.evaluate(MOVING) > 0
