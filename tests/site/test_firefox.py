"""The site in Firefox: what it is in Chromium. ``make test-firefox`` runs these."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.commands.site import LOOPBACK, server
from kit.site.worker import whole_story
from tests.site.building import (
    BROKEN,
    COUNTED,
    MOST,
    STORY,
    another_way,
    assert_counted,
    searched,
    small_site,
)
from tests.site.firefox import Firefox, begun
from tools import programs

pytestmark = pytest.mark.firefox

FAMILIES = ("tcm/bootstrap", "raft/election", "tablets/nine-steps")
STEP = "[data-do=step]"


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of stories of five families."""
    return small_site(tmp_path_factory.mktemp("site"), *FAMILIES)


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Firefox]:
    """A page without a cache; what its console calls an error fails."""
    program = programs.firefox()
    assert program, "no Firefox here: `make test-firefox` brings it, or KIT_FIREFOX names one"
    with begun(program, tmp_path) as page:
        yield page
        assert not page.wrong


@pytest.mark.parametrize("story", [STORY, BROKEN, *FAMILIES])
def test_a_story_is_live_and_needs_no_network_then(page: Firefox, folder: Path, story: str) -> None:
    """Once it is live its server ends: one steps, forks, and a search goes on to its end."""
    with server(folder) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        page.open(f"http://{LOOPBACK}:{running.server_port}/stories/{story}.html")
        page.wait("body[data-is=live]")
        running.shutdown()
    page.click(STEP)
    page.wait("input[aria-valuetext^='step 1 of']")
    page.click("[data-do=fork]")
    page.click(f".kp-stage .actions [data-act='{another_way(whole_story(story), 1)}']")
    page.wait(".kp-map:not([hidden])")
    page.click("[data-do=setup]")
    page.wait("[data-setup=search]")
    page.value("void (document.querySelector('.kit-drawer [type=number]').value = 3000)")
    page.click("[data-setup=search]")
    page.wait(".kit-found")


def test_searches_count_what_they_count_outside(page: Firefox, folder: Path) -> None:
    """In four families a complete search sees as many states as one of the command line."""
    models, asked = searched()
    with server(folder) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        site = f"http://{LOOPBACK}:{running.server_port}"
        page.open(f"{site}/index.html")
        assert_counted(models, page.value(f"({COUNTED})({json.dumps([site, asked, MOST])})"))
        running.shutdown()
