"""Every story of the site in a real browser: live, stepped to its end, left for a branch."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kit.commands.site import LOOPBACK, server
from kit.site.pages import listed
from kit.site.worker import whole_story
from tests.site.building import another_way, small_site
from tests.waiting import PATIENCE
from tools import site as builder

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.deep]

STORIES = [story.name for _, stories in listed() for story in stories]
STEPPED = """async (steps) => {
  const bar = () => document.querySelector("input[aria-valuetext]").getAttribute("aria-valuetext");
  const drawn = () => new Promise(requestAnimationFrame);
  for (let at = 1; at <= steps; at++) {
    document.querySelector("[data-do=step]").click();
    while (!bar().startsWith(`step ${at} of`)) await drawn();
  }
}"""
"""Go on, step by step, and wait for each."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site, to which each test adds its story."""
    return small_site(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def site(folder: Path) -> Iterator[str]:
    """The address of the site."""
    with server(folder) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://{LOOPBACK}:{running.server_port}"
        running.shutdown()


@pytest.mark.parametrize("name", STORIES)
def test_a_story_is_played_to_its_end_and_left(
    browser: Browser, site: str, folder: Path, name: str
) -> None:
    """Its engine is live, each step is shown, another action makes a branch; nothing is wrong."""
    builder.story(name, folder)
    story = whole_story(name)
    steps = len(story.path()) - 1
    ways = ((step, another_way(story, step)) for step in range(steps + 1))
    step, way = next((each for each in ways if each[1]), (0, ""))
    context = browser.new_context(viewport={"width": 1280, "height": 720}, reduced_motion="reduce")
    context.set_default_timeout(1000 * PATIENCE)
    page, wrong = context.new_page(), list[str]()
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    page.goto(f"{site}/stories/{name}.html")
    page.wait_for_selector("body[data-is=live]")
    page.evaluate(STEPPED, steps)
    page.wait_for_selector(f"input[aria-valuetext^='step {steps} of {steps}']")
    page.keyboard.press("Home")
    page.wait_for_selector("input[aria-valuetext^='step 0 of']")
    page.evaluate(STEPPED, step)
    if way:
        page.locator(f".actions [data-act='{way}']").first.evaluate("(button) => button.click()")
        page.wait_for_selector(f"input[aria-valuetext^='step {step + 1} of {step + 1}:']")
    context.close()
    assert not wrong
