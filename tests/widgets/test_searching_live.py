"""The search control in a real JupyterLab: the kernel answers while a thread searches."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.widgets.browsing import do, serious
from tests.widgets.laboratory import run_cell, write_notebook

pytestmark = pytest.mark.browser

CELL = """from kit import Player, Timeline, build
player = Player(Timeline(build("dataplane", {"rf": 3})))
player"""
WHERE = "document.querySelector('.kp-where').textContent"


@pytest.fixture(scope="module")
def page(lab_page: Page, lab: tuple[Path, str]) -> Page:
    """A notebook with one Player of the data plane, its switch board open."""
    folder, address = lab
    write_notebook(folder / "search.ipynb", CELL)
    run_cell(lab_page, address, "search.ipynb", "dataplane")
    do(lab_page, "setup")
    lab_page.click(".kit-player button:has-text('Safeguards')")
    return lab_page


@pytest.mark.spec("H-009")
def test_a_student_breaks_it_and_steps_the_run(page: Page) -> None:
    """Untick S-01, press search: a box names the invariant, and the run is there to be stepped."""
    page.click(".kit-player label:has-text('S-01')")
    page.click(".kit-player button:has-text('Search for a violation')")
    page.wait_for_selector(".kit-found :text('Broken after')")
    box = page.inner_text(".kit-found")
    assert "INV-" in box
    assert "without S-01" in box
    steps = len(page.query_selector_all(".kit-found li"))
    page.wait_for_function(f"{WHERE} === '{steps} / {steps}'")
    assert page.query_selector(".kp .promises.broken") is not None
    do(page, "first")
    page.wait_for_function(f"{WHERE} === '0 / {steps}'")
    for step in range(1, steps + 1):
        do(page, "step")
        page.wait_for_function(f"{WHERE} === '{step} / {steps}'")
    assert page.query_selector(".kp .promises.broken") is not None
    assert page.locator(".kp-ticks .bad").count() == 1
    do(page, "setup")
    page.wait_for_selector(".kp-break")
    do(page, "setup")


SQUEEZED = """() => [...document.querySelectorAll(".kit-drawer button")]
  .filter((one) => one.offsetParent && one.scrollWidth > one.clientWidth)
  .map((one) => one.textContent)"""


def test_every_button_of_the_drawer_can_be_read(page: Page) -> None:
    """On each of its pages; what has no room beside others stands below them."""
    for name, button in (("Files", "Export page"), ("Safeguards", "Search for a violation")):
        page.click(f".kit-player button:has-text('{name}')")
        page.wait_for_selector(f".kit-drawer button:has-text('{button}')")
        assert page.evaluate(SQUEEZED) == [], name


def test_the_kernel_answers_while_it_searches(page: Page) -> None:
    """With every safeguard on again the run goes as far as it may, as a branch, and no promise is
    broken. A search takes longer there; the stage answers, a stop stops it.
    """
    page.click(".kit-player label:has-text('S-01')")
    page.wait_for_selector(".kp .promises:not(.broken)")
    was = page.evaluate(WHERE)
    page.click(".kit-player button:has-text('Search for a violation')")
    page.wait_for_selector(".kit-player button:has-text('Stop'), .kit-found :text('Complete')")
    # Not by mouse: what is found moves the button away from under it.
    page.dispatch_event("[data-do=step]", "click")
    page.wait_for_function(f"(was) => {WHERE} !== was", arg=was)
    stop = page.locator(".kit-player button:has-text('Stop')")
    if stop.is_visible():
        stop.click()
    page.wait_for_selector(".kit-found :text('Stopped after'), .kit-found :text('Complete')")
    assert "with every safeguard on" in page.inner_text(".kit-found")


def test_axe_finds_nothing_serious_in_the_panels(page: Page) -> None:
    """The panels of the data plane have no serious finding, in the light and in the dark theme."""
    for theme in ("false", "true"):
        page.evaluate("(value) => { document.body.dataset.jpThemeLight = value; }", theme)
        assert serious(page, ".kit-player") == []
