"""Loading the kit is quick and light: nothing heavy comes along until it is asked for."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.house.source import ROOT, module_name, python_files
from tests.house.test_tidy import is_pure

FRONT = {"IPython", "anywidget", "graphviz", "ipywidgets", "jupyterlab", "matplotlib", "nbformat"}
DATA = {"pandas", "pyarrow", "pyspark"}


def loaded_by(*modules: str) -> set[str]:
    """The top-level packages in a fresh Python after importing ``modules``."""
    program = (
        "import importlib, json, sys\n"
        f"for name in {list(modules)!r}: importlib.import_module(name)\n"
        "print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(json.loads(result.stdout))


def test_import_kit_is_light() -> None:
    """``import kit`` loads no data frames, Spark, plots or widgets."""
    assert not loaded_by("kit") & (FRONT | DATA)


@pytest.mark.spec("H-003")
def test_the_engine_loads_no_front_end() -> None:
    """All rules and models together load no widget, plot, data frame or Spark."""
    engine = [module_name(path) for path in python_files("kit") if is_pure(path)]
    assert "kit.model.model" in engine
    assert not loaded_by(*engine) & (FRONT | DATA)


@pytest.mark.spec("H-003")
def test_the_kit_is_python() -> None:
    """The kit is Python, but for the browser's part of widgets and views, and scenario files."""
    others = {
        path.parent.name
        for path in (ROOT / "kit").rglob("*")
        if path.is_file()
        and path.parent.name != "__pycache__"
        and path.suffix not in {".py", ".typed"}
    }
    assert others <= {"browser", "css", "scenarios", "images", "notebooks", "data", "type"}


def test_opening_the_lab_needs_no_java_and_no_dot() -> None:
    """``kit.commands.lab`` loads neither Spark nor graphviz: it starts on a bare machine."""
    assert not loaded_by("kit.commands.lab") & (FRONT | DATA)
