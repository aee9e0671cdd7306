"""What JupyterLab's server loads of the kit as it starts: a name, and nothing that takes time.

``tools/lab/server.json``, installed with the kit, names this module.
"""

from typing import Any

CONVERTER = "kit.widgets.converted.PicturesOfWidgets"
"""Loaded when a page is exported."""


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": __name__}]


def _load_jupyter_server_extension(server: Any) -> None:
    """Let the pages that JupyterLab exports be made as those of ``jupyter nbconvert``."""
    server.config.HTMLExporter.preprocessors.append(CONVERTER)
