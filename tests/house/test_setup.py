"""The set-up script on machines that lack something: one clear line each, and no half-made state.

Each test runs the real script in a scratch checkout with stand-ins for Python on an empty PATH.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.house.source import ROOT

PROGRAMS = ("awk", "cat", "cksum", "date", "dirname", "grep", "head", "mkdir", "rm", "sed", "sh")
# A Python that can make an environment, whose pip does as `$STUB_PIP` says.
GOOD = """#!/bin/sh
case "$*" in
*ensurepip*) echo 3.12 ;;
*"-m venv"*)
    mkdir -p .venv/bin
    cp "$0" .venv/bin/python ;;
*"import sys, pip"*) echo 3.12 ;;
*"-m pip"*)
    [ "${STUB_PIP:-}" = offline ] && {
        echo "WARNING: Retrying after connection broken by NewConnectionError(...)"
        echo "ERROR: No matching distribution found for anyio==4.16.0"
        exit 1
    }
    [ "${STUB_PIP:-}" = broken ] && { echo "ERROR: hashes do not match"; exit 1; }
    echo "Collecting anyio==4.16.0" ;;
esac
exit 0
"""
OLD = "#!/bin/sh\necho 3.9\nexit 0\n"
NO_VENV = "#!/bin/sh\necho 3.11\nexit 1\n"
SHIM = "#!/bin/sh\necho 'python3.12: command not found' >&2\nexit 127\n"


class Machine:
    """A scratch checkout and a PATH that holds only what a test puts there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "check out"  # people have spaces in their folders
        self.programs = folder / "bin"
        (self.folder / "tools").mkdir(parents=True)
        self.programs.mkdir()
        shutil.copy(ROOT / "tools" / "setup.sh", self.folder / "tools")
        (self.folder / "requirements.lock").write_text("anyio==4.16.0 \\\n    --hash=sha256:00\n")
        (self.folder / "pyproject.toml").write_text("[project]\n")
        for name in (*PROGRAMS, "cp", "tee"):
            found = shutil.which(name)
            assert found
            (self.programs / name).symlink_to(found)

    def python(self, name: str, text: str) -> Path:
        """Put a stand-in for a Python on PATH."""
        path = self.programs / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def set_up(self, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run the script as ``make setup`` does."""
        return subprocess.run(
            [str(self.programs / "sh"), "tools/setup.sh"],
            cwd=self.folder,
            env={"PATH": str(self.programs), "HOME": str(self.folder), **environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine without any Python."""
    return Machine(tmp_path)


def told(result: subprocess.CompletedProcess[str]) -> str:
    """The one line on stderr of a run that failed."""
    assert result.returncode == 1
    [line] = result.stderr.splitlines()
    return line


def test_no_python_at_all(machine: Machine) -> None:
    """Without any Python, the line says which are needed and how to name one."""
    line = told(machine.set_up())
    assert "no supported Python: none found on PATH" in line
    assert "3.11, 3.12 or 3.13" in line


def test_an_unsupported_python_is_named(machine: Machine) -> None:
    """With only an old Python, the line names it with its version."""
    machine.python("python3", OLD)
    assert "no supported Python: python3 is 3.9;" in told(machine.set_up())


def test_a_python_without_venv(machine: Machine) -> None:
    """With a Python that lacks venv, the line names the package that brings it."""
    machine.python("python3", NO_VENV)
    assert "sudo apt-get install python3.11-venv" in told(machine.set_up())


def test_a_named_python_that_does_not_run(machine: Machine) -> None:
    """A PYTHON= that does not exist is refused, even beside a good one."""
    machine.python("python3", GOOD)
    assert "PYTHON=/no/python does not run" in told(machine.set_up(PYTHON="/no/python"))


def test_a_named_python_that_is_too_old(machine: Machine) -> None:
    """A PYTHON= of an unsupported version is refused by its version, even beside a good one."""
    machine.python("python3", GOOD)
    old = machine.python("oldpython", OLD)
    assert f"{old} is 3.9" in told(machine.set_up(PYTHON=str(old)))


def test_a_shim_that_runs_nothing_is_passed_over(machine: Machine) -> None:
    """Version managers leave names on PATH that run nothing; the next Python is taken."""
    machine.python("python3.11", SHIM)
    machine.python("python3.12", NO_VENV)
    machine.python("python3", GOOD)
    result = machine.set_up()
    assert result.returncode == 0, result.stderr
    assert "[1/4] Python 3.12 (" in result.stdout


def test_no_network_is_one_line(machine: Machine) -> None:
    """When pip cannot reach its index, the line says so and that the command can be repeated."""
    machine.python("python3", GOOD)
    assert "set-up: no network: pip cannot reach" in told(machine.set_up(STUB_PIP="offline"))
    assert not (machine.folder / ".venv" / "kit-setup-stamp").exists()


def test_another_failure_of_pip_gives_its_own_words(machine: Machine) -> None:
    """Any other failure of pip is told in pip's words, with the place of its whole output."""
    machine.python("python3", GOOD)
    line = told(machine.set_up(STUB_PIP="broken"))
    assert "pip failed: ERROR: hashes do not match" in line
    assert ".venv/setup.log" in line


def test_progress_is_shown_and_the_second_run_is_quick(machine: Machine) -> None:
    """Four numbered steps the first time, one line the second time, all again after a change."""
    machine.python("python3", GOOD)
    first, second = machine.set_up(), machine.set_up()
    assert [f"[{step}/4]" in first.stdout for step in (1, 2, 3, 4)] == [True] * 4
    assert second.stdout == "set-up: up to date (.venv)\n"
    with (machine.folder / "requirements.lock").open("a") as lock:
        lock.write("six==1.17.0 \\\n    --hash=sha256:00\n")
    assert "installing 2 packages" in machine.set_up().stdout


def test_an_interrupted_environment_is_made_again(machine: Machine) -> None:
    """An environment that does not run is replaced without a question."""
    machine.python("python3", GOOD)
    (machine.folder / ".venv" / "bin").mkdir(parents=True)
    result = machine.set_up()
    assert "[2/4] making the virtual environment" in result.stdout
    assert os.access(machine.folder / ".venv" / "bin" / "python", os.X_OK)


def test_the_environment_of_another_checkout_is_left_alone(machine: Machine) -> None:
    """Through a link, that checkout would get this one's kit."""
    machine.python("python3", GOOD)
    (machine.folder / ".venv").symlink_to("/another/.venv")
    assert ".venv is a link, perhaps to" in told(machine.set_up())
