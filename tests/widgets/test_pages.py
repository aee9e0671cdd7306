"""A page of every scenario: words that can be read, slots that stay, nothing that axe finds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.widgets.browsing import MakeDesk, serious, turn_to, walked
from tests.widgets.exporting import NAMES, Pages, opened
from tests.widgets.legible import FAINT_WORDS, FLAWS, SMALL_WORDS, TABS_WITH_DRAWINGS

pytestmark = pytest.mark.browser

FIRST = list({name.partition("/")[0]: name for name in reversed(NAMES)}.values())
"""A scenario of each model."""
LANDING = [name if name in FIRST else pytest.param(name, marks=pytest.mark.deep) for name in NAMES]
"""Every scenario; a landing walks one of each model."""
TABS = """() => [...new Set([...document.querySelectorAll(".kp-stage [data-tab]")]
  .map((one) => one.dataset.tab))]"""
NARROW, SMALL, USUAL = (700, 720), (840, 560), (1280, 720)
"""Windows: half a screen, the least that shows the whole board, and a projector's."""
PHONE = (400, 720)
COLUMN = (540, 720)
"""What JupyterLab leaves of a window of 700 pixels."""
FEW = 5
"""One step of so many is looked at where the board is narrow."""

SLOTS = """() => {
  const names = ["title", "badges", "tabs", "picture", "time", "keys"];
  const place = (name) => {
    const box = document.querySelector(`.kp-board .kp-${name}`)?.getBoundingClientRect();
    return box ? `${name} ${box.x} ${box.y} ${box.width} ${box.height}` : `no ${name}`;
  };
  return names.map(place).join("; ");
}"""

# In every step, or one of so many, with the first panel and with each that has a drawing: what is
# wrong with words, where the slots are. A step is taken with another panel open than the one
# before it.
WALK = f"""([withTabs, every]) => {{
  const flaws = {FLAWS};
  const more = every > 1 ? [{SMALL_WORDS}, {FAINT_WORDS}] : [];
  const drawn = {TABS_WITH_DRAWINGS};
  const slots = {SLOTS};
  const root = document.querySelector(".kp");
  const range = document.querySelector("[data-do=scrub]");
  const press = (key) => root.dispatchEvent(new KeyboardEvent("keydown", {{ key, bubbles: true }}));
  const turnTo = (tab) => document.querySelector(`.kp-stage [data-tab="${{tab}}"]`).click();
  const [found, places] = [new Set(), new Set()];
  const look = (i) => {{
    for (const flaw of [flaws, ...more].flatMap((look) => look()))
      found.add(`step ${{i}}: ${{flaw}}`);
    places.add(slots());
  }};
  const first = document.querySelector(".kp-stage .kp-tabs>[data-tab]")?.dataset.tab;
  const tabs = withTabs ? drawn().filter((tab) => tab !== first) : [];
  press("Home");
  for (let i = 0; i <= Number(range.max); i += 1) {{
    for (const tab of i % every ? [] : [first, ...tabs]) {{
      if (tab) turnTo(tab);
      look(i);
    }}
    tabs.reverse();
    press("j");
  }}
  const over = document.documentElement.scrollHeight - innerHeight;
  const [at, last] = [Number(range.value), Number(range.max)];
  return {{ at, last, over, flaws: [...found], places: [...places] }};
}}"""


def seen_on(
    reader: Page, page: Path, window: tuple[int, int], *, tabs: bool, every: int = 1
) -> dict[str, Any]:
    """What a walk from a page's first step to its last finds in a window of that size."""
    reader.emulate_media(reduced_motion="reduce")
    opened(reader, page)
    reader.set_viewport_size({"width": window[0], "height": window[1]})
    seen: dict[str, Any] = reader.evaluate(WALK, [tabs, every])
    reader.emulate_media(reduced_motion="no-preference")
    assert seen["at"] == seen["last"] > 0
    return seen


def check_board(seen: dict[str, Any]) -> None:
    """Assert that all could be read, that no slot moved and that the page was not too high."""
    assert seen["flaws"] == []
    assert len(seen["places"]) == 1, seen["places"]
    assert seen["over"] <= 0


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", LANDING)
def test_every_step_is_legible_and_moves_no_slot(reader: Page, pages: Pages, name: str) -> None:
    """From the first step of a scenario to the last every slot keeps its place and its size, and no
    word of a drawing is over another, cut off, small, or under an arrow.
    """
    check_board(seen_on(reader, pages(name), SMALL, tabs=True))


@pytest.mark.sweep(6)
@pytest.mark.parametrize("name", LANDING)
def test_so_it_is_in_a_usual_window(reader: Page, pages: Pages, name: str) -> None:
    """The same where pictures have more room."""
    check_board(seen_on(reader, pages(name), USUAL, tabs=False))


@pytest.mark.sweep(6)
@pytest.mark.parametrize("name", FIRST)
def test_so_it_is_in_a_narrow_window(reader: Page, pages: Pages, name: str) -> None:
    """The same on half a screen, where the badges have a line of their own, in the dark theme."""
    reader.emulate_media(color_scheme="dark")
    check_board(seen_on(reader, pages(name), NARROW, tabs=True, every=FEW))
    reader.emulate_media(color_scheme="light")


@pytest.mark.sweep(6)
@pytest.mark.parametrize("name", FIRST)
def test_letters_are_as_large_and_clear_in_one_column(
    reader: Page, pages: Pages, name: str
) -> None:
    """Where the slots stand below one another, their heights are free and tabs may be in lines;
    what drawings say stands out there in the light theme.
    """
    seen = seen_on(reader, pages(name), PHONE, tabs=True, every=FEW)
    assert [flaw for flaw in seen["flaws"] if " px: " in flaw or "faint: " in flaw] == []


# On each tab of the last step: tables wider than their pane, unless of very many columns.
WIDE_TABLES = """() => {
  document.querySelector(".kp").dispatchEvent(new KeyboardEvent("keydown", { key: "End" }));
  const seen = new Set();
  for (const tab of document.querySelectorAll(".kp-stage .kp-tabs .kp-sheet [data-tab]")) {
    tab.click();
    for (const table of document.querySelectorAll(".kp-page table")) {
      const many = table.rows[0].cells.length > 8;
      const room = table.closest(".kp-page").clientWidth;
      if (table.checkVisibility() && !many && table.offsetWidth > room)
        seen.add(`${tab.dataset.tab}: ${table.offsetWidth} of ${room} px`);
    }
  }
  return [...seen];
}"""


@pytest.mark.sweep(6)
@pytest.mark.parametrize("name", FIRST)
def test_tables_fit_one_column(reader: Page, pages: Pages, name: str) -> None:
    """No table scrolls sideways there: long names are broken at their joints."""
    opened(reader, pages(name))
    reader.set_viewport_size({"width": COLUMN[0], "height": COLUMN[1]})
    assert reader.evaluate(WIDE_TABLES) == []


WIDER = "(all, least) => all.forEach(({ style }) => { style.minWidth = least; })"


@pytest.mark.sweep(6)
@pytest.mark.parametrize("name", FIRST)
def test_axe_finds_nothing_serious(reader: Page, pages: Pages, name: str) -> None:
    """Names, roles, scopes and contrast hold on every tab of every model's page, and on the whole
    board with the last one.

    In the other theme contrast is looked at alone, for a theme changes nothing but colours. In a
    small window keys reach all that scrolls, the status line as well where its words are long.
    """
    opened(reader, pages(name))
    reader.set_viewport_size({"width": SMALL[0], "height": SMALL[1]})
    badges = reader.locator(".kp-kicker li")
    badges.evaluate_all(WIDER, "700px")
    assert serious(reader, rules=["scrollable-region-focusable"]) == []
    badges.evaluate_all(WIDER, "")
    reader.set_viewport_size({"width": USUAL[0], "height": USUAL[1]})
    assert serious(reader, least=True) == []
    tabs = reader.evaluate(TABS)
    for tab in tabs:
        turn_to(reader, tab)
        reader.keyboard.press("j")
        within = ".kp-board" if tab == tabs[-1] else ".kp-pane"
        assert serious(reader, within) == [], tab
    reader.emulate_media(color_scheme="dark")
    assert serious(reader, rules=["color-contrast"]) == []
    reader.emulate_media(color_scheme="light")


HOSTS = "page-has-heading-one"
"""What the page around a Player has to have, not the Player."""


@pytest.mark.sweep(6)
@pytest.mark.parametrize("name", FIRST)
def test_axe_finds_nothing_on_a_live_player(desk: MakeDesk, name: str) -> None:
    """Not even what is minor, in the light and in the dark, also with the sheet of what waits and
    that of all actions open.
    """
    table = desk(walked(name, 3))

    def found() -> list[str]:
        return [one for one in serious(table.page, least=True) if not one.startswith(HOSTS)]

    assert found() == []
    for sheet in ("waiting", "more"):
        if table.page.locator(f".kp details.{sheet}").count():
            table.open(sheet)
            assert found() == [], sheet
    table.page.emulate_media(color_scheme="dark")
    assert serious(table.page, rules=["color-contrast"]) == []


@pytest.mark.deep
@pytest.mark.parametrize("name", FIRST)
def test_every_tab_has_contrast_in_the_dark(reader: Page, pages: Pages, name: str) -> None:
    """So it is with each tab open."""
    opened(reader, pages(name))
    reader.set_viewport_size({"width": USUAL[0], "height": USUAL[1]})
    reader.emulate_media(color_scheme="dark")
    for tab in reader.evaluate(TABS):
        turn_to(reader, tab)
        reader.keyboard.press("j")
        assert serious(reader, ".kp-board", ["color-contrast"]) == [], tab
    reader.emulate_media(color_scheme="light")


MISSED = """() => [...document.querySelectorAll(".kp-picture svg [data-of]:has(>rect)")]
  .filter((one) => {
    const { x, y, width, height } = one.getBoundingClientRect();
    const hit = document.elementFromPoint(x + width / 2, y + height / 2);
    return hit?.closest("[data-of]")?.dataset.of !== one.dataset.of;
  }).map((one) => one.dataset.of)"""


@pytest.mark.sweep(6)
@pytest.mark.parametrize("name", FIRST)
def test_a_box_is_hit_in_its_middle(reader: Page, pages: Pages, name: str) -> None:
    """A press on a drawn box of a thing is a press on that thing, also where the box is empty."""
    opened(reader, pages(name))
    reader.set_viewport_size({"width": USUAL[0], "height": USUAL[1]})
    reader.keyboard.press("Home")
    assert reader.evaluate(MISSED) == []


MOVES = """() => {
  const root = document.querySelector(".kp");
  const range = document.querySelector("[data-do=scrub]");
  const press = (key) => root.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  const insert = Node.prototype.insertBefore;
  let moves = 0;
  Node.prototype.insertBefore = function (node, next) {
    moves += node.isConnected;
    return insert.call(this, node, next);
  };
  press("Home");
  for (let i = 0; i < Number(range.max); i += 1) press("j");
  Node.prototype.insertBefore = insert;
  return [Number(range.max), moves];
}"""


def test_what_goes_pushes_nothing_else(reader: Page, pages: Pages) -> None:
    """A step takes parts away and puts parts last: few others are moved, for each takes long."""
    opened(reader, pages("tcm/two-bootstraps"))
    steps, moves = reader.evaluate(MOVES)
    assert steps > 50
    assert 0 < moves < 4 * steps
