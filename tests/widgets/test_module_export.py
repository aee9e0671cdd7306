"""The exported page: the browser module without a kernel, and the page without scripts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from kit.views.export import export_html
from tests.widgets.browsing import do, serious, walked
from tools.reference import PAGE, STORIES

pytestmark = pytest.mark.browser

EARLY = """new MutationObserver((changes, watch) => {
  const root = document.querySelector(".kp");
  if (!changes.some(({ type, target }) => type === "attributes" && root.contains(target))) return;
  watch.disconnect();
  window.hurried = !root.matches("[data-my-on]");
  for (const key of ["ArrowRight", "ArrowLeft", "f", "m", "o", " "])
    root.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  for (const one of root.querySelectorAll(".kp-stepper button, .kp-modes button")) one.click();
}).observe(document, { attributes: true, childList: true, subtree: true })"""
"""Presses everything as soon as the module runs, when the pack is not unpacked yet."""


OVERTAKEN = """(there) => {
  const here = location.hash;
  location.hash = there;
  history.replaceState(null, "", here);
}"""


@pytest.mark.parametrize("name", ["page"])
def test_the_exported_page_needs_nothing(
    context: BrowserContext, tmp_path: Path, name: str
) -> None:
    """With the network cut, it steps, scrubs, compares and asks; it requests only itself."""
    player = walked("tcm/bootstrap", 12)
    player.goto(3)
    for verb in ("apply X", "apply C", "commit X"):
        player.act(verb)
    path = player.export(tmp_path / f"{name}.html").path
    page = context.new_page()
    requests: list[str] = []
    errors: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on(
        "console", lambda message: errors.append(message.text) if message.type == "error" else None
    )
    page.goto(f"{path.as_uri()}#step-3")
    where = page.locator(".kp-where")
    expect(where).to_have_text("3 / 6")
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**#run=2&step=4")
    expect(where).to_have_text("4 / 6")
    page.click("[data-do=show][data-leaf='12']")
    expect(where).to_have_text("4 / 12")
    page.locator(".kp-stage button.kp-next").dispatch_event("click")  # the step that is recorded
    expect(where).to_have_text("5 / 12")
    page.keyboard.press("End")
    expect(where).to_have_text("12 / 12")
    page.click("[data-do=compare][data-leaf='15']")
    assert page.locator(".kp-side .kp-picture").is_visible()
    page.click("[data-do=alone]")
    act = page.locator(".kp-stage button.kp-next")
    assert act.get_attribute("aria-disabled") == "true"
    act.dispatch_event("click")
    assert "open the trace in the notebook" in (page.text_content(".kp-note") or "")
    page.keyboard.press("Escape")
    # What the page says of its own place, once it has come to rest, takes nothing from who goes on.
    page.evaluate(OVERTAKEN, "#step-4")
    expect(where).to_have_text("4 / 12")
    page.click("[data-do=predict]")
    do(page, "milestone")
    page.wait_for_selector(".kp-ask:not([hidden])")
    page.click("[data-do=reveal]")
    page.keyboard.press("End")
    page.keyboard.press("f")  # a branch goes on in a notebook only
    assert "open the trace in the notebook" in (page.text_content(".kp-note") or "")
    page.evaluate("location.hash = '#step-2'")
    expect(where).to_have_text(re.compile("^2 / "))
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []
    assert len([url for url in requests if url.startswith("file:")]) == 1
    assert errors == []
    assert serious(page) == []


def test_what_is_pressed_before_the_first_frame_breaks_nothing(
    context: BrowserContext, tmp_path: Path
) -> None:
    """Whoever is faster than the page that is unpacked sees its start, and then it steps."""
    path = walked("tcm/bootstrap", 3).export(tmp_path / "page.html").path
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.add_init_script(EARLY)
    page.goto(path.as_uri())
    page.wait_for_selector(".kp[data-my-on] .kp-frame")
    assert page.evaluate("window.hurried")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".kp-where")).to_have_text("1 / 3")
    assert errors == []


def test_keys_that_the_page_does_not_use_are_the_browsers(
    context: BrowserContext, tmp_path: Path
) -> None:
    """On a page just opened Tab goes to its first control; only a step's key is taken."""
    path = walked("gossip/both-sides", 3).export(tmp_path / "page.html").path
    page = context.new_page()
    page.goto(f"{path.as_uri()}#step-1")
    page.wait_for_selector(".kp[data-my-on] .kp-frame")
    page.evaluate(
        "() => { window.taken = []; addEventListener('keydown', ({ key, defaultPrevented }) =>"
        " window.taken.push([key, defaultPrevented])); }"
    )
    for key in ("ArrowRight", "Control+c", "x", "Tab"):
        page.keyboard.press(key)
    expect(page.locator(".kp-where")).to_have_text("2 / 3")
    taken = [key for key, is_taken in page.evaluate("window.taken") if is_taken]
    assert "ArrowRight" in taken
    assert not {"c", "x", "Tab"}.intersection(taken)
    expect(page.locator("[data-do=scrub]")).to_be_focused()


def test_the_exported_page_reads_without_scripts(context: BrowserContext, tmp_path: Path) -> None:
    """Where scripts are off the first frame stands there with its tables."""
    path = walked("tcm/bootstrap", 3).export(tmp_path / "page.html").path
    assert context.browser is not None
    bare = context.browser.new_context(java_script_enabled=False)
    page = bare.new_page()
    page.goto(path.as_uri())
    assert page.locator("table.placement th", has_text="read from").first.is_visible()
    assert page.locator(".kp-readable .panel").count() > 5
    pressed = ".kp-time, .kp-stepper, .kp-modes, .kp-flow, .kp-stroke, .kp-board > .kp-sheet"
    assert not any(one.is_visible() for one in page.locator(pressed).all())
    assert re.search(r"\(100, 200\]", page.text_content(".kp-stage") or "")
    bare.close()


def test_a_page_of_stories_tells_each(context: BrowserContext) -> None:
    """The committed page begins with the first story; a press on a name tells that one."""
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(PAGE.as_uri())
    names = page.locator("nav a")
    for number, name in enumerate(STORIES):
        names.nth(number).click()
        page.wait_for_url(f"**?{number + 1}**")
        page.wait_for_selector(".kp[data-my-on] .kp-frame")
        expect(page.locator("nav a[aria-current]")).to_have_text(name)
        page.keyboard.press("ArrowRight")
        expect(page.locator(".kp-where")).to_have_text(re.compile("^1 / "))
    assert errors == []
    assert serious(page) == []


def test_what_was_left_out_is_told_in_a_line_of_the_window(
    context: BrowserContext, tmp_path: Path
) -> None:
    """A page that says what it lacks is no higher than one that lacks nothing."""
    timeline = walked("tcm/bootstrap", 12).timeline
    whole = export_html(timeline, tmp_path / "whole.html")
    small = export_html(timeline, tmp_path / "small.html", limit=whole.size - 1)
    assert small.left_out
    page = context.new_page()
    for made in (whole, small):
        for width, height in ((1280, 720), (1920, 1080)):
            page.set_viewport_size({"width": width, "height": height})
            page.goto(f"{made.path.as_uri()}#step-1")
            page.wait_for_selector(".kp[data-my-on] .kp-frame")
            assert page.evaluate("document.documentElement.scrollHeight") == height
