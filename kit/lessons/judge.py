"""The judge: a fresh process that reads an answer on stdin and writes its marks on stdout.

It runs no code of the learner itself. Verbs are replayed on a model that it builds again; a ring is
data; a function is run by ``kit.lessons.solo`` in a process of its own, which is given the
arguments of each case and nothing else. Only here are results compared.
"""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from kit.console.drill import open_drill
from kit.edge.limits import ALONE
from kit.edge.progress import shown
from kit.errors import KitError, counted, shorten
from kit.lessons.solo import SOLO, outcomes
from kit.lessons.tasks import SEED, Case, Marks, Task, task_named

SECONDS = 10  # of computing, for all cases of a learner's function together
WAITING = 120  # seconds by the clock, for a function that waits and computes nothing
LONGEST_RESULT = 1_000_000  # bytes
OUT_OF_TIME = (-signal.SIGXCPU, -signal.SIGKILL)  # the limit, and the one that is not caught
CASES = "{done} of {now} cases"
HOME = str(Path(__file__).resolve().parents[2])
"""The folder that this process has the kit from: a fresh one takes the same."""


class CallOutcome(Struct, frozen=True):
    """The outcome of a learner's function in one case: a value, or the error that it ended with."""

    value: Any = None
    error: str | None = None


def main() -> None:
    """Judge one answer; a malformed one is one line on stderr and status 2."""
    try:
        marks = judged(json.load(sys.stdin))
    except KitError as error:
        print(f"kit: {error}", file=sys.stderr)
        sys.exit(2)
    print(msgspec.json.encode(marks).decode())


def judged(sent: dict[str, Any]) -> Marks:
    """Judge an answer as it was sent. Raises KitError for a malformed one."""
    marks: Marks = task_named(sent["task"]).judge(sent["answer"])
    return marks


def results_of(
    answer: dict[str, str], cases: list[list[Any]], seconds: int = SECONDS
) -> list[CallOutcome]:
    """Run a learner's function on the arguments of every case, in a process of its own.

    It may compute for ``seconds``: processor time, so that a busy machine stops nobody. The results
    come in the order of the cases. Where the process was stopped or ended early, the cases that it
    left have an error. In a page, which has no other process, it runs here.
    """
    if ALONE:
        results, total = [], len(cases)
        lines = outcomes(answer["source"], answer["name"], json.loads(json.dumps(cases)))
        with shown(True, CASES, total) as tell:
            for line in lines:
                results.append(msgspec.json.decode(line, type=CallOutcome))
                if tell is not None:
                    tell(len(results), total)
        return results
    with tempfile.TemporaryDirectory() as folder:
        questions, answers = Path(folder, "asked.json"), Path(folder, "told.jsonl")
        given = {**answer, "cases": cases, "seconds": seconds}
        questions.write_text(json.dumps(given), encoding="utf-8")
        process = subprocess.Popen(
            # -I -S: neither the environment nor installed packages, only Python itself.
            [sys.executable, "-I", "-S", SOLO, str(questions), str(answers)],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        ended, before = "it ended the process", _computed()
        try:
            # The limit's own signals, unless somebody else sent them early. Two ways of counting
            # seconds differ, the more the busier the machine is.
            if process.wait(WAITING) in OUT_OF_TIME and _computed() - before >= seconds / 2:
                ended = f"it was stopped after {counted(seconds, 'second')} of computing"
        except subprocess.TimeoutExpired:
            ended = f"it was stopped after {counted(WAITING, 'second')}"
        _stop(process)
        done = _read(answers)[: len(cases)]
    return done + [CallOutcome(error=ended)] * (len(cases) - len(done))


def _computed() -> float:
    used = os.times()
    return used.children_user + used.children_system


def _stop(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        process.kill()  # nobody of its group is left
    process.wait()


def _read(answers: Path) -> list[CallOutcome]:
    done: list[CallOutcome] = []
    try:
        if answers.stat().st_size > LONGEST_RESULT:
            return done
        lines = answers.read_bytes().splitlines()
    except OSError:
        return done
    for line in lines:
        try:
            done.append(msgspec.json.decode(line, type=CallOutcome))
        except (msgspec.DecodeError, RecursionError):
            break
    return done


HIDDEN, FURTHER = 8, 120
"""Cases that are drawn and counted, and more for whoever has all of these right."""
LONGEST = 160  # characters of a case in a message
Arguments = list[Any]


class FunctionJudge(Struct, frozen=True):
    """Compares a learner's function with the engine's own, case by case.

    ``public`` are the cases that are told, ``draw`` makes those that are only counted. Whoever has
    all of them right is asked many more; if one of these is wrong, the last one counts as wrong.
    """

    name: str
    truth: Callable[..., Any]
    public: tuple[Arguments, ...]
    draw: Callable[[random.Random], Arguments]

    def __call__(self, answer: dict[str, str]) -> Marks:
        """Judge a function, given as its own text and name."""
        chance = random.Random(SEED)
        drawn = [self.draw(chance) for _ in range(HIDDEN + FURTHER)]
        marks = self._marks(answer, [*self.public, *drawn[:HIDDEN]])
        hidden = [mark.passed for mark in marks[len(self.public) :]]
        if all(mark.passed for mark in marks):
            hidden[-1] = all(mark.passed for mark in self._marks(answer, drawn[HIDDEN:]))
        return Marks(tuple(marks[: len(self.public)]), tuple(hidden))

    def _marks(self, answer: dict[str, str], cases: list[Arguments]) -> list[Case]:
        return [*map(self._mark, cases, results_of(answer, cases))]

    def _mark(self, case: Arguments, outcome: CallOutcome) -> Case:
        """Right where it is equal as data, and of equal kind: True is not 1 here."""
        expected = self.truth(*case)
        if outcome.error is None and json.dumps(expected) == json.dumps(outcome.value):
            return Case(True)
        said = f"returned {shorten(outcome.value, LONGEST)}"
        if outcome.error:
            said = f"failed: {outcome.error}"
        if (outcome.error or "").startswith("NameError"):
            said += " (only your function is run: put what it needs inside it)"
        call, right = shorten_call(self.name, case), shorten(expected, LONGEST)
        return Case(False, f"{call} {said}. Expected: {right}.")

    def answers(self) -> tuple[str, ...]:
        """The outcomes of the engine's own function in the public cases, a line for each."""
        return tuple(
            f"{shorten_call(self.name, case)} = {shorten(self.truth(*case), LONGEST)}"
            for case in self.public
        )


def function_task(
    name: str,
    title: str,
    text: str,
    hint: str,
    truth: Callable[..., Any],
    public: tuple[Arguments, ...],
    draw: Callable[[random.Random], Arguments],
    called: str = "",
) -> Task:
    """An exercise that asks for a function as ``truth`` is, called as that is or otherwise."""
    judge = FunctionJudge(called or truth.__name__, truth, public, draw)
    return Task(name, title, text, "function", hint, judge, seeded=True)


def shorten_call(name: str, case: Arguments) -> str:
    """A call as one would write it."""
    return f"{name}({', '.join(shorten(argument, LONGEST) for argument in case)})"


class ListedJudge(Struct, frozen=True):
    """A judge whose right answers are worked out, a line for each of some cases."""

    judge: Callable[[Any], Marks]
    listed: Callable[[], Iterable[str]]

    def __call__(self, answer: Any) -> Marks:
        """Judge an answer."""
        return self.judge(answer)

    def answers(self) -> tuple[str, ...]:
        """The right answers."""
        return tuple(self.listed())


def found_judge(judge: Callable[[str], Marks], tried: Callable[[], Iterable[str]]) -> ListedJudge:
    """A judge of answers in words; the key has the first of those that are tried which passes."""
    return ListedJudge(judge, lambda: islice((a for a in tried() if judge(a).passed), 1))


MOST_TOLD = 3
"""Refusals that are told; the first ones."""


class TypedJudge(Struct, frozen=True):
    """Types lines in this drill and asks for its grade; ``solved`` gives some that pass.

    Where the ``procedure`` is asked for, each step of the checklist has to be ticked, too.
    """

    drill: str
    solved: Callable[[], tuple[str, ...]]
    procedure: bool = False

    def __call__(self, lines: list[str]) -> Marks:
        """Judge lines that were typed; each judged row of the grade is a case."""
        under_way = open_drill(self.drill)
        refused = [f"{e.typed}: {e.error}" for e in map(under_way.enter, lines) if e.error]
        refusals = "".join(f" Refused: {each}." for each in refused[:MOST_TOLD])
        rows = (row for row in under_way.grade().rows if row.holds is not None)
        whys = [(row.holds, f"{row.name}: {row.why}.{refusals}") for row in rows]
        if self.procedure:
            left = next((step.what for step in under_way.checklist() if not step.done), "")
            whys.append((not left, f"Left out: {left}." + refusals))
        return Marks(tuple(Case(True) if holds else Case(False, why) for holds, why in whys))

    def answers(self) -> tuple[str, ...]:
        """Lines that pass, in order."""
        return self.solved()
