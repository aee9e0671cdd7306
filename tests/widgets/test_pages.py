"""A page of every scenario: words that can be read, slots that stay, nothing that axe finds."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.widgets.browsing import serious
from tests.widgets.exporting import NAMES, Pages, opened
from tests.widgets.legible import FLAWS, TABS_WITH_DRAWINGS

pytestmark = pytest.mark.browser

FIRST = list({name.partition("/")[0]: name for name in reversed(NAMES)}.values())
"""A scenario of each model."""
LANDING = [
    name if name in {*FIRST, *NAMES[::3]} else pytest.param(name, marks=pytest.mark.deep)
    for name in NAMES
]
"""Every scenario; a landing walks one of each model, and each third."""
TABS = ".kp-stage :is(.kp-tabs, .kp-line)>[data-tab]"
SMALL, USUAL = (840, 560), (1280, 720)
"""Windows: the least that shows the whole board, and a projector's."""

SLOTS = """() => {
  const names = ["time", "stepper", "badges", "picture", "pane", "said", "acts", "modes"];
  const place = (name) => {
    const box = document.querySelector(`.kp-board .kp-${name}`)?.getBoundingClientRect();
    return box ? `${name} ${box.x} ${box.y} ${box.width} ${box.height}` : `no ${name}`;
  };
  return names.map(place).join("; ");
}"""

# In every step, with each of the panels that have a drawing: what is wrong with words, where the
# slots are. A step is taken with another panel open than the one before it.
WALK = f"""(withTabs) => {{
  const flaws = {FLAWS};
  const drawn = {TABS_WITH_DRAWINGS};
  const slots = {SLOTS};
  const root = document.querySelector(".kp");
  const range = document.querySelector("[data-do=scrub]");
  const press = (key) => root.dispatchEvent(new KeyboardEvent("keydown", {{ key, bubbles: true }}));
  const turnTo = (tab) => document.querySelector(`.kp-stage [data-tab="${{tab}}"]`).click();
  const [found, places] = [new Set(), new Set()];
  const look = (i) => {{
    for (const flaw of flaws()) found.add(`step ${{i}}: ${{flaw}}`);
    places.add(slots());
  }};
  const tabs = withTabs ? drawn() : [];
  press("Home");
  for (let i = 0; i <= Number(range.max); i += 1) {{
    look(i);
    for (const tab of tabs) {{
      turnTo(tab);
      look(i);
    }}
    tabs.reverse();
    press("j");
  }}
  const over = document.documentElement.scrollHeight - innerHeight;
  const [at, last] = [Number(range.value), Number(range.max)];
  return {{ at, last, over, flaws: [...found], places: [...places] }};
}}"""


def walk(reader: Page, page: Path, width: int, height: int) -> None:
    """Assert what holds for a page from its first step to its last, in a window of that size."""
    reader.emulate_media(reduced_motion="reduce")
    opened(reader, page)
    reader.set_viewport_size({"width": width, "height": height})
    seen = reader.evaluate(WALK, width == SMALL[0])
    assert seen["at"] == seen["last"] > 0
    assert seen["flaws"] == []
    assert len(seen["places"]) == 1, seen["places"]
    assert seen["over"] <= 0
    reader.emulate_media(reduced_motion="no-preference")


@pytest.mark.parametrize("name", LANDING)
def test_every_step_is_legible_and_moves_no_slot(reader: Page, pages: Pages, name: str) -> None:
    """From the first step of a scenario to the last every slot keeps its place and its size, and no
    word of a drawing is over another, cut off, small, or under an arrow.
    """
    walk(reader, pages(name), *SMALL)


@pytest.mark.parametrize(
    "name",
    [name if name in FIRST else pytest.param(name, marks=pytest.mark.deep) for name in NAMES],
)
def test_so_it_is_in_a_usual_window(reader: Page, pages: Pages, name: str) -> None:
    """The same where pictures have more room; a landing looks at a scenario of each model."""
    walk(reader, pages(name), *USUAL)


@pytest.mark.parametrize("name", FIRST)
def test_axe_finds_nothing_serious(reader: Page, pages: Pages, name: str) -> None:
    """Names, roles, scopes and contrast hold on every tab of every model's page.

    In the other theme contrast is looked at alone, for a theme changes nothing but colours. In a
    small window keys reach all that scrolls, the status line as well where its words are long.
    """
    opened(reader, pages(name))
    reader.set_viewport_size({"width": SMALL[0], "height": SMALL[1]})
    badges = reader.locator(".kp-badges>.scroll li")
    badges.evaluate_all("(all) => all.forEach(({ style }) => { style.minWidth = '700px'; })")
    assert serious(reader, rules=["scrollable-region-focusable"]) == []
    opened(reader, pages(name))
    reader.set_viewport_size({"width": USUAL[0], "height": USUAL[1]})
    assert serious(reader) == []
    for tab in reader.locator(TABS).all():
        tab.click()
        reader.keyboard.press("j")
        assert serious(reader, ".kp-pane") == [], tab.text_content()
    assert serious(reader, ".kp-board") == []
    reader.emulate_media(color_scheme="dark")
    assert serious(reader, rules=["color-contrast"]) == []
    reader.emulate_media(color_scheme="light")


@pytest.mark.deep
@pytest.mark.parametrize("name", FIRST)
def test_every_tab_has_contrast_in_the_dark(reader: Page, pages: Pages, name: str) -> None:
    """So it is with each tab open."""
    opened(reader, pages(name))
    reader.set_viewport_size({"width": USUAL[0], "height": USUAL[1]})
    reader.emulate_media(color_scheme="dark")
    for tab in reader.locator(TABS).all():
        tab.click()
        reader.keyboard.press("j")
        assert serious(reader, ".kp-board", ["color-contrast"]) == [], tab.text_content()
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
