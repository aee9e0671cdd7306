"""The projector, switched on and off wherever the reader is."""

from __future__ import annotations

import pytest

from tests.widgets.browsing import MakeDesk, walked
from tests.widgets.test_forks import forked

pytestmark = pytest.mark.browser


def test_keys_work_in_the_projector_wherever_the_focus_was(desk: MakeDesk) -> None:
    """What is not shown there gives the focus up to the time bar, so that no key is lost."""
    table = desk("tcm/bootstrap")
    page = table.page
    page.evaluate("document.querySelector('[data-do=setup]').hidden = false")
    table.open("kp-more")
    page.focus("[data-do=setup]")
    page.keyboard.press("p")
    page.wait_for_selector(".kp[data-my-large]")
    page.keyboard.press("1")
    table.wait_where("1 / 1")
    page.keyboard.press("p")
    page.wait_for_selector(".kp:not([data-my-large])")


def test_the_projector_pressed_twice_at_once_is_off(desk: MakeDesk) -> None:
    """Switched off before the screen was filled, it gives the screen back once it has it."""
    page = desk("twophase").page
    page.evaluate(
        "() => { window.changes = 0;"
        " document.addEventListener('fullscreenchange', () => { window.changes += 1; }); }"
    )
    page.evaluate(
        "() => { const button = document.querySelector('[data-do=projector]');"
        " button.click(); button.click(); }"
    )
    page.wait_for_function("window.changes === 2 && document.fullscreenElement === null")
    assert page.get_attribute("[data-do=projector]", "aria-pressed") == "false"


def test_a_remote_steps_in_the_projector_only(desk: MakeDesk) -> None:
    """Page Down and Page Up go on and back on the projector; elsewhere they scroll the page.

    Where the slider has the focus they step, too: by itself it takes them the other way round.
    """
    table = desk(walked("tcm/bootstrap", 3))
    page = table.page
    page.focus("[data-do=scrub]")
    page.keyboard.press("Home")
    table.wait_where("0 / 3")
    for key, where in (("PageDown", "1 / 3"), ("PageUp", "0 / 3")):  # as arrows do on the slider
        page.keyboard.press(key)
        table.wait_where(where)
    page.keyboard.press("p")
    page.wait_for_selector(".kp[data-my-large]")
    for key, where in (("PageDown", "1 / 3"), ("PageDown", "2 / 3"), ("PageUp", "1 / 3")):
        page.keyboard.press(key)
        table.wait_where(where)
    page.keyboard.press("p")
    page.wait_for_selector(".kp:not([data-my-large])")
    page.focus("[data-do=back]")
    page.keyboard.press("PageDown")
    page.keyboard.press("k")
    table.wait_where("0 / 3")


def test_branches_leave_the_projector_as_wide_as_it_is(desk: MakeDesk) -> None:
    """Their map is not shown there: a slot that the projector lacks would squeeze all others."""
    widths = []
    for player in (walked("tcm/bootstrap", 4), forked("tcm/bootstrap", 4, 2, "apply C")):
        page = desk(player).page
        page.set_viewport_size({"width": 1280, "height": 720})
        page.focus("[data-do=scrub]")
        page.keyboard.press("p")
        page.wait_for_selector(".kp[data-my-large]")
        picture = page.locator(".kp-stage .kp-picture").bounding_box()
        assert picture is not None
        widths.append(picture["width"])
        page.keyboard.press("p")
    assert widths[0] == pytest.approx(widths[1], abs=1)
