"""The one test command: its stages, its closing line, its exit status; and what skips become."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace
from typing import Any

import nbformat
import pytest

from tests.conftest import LONGEST, loads_backwards
from tests.house.source import ROOT
from tests.spreading import SharedTogether
from tests.sweeps import left_to_deep, taken
from tools import test as runner
from tools.test import DEEP, DEEP_TESTS, NOTEBOOKS, QUICK, STAGES, Outcome, Stage, closing, run


def notebook_arguments(stage: Stage) -> tuple[str, ...]:
    """With which arguments a stage runs nbval over the whole folder of notebooks; none: it does
    not.
    """
    return stage.arguments if stage.arguments[: len(NOTEBOOKS)] == NOTEBOOKS else ()


@pytest.mark.spec("H-012")
def test_every_notebook_is_run_and_compared() -> None:
    """Each landing compares a run of every notebook with the stored one, and the deep tests another
    right after it; nothing but the cell of versions is left out (tests/notebooks/test_lessons.py).
    """
    first, second = filter(None, map(notebook_arguments, (*STAGES, *DEEP)))
    assert first == second
    assert NOTEBOOKS[:2] == ("--nbval", "notebooks")
    assert "--dist" in first
    assert not {"--nbval-lax", "--nbval-current-env", "--sanitize-with", "--ignore"} & {*first}
    assert not tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8")).get("nbval")


@pytest.mark.spec("H-012")
@pytest.mark.deep
def test_the_second_run_finds_what_the_first_one_does_not(tmp_path: Path) -> None:
    """Both run from a clean kernel and compare with what is stored: a cell that says something else
    when it is run again fails then, one that says the same passes twice.
    """
    again = (
        "from pathlib import Path\n\nwith Path('runs').open('a') as file:\n    file.write('x')\n"
    )
    for name, source in (
        ("same", "print('x')"),
        ("again", f"{again}print(Path('runs').read_text())"),
    ):
        cell = nbformat.v4.new_code_cell(source, execution_count=1, outputs=[])
        cell.outputs = [nbformat.v4.new_output("stream", text="x\n")]
        nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / f"{name}.ipynb")
    folder = [str(tmp_path) if each == "notebooks" else each for each in NOTEBOOKS]
    command = [sys.executable, "-m", "pytest", "-rA", *folder]
    told = [
        subprocess.run(command, check=False, cwd=tmp_path, capture_output=True, text=True).stdout
        for _ in range(2)
    ]
    assert ["1 failed" in each for each in told] == [False, True], told
    assert all(re.search(r"PASSED .*same.ipynb", each) for each in told)


@pytest.mark.spec("H-021")
def test_the_stages_run_engine_browser_and_notebooks() -> None:
    """``make test`` runs the engine's tests, the browser's and the notebooks'."""
    assert [stage.name for stage in STAGES] == ["tests", "browser", "notebooks"]


@pytest.mark.parametrize(
    ("cores", "gibibytes", "expected"), [(1, 64, 2), (3, 64, 3), (4, 13, 4), (4, 8, 2), (64, 64, 4)]
)
def test_as_many_tests_run_at_a_time_as_there_are_cores(
    cores: int, gibibytes: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two at least and four at most, and none without memory for what its tests start."""
    monkeypatch.setattr(sys, "platform", "linux")
    cores_of_process = dict.fromkeys(range(cores))
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: cores_of_process, raising=False)
    sizes = {"SC_PHYS_PAGES": gibibytes << 18, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr(os, "sysconf", sizes.__getitem__)
    assert runner.workers() == expected


@pytest.mark.parametrize(
    ("profile", "counts"), [("", [50, 3]), ("settled", [100, 7]), ("deep", [1000, 70])]
)
def test_deep_draws_many_times_as_many(
    profile: str, counts: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether a test says how many or not; the stage runs every test that draws some."""
    monkeypatch.setenv("KIT_HYPOTHESIS", profile)
    module = run_path(str(ROOT / "tests/examples.py"))
    assert [module["PROFILE"].max_examples, module["examples"](7).max_examples] == counts
    assert "hypothesis" in DEEP[0].arguments[1]


def test_a_deep_test_of_the_browser_is_run_by_a_stage() -> None:
    """Each of the four sorts of tests, deep or not, of the browser or not, has its stage."""
    asked = {stage.arguments[1] for stage in STAGES + DEEP if stage.arguments[0] == "-m"}
    assert asked >= {"browser and not deep", "browser and deep", DEEP_TESTS}


@pytest.mark.parametrize(("cases", "share"), [(1, 3), (2, 3), (7, 2), (29, 3), (140, 5)])
def test_a_landing_takes_an_even_share_of_a_sweep(cases: int, share: int) -> None:
    """Never none, the same ones always, and each case is taken where the name is another one."""
    for name in ("a::b", "a::c"):
        assert taken(name, cases, share) == taken(name, cases, share)
        assert 1 <= len(taken(name, cases, share)) <= -(-cases // share)
    assert {at for i in range(99) for at in taken(f"a::{i}", cases, share)} == {*range(cases)}


def test_what_no_landing_takes_of_a_sweep_is_left_to_the_deep_tests() -> None:
    """All other cases, of each test apart; a test that is no sweep is run whole. Cases that are
    deep anyhow are no part of what is shared.
    """

    def item(name: str, *marks: object, deep: bool = False) -> Any:
        of = {"sweep": marks, "deep": (pytest.mark.deep,) * deep}
        return SimpleNamespace(nodeid=name, iter_markers=lambda kind: iter(of[kind]))

    half = SimpleNamespace(args=(2,))
    cases = [item(f"a::{name}[{i}]", half) for i in range(6) for name in ("b", "c")]
    left = [one.nodeid for one in left_to_deep([*cases, *map(item, ("a::d[0]", "a::d[1]"))])]
    here = {f"a::{name}[{i}]" for name in ("b", "c") for i in taken(f"a::{name}", 6, 2)}
    assert {*left} | here == {one.nodeid for one in cases}
    assert len(left) == len(here) == 6
    both = [item(f"a::b[{i}]", half, deep=i % 2 == 1) for i in range(12)]
    landing = {one.nodeid for one in both} - {one.nodeid for one in left_to_deep(both)}
    assert len(landing - {f"a::b[{i}]" for i in range(1, 12, 2)}) == 3
    for wrong in ((), (1,), ("3",), (2, 3)):
        with pytest.raises(pytest.UsageError, match="sweep"):
            [*left_to_deep([item("a::b", SimpleNamespace(args=wrong))])]


def test_the_longest_files_are_there() -> None:
    """A file that is begun first has not been renamed or taken away."""
    assert [path for path in LONGEST if not path.is_file()] == []


def test_files_that_share_what_takes_long_to_make_share_a_worker() -> None:
    """That is Spark's session, a JupyterLab, the source; any other file goes to a worker alone."""
    together = SharedTogether.__new__(SharedTogether)
    names = (
        "tests/spark/test_sweep.py::test_b",
        "tests/protocols/tcm/spark/test_charts.py::test_d[1]",
        "tests/protocols/topology/test_clusters.py::test_e",
    )
    assert {together._split_scope(name) for name in names} == {"spark"}
    house = ("tests/house/test_tidy.py::test_a", "tests/house/test_names.py::test_b")
    assert {together._split_scope(name) for name in house} == {"syntax trees"}
    live = ("tests/widgets/test_lab.py::test_a", "tests/widgets/test_endless.py::test_b")
    assert {together._split_scope(name) for name in live} == {"JupyterLab"}
    assert together._split_scope("tests/ring/test_a.py::test_b[x]") == "tests/ring/test_a.py"


ALL_FILES, SOME = (getattr(pytest.Config.ArgsSource, name) for name in ("TESTPATHS", "ARGS"))


@pytest.mark.parametrize(
    ("worker", "files", "marks", "expected"),
    [
        ("gw0", ALL_FILES, "not browser", False),
        ("gw1", ALL_FILES, "not browser", True),
        ("gw1", SOME, "not browser", False),
        ("gw1", ALL_FILES, "browser and not deep", False),
        ("gw3", ALL_FILES, "deep", True),
    ],
)
def test_every_other_worker_loads_the_last_files_first(
    worker: str, files: object, marks: str, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where all files are loaded, two workers do not compile the same ones at the same time."""
    monkeypatch.setenv("PYTEST_XDIST_WORKER", worker)
    config: Any = SimpleNamespace(args_source=files, option=SimpleNamespace(markexpr=marks))
    assert loads_backwards(config) == expected


def test_the_closing_line_is_pytests_own_form() -> None:
    """The last line sums all stages in the form in which pytest closes a run."""
    outcomes = [Outcome("tests", 40, 1, 0, 0, 3.0), Outcome("browser", 2, 0, 0, 0, 9.0)]
    last = closing(outcomes, 12.0).splitlines()[-1]
    assert re.fullmatch(r"=+ 1 failed, 42 passed in 12\.00s =+", last)
    assert "no tests ran" in closing([], 0.1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def test_a(): pass\ndef test_b(): assert False\n", (1, 1, 0, 0)),
        ("", (0, 0, 1, 0)),
        ("import nowhere\n", (0, 0, 1, 0)),
        ("import pytest\ndef test_a(): pytest.skip('no')\n", (0, 0, 0, 1)),
    ],
    ids=["one of each", "no test at all", "broken file", "skipped"],
)
def test_counts_are_read(tmp_path: Path, text: str, expected: tuple[int, ...]) -> None:
    """Passed, failed, broken and skipped tests are counted; a run without tests is an error."""
    (tmp_path / "test_it.py").write_text(text)
    options = (*QUICK, "-p", "no:hypothesispytest", "-p", "no:cacheprovider")
    outcome = run(Stage("scratch", (str(tmp_path), *options)), forbid_skips=False)
    assert (outcome.passed, outcome.failed, outcome.errors, outcome.skipped) == expected


def test_style_is_checked_while_the_first_stage_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A checker waits for what the stage does; each is told after it, and counts."""
    line = tmp_path / "line"
    os.mkfifo(line)  # whoever reads it waits for who writes it
    waiting = ("python", "-c", "import sys; print(open(sys.argv[1]).read())", str(line))
    failing = ("python", "-c", "raise SystemExit('not so')")
    monkeypatch.setattr(runner, "STYLE", (waiting, failing))

    def run_stage(stage: Stage, forbid_skips: bool) -> Outcome:
        line.write_text("content", encoding="utf-8")
        return Outcome(stage.name, 1)

    monkeypatch.setattr(runner, "run", run_stage)
    style, first = runner.begun_with_style([STAGES[0]], forbid_skips=False)
    assert (style.name, style.passed, style.failed, first.name) == ("style", 1, 1, "tests")
    assert re.search("content.*not so", capsys.readouterr().out, re.DOTALL)


STEPPING_ASIDE = {
    "test": "import pytest\ndef test_a(): pytest.skip('no browser')\n",
    "file": "import pytest\npytest.skip('no browser', allow_module_level=True)\n",
    "xfail": "import pytest\n@pytest.mark.xfail(reason='no browser')\ndef test_a(): assert False\n",
}


def pytest_with_house_rules(folder: Path, *options: str, **environment: str) -> str:
    """What pytest prints over ``folder`` under the rules of this checkout."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest", str(folder)]
    command += [*QUICK, "-p", "no:cacheprovider", "--continue-on-collection-errors", *options]
    command += ["-c", str(ROOT / "pyproject.toml")]
    result = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode != 0
    return result.stdout + result.stderr


def test_a_test_that_hangs_is_ended(tmp_path: Path) -> None:
    """Every test has a time limit: one that loops for ever fails the run and is named."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        settings = tomllib.load(file)["tool"]["pytest"]["ini_options"]
    assert 0 < settings["faulthandler_timeout"] <= 600
    (tmp_path / "test_it.py").write_text("def test_endless():\n    while True:\n        pass\n")
    said = pytest_with_house_rules(tmp_path, "-o", "faulthandler_timeout=1")
    assert "in test_endless" in said


def test_a_skip_is_a_failure_where_skips_are_forbidden(tmp_path: Path) -> None:
    """With KIT_FORBID_SKIPS=1 whatever steps aside fails, and its reason is shown."""
    for name, text in STEPPING_ASIDE.items():
        (tmp_path / f"test_{name}.py").write_text(text)
    said = pytest_with_house_rules(tmp_path, KIT_FORBID_SKIPS="1")
    assert len(re.findall("skips are forbidden here.*no browser", said)) >= 3
    assert "skipped" not in said.splitlines()[-1]


def test_a_file_with_tests_of_the_browser_says_so(tmp_path: Path) -> None:
    """Where only those are asked for, files without that word are not loaded: none may hide one."""
    (tmp_path / "marks.py").write_text("import pytest\nSHOWN = pytest.mark.browser\n")
    (tmp_path / "test_it.py").write_text("from marks import SHOWN\n@SHOWN\ndef test_a(): pass\n")
    said = pytest_with_house_rules(tmp_path, PYTHONPATH=os.pathsep.join((str(ROOT), str(tmp_path))))
    assert "test_a: its file does not name the marker browser" in said


def test_an_unknown_requirement_stops_the_run(tmp_path: Path) -> None:
    """A marker with an id that no requirement has is an error, not a silent nothing."""
    (tmp_path / "test_it.py").write_text(
        "import pytest\n@pytest.mark.spec('Z-999')\ndef test_a(): pass\n"
    )
    assert "unknown requirement id ['Z-999']" in pytest_with_house_rules(tmp_path)


def test_a_requirement_shown_in_part_says_what_is_missing(tmp_path: Path) -> None:
    """A marker for a part that does not say what is missing is an error."""
    (tmp_path / "test_it.py").write_text(
        "import pytest\n@pytest.mark.partly('A-001')\ndef test_a(): pass\n"
    )
    assert "partly(id, what is missing): ('A-001',)" in pytest_with_house_rules(tmp_path)
