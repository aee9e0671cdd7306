"""Exercises whose answer is a function: run alone on public and hidden cases, compared here."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

from kit.errors import shorten
from kit.lessons.judge import CallOutcome, results_of
from kit.lessons.tasks import SEED, Case, Marks

HIDDEN = 8
LONGEST = 160  # characters of a case in a message
Arguments = list[Any]


def judged(
    name: str,
    truth: Callable[..., Any],
    public: tuple[Arguments, ...],
    draw: Callable[[random.Random], Arguments],
) -> Callable[[dict[str, str]], Marks]:
    """A judge that compares a learner's function with the engine's own, case by case."""

    def judge(answer: dict[str, str]) -> Marks:
        chance = random.Random(SEED)
        hidden = [draw(chance) for _ in range(HIDDEN)]
        results = results_of(answer, [*public, *hidden])
        shown, unseen = results[: len(public)], results[len(public) :]
        return Marks(
            tuple(
                _case(name, case, truth, outcome)
                for case, outcome in zip(public, shown, strict=True)
            ),
            tuple(
                _same(truth(*case), outcome) for case, outcome in zip(hidden, unseen, strict=True)
            ),
        )

    return judge


def _same(expected: Any, outcome: CallOutcome) -> bool:
    """Equal as data, and of equal kind: True is not 1 here."""
    return outcome.error is None and json.dumps(expected) == json.dumps(outcome.value)


def _case(name: str, case: Arguments, truth: Callable[..., Any], outcome: CallOutcome) -> Case:
    expected = truth(*case)
    if _same(expected, outcome):
        return Case(True)
    call = shorten_call(name, case)
    gave = (
        f"ended with {outcome.error}"
        if outcome.error
        else f"gave {shorten(outcome.value, LONGEST)}"
    )
    return Case(False, f"{call} {gave}; expected is {shorten(expected, LONGEST)}.")


def shorten_call(name: str, case: Arguments) -> str:
    """A call as one would write it."""
    return f"{name}({', '.join(shorten(argument, LONGEST) for argument in case)})"
