"""The browser module for every reader: keys, focus, speech, motion, contrast, small screens."""

from __future__ import annotations

import pytest
from playwright.sync_api import BrowserContext

from tests.widgets.browsing import MakeDesk, serious, walked

pytestmark = pytest.mark.browser


def test_every_key_does_what_the_list_says(desk: MakeDesk) -> None:
    """Arrows, j, k, Home, End, Shift, Space, f, p and ? all work, and stay inside the player."""
    table = desk(walked("tcm/bootstrap", 12))
    page = table.page
    page.evaluate(
        "window.leaked = []; document.body.addEventListener('keydown', (e) => leaked.push(e.key))"
    )
    page.focus("[data-do=scrub]")
    for key, where in (
        ("Home", "0 / 12"), ("ArrowRight", "1 / 12"), ("j", "2 / 12"), ("ArrowLeft", "1 / 12"),
        ("Shift+ArrowRight", "6 / 12"), ("k", "5 / 12"), ("Shift+ArrowLeft", "1 / 12"),
        ("End", "12 / 12"), ("k", "11 / 12"), ("Home", "0 / 12"),
    ):  # fmt: skip
        page.keyboard.press(key)
        table.wait_where(where)
    page.keyboard.press("Space")
    table.wait_where("1 / 12")
    page.keyboard.press("Space")
    assert page.get_attribute("[data-do=play]", "aria-pressed") == "false"
    page.keyboard.press("f")
    table.wait_where("1 / 1")
    page.keyboard.press("p")
    assert page.locator(".kp[data-my-large]").count() == 1
    page.keyboard.press("p")
    page.keyboard.press("?")
    assert page.locator(".kp-help").is_visible()
    page.keyboard.press("Escape")
    assert page.locator(".kp-help").is_hidden()
    page.keyboard.press("x")
    page.keyboard.press("d")
    leaked = page.evaluate("window.leaked")
    assert set(leaked) <= {"Escape", "Shift"}


def test_focus_stays_on_what_one_uses(desk: MakeDesk) -> None:
    """A node keeps the focus over all steps; when a part goes, the focus goes to the next."""
    table = desk(walked("tcm/bootstrap", 12))
    page = table.page
    page.focus('[data-k="n:B:200"]')
    for _ in range(12):
        page.keyboard.press("k")
    table.wait_where("0 / 12")
    assert page.evaluate("document.activeElement.dataset.k") == "n:B:200"
    page.keyboard.press("End")
    table.wait_where("12 / 12")
    page.focus('[data-k="n:X:150"]')
    page.keyboard.press("Home")
    table.wait_where("0 / 12")
    assert page.evaluate("document.querySelector('.kp-stage').contains(document.activeElement)")


def test_ring_nodes_are_one_stop_and_light_up(desk: MakeDesk) -> None:
    """Brackets walk the ring within one tab stop; Enter lights a node wherever it is shown,
    and opens its menu, until Escape ends both.
    """
    table = desk("tcm/bootstrap")
    page = table.page
    assert page.locator('[data-roving][tabindex="0"]').count() == 1
    page.focus('[data-k="n:A:100"]')
    page.keyboard.press("]")
    assert page.evaluate("document.activeElement.dataset.k") == "n:B:200"
    assert page.locator('[data-roving][tabindex="0"]').count() == 1
    page.keyboard.press("Enter")
    assert page.get_attribute('[data-k="n:B:200"]', "aria-pressed") == "true"
    lit = page.locator(".chip[data-my-lit]").all_text_contents()
    assert lit
    assert set(lit) == {"B"}
    page.keyboard.press("Escape")
    assert page.locator(".chip[data-my-lit]").count() == 0
    assert page.evaluate("document.activeElement.dataset.k") == "n:B:200"


def test_each_step_is_spoken_once(desk: MakeDesk) -> None:
    """One polite region outside the frame says the last of many fast steps; the range says more."""
    table = desk(walked("tcm/bootstrap", 12))
    page = table.page
    assert page.locator("[aria-live]").count() == 1
    page.evaluate(
        "window.said = []; new MutationObserver(() => "
        "said.push(document.querySelector('.kp-live').textContent))"
        ".observe(document.querySelector('.kp-live'), { childList: true, characterData: true,"
        " subtree: true })"
    )
    page.evaluate(  # in one go: however slow the machine, no pause of a reader lies between
        "() => { const bar = document.querySelector('[data-do=scrub]'); bar.focus();"
        " for (let i = 0; i < 5; i += 1)"
        " bar.dispatchEvent(new KeyboardEvent('keydown', { key: 'k', bubbles: true })); }"
    )
    page.wait_for_function("window.said.length > 0", polling=20)
    say = table.player.timeline.moments[7].say
    assert page.evaluate("window.said") == [f"{say} log → A: epoch 2."]
    assert page.get_attribute("[data-do=scrub]", "aria-valuetext") == f"step 7 of 22: {say}"


@pytest.mark.parametrize("reduced", [True, False])
def test_motion_is_reduced_on_request(
    desk: MakeDesk, context: BrowserContext, reduced: bool
) -> None:
    """Nothing moves for a reader who asked for that; otherwise a step is tweened."""
    table = desk(walked("tcm/bootstrap", 12))
    table.page.emulate_media(reduced_motion="reduce" if reduced else "no-preference")
    table.page.focus("[data-do=scrub]")
    running = table.page.evaluate(
        "() => { document.querySelector('[data-do=first]').click();"
        " for (let i = 0; i < 6; i += 1) document.querySelector('[data-do=step]').click();"
        " return document.getAnimations().length; }"
    )
    assert (running == 0) is reduced


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(desk: MakeDesk, scheme: str) -> None:
    """Names, roles, scopes, focus and contrast hold in both themes, also with all that opens."""
    table = desk(walked("tcm/bootstrap", 11))
    page = table.page
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]  # parametrised
    assert serious(page) == []
    for sheet in ("promises", "waiting", "more"):
        table.open(sheet)
        assert serious(page) == [], sheet
    page.focus("[data-do=scrub]")
    page.keyboard.press("?")
    assert serious(page) == []


def test_an_ordinary_screen_is_enough(desk: MakeDesk) -> None:
    """At 1280 by 720 nothing overflows sideways, and neither does it on a narrow page."""
    table = desk(walked("tcm/bootstrap", 12))
    for width in (1280, 760, 420):
        table.page.set_viewport_size({"width": width, "height": 720})
        over = table.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert over <= 0, f"{width} pixels wide: {over} too many"
    table.page.set_viewport_size({"width": 1280, "height": 720})
    for slot in ("title", "tabs", "picture", "acts", "time"):
        box = table.page.locator(f".kp-{slot}").bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= 720, slot
