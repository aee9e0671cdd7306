"""The notebook on large clusters, run anew with other variables than those of its stored run."""

from __future__ import annotations

import os
from typing import Any

import nbformat
from nbclient import NotebookClient

from kit.spark.driver import variables
from tests.house.source import ROOT
from tools.notebooks import strip

PATH = ROOT / "notebooks" / "90-large-clusters-on-spark.ipynb"
NAMES = ("SPARK_REMOTE", "KIT_SPARK_MASTER", "PYTHONPATH")
Words = list[tuple[str, str]]


def stored() -> Words:
    """What each output of the committed notebook says."""
    return words(nbformat.read(PATH, as_version=4))


def run(until: str = "", **settings: str) -> Words:
    """What each output says when the cells run with these variables; an error is raised.

    With ``until``, only those before the section whose heading begins so.
    """
    notebook = nbformat.read(PATH, as_version=4)
    if until:
        headings = [at for at, cell in enumerate(notebook.cells) if cell.source.startswith(until)]
        notebook.cells = notebook.cells[: headings[0]]
    fresh = {"PYTHONPATH": str(ROOT), "KIT_SOLVED": f"{os.devnull}/nobody"}  # a new learner's run
    with variables(fresh | settings, unset=NAMES):
        NotebookClient(
            notebook,
            timeout=240,
            kernel_name="python3",
            store_widget_state=False,
            resources={"metadata": {"path": str(PATH.parent)}},
        ).execute()
    return words(strip(notebook))


def words(notebook: Any) -> Words:
    """(source of the cell, text) of every output; versions are left out."""
    return [
        (cell.source, output.get("text") or output.get("data", {}).get("text/plain", ""))
        for cell in notebook.cells
        if cell.cell_type == "code" and not cell.metadata.get("tags")
        for output in cell.outputs
    ]
