"""Notebooks that ``nbconvert`` turns into pages: a Player there is its picture and a page beside.

The page that nbconvert writes asks the network for the scripts that show live widgets; without one
it shows nothing where they stood. So a widget that brings a picture is shown as that picture.
``tools/lab/jupyter.json``, installed with the kit, names the class below for all pages in HTML.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any
from urllib.parse import quote

from nbconvert.preprocessors import Preprocessor

from kit.views.export import stored_page
from kit.views.fragment import escape

VIEW = "application/vnd.jupyter.widget-view+json"
STATE = "application/vnd.jupyter.widget-state+json"
REFERENCE = "IPY_MODEL_"


class PicturesOfWidgets(Preprocessor):
    """Shows the picture of each widget that has one, and links a Player's history beside it."""

    def preprocess(self, notebook: Any, resources: Any) -> tuple[Any, Any]:
        """Change the outputs; a Player's page goes to ``resources``, from where it is written."""
        kept = notebook.metadata.get("widgets", {}).get(STATE, {}).get("state", {})
        shown = [
            output.data
            for cell in notebook.cells
            for output in cell.get("outputs", ())
            if {VIEW, "text/html"} <= set(output.get("data", ()))
        ]
        for data in shown:
            pack = _pack(kept, data.pop(VIEW)["model_id"])
            if pack is not None:
                data["text/html"] += _link(_beside(resources, pack))
        return notebook, resources


def _pack(kept: Any, name: str) -> bytes | None:
    """The history that the saved state of a Player holds; None for any other widget."""
    children = kept.get(name, {}).get("state", {}).get("children", ())
    for child in (str(each).removeprefix(REFERENCE) for each in children):
        for buffer in kept.get(child, {}).get("buffers", ()):
            if buffer["path"] == ["pack"]:
                try:
                    return base64.b64decode(buffer["data"], validate=True)
                except binascii.Error:
                    return None
    return None


def _beside(resources: Any, pack: bytes) -> str:
    """Put a page to the files that are written beside the notebook's own; return its name."""
    written = resources.setdefault("outputs", {})
    folder = resources.get("output_files_dir")
    number = sum(name.endswith(".html") for name in written) + 1
    name = f"{folder}/player-{number}.html" if folder else f"player-{number}.html"
    title = resources.get("metadata", {}).get("name", "notebook")
    written[name] = stored_page(pack, f"{title}: Player {number}")
    return name


def _link(name: str) -> str:
    return f'<p>To step through it: <a href="{escape(quote(name))}">{escape(name)}</a></p>'
