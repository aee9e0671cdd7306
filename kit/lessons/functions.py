"""Exercises whose answer is a function: run alone on public and hidden cases, compared here."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from kit.errors import shorten
from kit.lessons.judge import CallOutcome, results_of
from kit.lessons.tasks import SEED, Case, Marks

HIDDEN = 8
LONGEST = 160  # characters of a case in a message
Arguments = list[Any]


class FunctionJudge(Struct, frozen=True):
    """Compares a learner's function with the engine's own, case by case.

    ``public`` are the cases that are told, ``draw`` makes those that are only counted.
    """

    name: str
    truth: Callable[..., Any]
    public: tuple[Arguments, ...]
    draw: Callable[[random.Random], Arguments]

    def __call__(self, answer: dict[str, str]) -> Marks:
        """Judge a function, given as its own text and name."""
        chance = random.Random(SEED)
        hidden = [self.draw(chance) for _ in range(HIDDEN)]
        results = results_of(answer, [*self.public, *hidden])
        shown, unseen = results[: len(self.public)], results[len(self.public) :]
        return Marks(
            tuple(
                _case(self.name, case, self.truth, outcome)
                for case, outcome in zip(self.public, shown, strict=True)
            ),
            tuple(
                _same(self.truth(*case), outcome)
                for case, outcome in zip(hidden, unseen, strict=True)
            ),
        )

    def answers(self) -> tuple[str, ...]:
        """What the engine's own function gives for the public cases, a line for each."""
        return tuple(
            f"{shorten_call(self.name, case)} = {shorten(self.truth(*case), LONGEST)}"
            for case in self.public
        )


def judged(
    name: str,
    truth: Callable[..., Any],
    public: tuple[Arguments, ...],
    draw: Callable[[random.Random], Arguments],
) -> FunctionJudge:
    """A judge that compares a learner's function with the engine's own, case by case."""
    return FunctionJudge(name, truth, public, draw)


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
