"""The command line inside a notebook, and the versions that a cell prints."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import kit

PACKAGES = ("jupyterlab", "ipywidgets", "anywidget", "matplotlib", "graphviz", "pyspark", "nbval")
HOME = str(Path(kit.__file__).resolve().parent.parent)
"""The folder that this process has the kit from: a fresh process takes the same one."""


def versions() -> str:
    """The versions of Python, of the kit and of what the notebooks use, a line each."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    installed = {"python": python, "kit": kit.__version__}
    for name in PACKAGES:
        try:
            installed[name] = version(name)
        except PackageNotFoundError:
            installed[name] = "not installed"
    return "\n".join(f"{name:<12} {number}" for name, number in installed.items())


def terminal(line: str, folder: str | os.PathLike[str]) -> str:
    """What ``python -m kit LINE`` prints when it is run in ``folder``, and its exit status."""
    done = subprocess.run(
        [sys.executable, "-m", "kit", *shlex.split(line)],
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": HOME},
        capture_output=True,
        text=True,
    )
    shown = (done.stdout + done.stderr).rstrip()
    return f"$ python -m kit {line}\n{shown}\n[exit status {done.returncode}]"
