"""Two worlds on one board, in a browser: steps, light, keys, sizes, and the exported page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from kit import Player
from kit.protocols.worlds.commands import side_by_side_run
from kit.protocols.worlds.facts import PAIRS
from kit.views.export import export_html
from kit.views.headlines import BEGIN, told_as, words_of
from tests.widgets.browsing import MakeDesk, serious, turn_to

pytestmark = pytest.mark.browser

LIT = """() => [".kp-picture", ".kp-page:not([hidden])"].map((side) =>
  [...document.querySelectorAll(`${side} [data-my-lit]`)].map((one) => one.dataset.k))"""
IN_SIGHT = """() => ["picture", "page:not([hidden])", "acts", "time"].map((name) => {
  const box = document.querySelector(`.kp-board .kp-${name}`).getBoundingClientRect();
  return [box.width, box.left, box.right, box.bottom];
})"""
LETTERS = """() => Math.min(...[...document.querySelectorAll(".kp-stage svg text")]
  .filter((one) => one.checkVisibility() && one.textContent.trim())
  .map((one) => parseFloat(getComputedStyle(one).fontSize) * one.getScreenCTM().a))"""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The exported page of each pair."""
    folder = tmp_path_factory.mktemp("pairs")
    return {
        pair.name: export_html(side_by_side_run(pair.name), folder / f"{pair.name}.html").path
        for pair in PAIRS
    }


def begun(page: Page, path: Path) -> None:
    """Open a page and leave its cover."""
    page.goto("about:blank")
    page.goto(path.as_uri())
    page.wait_for_selector(".kp[data-my-on] .kp-frame")
    page.keyboard.press("Escape")


def here(page: Page) -> str:
    """Where the page says it is."""
    return page.locator(".kp-where").inner_text()


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", [pair.name for pair in PAIRS])
def test_keys_lead_to_each_row_of_a_page_without_a_kernel(
    reader: Page, written: dict[str, Path], name: str
) -> None:
    """Shift+→ stops at the rows, in their order, and where the run begins; both pictures are there,
    and axe has no word.
    """
    begun(reader, written[name])
    run = side_by_side_run(name)
    model: Any = run.model
    if model.moments[0] != 1:
        reader.keyboard.press("Shift+ArrowRight")
        expect(reader.locator(".kp-ticks b.now")).to_have_text(f"1 {BEGIN}")
    for number in model.moments:
        reader.keyboard.press("Shift+ArrowRight")
        reader.wait_for_function(
            "at => document.querySelector('.kp-where').textContent.startsWith(`${at} /`)",
            arg=number,
        )
        chapter = reader.locator(".kp-ticks b.now").inner_text()
        row = run.moments[number].milestone or ""
        name = told_as(words_of(model.name).chapters, row) or row
        assert chapter.partition(" ")[2].casefold() == name.casefold()
    for side in (".kp-picture .panel.epochs svg", ".kp-page.topology svg"):
        assert reader.locator(side).first.is_visible()
    assert serious(reader) == []


@pytest.mark.parametrize("size", [(840, 560), (1280, 720)])
def test_both_pictures_are_in_sight(
    reader: Page, written: dict[str, Path], size: tuple[int, int]
) -> None:
    """Beside each other, each with half of the board, with letters that one reads."""
    for path in written.values():
        reader.set_viewport_size({"width": size[0], "height": size[1]})
        begun(reader, path)
        reader.keyboard.press("End")
        (left, _, ends, _), (right, begins, edge, _), acts, modes = reader.evaluate(IN_SIGHT)
        assert abs(left - right) <= 2
        assert ends <= begins
        assert edge <= size[0]
        assert max(acts[3], modes[3]) <= size[1]
        assert reader.evaluate(LETTERS) >= 9
    reader.set_viewport_size({"width": 1280, "height": 720})


def test_what_corresponds_is_lit_in_both(reader: Page, written: dict[str, Path]) -> None:
    """By mouse and by keys: a node and the log light up on both sides."""
    model: Any = side_by_side_run("bootstrap").model
    reader.goto("about:blank")
    reader.goto(f"{written['bootstrap'].as_uri()}#step-{model.moments[2]}")
    reader.wait_for_selector(".kp-ticks b.now")
    for thing in ("B", "log"):
        reader.locator(f".kp-page.topology [data-of='{thing}'] text").first.hover()
        left, right = reader.evaluate(LIT)
        assert left, thing
        assert right, thing
    reader.mouse.move(0, 0)
    walks = []
    for _ in range(20):  # through ranges, which have no counterpart, to the nodes
        reader.keyboard.press("]")
        walks.append(reader.evaluate(LIT))
    assert any(left and right for left, right in walks)


def test_both_pictures_have_menus(reader: Page, written: dict[str, Path]) -> None:
    """A press on a node of either offers what both worlds may do with it."""
    begun(reader, written["bootstrap"])
    for _ in range(3):
        reader.keyboard.press("Shift+ArrowRight")
    reader.wait_for_selector(".kp-ticks b.now")
    for side in (".kp-page.topology", ".kp-picture"):
        reader.locator(f"{side} [data-k^='n:B'] text").first.click(force=True)
        menu = reader.locator(".kp-menu")
        menu.wait_for(state="visible")
        assert menu.locator("button:has-text('epochs:')").count()
        assert menu.locator("button:has-text('topology:')").count()
        reader.keyboard.press("Escape")


def test_a_row_opens_its_moment(reader: Page, written: dict[str, Path]) -> None:
    """A press on a row of the table goes to where it happens, and the table stays."""
    begun(reader, written["death"])
    turn_to(reader, "rows")
    reader.get_by_role("button", name="all others answer").click()
    reader.wait_for_selector(".kp-ticks b.now:has-text('all others answer')")
    assert reader.locator(".kp-page.rows").is_visible()


def test_one_world_steps_alone_in_a_live_player(desk: MakeDesk) -> None:
    """An action of one world makes a branch, and the other picture stays as it was."""
    run = side_by_side_run("bootstrap")
    model: Any = run.model
    run.goto(model.moments[2])
    made = desk(Player(run, controls=False))
    page = made.page
    gate = page.locator(".kp-stage .kp-gates b", has_text="Raft:").first
    before = gate.text_content()
    page.locator(".kp-pop.more > summary").click()
    page.locator(".actions").locator("button:has-text('epochs: apply D')").first.click()
    page.wait_for_selector(".kp-said:has-text('D applies epoch 100')")
    assert gate.text_content() == before
    assert len(run.branches()) == 2
