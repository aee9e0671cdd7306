"""Notebooks run with what environment.yml names, and what that needs, and with nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.house.source import ROOT
from tests.house.test_environment import CONDA_NAMES, CONDA_ONLY, conda, locked
from tools.test import environment

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
RUN = """
import sys, nbformat
from nbclient import NotebookClient
NotebookClient(nbformat.read(sys.argv[1], 4), timeout=600, kernel_name="python3").execute()
"""


def needed(names: Iterable[str]) -> dict[str, Distribution]:
    """The installed packages of these names, and all that they ask for on this machine."""
    found: dict[str, Distribution] = {}
    asked: set[tuple[str, str]] = set()
    left = [(canonicalize_name(name), "") for name in names]
    while left:
        package, extra = left.pop()
        if (package, extra) in asked:
            continue
        asked.add((package, extra))
        found[package] = distribution(package)
        for requirement in map(Requirement, found[package].requires or ()):
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                left += [
                    (canonicalize_name(requirement.name), e) for e in ("", *requirement.extras)
                ]
    return found


def places(package: Distribution) -> Iterator[Path]:
    """What a package has in the folder of installed packages, by its topmost names."""
    for name in {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}:
        yield Path(str(package.locate_file(name)))


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a new environment with the packages of environment.yml, at its versions.

    They are links to those that are installed here, so nothing is fetched.
    """
    folder = tmp_path_factory.mktemp("alone")
    venv.create(folder, symlinks=True)
    [inside] = folder.glob("lib/python*/site-packages")
    packages, pinned, _ = conda()
    python_names = {conda_name: name for name, conda_name in CONDA_NAMES.items()}
    names = [python_names.get(name, name) for name in packages if name not in CONDA_ONLY]
    for name, package in needed([*names, *pinned]).items():
        assert package.version == locked()[name], name
        for place in places(package):
            if not (inside / place.name).exists():
                (inside / place.name).symlink_to(place)
    (inside / "kit").symlink_to(ROOT / "kit")
    return folder / "bin" / "python"


def run(python: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run that Python beside the notebooks; it sees no other packages."""
    given = {name: value for name, value in environment().items() if name != "PYTHONPATH"}
    path = os.pathsep.join([str(python.parent), given["PATH"]])
    return subprocess.run(
        [python, *words],
        check=False,
        cwd=ROOT / "notebooks",
        env={**given, "PATH": path, "VIRTUAL_ENV": str(python.parent.parent)},
        capture_output=True,
        text=True,
    )


@pytest.mark.deep
def test_the_environment_has_nothing_else(alone: Path) -> None:
    """What stands in the lock for building alone is not there; the interpreter is its own."""
    told = run(alone, "-c", "import sys, kit, pyspark; print(sys.prefix)")
    assert (told.returncode, told.stdout.strip()) == (0, str(alone.parent.parent)), told.stderr
    assert "No module named 'hatchling'" in run(alone, "-c", "import hatchling").stderr
    assert sys.prefix not in run(alone, "-c", "import sys; print(sys.path)").stdout


@pytest.mark.deep
@pytest.mark.partly("H-002", "conda itself: no test has it solve the file")
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem[:2])
def test_a_notebook_runs_there(notebook: Path, alone: Path) -> None:
    """Every cell of every notebook, those on Spark too."""
    told = run(alone, "-c", RUN, str(notebook))
    assert told.returncode == 0, told.stderr[-2000:]
