"""A Ctrl-C or a limit on memory while the command line is still being loaded."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PRESSING = """
import os, signal, sys
import kit.__main__

module = sys.argv.pop(1)
# Who runs in the background of a shell without job control begins with Ctrl-C ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)

class Pressing:
    def find_spec(self, name, *_):
        if name == module:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Pressing())
raise SystemExit(kit.__main__.run())
"""
LIMITED = """
import resource, runpy, sys
kind, most = map(int, sys.argv[1:3])
resource.setrlimit(kind, (most, resource.getrlimit(kind)[1]))
sys.argv[:] = ["kit", *sys.argv[3:]]
runpy.run_module("kit", run_name="__main__")
"""
MEGA = 10**6


def python(program: str, *words: str) -> tuple[int, str, str]:
    """What a program that begins the command line ends with: status, stdout, stderr."""
    answer = subprocess.run(
        [sys.executable, "-c", program, *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    return answer.returncode, answer.stdout, answer.stderr


@pytest.mark.parametrize(
    "module",
    ["kit.commands.cli", "argparse", "kit.commands.searches", "kit.protocols.tcm.examples"],
)
def test_ctrl_c_while_a_module_is_loaded(module: str) -> None:
    """It ends with one line and 130, whatever was being imported: our own, or Python's."""
    assert python(PRESSING, module, "models") == (130, "", "kit: interrupted\n")


@pytest.mark.parametrize(("kind", "most"), [(resource.RLIMIT_AS, 90), (resource.RLIMIT_DATA, 40)])
def test_too_little_memory_to_load(kind: int, most: int) -> None:
    """A ``ulimit`` below what the libraries need is said before these end the process."""
    status, out, err = python(LIMITED, str(kind), str(most * MEGA), "models")
    assert (status, out) == (2, "")
    assert err.startswith(f"kit: memory: got a limit of {most * MEGA} bytes (ulimit); allowed: ")
    assert err.count("\n") == 1


def test_just_enough_memory_to_load() -> None:
    """At the least that is allowed the commands work, on any number of processors."""
    least = str(160 * MEGA)
    status, out, err = python(LIMITED, str(int(resource.RLIMIT_AS)), least, "show", "twophase")
    assert (status, err) == (0, "")
    assert "twophase" in out
