"""Fixtures of the browser tests, wherever they stand; tests/conftest.py names this module."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # a browser's modules are loaded by the tests that use one
    from playwright.sync_api import Browser, BrowserContext, Page

    from kit.widgets import Player
    from tests.widgets.browsing import Desk, Place
    from tests.widgets.exporting import Pages


@pytest.fixture(scope="session")
def browser(chromium_path: Path) -> Iterator[Browser]:
    """A headless Chromium; tests/conftest.py puts those that use it after all others."""
    from playwright.sync_api import sync_playwright

    from tests.widgets.browsing import launch

    with sync_playwright() as playwright:
        found = launch(playwright, chromium_path)
        yield found
        found.close()


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """The folder and the address of a JupyterLab."""
    from tests.widgets.laboratory import server

    folder = tmp_path_factory.mktemp("lab")
    with server(folder) as address:
        yield folder, address


@pytest.fixture(scope="session")
def lab_page(browser: Browser) -> Iterator[Page]:
    """The page on which notebooks are opened in that JupyterLab, one after the other."""
    from tests.widgets.laboratory import PATIENCE

    context = browser.new_context(viewport={"width": 1280, "height": 720})
    context.set_default_timeout(PATIENCE)
    yield context.new_page()
    context.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A fresh browser context of 1280 by 720, without any network."""
    made = browser.new_context(viewport={"width": 1280, "height": 720}, offline=True)
    made.set_default_timeout(180_000)
    yield made
    made.close()


@pytest.fixture(scope="session")
def place(browser: Browser) -> Iterator[Place]:
    """The page for Players, without a network: opening one takes longer than a Player on it."""
    from tests.widgets.browsing import USUAL, Place

    context = browser.new_context(viewport=USUAL, offline=True)
    context.set_default_timeout(180_000)
    yield Place(context.new_page())
    context.close()


@pytest.fixture
def desk(place: Place, tmp_path: Path) -> Iterator[Callable[..., Desk]]:
    """Put a Player on a bare page; a second one of the same test has a page of its own."""
    from kit.widgets import Player
    from tests.widgets.browsing import Desk, Place

    more: list[Place] = []

    def make(player: Player | str, *, cover: bool = False) -> Desk:
        chosen = Player(player) if isinstance(player, str) else player
        if place.desk is None:
            return Desk(place, chosen, tmp_path, cover=cover)
        more.append(Place(place.page.context.new_page()))
        return Desk(more[-1], chosen, tmp_path, cover=cover)

    yield make
    for other in more:
        other.page.close()
    place.clear()


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Pages:
    """The exported page of a scenario that was gone through, made when it is first asked for.

    Tests only read it, and making it takes longer than most of them: there is one for all workers.
    """
    from kit.views.export import export_html
    from tests.widgets.exporting import performed

    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if hasattr(request.config, "workerinput") else base) / "exported-pages"
    folder.mkdir(exist_ok=True)

    def made(name: str) -> Path:
        path = folder / f"{name.replace('/', '-')}.html"
        return path if path.exists() else export_html(performed(name), path).path

    return made


@pytest.fixture(scope="module")
def reader(browser: Browser) -> Iterator[Page]:
    """One page without a network, on which exported pages are opened one after the other."""
    context = browser.new_context(offline=True)
    context.set_default_timeout(180_000)
    yield context.new_page()
    context.close()
