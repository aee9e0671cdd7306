"""Which tests run which lines, and how long each test takes: one run of the tests, measured.

Loaded into pytest as a plugin, this module measures the folders named in ``KIT_COVERED`` and writes
to the folder ``KIT_COVERAGE``; ``covering`` starts such a run and reads what it wrote.
"""

from __future__ import annotations

import ast
import json
import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from types import FrameType

import coverage
import pytest
from coverage import Coverage, CoverageData
from msgspec import Struct, field

from tests.quality.judging import PYTEST, environment

SLOW = 4.0  # seconds of computing, measured: two when nobody measures
RECORDER, SLOWEST = "tests/recording/", 60.0
"""Walks every state of a model and compares it with what is on record: slow, and sees much."""
DECLARED = "tests/protocols/test_parameters.py"
"""Holds what models declare against a table, and runs no function of the module that declares."""
SOON = 0.01  # seconds until another try, where it could not be stopped
AGAIN = 1.0  # seconds until who swallowed the first error meets the next
COMPUTED = "computed"  # the property of a test that has the seconds of each part
MEASURING = str(Path(coverage.__file__).parent)
IMPORTED = ""  # the context of what runs while modules are loaded


class Covered(Struct, frozen=True):
    """What a run of the tests told.

    ``lines`` gives, for each file and line, places in ``tests``; ``seconds`` has what they compute.
    A line of ``loaded`` runs with its module, or while tests are collected: it counts for the
    ``users``, too, who run a function of the module, and for those of what is declared; and for all
    tests where there are none.
    """

    tests: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    lines: dict[str, dict[int, list[int]]] = field(default_factory=dict)
    loaded: dict[str, set[int]] = field(default_factory=dict)
    users: dict[str, set[int]] = field(default_factory=dict)

    def of(self, path: str, lines: tuple[int, int]) -> set[int]:
        """The tests that run one of the lines of a file, from the first to the last given."""
        known, inside = self.lines.get(path, {}), range(lines[0], lines[1] + 1)
        running = {test for line in inside for test in known.get(line, ())}
        if self.loaded.get(path, set()).isdisjoint(inside):
            return running
        tables = {at for at, test in enumerate(self.tests) if test.startswith(DECLARED)}
        users = self.users.get(path)
        return running | users | tables if users else set(range(len(self.tests)))


def covering(
    root: Path, sources: Sequence[str], tests: Sequence[str], into: Path, processes: int
) -> Covered:
    """Run ``tests`` in the checkout ``root``, measuring ``sources`` (patterns of files).

    What fails only while it is measured judges nothing.

    Raises:
        RuntimeError: when a test fails, since a mutant could not be told from what fails anyway.
    """
    into.mkdir(parents=True, exist_ok=True)
    spread = ["-p", "xdist", "-n", str(processes), "--dist", "loadfile"] if processes > 1 else []
    measuring = {
        **environment(root),
        "KIT_COVERED": os.pathsep.join(str(root / source) for source in sources),
        "KIT_COVERAGE": str(into),
        "KIT_FORBID_SKIPS": "0",
    }
    plugin = ("--maxfail=20", "-p", "tests.quality.covering")
    said = into / "said.txt"
    if _run(said, root, measuring, *plugin, *spread, *tests):
        failed = _failed(said)
        if not failed or _run(said, root, environment(root), *failed):
            text = said.read_text(encoding="utf-8")
            raise RuntimeError(f"the tests fail before anything is changed:\n{text[-3000:]}")
    seconds = json.loads((into / "seconds.json").read_text(encoding="utf-8"))
    data = CoverageData(basename=str(into / "lines"))
    for part in into.glob("lines.*"):
        one = CoverageData(basename=str(part))
        one.read()
        data.update(one)
    return _covered(root, data, seconds)


def _run(said: Path, root: Path, variables: dict[str, str], *arguments: str) -> int:
    """The exit status of a run of tests; what it prints is in the file ``said``."""
    with said.open("w", encoding="utf-8") as log:
        command = [sys.executable, *PYTEST, "-rfE", *arguments]
        return subprocess.call(command, cwd=root, env=variables, stdout=log, stderr=log)


def _failed(said: Path) -> list[str]:
    """The tests that a run's summary names as failed."""
    lines = said.read_text(encoding="utf-8").splitlines()
    names = [line.split(" ", 1)[1] for line in lines if line.startswith(("FAILED ", "ERROR "))]
    return [name.partition(" - ")[0] for name in names]


def _covered(root: Path, data: CoverageData, seconds: dict[str, float]) -> Covered:
    places = {name: place for place, name in enumerate(seconds)}
    lines: dict[str, dict[int, list[int]]] = defaultdict(dict)
    loaded, users = defaultdict[str, set[int]](set), defaultdict[str, set[int]](set)
    for name in data.measured_files():
        path = Path(name).relative_to(root).as_posix()
        within = set(bodies(Path(name).read_text(encoding="utf-8")))
        for line, contexts in data.contexts_by_lineno(name).items():
            running = sorted(places[test] for test in contexts if test in places)
            lines[path][line] = running
            if line in within:
                users[path].update(running)
            # What a test loads anew ran before it, too, and whoever uses the module may notice.
            if IMPORTED in contexts and not (line in within and running):
                loaded[path].add(line)
    return Covered(list(seconds), list(seconds.values()), dict(lines), dict(loaded), dict(users))


def bodies(source: str) -> Iterator[int]:
    """The lines inside of functions."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from range(node.body[0].lineno, (node.end_lineno or 0) + 1)


# -- the plugin ------------------------------------------------------------------------------------

_measuring: list[Coverage] = []
_seconds: dict[str, float] = {}
_stopped: set[str] = set()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Begin before any test module is loaded, in every process that runs tests.

    All that is measured is loaded here: else what a module does while it is loaded would count for
    the test alone that happens to need it first.
    """
    _measuring.append(
        Coverage(
            data_file=str(Path(os.environ["KIT_COVERAGE"]) / "lines"),
            data_suffix=f"{os.getpid()}",
            include=os.environ["KIT_COVERED"].split(os.pathsep),
            config_file=False,
            messages=False,
        )
    )
    _measuring[0].start()
    collector = _measuring[0]._collector
    assert collector is not None
    # What takes too long is stopped wherever it is (kit.model.patience), also where the measuring
    # holds its lock: nobody would ever release it. None is needed between threads of one process.
    collector.data_lock = None
    here = Path.cwd()
    for pattern in os.environ["KIT_COVERED"].split(os.pathsep):
        for path in sorted(here.glob(str(Path(pattern).relative_to(here)))):
            names = path.relative_to(here).with_suffix("").parts
            import_module(".".join(names).removesuffix(".__init__"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Name the test that runs, its fixtures included."""
    _measuring[0].switch_context(item.nodeid)
    result = yield
    _measuring[0].switch_context(IMPORTED)
    return result


class TooSlowError(BaseException):
    """A test takes too long to judge mutants."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """Stop what prepares a test for too long."""
    return (yield from _limited(item))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Stop a test that takes too long."""
    return (yield from _limited(item))


def _limited(item: pytest.Item) -> Iterator[None]:
    """A limit on a part of a test, whatever others make of its end: a failure, or nothing."""
    over, begun = False, time.process_time()

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal over
        if not _measures(frame):
            over = True
            raise TooSlowError
        signal.setitimer(signal.ITIMER_PROF, SOON, AGAIN)

    signal.signal(signal.SIGPROF, stop)
    most = SLOWEST if item.nodeid.startswith(RECORDER) else SLOW
    signal.setitimer(signal.ITIMER_PROF, most, AGAIN)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        item.user_properties.append((COMPUTED, time.process_time() - begun))
        if over:
            pytest.skip("too slow to judge mutants")


def _measures(frame: FrameType | None) -> bool:
    """Whether it is the measuring itself that would be stopped: it would keep its lock for ever."""
    while frame is not None and not frame.f_code.co_filename.startswith(MEASURING):
        frame = frame.f_back
    return frame is not None


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up what the parts of a test compute: how busy the machine is does not matter."""
    parts = [value for name, value in report.user_properties if name == COMPUTED]
    _seconds[report.nodeid] = sum(float(str(part)) for part in parts)
    if not report.passed:
        _stopped.add(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write what was measured; seconds are known to the process that the others report to."""
    _measuring[0].stop()
    _measuring[0].save()
    if not hasattr(session.config, "workerinput"):
        told = Path(os.environ["KIT_COVERAGE"]) / "seconds.json"
        whole = {name: taken for name, taken in _seconds.items() if name not in _stopped}
        told.write_text(json.dumps(whole), encoding="utf-8")
