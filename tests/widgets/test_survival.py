"""A Player whose kernel was restarted, in a real JupyterLab."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.widgets.browsing import do
from tests.widgets.laboratory import NOTEBOOK, run_all, write_notebook

pytestmark = pytest.mark.browser

CELL = "from kit import Player\nplayer = Player('bootstrap')\nplayer.step()\nplayer"
RESTART = f"""async (path) => {{
  await ({NOTEBOOK})(path).sessionContext.session.kernel.restart();
}}"""
CUT = ".jupyter-widgets-disconnected .kp"


def test_after_a_restart_an_action_says_so_and_looking_goes_on(
    lab_page: Page, lab: tuple[Path, str]
) -> None:
    """What was shown can still be walked; what needs the kernel says at the control what to do."""
    (folder, address), page = lab, lab_page
    write_notebook(folder / "restart.ipynb", CELL)
    run_all(page, address, "restart.ipynb")
    where = page.locator(".kp-where")
    expect(where).to_have_text("1 / 1")
    page.evaluate(RESTART, "restart.ipynb")
    page.wait_for_selector(CUT)
    do(page, "step")
    expect(page.locator(".kp-note")).to_have_text("The kernel is new. Run this cell again.")
    page.keyboard.press("Escape")
    expect(page.locator(".kp-note")).to_be_hidden()
    do(page, "setup")  # its controls are the kernel's own
    expect(page.locator(".kp-note")).to_have_text("The kernel is new. Run this cell again.")
    expect(page.locator(".kit-drawer")).to_be_hidden()
    page.click(".kp [data-do=back]")
    expect(where).to_have_text("0 / 1")
    run_all(page, address, "restart.ipynb")
    do(page, "step")
    expect(where).to_have_text("2 / 2")
