"""A working folder whose files are named like Python's own modules, ``json.py`` and the like."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

STARTED = "from kit.__main__ import run; raise SystemExit(run())"
NAMES = sorted(sys.stdlib_module_names - {"__main__"})
LOADED = "import sys; had = set(sys.modules); import runpy; print(*(sys.modules.keys() - had))"
"""What ``python -m`` itself loads before it looks for the module that it is to run."""
COMMANDS = [("models",), ("check", "twophase"), ("tablets", "nothing.csv")]
SAFE = [
    pytest.param(("-P", "-m", "kit"), id="-P"),
    pytest.param(("-P", "-c", STARTED), id="as the command kit"),
]


def by_python_itself() -> set[str]:
    """The modules that ``python -m`` takes from the working folder before the kit begins."""
    told = subprocess.run(
        [sys.executable, "-P", "-c", LOADED], capture_output=True, text=True, check=True
    )
    return {name.partition(".")[0] for name in told.stdout.split()}


def shadowed(folder: Path, names: set[str]) -> Path:
    """A folder in which each of these modules ends the program."""
    for name in names:
        (folder / f"{name}.py").write_text(f"raise SystemExit('taken from here: {name}')\n")
    return folder


def told(start: tuple[str, ...], words: tuple[str, ...], folder: Path) -> tuple[int, str, str]:
    """What a command answers in a folder."""
    done = subprocess.run(
        [sys.executable, *start, *words], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr.replace(str(folder), "")


@pytest.mark.sweep(3)
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("start", SAFE)
def test_the_command_kit_takes_no_module_from_the_folder(
    tmp_path: Path, start: tuple[str, ...], words: tuple[str, ...]
) -> None:
    """Whatever its files are called: all names of the standard library at once."""
    here = shadowed(tmp_path, {*NAMES, "kit", "msgspec", "numpy"})
    status, out, err = told(start, words, here)
    assert "taken from here" not in out + err
    assert status == (2 if "nothing.csv" in words else 0), err


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_python_m_kit_takes_none_that_it_can_help(tmp_path: Path, words: tuple[str, ...]) -> None:
    """All but what Python itself loads for ``-m``, before anything of the kit runs."""
    here = shadowed(tmp_path, {*NAMES, "msgspec", "numpy"} - by_python_itself())
    _, out, err = told(("-m", "kit"), words, here)
    assert "taken from here" not in out + err


@pytest.mark.parametrize("module", ["kit", "timeit"])
def test_what_python_itself_takes_is_beyond_help(tmp_path: Path, module: str) -> None:
    """With such a file no ``python -m`` works, of whatever module; OPERATORS.md says what does."""
    here = shadowed(tmp_path, {"types"})
    assert "types" in by_python_itself()
    assert "types" in told(("-m", module), ("-h",), here)[2]
    page = (Path(__file__).parents[2] / "OPERATORS.md").read_text("utf-8")
    assert "`types.py`" in page
