"""Whether chosen tests notice a mutant: each mutant is tried in a process of its own.

``Judge`` holds a copy of the checkout and a server that has loaded pytest, but nothing of the
checkout. For every trial the server forks: the child loads the spoiled checkout and runs the tests.
Who takes too long is ended by the operating system: a trial after ``patience`` seconds, a test that
computes for ten times as long as it did when it was measured, and some.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Literal

import pytest

from tests.quality.mutants import Mutant

HERE = Path(__file__).resolve().parents[2]  # a copy may lack these modules
PYTEST = ("-m", "pytest", "-q", "-x", "-p", "no:cacheprovider")
ALLOWANCE = 10.0  # seconds of computing that any test may take: what others prepared for it
TIMES = 10.0  # and this many times what it took

Verdict = Literal["killed", "by time", "survived"]


def environment(root: Path) -> dict[str, str]:
    """The environment of a run in a copy: its own modules first, the usual number of examples."""
    return {
        **os.environ,
        "PYTHONPATH": f"{root}{os.pathsep}{HERE}",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "KIT_HYPOTHESIS": "settled",
    }


class Judge:
    """A copy of a checkout, spoiled by one mutant at a time."""

    def __init__(self, root: Path, allowance: float = ALLOWANCE) -> None:
        """``root`` is a copy that may be spoiled; its tests pass.

        ``allowance`` is what any test may compute, in seconds.
        """
        self.root, self.allowance = root, allowance
        self._server: subprocess.Popen[str] | None = None
        self._spoiled = 0

    def __enter__(self) -> Judge:
        self._server = subprocess.Popen(
            [sys.executable, "-m", "tests.quality.judging"],
            cwd=self.root,
            env=environment(self.root),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def __exit__(self, *raised: object) -> None:
        assert self._server is not None
        assert self._server.stdin is not None
        self._server.stdin.close()
        self._server.wait()

    @contextlib.contextmanager
    def spoiled(self, mutant: Mutant) -> Iterator[None]:
        """The copy with the mutant in it; afterwards it is as it was.

        Python knows compiled files by the time and size of their source: no two mutants get the
        same time.
        """
        path = self.root / mutant.path
        source, stamps = path.read_bytes(), path.stat()
        path.write_bytes(mutant.applied(source))
        self._spoiled += 1
        os.utime(path, (self._spoiled, self._spoiled))
        try:
            yield
        finally:
            path.write_bytes(source)
            os.utime(path, ns=(stamps.st_atime_ns, stamps.st_mtime_ns))

    def tried(self, tests: Sequence[tuple[str, float]], patience: float) -> Verdict:
        """What becomes of the copy as it is now, with these tests (and their seconds) in order."""
        return verdict(self.status(tests, patience))

    def status(self, tests: Sequence[tuple[str, float]], patience: float) -> int:
        """The exit status of these tests; negative when a signal ended them.

        It is that of failed tests where one was called and failed, not where none could be loaded.
        """
        assert self._server is not None
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        limits = {name: self.allowance + TIMES * seconds for name, seconds in tests}
        print(json.dumps([limits, patience]), file=self._server.stdin, flush=True)
        return int(self._server.stdout.readline())


def verdict(status: int) -> Verdict:
    """What a run of tests has shown, by its exit status; negative when a signal ended it."""
    if status in (-signal.SIGPROF, -signal.SIGALRM):
        return "by time"
    return "survived" if status in (0, int(pytest.ExitCode.NO_TESTS_COLLECTED)) else "killed"


def copied(root: Path, files: Iterable[Path], folder: Path) -> Path:
    """A copy of some files of a checkout; returns its folder."""
    for path in files:
        place = folder / path.relative_to(root)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, place)
    return folder


class Chosen:
    """The plugin that keeps the chosen tests only, in their order, each with its limit."""

    def __init__(self, limits: dict[str, float]) -> None:
        """The ids of the tests in order, and how many seconds each may compute."""
        self.places = {name: place for place, name in enumerate(limits)}
        self.limits = limits
        self.failed = False

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the chosen ones; where a mutant changed what they are called, their function's."""
        names = {item.nodeid for item in items}
        lost = {_function(name) for name in self.places if name not in names}
        kept = [i for i in items if i.nodeid in self.places or _function(i.nodeid) in lost]
        items[:] = sorted(kept, key=lambda item: self.places.get(item.nodeid, len(self.places)))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """End the process when a test computes for too long."""
        limit = self.limits.get(item.nodeid, max(self.limits.values()))
        signal.setitimer(signal.ITIMER_PROF, limit)
        result = yield
        signal.setitimer(signal.ITIMER_PROF, 0)
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember that a test failed, not only what prepares for it."""
        self.failed |= report.failed and report.when == "call"

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Tell from a failed test what could not be loaded."""
        if exitstatus == pytest.ExitCode.TESTS_FAILED and not self.failed:
            session.exitstatus = pytest.ExitCode.INTERRUPTED


def _function(name: str) -> str:
    return name.partition("[")[0]


def _run(limits: dict[str, float], patience: float) -> int:
    """Run tests in a child; its exit status, negative when a signal ended it."""
    child = os.fork()
    if child == 0:
        unheard()
        signal.setitimer(signal.ITIMER_REAL, patience)
        files = list(dict.fromkeys(name.partition("::")[0] for name in limits))
        left = f"--basetemp={Path.cwd()}-left"  # goes with the copy, also when this is ended
        os._exit(int(pytest.main([*PYTEST[2:], left, *files], plugins=[Chosen(limits)])))
    _, status = os.waitpid(child, 0)
    with contextlib.suppress(ProcessLookupError):  # what the tests started
        os.killpg(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(status)


def unheard() -> None:
    """In a fork: lead a group of processes, and hear and say nothing."""
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)


def serve(asked: IO[str], answers: IO[str]) -> None:
    """Answer each line, the limits of tests and the patience, with the exit status of their run."""
    for line in asked:
        limits, patience = json.loads(line)
        print(_run(limits, patience), file=answers, flush=True)


if __name__ == "__main__":
    # What every trial needs and no mutant can spoil is loaded once.
    for name in ("hypothesis", "msgspec", "numpy"):
        __import__(name)
    serve(sys.stdin, sys.stdout)
