"""What is graded: nearly right answers are refused, and right ones are right whatever follows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from kit.lessons.tasks import task_named
from kit.model.timeline import Timeline

NEARLY = Path(__file__).with_name("nearly_right.txt").read_text("utf-8")
WRONG = {
    exercise: {"name": name, "source": source}
    for exercise, source, name in re.findall(
        r"^# ([a-z-]+)\n(def (\w+).*?)(?=^# |\Z)", NEARLY, re.MULTILINE | re.DOTALL
    )
}
"""Functions that are nearly right, by the exercise that they answer."""


@pytest.mark.parametrize("name", WRONG)
def test_a_nearly_right_function_does_not_pass(name: str) -> None:
    """It has all that is shown right; of all that is drawn it has not."""
    marks: Any = task_named(name).judge(WRONG[name])
    assert all(case.passed for case in marks.public)
    assert not marks.passed


FAILED_WRITE = (
    "crash X, commit write_both_read_old, crash D, write 1 at version 11, write 1 reaches B, "
    "write 1 reaches C, time out write 1"
)
OWN_BALLOT = (
    "submit r2 A, ballot A, prepare A B, propose A, accept A B, submit r1 B, learn A, ballot B, "
    "answer A, prepare B A, ballot B, prepare B A, propose B, accept B A, learn B, answer B"
)
RUNS = {
    "refused-though-alive": (FAILED_WRITE, "apply B"),
    "joined-without": ("ask-seed X A, write A, bootstrap X, stream X B, joined X", "learn B X"),
    "ring-without-a-member": ("post A, bootstrap C, serve C", "build A, build B"),
}


@pytest.mark.parametrize("name", RUNS)
def test_what_a_run_has_broken_stays_broken(name: str) -> None:
    """A few steps later nothing shows it any more; it happened all the same."""
    run, more = RUNS[name]
    judge = task_named(name).judge
    assert judge(run.split(", ")).passed
    assert judge(f"{run}, {more}".split(", ")).passed
    assert not judge(run.split(", ")[:-1]).passed


@pytest.mark.parametrize(
    ("name", "run", "passes"),
    [
        ("one-start-is-enough", "alter A, lose dc2, start D, alter A, catch up D", True),
        ("one-start-is-enough", "alter A, lose dc2, start D, catch up D, alter A", True),
        ("one-start-is-enough", "alter A, alter A", False),
        ("one-start-is-enough", "alter A, stop D, stop E, alter A", False),
        ("one-start-is-enough", "alter A, lose dc2, start D, alter A", False),
        ("one-start-is-enough", "alter A, lose dc2, start D, catch up D", False),
        ("overtaken", OWN_BALLOT, False),
    ],
)
def test_a_run_is_what_its_text_asks_for(name: str, run: str, passes: bool) -> None:
    """Nothing more, and nothing less."""
    assert task_named(name).judge(run.split(", ")).passed is passes


def at(model: Any, *verbs: str) -> Timeline:
    """A timeline after these verbs."""
    timeline = Timeline(model)
    for verb in verbs:
        option = model.find(timeline.state, verb)
        assert option is not None, verb
        timeline.do(option[0])
    return timeline


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", ["typed-recovery", "typed-recovery-mode"])
def test_a_typed_procedure_needs_each_of_its_lines(name: str) -> None:
    """Without any of them a step is left out, though the cluster may be whole at the end."""
    judge: Any = task_named(name).judge
    lines = list(judge.solved())
    assert judge(lines).passed
    for at, line in enumerate(lines):
        needed = not line.startswith("on ")  # one may be there already
        assert judge([*lines[:at], *lines[at + 1 :]]).passed is not needed or not needed
