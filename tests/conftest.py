"""What holds for every test: fixed seeds and examples, known requirement ids, no skips in CI."""

from __future__ import annotations

import gc
import json
import os
import random
import sys
from collections.abc import Generator, Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import settings

from tests.examples import PROFILE
from tests.spec.report import read_requirements
from tests.sweeps import left_to_deep
from tests.waiting import PATIENCE
from tools.programs import chromium
from tools.test import FEW_ROWS, QUICK_JAVA

settings.register_profile("kit", PROFILE)
settings.load_profile("kit")

# With it, jsonschema compiles 38 grammars of addresses for two seconds wherever nbformat is loaded.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]  # that is: not there

os.environ.setdefault("MPLBACKEND", "agg")
# What tests solve is nobody's progress.
SOLVED = TemporaryDirectory(prefix="kit-solved-")
os.environ["KIT_SOLVED"] = str(Path(SOLVED.name) / "solved.json")
os.environ.setdefault("JUPYTER_PLATFORM_DIRS", "1")

# Java that lives for a minute need not be optimised: it halves the processor time of these tests.
SMALL_SPARK = {"spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "2"}
java_options = os.environ.get("SPARK_SUBMIT_OPTS", QUICK_JAVA)
if FEW_ROWS not in java_options:
    os.environ["SPARK_SUBMIT_OPTS"] = f"{java_options} {FEW_ROWS}"
os.environ.setdefault("SPARK_DAEMON_JAVA_OPTS", QUICK_JAVA)

pytest_plugins = ("tests.widgets.fixtures",)
# The toy family stands in a copy of the checkout only; tests/house/test_toy.py makes one.
collect_ignore = ["toy"]
TESTS = Path(__file__).parent
LONGEST = tuple(
    TESTS / place
    for place in (
        "recording/test_recording.py",
        "spark/test_notebook.py",
        "protocols/dataplane/test_search.py",
        "protocols/topology/test_search.py",
        "protocols/vnodes/test_search.py",
        "protocols/tcm/simulators/test_placements.py",
        "house/test_toy.py",
        "protocols/tcm/dry_run/test_player.py",
        "protocols/topology/test_matrix.py",
        "commands/test_shell.py",
        "lessons/test_exercises.py",
        "house/test_stages.py",
        "protocols/dataplane/lessons/test_hunting.py",
        "widgets/test_lab.py",
        "widgets/test_pages.py",
        "widgets/test_searching_live.py",
        "protocols/tcm/dry_run/test_page.py",
        "protocols/test_flows.py",
        "protocols/tablets/tablet/test_search.py",
        "quality/test_guards.py",
        "views/test_export.py",
        "views/test_stage.py",
        "widgets/test_undrawn.py",
        "widgets/test_converted.py",
    )
)
"""The files that keep a worker longest: begun first, so that none is waited for at the end."""
FORBID_SKIPS = os.environ.get("KIT_FORBID_SKIPS") == "1"


@pytest.fixture(autouse=True)
def fixed_seeds() -> None:
    """Make chance repeatable in tests; the engine itself draws none."""
    random.seed(20)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(20)


@pytest.fixture(scope="session")
def chromium_path() -> Path:
    """The browser to drive, for tests with the marker ``browser``."""
    path = chromium()
    if path is None:
        pytest.skip("no Chromium here: `make programs` brings one, or set KIT_CHROMIUM")
    return path


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """An embedded Spark on two cores, one for all tests: starting it takes longer than most."""
    from kit.spark.sessions import session, stop

    java = {name: os.environ[name] for name in ("JAVA_HOME", "PATH") if name in os.environ}
    running = session("local[2]", config=SMALL_SPARK, environment=java, patience=PATIENCE)
    yield running
    stop(running)


@pytest.fixture
def judged_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Judge answers as the judge gets them, without a process of its own: that takes 0.4 seconds.

    tests/lessons/test_exercises.py shows that the judge that learners meet says the same.
    """
    from kit.lessons.tasks import task_named

    def marks(sent: dict[str, Any]) -> Any:
        received = json.loads(json.dumps(sent))
        return task_named(received["task"]).judge(received["answer"])

    monkeypatch.setattr("kit.lessons.exercises._judged", marks)


@cache
def names_a_browser(path: Path) -> bool:
    """Whether a file of tests says anything of one."""
    return "browser" in path.read_text(encoding="utf-8")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Where only tests of the browser are asked for, do not load files that have none."""
    path = collection_path
    only = config.option.markexpr.startswith("browser") and path.match("test_*.py")
    return True if only and not names_a_browser(path) else None


def needs_browser(item: pytest.Item) -> bool:
    """Whether a test drives a browser."""
    return item.get_closest_marker("browser") is not None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Refuse markers with an id that no requirement has, or without what is missing.

    Where all files are run, leave most of each sweep to the deep tests. Order the tests: those of
    the longest files first. Those of the browser come last, for where it runs, no other event loop
    can.
    """
    for item in left_to_deep(items):
        if config.args_source is pytest.Config.ArgsSource.TESTPATHS:
            item.add_marker("deep")
    items.sort(key=lambda item: (needs_browser(item), item.path not in LONGEST))
    known = read_requirements().statements
    for item in items:
        if needs_browser(item) and not names_a_browser(item.path):
            raise pytest.UsageError(f"{item.nodeid}: its file does not name the marker browser")
        if "browser" in getattr(item, "fixturenames", ()) and not needs_browser(item):
            raise pytest.UsageError(f"{item.nodeid}: it drives a browser without the marker")
        for mark in item.iter_markers("spec"):
            unknown = [name for name in mark.args if name not in known]
            if unknown or not mark.args:
                raise pytest.UsageError(f"{item.nodeid}: unknown requirement id {unknown or '()'}")
        for mark in item.iter_markers("partly"):
            if len(mark.args) != 2 or mark.args[0] not in known or not mark.args[1]:
                raise pytest.UsageError(f"{item.nodeid}: partly(id, what is missing): {mark.args}")


def loads_backwards(config: pytest.Config) -> bool:
    """Whether this is every other worker, and runs the tests of all files."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0")
    all_files = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    few = config.option.markexpr.startswith("browser")
    return int(worker.removeprefix("gw")) % 2 == 1 and all_files and not few


def load_backwards() -> None:
    """Load the last files of tests first: what another worker compiled by then is not compiled
    again, which in a fresh checkout takes half of the time before the first test.

    A file that cannot be loaded is told of when its tests are collected.
    """
    files = sorted(path.relative_to(TESTS.parent) for path in TESTS.rglob("test_*.py"))
    for file in reversed(files):
        name = ".".join(file.with_suffix("").parts)
        if not name.startswith("tests.toy."):
            with suppress(Exception, pytest.skip.Exception):
                import_module(name)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collect no garbage while tests are collected: all that is made then stays, and is much.

    Later, too, what tests share stays; looking through it at the usual pace would take a twentieth
    of the time of those that draw and print.
    """
    gc.disable()
    try:
        if loads_backwards(session.config):
            load_backwards()
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(10_000, 20, 20)
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give files to workers as xdist does, but all that share what takes long to make to one."""
    if config.getoption("dist") != "loadfile":
        return None
    from tests.spreading import SharedTogether

    return SharedTogether(config, log)


def _forbidden(report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.outcome == "skipped":
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        if hasattr(report, "wasxfail"):
            reason = f"expected to fail: {report.wasxfail}"
            del report.wasxfail
        report.outcome = "failed"
        report.longrepr = f"skips are forbidden here (KIT_FORBID_SKIPS=1): {reason}"


# First, that is outermost: pytest's own wrapper is what makes a report a skipped one.
@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skipped or expectedly failing test into a failure that says why it was skipped."""
    report = yield
    if FORBID_SKIPS:
        _forbidden(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Turn a file that skips itself as a whole into a failure."""
    report = yield
    if FORBID_SKIPS:
        _forbidden(report)
    return report
