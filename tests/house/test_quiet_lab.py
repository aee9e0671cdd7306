"""The lab opens without a question in front of the class."""

from __future__ import annotations

import json
import sysconfig
from pathlib import Path


def test_jupyterlab_is_told_not_to_ask_about_news() -> None:
    """The installed kit brings one settings file, and JupyterLab reads it."""
    data = Path(sysconfig.get_path("data"))
    settings = json.loads(
        (data / "share/jupyter/lab/settings/overrides.d/kit.json").read_text("utf-8")
    )
    assert settings["@jupyterlab/apputils-extension:notification"]["fetchNews"] == "false"
    # A notebook that somebody saves keeps its Players, to be walked through without a kernel.
    assert settings["@jupyter-widgets/jupyterlab-manager:plugin"]["saveState"] is True
