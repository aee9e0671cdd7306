"""Notebooks that ``nbconvert`` turns into pages: a Player there is its picture and a page beside.

The page that nbconvert writes asks the network for the scripts that show live widgets; without one
it shows nothing where they stood. So a widget of the kit that brings a picture is shown as that
picture; widgets of others stay as they are. Two files are installed with the kit:
``tools/lab/nbconvert.json`` names the class below to nbconvert, ``tools/lab/server.json`` names
``kit.commands.server`` to JupyterLab's server.
"""

import base64
from typing import Any
from urllib.parse import quote

from nbconvert.preprocessors import Preprocessor

from kit.views.export import stored_page
from kit.views.fragment import escape
from kit.views.static import OPENING

VIEW = "application/vnd.jupyter.widget-view+json"
STATE = "application/vnd.jupyter.widget-state+json"
REFERENCE = "IPY_MODEL_"


class PicturesOfWidgets(Preprocessor):
    """Shows the picture of the kit's widgets that have one, and links a Player's history."""

    def preprocess(self, notebook: Any, resources: Any) -> tuple[Any, Any]:
        """Change the outputs; a Player's page goes to ``resources``, from where it is written."""
        kept = _at(notebook.metadata, "widgets", STATE, "state")
        shown = [
            output.data
            for cell in notebook.cells
            for output in cell.get("outputs", ())
            if isinstance(_at(output, "data", "text/html"), str) and VIEW in output.data
        ]
        for data in shown:
            pack = _pack(kept, _at(data[VIEW], "model_id"))
            if pack is not None or data["text/html"].startswith(OPENING):
                del data[VIEW]
            if pack is not None:
                name = _beside(resources, pack)
                link = f'<a href="{escape(quote(name))}">{escape(name)}</a>'
                data["text/html"] += f"<p>To step through it: {link}</p>"
        return notebook, resources


def _at(data: Any, *names: Any) -> Any:
    for name in names:
        data = data.get(name) if isinstance(data, dict) and isinstance(name, str) else None
    return data


def _as_list(data: Any) -> list[Any]:
    return data if isinstance(data, list) else []


def _pack(kept: Any, name: Any) -> bytes | None:
    """The history that the saved state of a Player holds; None for any other widget."""
    children = _as_list(_at(kept, name, "state", "children"))
    for child in (str(each).removeprefix(REFERENCE) for each in children):
        for buffer in _as_list(_at(kept, child, "buffers")):
            if _at(buffer, "path") == ["pack"]:
                try:
                    return base64.b64decode(_at(buffer, "data"), validate=True)
                except (TypeError, ValueError):
                    return None
    return None


def _beside(resources: Any, pack: bytes) -> str:
    written = resources.setdefault("outputs", {})
    folder = resources.get("output_files_dir")
    number = sum(name.endswith(".html") for name in written) + 1
    name = f"{folder}/player-{number}.html" if folder else f"player-{number}.html"
    title = resources.get("metadata", {}).get("name", "notebook")
    written[name] = stored_page(pack, f"{title}: Player {number}")
    return name
