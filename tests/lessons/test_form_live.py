"""The start notebook in a real JupyterLab: its stored pictures, and a prediction by mouse."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from tests.widgets.laboratory import ROOT, run_all, server

START = "00-start-here.ipynb"
pytestmark = pytest.mark.browser


@pytest.fixture
def page(chromium_path: Path) -> Iterator[Page]:
    """An empty page of a headless Chromium."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=chromium_path,
            args=["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"],
        )
        yield browser.new_page(viewport={"width": 1280, "height": 1100})
        browser.close()


@pytest.mark.spec("H-011", "H-014")
def test_the_start_notebook_shows_asks_and_answers(page: Page, tmp_path: Path) -> None:
    """Untrusted, it shows its stored pictures; run, its first question can be answered."""
    shutil.copy(ROOT / "notebooks" / START, tmp_path)
    with server(tmp_path) as address:
        page.goto(f"{address}/lab/tree/{START}?token=t&reset")
        picture = page.locator('.jp-RenderedHTMLCommon img[alt^="token ring"]').first
        picture.wait_for(state="attached", timeout=60_000)
        run_all(page, address, START)
        asked = page.locator(".jp-OutputArea-output", has_text="A key has token 130").first
        button = asked.get_by_role("button", name="Answer")
        button.wait_for(timeout=60_000)
        button.scroll_into_view_if_needed()
        button.click()
        expect(asked.get_by_role("alert")).to_contain_text("Tick at least one box.")
        asked.get_by_label("A", exact=True).check()
        button.click()
        expect(asked.get_by_role("alert")).to_contain_text("Not so.")
        asked.get_by_label("A", exact=True).uncheck()
        for name in ("B", "C"):
            asked.get_by_label(name, exact=True).focus()
            page.keyboard.press("Space")
        button.focus()
        page.keyboard.press("Enter")
        expect(asked.get_by_role("alert")).to_contain_text("Right.")
