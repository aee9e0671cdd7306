"""Fixtures of the browser tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, sync_playwright

from kit.widgets import Player
from tests.widgets.browsing import Desk, launch
from tests.widgets.laboratory import server


@pytest.fixture(scope="module")
def browser(chromium_path: Path) -> Iterator[Browser]:
    """A headless Chromium."""
    with sync_playwright() as playwright:
        found = launch(playwright, chromium_path)
        yield found
        found.close()


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """The folder and the address of a JupyterLab."""
    folder = tmp_path_factory.mktemp("lab")
    with server(folder) as address:
        yield folder, address


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A fresh browser context of 1280 by 720, without any network."""
    made = browser.new_context(viewport={"width": 1280, "height": 720}, offline=True)
    made.set_default_timeout(60_000)
    yield made
    made.close()


@pytest.fixture
def desk(context: BrowserContext, tmp_path: Path) -> Callable[..., Desk]:
    """Put a Player on a bare page."""

    def make(player: Player | str) -> Desk:
        chosen = Player(player) if isinstance(player, str) else player
        return Desk(context.new_page(), chosen, tmp_path)

    return make
