"""A page of every scenario: words that can be read, slots that stay, nothing that axe finds."""

from __future__ import annotations

from typing import Literal

import pytest
from playwright.sync_api import Page

from tests.widgets.browsing import serious
from tests.widgets.exporting import NAMES, Pages, opened
from tests.widgets.legible import FLAWS, TABS_WITH_DRAWINGS

pytestmark = pytest.mark.browser

FIRST = list({name.partition("/")[0]: name for name in reversed(NAMES)}.values())
"""A scenario of each model."""

SLOTS = """() => {
  const names = ["time", "stepper", "badges", "picture", "pane", "said", "acts", "modes"];
  const place = (name) => {
    const box = document.querySelector(`.kp-board .kp-${name}`)?.getBoundingClientRect();
    return box ? `${name} ${box.x} ${box.y} ${box.width} ${box.height}` : `no ${name}`;
  };
  return names.map(place).join("; ");
}"""

# In every step, with the panels shown one after the other that have a drawing: what is wrong with
# words, and where the slots are.
WALK = f"""(withTabs) => {{
  const flaws = {FLAWS};
  const drawn = {TABS_WITH_DRAWINGS};
  const slots = {SLOTS};
  const root = document.querySelector(".kp");
  const range = document.querySelector("[data-do=scrub]");
  const press = (key) => root.dispatchEvent(new KeyboardEvent("keydown", {{ key, bubbles: true }}));
  const [found, places] = [new Set(), new Set()];
  for (const tab of withTabs && drawn().length ? drawn() : [null]) {{
    if (tab) document.querySelector(`.kp-stage [data-tab="${{tab}}"]`).click();
    press("Home");
    for (let i = 0; i <= Number(range.max); i += 1) {{
      for (const flaw of flaws()) found.add(`step ${{i}}: ${{flaw}}`);
      places.add(slots());
      press("j");
    }}
  }}
  const over = document.documentElement.scrollHeight - innerHeight;
  const [at, last] = [Number(range.value), Number(range.max)];
  return {{ at, last, over, flaws: [...found], places: [...places] }};
}}"""


@pytest.mark.parametrize("name", NAMES)
def test_every_step_is_legible_and_moves_no_slot(reader: Page, pages: Pages, name: str) -> None:
    """From the first step of a scenario to the last every slot keeps its place and its size, and no
    word of a drawing is over another, cut off, small, or under an arrow.
    """
    reader.emulate_media(reduced_motion="reduce")
    opened(reader, pages(name))
    for width, height in ((840, 560), (1280, 720)):
        reader.set_viewport_size({"width": width, "height": height})
        walk = reader.evaluate(WALK, width == 840)
        assert walk["at"] == walk["last"] > 0
        assert walk["flaws"] == [], width
        assert len(walk["places"]) == 1, walk["places"]
        assert walk["over"] <= 0
    reader.emulate_media(reduced_motion="no-preference")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", FIRST)
def test_axe_finds_nothing_serious(
    reader: Page, pages: Pages, name: str, scheme: Literal["light", "dark"]
) -> None:
    """Names, roles, scopes and contrast hold in both themes, on every tab of every model's page."""
    reader.emulate_media(color_scheme=scheme)
    opened(reader, pages(name))
    for tab in reader.locator(".kp-stage [data-tab]").all():
        tab.click()
        reader.keyboard.press("j")
        assert serious(reader) == [], tab.text_content()
    reader.emulate_media(color_scheme="light")


MOVES = """() => {
  const root = document.querySelector(".kp");
  const range = document.querySelector("[data-do=scrub]");
  const press = (key) => root.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  const move = Element.prototype.moveBefore;
  let moves = 0;
  Element.prototype.moveBefore = function (...given) {
    moves += 1;
    return move.apply(this, given);
  };
  press("Home");
  for (let i = 0; i < Number(range.max); i += 1) press("j");
  Element.prototype.moveBefore = move;
  return [Number(range.max), moves];
}"""


def test_what_goes_pushes_nothing_else(reader: Page, pages: Pages) -> None:
    """A step takes parts away and puts parts last: few others are moved, for each takes long."""
    opened(reader, pages("tcm/two-bootstraps"))
    steps, moves = reader.evaluate(MOVES)
    assert steps > 50
    assert 0 < moves < 4 * steps
