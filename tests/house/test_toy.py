"""Adding a family is adding its folder: a copy of the checkout gets one, and it is everywhere.

The family and its tests lie in tests/toy. Nothing else of the copy is touched, so each test here
fails when some list of families is kept by hand.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.house.checkout import copied, ran
from tests.house.source import ROOT
from tools.test import QUICK

TOY = ROOT / "tests" / "toy"
PYTEST = ("pytest", "-q", *QUICK)
NEEDLESS = {"images", "benchmarks"}
# The rules of the house look at what git lists: in the copy the family alone, so that they are not
# asked about all the rest twice.
ONLY_THE_FAMILY = """\
*
!*/
!/kit/protocols/toy/**
!/tests/protocols/toy/**
"""
LISTS = """
import json
from kit.lessons.tasks import tasks
from kit.spark.traces import as_tables, drawn, schemas
from tools.images import graphs
from kit.widgets import Player
tables = as_tables(drawn(1, model="lease"))
print(json.dumps({
    "player": [value for _, value in Player("lease").controls.source.options],
    "tasks": list(tasks()),
    "pictures": [name for name, _ in graphs()],
    "schemas": list(schemas()),
    "rows": {name: table.num_rows for name, table in tables.items()},
    "columns": tables["leases"].column_names,
}))
"""
EXERCISE = """
from kit.lessons import exercise
print(exercise("refused-by-the-fence").check(["take C0", "lapse", "take C1", "write C1"]))
print(exercise("refused-by-the-fence").check(["take C0"]))
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout with one family more, and its tests."""
    folder = copied(tmp_path_factory.mktemp("checkout"), NEEDLESS)
    left_out = shutil.ignore_patterns("__pycache__")
    shutil.copytree(TOY / "family", folder / "kit" / "protocols" / "toy", ignore=left_out)
    shutil.copytree(TOY / "tests", folder / "tests" / "protocols" / "toy", ignore=left_out)
    ignored = folder / ".git" / "info" / "exclude"
    ignored.parent.mkdir(exist_ok=True)
    ignored.write_text(ONLY_THE_FAMILY, encoding="utf-8")
    return folder


def kit(folder: Path, *words: str, status: int = 0, typed: str = "") -> str:
    """What the command line says in a copy."""
    return ran(folder, "python", "-m", "kit", *words, status=status, typed=typed)


@contextmanager
def with_line(path: Path, line: str) -> Iterator[None]:
    """A file with a line more at its end, for a while."""
    text = path.read_text(encoding="utf-8")
    path.write_text(f"{text}{line}\n", encoding="utf-8")
    yield
    path.write_text(text, encoding="utf-8")


def test_the_command_line_has_it(copy: Path) -> None:
    """The model is listed, shown, searched, walked at random and played by name and from a file."""
    assert "lease" in {entry["name"] for entry in json.loads(kit(copy, "models", "--json"))}
    assert "slept" in kit(copy, "show", "lease")
    assert json.loads(kit(copy, "check", "lease", "--json"))["complete"]
    kit(copy, "check", "lease", "--off", "T-01", status=1)
    kit(copy, "fuzz", "lease", "--seeds", "0:3", "--steps", "9")
    script = "kit/protocols/toy/scenarios/slept-past-its-lease.txt"
    assert all("C1 writes with number 2" in kit(copy, "play", what) for what in ("slept", script))


def test_the_player_the_lessons_and_spark_have_it(copy: Path) -> None:
    """The list of the Player, the exercises, the pictures and the tables of runs hold it."""
    held = json.loads(ran(copy, "python", "-c", LISTS))
    assert {"lease", "lease/slept"} <= set(held["player"])
    assert "refused-by-the-fence" in held["tasks"]
    assert {"state-lease", "states-lease"} <= set(held["pictures"])
    assert "leases" in held["schemas"]
    assert held["rows"]["leases"] == 2 * held["rows"]["events"] > 2
    assert held["columns"] == ["run", "step", "client", "number"]


def test_its_drill_is_played(copy: Path) -> None:
    """Its words are read, what its model refuses is said, and the run is graded."""
    lines = ("lease take C0", "store write C1", "lease lapse", "lease take C1", "store write C1")
    said = kit(copy, "drill", "lease", typed="\n".join((*lines, "lease stats")))
    assert "write C1: nothing like that can be done now" in said
    assert "lease: got 'stats'; allowed: one of status" in said
    assert "✓ second write: the store has seen 2" in said


def test_its_exercise_is_judged(copy: Path) -> None:
    """A right answer to its exercise passes, and a wrong one is told why."""
    right, wrong = ran(copy, "python", "-c", EXERCISE).split("\n", 1)
    assert "Passed" in right
    assert "let through" in wrong


def test_the_table_of_families_has_it(copy: Path) -> None:
    """The table in ARCHITECTURE.md is found to be out of date, and written again has a row more."""
    document = copy / "ARCHITECTURE.md"
    shutil.copy(ROOT / document.name, document)
    before = document.read_text(encoding="utf-8").splitlines()
    ran(copy, "python", "-m", "tools.reference", "--check", "families", status=1)
    ran(copy, "python", "-m", "tools.reference", "families")
    ran(copy, "python", "-m", "tools.reference", "--check", "families")
    after = document.read_text(encoding="utf-8").splitlines()
    [row] = [line for line in after if line not in before]
    assert all(word in row for word in ("kit/protocols/toy", "`lease`", "`leases`"))


def test_the_rules_of_the_house_hold_it(copy: Path) -> None:
    """The house finds nothing wrong with it: storeys, imports, names, docstrings, scenarios."""
    ran(copy, "lint-imports", "--no-cache")
    files = ("house/test_tidy.py", "house/test_families.py", "protocols/test_scenarios.py")
    tests = [f"tests/{name}" for name in (*files, "protocols/toy")]
    ran(copy, *PYTEST, *tests, "-k", "tidy or families or toy or slept-past-its-lease")


def test_a_rule_that_knows_the_engine_is_refused(copy: Path) -> None:
    """A rule that imports a model's contract breaks a contract of its own."""
    with with_line(copy / "kit/protocols/toy/rules/fence.py", "import kit.model.model"):
        said = ran(copy, "lint-imports", "--no-cache", status=1)
    assert "kit.protocols.toy.rules.fence -> kit.model.model" in said


def test_a_model_that_knows_another_family_is_refused(copy: Path) -> None:
    """A family that imports one which it does not compose is an offender by name."""
    line = "from kit.protocols.twophase.twophase import TwoPhase"
    with with_line(copy / "kit/protocols/toy/model.py", line):
        said = ran(copy, *PYTEST, "tests/house/test_tidy.py", "-k", "family", status=1)
    assert "kit/protocols/toy/model.py: kit.protocols.twophase.twophase" in said


@pytest.mark.browser
def test_it_is_played_in_the_browser(copy: Path, chromium_path: Path) -> None:
    """Its own browser test, in the copy: a Player is opened on it, and a press does a step."""
    said = ran(copy, *PYTEST, "-m", "browser", "tests/protocols/toy")
    assert "1 passed" in said
