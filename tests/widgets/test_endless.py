"""A student's model that never answers, in a real JupyterLab: the page says where it is stuck."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.widgets.browsing import do
from tests.widgets.laboratory import CONNECTED, PATIENCE, run_cell, write_notebook

pytestmark = pytest.mark.browser

CELL = """from kit import Player, Timeline
from kit.model.declared import Declared, State, action

class Floor(State, frozen=True):
    number: int = 0

class Lift(Declared[Floor]):
    name, title, State = "lift", "A lift", Floor

    @action()
    def calls(self, s: Floor) -> Floor:
        '''The lift goes up.'''
        while s.number == 1:
            pass
        return s.but(number=s.number + 1)

player = Player(Timeline(Lift()))
player"""


def test_a_press_that_would_never_end_is_answered(lab_page: Page, lab: tuple[Path, str]) -> None:
    """The page names the function and its line; the step is not taken; the kernel is free again."""
    folder, address = lab
    write_notebook(folder / "endless.ipynb", CELL)
    run_cell(lab_page, address, "endless.ipynb", "class Lift")
    do(lab_page, "step")
    note = lab_page.locator(".kp-note")
    expect(note).to_contain_text("calls, line 13 (while s.number == 1:)", timeout=PATIENCE)
    expect(note).to_contain_text("no answer after 5 seconds")
    expect(lab_page.locator(".kp-where")).to_have_text("0 / 0")
    lab_page.wait_for_function(CONNECTED, arg="endless.ipynb")
