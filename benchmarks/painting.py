"""From a press of *step* to the painted frame, of a Player on a bare page in Chromium."""

from __future__ import annotations

from playwright.sync_api import sync_playwright

from benchmarks.figures import Figure, scratch, unmeasured
from benchmarks.player import PLAYER_CLICK, at, measured
from kit.widgets import Player
from tests.widgets.browsing import Desk, Place, launch
from tools.programs import chromium

AIM = 150  # milliseconds, 95 of 100


def painted(name: str, player: Player, steps: int) -> Figure:
    """A row: how long it takes until the frame of a step is painted, Python's share included."""
    path = chromium()
    if path is None:
        return unmeasured(name, "no Chromium here: set KIT_CHROMIUM")
    folder = scratch()
    with sync_playwright() as playwright:
        browser = launch(playwright, path)
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        Desk(Place(page), player, folder)
        times = measured(page, PLAYER_CLICK, ".kp", steps)
        browser.close()
    most = at(times, 0.95)
    return Figure(
        name,
        f"{most:.0f} ms",
        f"p50 {at(times, 0.5):.0f} ms",
        None,
        f"< {AIM} ms at p95",
        most < AIM,
    )
