"""Mutants in forks: what one process tells of a small file, and that the file stays as it was."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.source import ROOT
from tests.quality.mutation import here

FILE = "kit/console/patterns.py"


def forked(*arguments: str, inside: str = FILE) -> subprocess.CompletedProcess[str]:
    """What trying mutants of a small file answers."""
    command = [sys.executable, "-m", "tests.quality.forking", "--in", inside, *arguments]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )


def told(ran: subprocess.CompletedProcess[str], outcome: str) -> int:
    """Of how many mutants it says that. What it measured is kept, and then not told again."""
    return sum(line.startswith(f"{outcome}  ") for line in ran.stdout.splitlines())


@pytest.fixture
def keys() -> list[str]:
    """The mutants of functions of the small file."""
    return [mutant.key for mutant in here().made()[FILE] if mutant.scope]


def test_its_own_tests_notice_what_is_changed(keys: list[str]) -> None:
    """Each mutant is tried by the tests that call its function, and a table sums it up."""
    before = (ROOT / FILE).read_bytes()
    ran = forked("--count", "4", "--seed", "3", "tests/console/test_patterns.py")
    lines = [line for line in ran.stdout.splitlines() if line.endswith(tuple(keys))]
    assert [line.split()[0] for line in lines] == ["killed"] * 4, ran.stdout
    assert (ran.returncode, ran.stdout.split()[-1]) == (0, "100.0%")
    assert (ROOT / FILE).read_bytes() == before


def test_a_file_that_is_loaded_where_it_is_first_asked_is_tried_too(tmp_path: Path) -> None:
    """A family loads its tools by name, so no test imports them; one mutant needs no super."""
    file = "kit/protocols/dataplane/tools.py"
    up = "super().is_up(now, at) and name not in self.metadata(now, at).down"
    keys = ("service: raise Refused(GOSSIPED) -> pass", f"is_up: return {up} -> return None")
    wanted = tmp_path / "keys.txt"
    wanted.write_text("".join(f"{file} DataplaneServers.{key}\n" for key in keys), "utf-8")
    names = (
        "where_nodes_only_gossip_there_is_no_log",
        "who_has_no_replica_is_down_where_the_metadata_says_so",
    )
    tests = [f"tests/protocols/test_tools.py::test_{name}" for name in names]
    ran = forked("--keys", str(wanted), *tests, inside=file)
    assert told(ran, "killed") == len(keys), ran.stdout + ran.stderr
