"""A newcomer's path through the first notebook, in JupyterLab: seconds and presses from page open.

A press is Shift+Enter in a cell, or a click. The path is the one that the page tells: run the cells
from the top, see the first Player play, go on until a promise is broken. The machine presses as
soon as it can; what stands on the way is read at 238 words a minute, the mean of adults (Brysbaert
2019, doi:10.1016/j.jml.2019.104047).
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from benchmarks.figures import HEAD, Figure, scratch, unmeasured
from tests.widgets.browsing import launch
from tests.widgets.laboratory import NOTEBOOK, PATIENCE, open_notebook, server
from tools.programs import chromium

FIRST = Path(__file__).resolve().parent.parent / "notebooks" / "00-start-here.ipynb"
MOVED, BROKEN = "newcomer: page open to first thing moved", "newcomer: to first broken promise"
SOON, LATER = 10.0, 180.0  # seconds
PRESSES = 1
WORDS_A_MINUTE = 238
LIVE = "application/vnd.jupyter.widget-view+json"
RED = "broken at step"

# Shift+Enter: run the active cell and select the next one. What the cell shows, and its words.
PRESS = f"""async (path) => {{
  const book = ({NOTEBOOK})(path).content;
  const cell = book.activeCell;
  if (cell === book.widgets.at(-1)) throw new Error("the last cell, and it has not been shown");
  await window.jupyterapp.commands.execute("notebook:run-cell-and-select-next");
  const text = cell.model.type === "markdown" ? cell.model.sharedModel.getSource() : "";
  const shown = JSON.stringify(cell.model.outputs?.toJSON() ?? []);
  return [shown, text.split(/\\s+/).filter(Boolean).length];
}}"""
UNDER_WAY = """() => Number.parseInt(document.querySelector(".kp-where").textContent) > 0"""


class Newcomer:
    """Who presses Shift+Enter from the top, and what that has cost so far."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.presses = self.words = 0
        self.began = time.perf_counter()

    def run_until(self, shown: str) -> None:
        """Run cells until one shows this text."""
        found = ""
        while shown not in found:
            found, words = self.page.evaluate(PRESS, FIRST.name)
            self.presses += 1
            self.words += words

    def watch(self) -> None:
        """Wait until the Player, which plays by itself, has gone a step."""
        self.page.wait_for_function(UNDER_WAY, timeout=PATIENCE)

    def figure(self, name: str, aim: float, presses: int | None = None) -> Figure:
        """What it took until now, by the machine and with the reading; both count."""
        machine = time.perf_counter() - self.began
        reading = 60 * self.words / WORDS_A_MINUTE
        told = f"within {aim:.0f} s" + (f", {presses} press" if presses else "")
        met = machine + reading <= aim and self.presses <= (presses or self.presses)
        return Figure(
            f"{name} ({self.presses} presses)", f"{machine + reading:.0f} s",
            f"machine {machine:.0f}, {self.words} words {reading:.0f} s", None, told, met,
        )  # fmt: skip


def figures() -> Iterator[Figure]:
    """Seconds and presses to the first motion, and to the first broken promise."""
    path = chromium()
    if path is None:
        for name in (MOVED, BROKEN):
            yield unmeasured(name, "no Chromium here: set KIT_CHROMIUM")
        return
    folder = scratch()
    shutil.copy(FIRST, folder)
    with sync_playwright() as playwright, server(folder) as address:
        browser = launch(playwright, path)
        newcomer = Newcomer(browser.new_page(viewport={"width": 1280, "height": 720}))
        open_notebook(newcomer.page, address, FIRST.name)
        newcomer.run_until(LIVE)
        newcomer.watch()
        yield newcomer.figure(MOVED, SOON, PRESSES)
        newcomer.run_until(RED)
        yield newcomer.figure(BROKEN, LATER)
        browser.close()


if __name__ == "__main__":
    print(HEAD)
    for figure in figures():
        print(figure.row, flush=True)
