"""The start notebook in a real JupyterLab: its stored pictures, and a prediction by mouse."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.widgets.laboratory import ROOT, open_notebook, run_opened

START = "00-start-here.ipynb"
pytestmark = pytest.mark.browser


@pytest.mark.spec("H-011", "H-014")
def test_the_start_notebook_shows_asks_and_answers(lab_page: Page, lab: tuple[Path, str]) -> None:
    """Untrusted, it shows its stored pictures; run, its first question can be answered."""
    (folder, address), page = lab, lab_page
    shutil.copy(ROOT / "notebooks" / START, folder / "untrusted.ipynb")
    open_notebook(page, address, "untrusted.ipynb")
    picture = page.locator('.jp-RenderedHTMLCommon img[alt^="token ring"]').first
    picture.wait_for(state="attached")
    run_opened(page, "untrusted.ipynb")
    asked = page.locator(".jp-OutputArea-output", has_text="A key has token 130").first
    button = asked.get_by_role("button", name="Answer")
    button.wait_for()
    button.scroll_into_view_if_needed()
    button.click()
    expect(asked.get_by_role("alert")).to_contain_text("Tick at least one box.")
    asked.get_by_label("A", exact=True).check()
    button.click()
    expect(asked.get_by_role("alert")).to_contain_text("That is not right.")
    asked.get_by_label("A", exact=True).uncheck()
    for name in ("B", "C"):
        asked.get_by_label(name, exact=True).focus()
        page.keyboard.press("Space")
    button.focus()
    page.keyboard.press("Enter")
    expect(asked.get_by_role("alert")).to_contain_text("Right.")
