"""A notebook with live widgets, converted to a page, opened without a network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ipywidgets
import nbformat
import pytest
from playwright.sync_api import BrowserContext, expect
from traitlets.config import Config

from kit.playing.session import LIVE
from kit.views.fragment import h
from kit.views.static import bundle_of, static_html
from kit.widgets import Player
from kit.widgets.converted import STATE, VIEW, PicturesOfWidgets
from tests.widgets.browsing import walked
from tests.widgets.laboratory import ROOT

STEPS = 5


def notebook(*widgets: Any) -> Any:
    """A notebook as JupyterLab saves it, with these widgets shown, each by a cell."""
    made = nbformat.v4.new_notebook()
    for widget in widgets:
        output = nbformat.v4.new_output("display_data", bundle_of(widget))
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
    shutil.copy(ROOT / "tools/lab/nbconvert.json", settings / "jupyter_nbconvert_config.json")
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
    expect(page.locator(".kp-where")).to_have_text(f"0 / {STEPS}")
    page.click("text=Step by hand")
    expect(page.locator(".kp-where")).to_have_text(f"1 / {STEPS}")
    page.keyboard.press("End")
    expect(page.locator(".kp-where")).to_have_text(f"{STEPS} / {STEPS}")
    page.click("[data-do=open]")
    page.click("[data-do=back]")
    expect(page.locator(".kp-where")).to_have_text(f"{STEPS - 1} / {STEPS}")


def test_only_widgets_of_the_kit_with_a_picture_are_replaced() -> None:
    """A slider stays live, so does a widget of others that has HTML; a form of the kit becomes its
    text, and only a Player gets a page.
    """
    slider, player = ipywidgets.IntSlider(), Player("bootstrap", controls=False)
    foreign, form = (ipywidgets.VBox([ipywidgets.Button()]) for _ in range(2))
    made = notebook(slider, player, foreign, form)
    made.cells[2].outputs[0].data["text/html"] = "<p>a map</p>"
    made.cells[3].outputs[0].data["text/html"] = static_html(h("p", "a form"))
    converted, resources = PicturesOfWidgets(enabled=True)(made, {})
    data = [cell.outputs[0].data for cell in converted.cells]
    assert [VIEW in each for each in data] == [True, False, True, False]
    assert list(resources["outputs"]) == ["player-1.html"]
    assert "player-1.html" in data[1]["text/html"]
    assert data[2]["text/html"] == "<p>a map</p>"


@pytest.mark.parametrize("state", [None, {}, [], "x", {STATE: None}, {STATE: {"state": []}}])
def test_a_player_without_saved_state_is_its_picture(state: Any) -> None:
    """The HTML that is stored with it says that it is the kit's."""
    made = notebook(Player("bootstrap", controls=False))
    made.metadata["widgets"] = state
    converted, resources = PicturesOfWidgets(enabled=True)(made, {})
    assert VIEW not in converted.cells[0].outputs[0].data
    assert "outputs" not in resources


@pytest.mark.parametrize("view", [None, [], "x", {}, {"model_id": []}, {"model_id": 1}])
def test_a_view_without_a_name_is_passed_over(view: Any) -> None:
    """A Player is its picture all the same, a widget of others is left alone."""
    made = notebook(*(Player("bootstrap", controls=False) for _ in range(2)))
    player, foreign = (cell.outputs[0].data for cell in made.cells)
    foreign["text/html"] = "<p>a map</p>"
    player[VIEW] = foreign[VIEW] = view
    converted, resources = PicturesOfWidgets(enabled=True)(made, {})
    assert [VIEW in cell.outputs[0].data for cell in converted.cells] == [False, True]
    assert "outputs" not in resources


@pytest.mark.parametrize(
    "damage",
    [
        {"buffers": None},
        {"buffers": [None, "x", [], {}]},
        {"buffers": [{"path": "pack", "data": "eA=="}]},
        {"buffers": [{"path": ["pack"]}]},
        {"buffers": [{"path": ["pack"], "data": [1]}]},
        {"buffers": [{"path": ["pack"], "data": "é"}]},
    ],
    ids=str,
)
def test_a_damaged_state_is_passed_over(damage: dict[str, Any]) -> None:
    """Buffers that are none, without a path or without data: there is no page, and no error."""
    player = Player("bootstrap", controls=False)
    made = notebook(player)
    made.metadata["widgets"][STATE]["state"][player.stage.model_id].update(damage)
    converted, resources = PicturesOfWidgets(enabled=True)(made, {})
    assert VIEW not in converted.cells[0].outputs[0].data
    assert "outputs" not in resources


def test_the_server_exports_alike_and_keeps_what_others_set() -> None:
    """JupyterLab's server finds its module by a drop-in file."""
    named = json.loads((ROOT / "tools/lab/server.json").read_text(encoding="utf-8"))
    [name] = named["ServerApp"]["jpserver_extensions"]
    module: Any = import_module(name)
    assert [point["module"] for point in module._jupyter_server_extension_points()] == [name]
    server = SimpleNamespace(config=Config({"HTMLExporter": {"preprocessors": ["theirs"]}}))
    module._load_jupyter_server_extension(server)
    own = f"{PicturesOfWidgets.__module__}.{PicturesOfWidgets.__name__}"
    assert server.config.HTMLExporter.preprocessors == ["theirs", own]
    asked = json.loads((ROOT / "tools/lab/nbconvert.json").read_text(encoding="utf-8"))
    assert asked["HTMLExporter"]["preprocessors"] == [own]


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
    assert player.stage.pack == player.rendered.pack().compressed(LIVE) != before
