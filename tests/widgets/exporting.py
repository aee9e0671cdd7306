"""Exported pages of scenarios that were gone through, for the tests that open them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page

from kit.errors import Refused
from kit.model.registry import entries
from kit.model.timeline import Timeline
from kit.playing.opening import open_named

Pages = Callable[[str], Path]
"""Gives a scenario's name its page."""

MOST_STEPS = 60
NAMES = [f"{e.name}/{one.name}" for e in entries().values() for one in e.scenarios]


def performed(name: str) -> Timeline:
    """A scenario that was gone through."""
    timeline = open_named(name).timeline
    while len(timeline.moments) <= MOST_STEPS:
        try:
            if timeline.forward() is None:
                break
        except Refused:
            break
    return timeline


def opened(page: Page, path: Path, *, at_end: bool = True) -> None:
    """Open an exported page, and go to its last step; else its cover is shown."""
    page.goto(f"{path.as_uri()}#step-0" if at_end else path.as_uri())
    page.wait_for_selector(".kp[data-my-on] .kp-frame")
    if at_end:
        page.keyboard.press("End")
