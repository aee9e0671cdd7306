"""Errors as a notebook, its page and plain IPython show them: the kit's are one line."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter

from kit.spark.driver import variables
from tests.house.source import ROOT

LINE = "BadInput: tokens: got '<b>7</b>'; allowed: an integer"
RAISED = "raise BadInput('tokens', '<b>7</b>', 'an integer')"
CELLS = (
    "from kit.errors import BadInput",
    RAISED,
    f"try:\n    {{}}['x']\nexcept KeyError as error:\n    {RAISED} from error",
    "{}['x']",
)


@pytest.fixture(scope="module")
def notebook() -> Any:
    """A notebook that a real kernel ran: the kit's error twice, then an unexpected one."""
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    with variables({"PYTHONPATH": str(ROOT)}):
        NotebookClient(made, timeout=120, kernel_name="python3", allow_errors=True).execute()
    return made


def test_a_kernel_tells_the_kits_error_in_one_line(notebook: Any) -> None:
    """Neither the way to the error nor what caused it is stored; the line is."""
    for cell in notebook.cells[1:3]:
        [output] = cell.outputs
        assert (output.ename, output.traceback) == ("BadInput", [LINE])


def test_an_unexpected_error_keeps_its_traceback(notebook: Any) -> None:
    """Who has to mend something is told where."""
    [output] = notebook.cells[3].outputs
    assert output.ename == "KeyError"
    assert "Traceback" in "\n".join(output.traceback)


def test_a_page_shows_the_line_escaped(notebook: Any) -> None:
    """Nothing that was given by somebody becomes part of the page."""
    page, _ = HTMLExporter().from_notebook_node(notebook)
    assert "tokens: got '&lt;b&gt;7&lt;/b&gt;'; allowed: an integer" in page
    assert "got '<b>7" not in page


def test_plain_ipython_prints_the_line() -> None:
    """Without any notebook it is one line, too, and nothing else."""
    shell = [sys.executable, "-m", "IPython", "--quick", "--colors=NoColor", "-c"]
    done = subprocess.run(
        [*shell, "\n".join(CELLS[:2])], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert (done.stdout + done.stderr).strip() == LINE
