"""The exported page shows the worked tables of CEP-21 letter by letter, as a browser has them."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext

from kit.widgets import Player
from tests.protocols.tcm.test_worked_tables_shown import OPERATIONS, SIDES, present, wanted

TABLE = """(side) => [
  ...document.querySelector(".kp-stage table.placement").tBodies[0].rows
].map((row) => [row.cells[0].innerText.trim(),
  [...row.querySelectorAll(`.${side} .chip`)].map((chip) => chip.innerText.trim())])"""

EPOCH = """(epoch) => [...document.querySelectorAll(".kp-stage .badges *")]
  .some((one) => one.textContent === `epoch ${epoch}`)
  && document.getAnimations().every((one) => one.playState !== "running")"""


@pytest.mark.browser
@pytest.mark.sweep(2)
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.spec("A-017", "A-022", "A-023", "A-024", "A-025", "A-026", "A-028", "A-034", "H-006")
@pytest.mark.spec("A-030", "A-031", "A-032", "A-033")
def test_the_exported_page_shows_the_worked_tables(
    context: BrowserContext, tmp_path: Path, operation: str
) -> None:
    """From milestone to milestone both tables in the page are those of the text."""
    player = Player(f"tcm/{operation}")
    for _ in range(4):
        player.milestone()
    path = player.export(tmp_path / "page.html").path
    page = context.new_page()
    page.goto(path.as_uri())
    page.click("[data-do=uncover]")
    for step in range(5):
        if step:
            page.click("[data-do=milestone]")
        page.wait_for_function(EPOCH, arg=step, polling=20)
        for side, name in SIDES.items():
            rows = page.evaluate(TABLE, name)
            found = [(label, present(words)) for label, words in rows]
            assert found == wanted(operation, step, side), (step, side)
