"""Every story of the site in a real browser: live, stepped to its end, left for a branch, searched.

As the Players of a lesson many of them share a page and its worker, and all searches have one.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from kit.commands.site import LOOPBACK, server
from kit.model import trace as traces
from kit.model.timeline import Timeline
from kit.playing.opening import open_named
from kit.playing.stored import StoredRun, run_stored, stored_run
from kit.site.drawer import searched
from kit.site.pages import listed, page_of
from kit.site.worker import is_scenario, whole_story
from kit.views.fragment import escape
from kit.views.rendered import RenderedTimeline
from kit.views.shell import shell
from tests.site.building import COUNTED, another_way, small_site
from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser, pytest.mark.deep]

TOGETHER = 12
MOST = 300
"""States of a search: as many as show that it goes the same way."""
STORIES = [story.name for _, stories in listed() for story in stories]
SLICES = [STORIES[at : at + TOGETHER] for at in range(0, len(STORIES), TOGETHER)]
PLAYED = """async ([number, steps, step, way, patience]) => {
  const box = document.querySelectorAll(".kit-player")[number];
  const bar = () => box.querySelector("input[aria-valuetext]");
  const until = async (words) => {
    for (const end = Date.now() + patience; Date.now() < end; ) {
      if (box.dataset.is === "seated" && bar()?.getAttribute("aria-valuetext").startsWith(words))
        return;
      await new Promise((drawn) => setTimeout(drawn));
    }
    throw Error(`${words}: it is at ${bar()?.getAttribute("aria-valuetext")}`);
  };
  await until("step 0 of");
  box.dispatchEvent(new Event("pointerdown"));
  for (let at = 1; at <= steps; at++) {
    box.querySelector("[data-do=step]").click();
    await until(`step ${at} of`);
  }
  bar().value = step;
  bar().dispatchEvent(new Event("input", { bubbles: true }));
  await until(`step ${step} of`);
  if (!way) return;
  const button = () => box.querySelector(`.actions [data-act='${way}']`);
  for (const end = Date.now() + patience; !button() && Date.now() < end; )
    await new Promise((drawn) => setTimeout(drawn));
  button().click();
  await until(`step ${step + 1} of ${step + 1}:`);
}"""
"""Go on, step by step, and wait for each; then do something else at a step of the story.

Nobody waits for the engine: what is done before it is there waits for it.
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site, to which each test adds a page."""
    return small_site(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def site(folder: Path) -> Iterator[str]:
    """The address of the site."""
    with server(folder) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://{LOOPBACK}:{running.server_port}"
        running.shutdown()


@pytest.fixture(scope="module")
def searching(browser: Browser, site: str) -> Iterator[Page]:
    """A page whose worker makes every search."""
    page = browser.new_page()
    page.goto(f"{site}/index.html")
    yield page
    page.close()


def run_of(name: str) -> StoredRun:
    """What a page opens a story on."""
    known = is_scenario(name)
    told = open_named(name).timeline if known else whole_story(name)
    run = run_stored(stored_run(told, name if known else None))
    assert run is not None
    return run


def page_with(folder: Path, runs: list[StoredRun]) -> str:
    """The name of a page with the Players of some runs."""
    players = []
    for number, run in enumerate(runs):
        pack = RenderedTimeline(run.timeline()).pack().compressed()
        (folder / f"{number}.pack").write_bytes(pack)
        about = escape(msgspec.json.encode(run).decode())
        players.append(
            f'<div class="kit-player" data-pack="{number}.pack" data-about="{about}">'
            '<div class="kit-drawer"></div><div class="place"></div></div>'
        )
    body = (
        '<nav><span id="engine"></span></nav><p id="note"></p>'
        f'<main class="lesson">{"".join(players)}</main>'
        f'<template id="shell">{shell().html()}</template>'
        '<script type="module" src="lesson.js"></script>'
    )
    page = page_of("stories", body, "", {"engine": "engine/"}, styled=True)
    (folder / "stories.html").write_text(page, encoding="utf-8")
    return "stories.html"


@pytest.mark.parametrize("names", SLICES, ids=lambda names: names[0])
def test_stories_are_played_to_their_ends_and_left(
    browser: Browser, site: str, folder: Path, names: list[str]
) -> None:
    """Each step of each is shown, another action makes a branch; nothing is wrong."""
    runs = [run_of(name) for name in names]
    page, wrong = browser.new_page(reduced_motion="reduce"), list[str]()
    page.set_default_timeout(1000 * PATIENCE)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    page.goto(f"{site}/{page_with(folder, runs)}")
    for number, (name, run) in enumerate(zip(names, runs, strict=True)):
        story = run.timeline()
        moments = RenderedTimeline(story).moments
        # What a run folds into one step is one on the page, too.
        seen = [at for at, moment in enumerate(story.path()) if not moments[moment].inner]
        steps = len(seen) - 1
        ways = ((step, another_way(story, at)) for step, at in enumerate(seen))
        step, way = next((each for each in ways if each[1]), (0, ""))
        try:
            page.evaluate(PLAYED, [number, steps, step, way, 1000 * PATIENCE])
        except Exception as error:
            raise AssertionError(f"{name}: {error}") from None
        assert not wrong, name
    page.close()


@pytest.mark.parametrize("names", SLICES, ids=lambda names: names[0])
def test_stories_are_searched_as_outside(searching: Page, site: str, names: list[str]) -> None:
    """What a search of each says, and how many states it sees, is what it is here."""
    asked = [traces.dumps(Timeline(whole_story(name).model).save()) for name in names]
    told = searching.evaluate(COUNTED, [site, asked, MOST])
    for name, trace, html in zip(names, asked, told, strict=True):
        assert html == searched(trace, MOST, lambda done, now: None).html, name
