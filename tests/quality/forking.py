"""Mutants of functions, each tried in a fork of one process that has loaded all tests.

``python -m tests.quality.forking --in kit/console/par.py`` tries every mutant of a file, a second
or less each, where ``tests.quality.mutation`` loads the spoiled checkout anew for some. What runs
while modules are loaded cannot be exchanged, so mutants of tables are left out; and only the
nearest seconds of tests judge. So this finds what to look at, and the other one decides. ``--seed``
and ``--count`` take a sample instead; tests after the options are those to judge by.

Which tests call which function is measured first, and kept in ``build/forking`` while nothing
changes.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import cProfile
import functools
import gc
import importlib
import json
import os
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from types import CodeType, FunctionType
from typing import IO, NoReturn, TypeVar

import pytest

from tests.house.source import ROOT
from tests.quality.covering import RECORDER, SLOW, SLOWEST, Covered, TooSlowError, bodies
from tests.quality.judging import PYTEST, TIMES, environment, unheard, verdict
from tests.quality.mutants import Mutant
from tests.quality.mutation import (
    KNOWN,
    Outcome,
    Report,
    here,
    measured_once,
    read_known,
    sample,
    trials,
    within,
)

PATIENCE = 60.0  # seconds for all tests of a mutant
ALLOWANCE = 3.0  # seconds of computing that any test may take, and some: nothing is loaded for it
SECONDS = 8.0  # that the tests of one mutant took, the nearest first

Part = TypeVar("Part")


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the mutants that are asked for; 0 when none of them is left that nobody notices."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--in", dest="inside", default="kit/", help="files whose path begins so")
    parser.add_argument("--keys", type=Path, help="a file with the keys of those to try")
    parser.add_argument("--seed", type=int, help="take a sample instead of the order of the text")
    parser.add_argument("--count", type=int, help="how many to try")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of tests for each")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("tests", nargs="*", help="the tests to judge by")
    options = parser.parse_args(arguments)
    made = {p: m for p, m in here().made().items() if p.startswith(options.inside)}
    drawn = chain(*made.values()) if options.seed is None else sample(made, options.seed)
    inside = functools.cache(lambda path: frozenset(bodies((ROOT / path).read_text("utf-8"))))
    keys = options.keys and set(options.keys.read_text("utf-8").splitlines())
    wanted = (m for m in drawn if m.lines[0] in inside(m.path) and (not keys or m.key in keys))
    os.environ.update(environment(ROOT), KIT_FORBID_SKIPS="0")
    tests = tuple(options.tests) or here().tests
    forks = Forks(list(islice(wanted, options.count)), tests, options.seconds, options.processes)
    pytest.main([*PYTEST[2:], "-s", *tests], plugins=[forks])
    known = read_known(KNOWN.read_text("utf-8"))
    left = {m: o for m, o in forks.outcomes.items() if m.key not in known}
    print(Report(left, known).table())
    missed = sorted((m.path, m.lines, m.key) for m, o in left.items() if o == "survived")
    for _, lines, key in missed:
        print(f"nobody notices {lines[0]:>5}  {key}")
    return int(bool(missed))


@dataclass
class Forks:
    """The plugin that takes the place of the run: it measures the tests, then tries the mutants."""

    chosen: Sequence[Mutant]
    tests: Sequence[str]
    seconds: float
    processes: int
    outcomes: dict[Mutant, Outcome] = field(default_factory=dict)
    failed: bool = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember in the fork that a test failed."""
        self.failed |= report.failed

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try each mutant."""
        for path in {mutant.path for mutant in self.chosen}:  # some are loaded where first asked
            importlib.import_module(path.removesuffix(".py").replace("/", "."))
        gc.unfreeze()
        project, store = replace(here(), tests=tuple(self.tests)), ROOT / "build" / "forking"
        covered = measured_once(project, store, partial(self._measured, session.items))
        items = {item.nodeid: item for item in session.items}
        noticed: dict[str, Counter[str]] = defaultdict(Counter)

        def trial(mutant: Mutant) -> Callable[[], str]:
            told = noticed[mutant.path]
            nearest = [each for tests in trials(covered, mutant) for each in tests]
            nearest.sort(key=lambda each: -told[each[0]])
            return lambda: self._judged(mutant, list(within(nearest, self.seconds)), items)

        parts = ((mutant, trial(mutant)) for mutant in self.chosen)
        for mutant, said, status, taken in _forked(parts, self.processes):
            noticed[mutant.path][said] += bool(said)
            outcome = "killed" if said else verdict(status)
            self.outcomes[mutant] = outcome
            print(f"{outcome:<9}{taken:5.1f} s  {mutant.lines[0]:>5}  {mutant.key}", flush=True)
        return True

    def _judged(
        self, mutant: Mutant, tests: Sequence[tuple[str, float]], items: dict[str, pytest.Item]
    ) -> str:
        """The first test that notices a mutant; empty when none does."""
        signal.setitimer(signal.ITIMER_REAL, PATIENCE)
        exchange(mutant, (ROOT / mutant.path).read_bytes())
        followed = [*(items[name] for name, _ in tests[1:]), None]
        for (name, seconds), after in zip(tests, followed, strict=True):
            signal.setitimer(signal.ITIMER_PROF, ALLOWANCE + TIMES * seconds)
            _run(items[name], after)
            if self.failed:
                return name
        return ""

    def _measured(self, items: Sequence[pytest.Item]) -> Covered:
        """Which tests call which functions, and how long each computes.

        One that fails or takes too long judges nothing.
        """
        files: dict[str, list[pytest.Item]] = defaultdict(list)
        for item in items:
            files[item.nodeid.partition("::")[0]].append(item)
        covered = Covered()
        called: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        parts = [(path, partial(self._calls, own)) for path, own in files.items()]
        for done, (path, said, *_) in enumerate(_forked(parts, self.processes), 1):
            print(f"measured {done} of {len(parts)} files: {path}", flush=True)
            for line in said.splitlines():
                name, seconds, functions = json.loads(line)
                for file, number in functions:
                    called[file][number].append(len(covered.tests))
                covered.tests.append(name)
                covered.seconds.append(seconds)
        for file, numbers in called.items():
            if (ROOT / file).exists():  # a test may call its own text by such a name
                covered.lines[file] = dict(_by_line((ROOT / file).read_text("utf-8"), numbers))
        return covered

    def _calls(self, items: Sequence[pytest.Item]) -> str:
        """The tests of a file, a line each: its name, seconds, and where what it calls begins."""
        kit, lines = str(ROOT / "kit"), []
        for item, after in zip(items, [*items[1:], None], strict=True):
            self.failed, begun, profile = False, time.process_time(), cProfile.Profile()
            signal.signal(signal.SIGPROF, _too_slow)
            most = SLOWEST if item.nodeid.startswith(RECORDER) else SLOW
            signal.setitimer(signal.ITIMER_PROF, most, 1.0)
            try:
                profile.runcall(_run, item, after)
            except TooSlowError:
                self.failed = True
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
            codes = [e.code for e in profile.getstats() if isinstance(e.code, CodeType)]
            places = {
                (str(Path(code.co_filename).relative_to(ROOT)), code.co_firstlineno)
                for code in codes
                if code.co_filename.startswith(kit)
            }
            if not self.failed:
                line = [item.nodeid, time.process_time() - begun, sorted(places)]
                lines.append(json.dumps(line))
        return "\n".join(lines)


def _run(item: pytest.Item, after: pytest.Item | None) -> None:
    """Run a test; ``after`` is what follows, and may keep what they share."""
    item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)


def _too_slow(*_: object) -> None:
    raise TooSlowError


def _by_line(source: str, called: dict[int, list[int]]) -> Iterator[tuple[int, list[int]]]:
    """For each line of each function the tests that call it, or what is written inside of it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            lines = range(first, (node.end_lineno or 0) + 1)
            running = sorted({test for line in lines for test in called.get(line, ())})
            yield from ((line, running) for line in lines)


def exchange(mutant: Mutant, source: bytes) -> None:
    """Give the functions that are there the code that they have in the mutant."""
    there = str(ROOT / mutant.path)
    codes = {_name(code): code for code in _codes(compile(mutant.applied(source), there, "exec"))}
    for found in gc.get_objects():
        if isinstance(found, FunctionType) and found.__code__.co_filename == there:
            code = codes.get(_name(found.__code__))
            if code and not code.co_freevars:  # it may be given what it does not look at
                code = code.replace(co_freevars=found.__code__.co_freevars)
            if code and len(code.co_freevars) == len(found.__code__.co_freevars):
                found.__code__ = code
        elif isinstance(found, functools._lru_cache_wrapper):
            found.cache_clear()


def _name(code: CodeType) -> tuple[str, int]:
    return code.co_qualname, code.co_firstlineno


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A code and all within it."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _codes(inner)


def _forked(
    parts: Iterable[tuple[Part, Callable[[], str]]], processes: int
) -> Iterator[tuple[Part, str, int, float]]:
    """What functions answer that each run in a fork, as they end: answer, exit status, seconds."""
    waiting, running = iter(parts), dict[int, tuple[Part, IO[bytes], float]]()
    while True:
        for part, function in islice(waiting, processes - len(running)):
            answer: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  # closed below
            child = os.fork()
            if child == 0:
                _answer(function, answer)
            running[child] = part, answer, time.monotonic()
        if not running:
            return
        child, status = os.waitpid(-1, 0)
        with contextlib.suppress(ProcessLookupError):  # what the tests started
            os.killpg(child, signal.SIGKILL)
        part, answer, begun = running.pop(child)
        with answer:
            answer.seek(0)
            said = answer.read().decode()
        yield part, said, os.waitstatus_to_exitcode(status), time.monotonic() - begun


def _answer(function: Callable[[], str], answer: IO[bytes]) -> NoReturn:
    """Call a function in a fork that nobody hears, write down what it returns, and end."""
    unheard()
    answer.write(function().encode())
    answer.flush()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
