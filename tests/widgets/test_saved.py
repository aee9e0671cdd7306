"""A notebook that its reader saves and opens again: the Player can be walked without a kernel."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.waiting import until
from tests.widgets.laboratory import NOTEBOOK, run_all, write_notebook

pytestmark = pytest.mark.browser
NAME = "saved.ipynb"
CELL = "from kit import Player\nPlayer('bootstrap', controls=False, play=True)"
STATE = "application/vnd.jupyter.widget-state+json"
SAVE = """() => window.jupyterapp.commands.execute("docmanager:save")"""
SHUT_DOWN = """() => window.jupyterapp.serviceManager.sessions.shutdownAll()"""
UNDER_WAY = "() => Number.parseInt(document.querySelector('.kp-where').textContent) > 1"
AT = "(text) => document.querySelector('.kp-where')?.textContent === text"
CUT = "() => document.querySelector('.kp-note')?.textContent.includes('Run this cell again')"


def saved_places(path: Path) -> list[tuple[int, int]]:
    """How many moments each Player that the file keeps has, and at which it stands."""
    kept: dict[str, Any] = json.loads(path.read_text("utf-8"))["metadata"].get("widgets", {})
    buffers = [
        buffer
        for model in kept.get(STATE, {}).get("state", {}).values()
        for buffer in model.get("buffers", [])
        if buffer["path"] == ["pack"]
    ]
    packs = [json.loads(gzip.decompress(base64.b64decode(each["data"]))) for each in buffers]
    return [(len(pack["moments"]), pack["position"]["at"]) for pack in packs]


def place(page: Page) -> int:
    """The step at which the Player stands, the last one."""
    at, _, last = page.inner_text(".kp-where").partition(" / ")
    assert at == last
    return int(at)


def is_saved(page: Page, path: Path) -> bool:
    """Whether the file, saved once more, keeps the Player as it stands."""
    page.evaluate(SAVE)
    at = place(page)
    return saved_places(path) == [(at + 1, at)]


def test_a_player_plays_and_once_saved_is_walked_through_without_its_kernel(
    lab_page: Page, lab: tuple[Path, str]
) -> None:
    """It begins by itself, as it was told to. What was played is saved with the notebook; there
    nothing plays, and acting says that the kernel is another one.
    """
    (folder, address), page = lab, lab_page
    path = folder / NAME
    write_notebook(path, CELL)
    run_all(page, address, NAME)
    page.wait_for_function(UNDER_WAY)
    page.click("[data-do=play]")  # pause
    until(lambda: is_saved(page, path), "the Player is saved as it stands")
    at = place(page)
    page.evaluate(SHUT_DOWN)
    page.goto(f"{address}/lab/tree/{NAME}?token=t&reset")
    page.wait_for_function(NOTEBOOK, arg=NAME)
    page.wait_for_function(AT, arg=f"{at} / {at}")
    page.click("[data-do=back]")
    page.wait_for_function(AT, arg=f"{at - 1} / {at}")
    page.keyboard.press("End")
    page.wait_for_function(AT, arg=f"{at} / {at}")
    page.click(".kp-acts [data-key='1']")
    page.wait_for_function(CUT)
