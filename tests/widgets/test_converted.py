"""A notebook with live widgets, converted to a page, opened without a network."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import ipywidgets
import nbformat
import pytest
from playwright.sync_api import BrowserContext, expect

from kit.widgets import Player
from kit.widgets.converted import STATE, VIEW, PicturesOfWidgets
from tests.widgets.browsing import walked
from tests.widgets.laboratory import ROOT

STEPS = 5


def notebook(*widgets: Any) -> Any:
    """A notebook as JupyterLab saves it, with these widgets shown, each by a cell."""
    made = nbformat.v4.new_notebook()
    for widget in widgets:
        output = nbformat.v4.new_output("display_data", dict(widget._repr_mimebundle_()))
        made.cells.append(nbformat.v4.new_code_cell("player", outputs=[output]))
    made.metadata["widgets"] = {STATE: ipywidgets.Widget.get_manager_state()}
    return made


@pytest.mark.browser
def test_the_picture_is_seen_and_the_page_beside_it_steps(
    context: BrowserContext, tmp_path: Path
) -> None:
    """``jupyter nbconvert`` with the configuration that the kit installs: the step that was shown,
    and a link to a page that has all steps.
    """
    settings = tmp_path / "settings"
    settings.mkdir()
    shutil.copy(ROOT / "tools/lab/jupyter.json", settings / "jupyter_config.json")
    nbformat.write(notebook(walked("tcm/bootstrap", STEPS)), tmp_path / "mine.ipynb")
    subprocess.run(
        [sys.executable, "-m", "nbconvert", "--to", "html", "mine.ipynb"],
        cwd=tmp_path,
        env={**os.environ, "JUPYTER_CONFIG_PATH": str(settings), "PYTHONPATH": str(ROOT)},
        check=True,
        capture_output=True,
    )
    page = context.new_page()
    page.goto((tmp_path / "mine.html").as_uri())
    picture = page.locator("img[alt^='token ring']")
    expect(picture).to_be_visible()
    assert picture.evaluate("(one) => one.naturalWidth") > 100
    assert "model not found" not in page.inner_text("body").lower()
    page.click("text=mine_files/player-1.html")
    expect(page.locator(".kp-where")).to_have_text(f"{STEPS} / {STEPS}")
    page.click("[data-do=back]")
    expect(page.locator(".kp-where")).to_have_text(f"{STEPS - 1} / {STEPS}")


def test_only_widgets_with_a_picture_are_replaced() -> None:
    """A slider stays a live widget, a form becomes its text, and only a Player gets a page."""
    slider, player = ipywidgets.IntSlider(), Player("bootstrap", controls=False)
    form = ipywidgets.VBox([ipywidgets.Button()])
    made = notebook(slider, player, form)
    made.cells[2].outputs[0].data["text/html"] = "<p>a form</p>"
    converted, resources = PicturesOfWidgets(enabled=True)(made, {})
    data = [cell.outputs[0].data for cell in converted.cells]
    assert [VIEW in each for each in data] == [True, False, False]
    assert list(resources["outputs"]) == ["player-1.html"]
    assert "player-1.html" in data[1]["text/html"]
    assert data[2]["text/html"] == "<p>a form</p>"


def test_a_history_that_cannot_be_read_is_left_out() -> None:
    """What is no base64 in a notebook that somebody changed never reaches a page."""
    player = Player("bootstrap", controls=False)
    made = notebook(player)
    kept = made.metadata["widgets"][STATE]["state"]
    for buffer in kept[player.stage.model_id]["buffers"]:
        buffer["data"] = "</script><script>alert(1)</script>"
    converted, resources = PicturesOfWidgets(enabled=True)(made, {})
    assert "outputs" not in resources
    assert "<img" in converted.cells[0].outputs[0].data["text/html"]


def test_what_is_shown_is_what_was_done() -> None:
    """A Player that was stepped before it was shown is kept as it stands then."""
    player = Player("bootstrap", controls=False)
    before = player.stage.pack
    player.step()
    assert player.stage.pack == before
    player._repr_mimebundle_()
    assert player.stage.pack == player.rendered.pack().compressed() != before
