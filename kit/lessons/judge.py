"""The judge: a fresh process that reads an answer on stdin and writes its marks on stdout.

It runs no code of the learner itself. Verbs are replayed on a model that it builds again; a ring is
data; a function is run by ``kit.lessons.solo`` in a process of its own, which is given the
arguments of each case and nothing else. Only here are results compared.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from kit.errors import KitError
from kit.lessons.tasks import task_named

SECONDS = 10  # of computing, for all cases of a learner's function together
WAITING = 120  # seconds by the clock, for a function that waits and computes nothing
LONGEST_RESULT = 1_000_000  # bytes
OUT_OF_TIME = (-signal.SIGXCPU, -signal.SIGKILL)  # the limit, and the one that is not caught
SOLO = Path(__file__).with_name("solo.py")


class CallOutcome(Struct, frozen=True):
    """What a learner's function gave for one case: a value, or the error that it ended with."""

    value: Any = None
    error: str | None = None


def main() -> None:
    """Judge one answer; a malformed one is one line on stderr and status 2."""
    sent = json.load(sys.stdin)
    try:
        marks = task_named(sent["task"]).judge(sent["answer"])
    except KitError as error:
        print(f"kit: {error}", file=sys.stderr)
        sys.exit(2)
    print(msgspec.json.encode(marks).decode())


def results_of(
    answer: dict[str, str], cases: list[list[Any]], seconds: int = SECONDS
) -> list[CallOutcome]:
    """Run a learner's function on the arguments of every case, in a process of its own.

    It may compute for ``seconds``: processor time, so that a busy machine stops nobody. The results
    come in the order of the cases. Where the process was stopped or ended early, the cases that it
    left have an error.
    """
    with tempfile.TemporaryDirectory() as folder:
        questions, answers = Path(folder, "asked.json"), Path(folder, "told.jsonl")
        given = {**answer, "cases": cases, "seconds": seconds}
        questions.write_text(json.dumps(given), encoding="utf-8")
        process = subprocess.Popen(
            # -I -S: neither the environment nor installed packages, only Python itself.
            [sys.executable, "-I", "-S", str(SOLO), str(questions), str(answers)],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        ended = "it ended the process"
        try:
            if process.wait(WAITING) in OUT_OF_TIME:
                ended = f"it was stopped after {seconds} seconds of computing"
        except subprocess.TimeoutExpired:
            ended = f"it was stopped after {WAITING} seconds"
        _stop(process)
        outcomes = _read(answers)[: len(cases)]
    return outcomes + [CallOutcome(error=ended)] * (len(cases) - len(outcomes))


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the process and whatever it has started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        process.kill()  # nobody of its group is left
    process.wait()


def _read(answers: Path) -> list[CallOutcome]:
    """The results that were written, up to the first line that is none."""
    outcomes: list[CallOutcome] = []
    try:
        if answers.stat().st_size > LONGEST_RESULT:
            return outcomes
        lines = answers.read_bytes().splitlines()
    except OSError:
        return outcomes
    for line in lines:
        try:
            outcomes.append(msgspec.json.decode(line, type=CallOutcome))
        except (msgspec.DecodeError, RecursionError):
            break
    return outcomes
