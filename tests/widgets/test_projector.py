"""The projector, switched on and off wherever the reader is."""

from __future__ import annotations

import pytest

from tests.widgets.browsing import MakeDesk

pytestmark = pytest.mark.browser


def test_keys_work_in_the_projector_wherever_the_focus_was(desk: MakeDesk) -> None:
    """What is not shown there gives the focus up to the time bar, so that no key is lost."""
    table = desk("tcm/bootstrap")
    page = table.page
    page.evaluate("document.querySelector('[data-do=setup]').hidden = false")
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
