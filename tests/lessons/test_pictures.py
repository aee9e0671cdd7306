"""Charts with their words, the command line in a cell, the versions that a cell prints."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kit.errors import BadInput
from kit.lessons import group_sizes, step_table, terminal, versions
from tests.lessons.answers import scripted_run

PNG = b"\x89PNG"


def test_the_chart_of_groups_says_what_it_draws() -> None:
    """Beside the picture are the two groups of every epoch, in words, as its alternative text."""
    chart = group_sizes(scripted_run("rf3"), 120)
    data, more = chart._repr_mimebundle_()
    assert data["image/png"].startswith(PNG)
    assert more["image/png"]["alt"] == data["text/plain"] == repr(chart)
    assert "epoch 102: reads 3 (X, B, C); writes 4 (" in repr(chart)


def test_a_chart_of_nothing_is_refused() -> None:
    """A token outside the space, or a model of another family, is BadInput."""
    with pytest.raises(BadInput):
        group_sizes(scripted_run("bootstrap"), 4000)
    with pytest.raises(BadInput):
        step_table("bootstrap")


def test_the_command_line_in_a_cell_shows_its_status(tmp_path: Path) -> None:
    """The prompt, what was printed, and the exit status; no path of the machine."""
    told = terminal("ring missing.json", tmp_path)
    assert told.startswith("$ python -m kit ring missing.json\n")
    assert told.endswith("[exit status 2]")
    assert str(tmp_path) not in told


@pytest.mark.spec("H-002")
def test_the_versions_name_what_the_notebooks_need() -> None:
    """A line each for Python, the kit and the packages; of Python only what is supported."""
    lines = dict(line.split(maxsplit=1) for line in versions().splitlines())
    assert lines["python"] == f"{sys.version_info.major}.{sys.version_info.minor}"
    assert {"kit", "jupyterlab", "ipywidgets", "matplotlib", "graphviz", "pyspark", "nbval"} <= set(
        lines
    )


def test_a_judge_loads_no_widgets() -> None:
    """Importing the lessons and judging a run loads neither widgets nor charts."""
    code = (
        "import sys, kit.lessons, kit.lessons.judge\n"
        "from kit.lessons.tasks import tasks\n"
        "tasks()['fewest-steps'].judge(['bootstrap X --tokens 150'])\n"
        "print(sorted({'ipywidgets', 'matplotlib', 'IPython'} & set(sys.modules)))"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
