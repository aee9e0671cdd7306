"""The engine's own tests pass under the Python of a page: some in each landing, all in deep."""

from __future__ import annotations

import json
import shutil
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.house.source import ROOT
from tests.quality.mutation import ENGINE
from tools.core import HYPOTHESIS, fetch, ran

NEEDED = ("_pytest", "iniconfig", "packaging", "pluggy", "py", "pygments", "pytest")
FOLDERS = tuple(ROOT / "tests" / room for room in ENGINE)
ELSEWHERE = {
    "test_hash_seed": "begins processes",
    "test_logs": "compares with the grep of this machine",
    "test_numpy_numbers": "a page has no numpy",
    "test_patience": "watches threads by signals; a page ends its worker",
}
NOT_INSIDE = (
    # There is one process, and a stack that a thousand levels of data are too much for; no limit of
    # memory is known, no Jupyter, and who may write a file.
    "model/test_errors.py::test_strange_values_can_be_spoken_of[deep data]",
    "search/test_fuzz.py::test_the_hash_seed_changes_no_walk",
    "model/test_registry.py::test_deep_data_is_refused",
    "model/test_registry.py::test_what_is_not_used_is_not_loaded",
    "model/test_timeline.py::test_the_player_and_a_cell_make_the_same_trace",
    "model/test_trace.py::test_a_place_that_cannot_be_written_is_named[name3]",
    "model/test_trace.py::test_writing_replaces_the_old_file_at_once",
    "model/test_trace_damage.py::test_a_text_that_is_no_trace_is_named[deep nesting]",
    "model/test_trace_damage.py::test_a_text_that_is_no_trace_is_named[deep objects]",
)
ALL = sorted(
    path for folder in FOLDERS for path in folder.glob("test_*.py") if path.stem not in ELSEWHERE
)
SOME = (ROOT / "tests/model/test_actors.py",)
PROGRAM = """
import json, os
import pytest
from hypothesis import settings
from tests.examples import PROFILE

class Counts:
    passed = 0
    def pytest_runtest_logreport(self, report):
        self.passed += report.when == "call" and report.passed

os.chdir(places[0])
settings.register_profile("page", PROFILE)
settings.load_profile("page")
counts = Counts()
off = ["-p", "no:cacheprovider", "-p", "no:faulthandler", "--noconftest", "-o", "addopts="]
left = [f"--deselect=tests/{name}" for name in NOT_INSIDE]
rest = ["-q", "--tb=short", "-m", "not deep and not browser"]
code = pytest.main([*off, *left, *rest, *FILES], plugins=[counts])
assert code == 0, code
print(json.dumps(counts.passed))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Packages that the tests need and that have no compiled parts."""
    folder = tmp_path_factory.mktemp("packages")
    for name in (*NEEDED, "sortedcontainers"):
        spec = find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        path = Path(spec.origin)
        if path.name == "__init__.py":
            shutil.copytree(path.parent, folder / name, ignore=lambda *_: {"__pycache__"})
        else:
            shutil.copy(path, folder)
    with zipfile.ZipFile(fetch(HYPOTHESIS)) as wheel:
        wheel.extractall(folder)
    return folder


def passed(folder: Path, files: list[Path]) -> int:
    """How many tests of some files passed in the Python of a page; none may fail there."""
    names = [str(path.relative_to(ROOT)) for path in files]
    given = f"FILES = {names!r}\nNOT_INSIDE = {NOT_INSIDE!r}\n"
    number = json.loads(ran(given + PROGRAM, ROOT, folder).splitlines()[-1])
    assert isinstance(number, int)
    return number


def test_some_tests_of_the_engine_pass_inside(folder: Path) -> None:
    """Searches of a model over every network."""
    assert passed(folder, [*SOME]) > 60


@pytest.mark.deep
@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_every_test_of_the_engine_passes_inside(folder: Path, path: Path) -> None:
    """But those that need what a page has not."""
    assert passed(folder, [path])
