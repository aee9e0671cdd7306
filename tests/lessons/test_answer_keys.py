"""Answers that a key prints: found or worked out by the kit, and right."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from kit.lessons import exercise, hunt
from kit.lessons.tasks import tasks
from kit.protocols.tcm.lessons.tasks import even_rings, rings_of_two_leavers


@pytest.mark.parametrize(
    "name",
    [*("prepared-in-vain", "roll-it-back"), pytest.param("two-late-parts", marks=pytest.mark.deep)],
)
def test_a_run_that_was_found_passes(name: str) -> None:
    """Its verbs, as the key has them, are a right answer; the same ones each time."""
    [line] = tasks()[name].judge.answers()  # type: ignore[attr-defined]  # judges of runs have it
    assert exercise(name).check(line.split(", ")).passed


@pytest.mark.parametrize(
    ("name", "candidates"), [("any-may-leave", even_rings), ("two-may-leave", rings_of_two_leavers)]
)
def test_a_ring_that_was_found_passes(name: str, candidates: Callable[[], Iterator[str]]) -> None:
    """It is the first of candidates that grow; the ones before it do not pass."""
    judge = tasks()[name].judge
    [line] = judge.answers()  # type: ignore[attr-defined]  # found answers have it
    assert judge(line).passed
    first = next(iter(candidates()))
    assert first == line or not judge(first).passed


def test_the_names_of_a_hunt_are_listed() -> None:
    """For the seeds that a class uses: the eight names of each pass."""
    lines = tasks()["find-the-bug"].judge.answers()  # type: ignore[attr-defined]  # the same
    for line in lines:
        words = line.replace(",", "").replace(":", "").split()
        found = hunt(int(words[1]))
        found.said = dict(enumerate(words[-found.variants :], 1))
        assert found.score().startswith("Score: 8 of 8")
