"""The Python that runs in a page, here in node: it searches, plays and counts as this one does."""

from __future__ import annotations

import json
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.bare.searches import counts
from tests.bare.stories import digest, marks, shown
from tests.house.source import ROOT
from tools.core import PYTHON, WHEEL, fetch

RUN = Path(__file__).with_name("run.mjs")


@pytest.fixture(scope="session")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the pinned Python for WebAssembly."""
    folder = tmp_path_factory.mktemp("core")
    with tarfile.open(fetch(PYTHON)) as archive:
        archive.extractall(folder, filter="data")
    return folder / "package"


def told(core: Path, program: str) -> Any:
    """What a program prints as JSON in its last line, in the Python of a page."""
    command = ["node", *map(str, (RUN, core, fetch(WHEEL), ROOT))]
    done = subprocess.run(command, input=program, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_a_page_counts_plays_and_draws_as_this_python_does(core: Path) -> None:
    """Seven searches, the texts of a file, the frames of a story, judged answers: all equal."""
    program = """
import json, sys
from kit.edge.limits import ALONE
from tests.bare.searches import counts
from tests.bare.stories import digest, marks, shown
assert ALONE and "numpy" not in sys.modules
"""
    asked = 'counts(), marks(), shown("tcm/bootstrap"), digest("tcm/rf3")'
    here = [counts(), marks(), shown("tcm/bootstrap"), digest("tcm/rf3")]
    assert here[1][0][0]
    assert told(core, f"{program}print(json.dumps([{asked}]))") == json.loads(json.dumps(here))
