"""A guard is cut out of a function's text, however it is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kit.errors import Refusal
from tests.quality.unguarding import Cut, let_through

SHUT = Refusal("shut")


def shut(why: str) -> Refusal:
    """A refusal, made elsewhere."""
    return Refusal(why)


class Doors:
    """Actions whose guards refuse below 10, each written in its own way."""

    step = 1

    def may(self, s: int) -> Refusal | None:
        """A guard that several share."""
        return None if s >= 10 else SHUT

    def on(self, s: int, by: int = 1) -> int | Refusal:
        """An action that others go on with."""
        if s < 10:
            return Refusal(f"{s} is below 10")
        return s + by * self.step

    def made(self, s: int) -> int | Refusal:
        """Made where it is returned, and elsewhere."""
        if s < 5:
            return Refusal("low")
        if s < 10:
            return shut("low")
        return s + 1

    def constant(self, s: int) -> int | Refusal:
        """A constant."""
        return SHUT if s < 10 else s + 1

    def turned(self, s: int) -> int | Refusal:
        """The refusal comes last."""
        return s + 1 if s >= 10 else SHUT

    def asked(self, s: int) -> int | Refusal:
        """A guard of its own, once or twice."""
        return self.may(s) or self.may(s + 1) or s + 1

    def named(self, s: int) -> int | Refusal:
        """A guard's answer is looked at first."""
        if (why := self.may(s)) is not None:
            return why
        return s + 1

    def handed(self, s: int) -> int | Refusal | None:
        """Another action does it, which has its own guards."""
        return None if s < 0 else self.on(s)

    def each(self, s: int) -> int | Refusal:
        """In a loop, of two."""
        for low in (5, 10):
            if s < low:
                return SHUT
        return s + 1


class Heavy(Doors):
    """Its parent does it."""

    def on(self, s: int, by: int = 1) -> int | Refusal:
        """Through ``super()``, and a function inside that returns to it alone."""

        def twice(number: int) -> int:
            return number * 2

        return super().on(s, twice(by))


@pytest.mark.parametrize(
    "name", ["on", "made", "constant", "turned", "asked", "named", "handed", "each"]
)
def test_a_refusal_is_passed_over(name: str) -> None:
    """What is behind it happens; what was not refused happens as before."""
    way: Callable[[int], Any] = getattr(Doors(), name)
    assert isinstance(way(3), Refusal)
    assert let_through(way, 3) == 4
    assert let_through(way, 10) == way(10) == 11


def test_what_nobody_would_think_of_stays_so() -> None:
    """None is no refusal."""
    assert let_through(Doors().handed, -1) is None


def test_a_parent_is_let_through_too() -> None:
    """A body that calls its parent's still finds it, and what it knows."""
    assert let_through(Heavy().on, 3) == 5


class Gate(Doors):
    """Two guards in one, and a third behind it: what each cut leaves."""

    def both(self, s: int) -> Refusal | None:
        """Two reasons of one guard."""
        if s < 5:
            return Refusal("low")
        return None if s < 8 else Refusal("high")

    def enter(self, s: int) -> int | Refusal:
        """The guard's answer is given a name."""
        why = self.both(s) or self.both(s + 4)
        return why if why else s + 1


@pytest.mark.parametrize(
    ("at", "cut", "there"),
    [
        (3, Cut("low"), 4),
        (4, Cut("low"), Refusal("high")),
        (4, Cut("low", wide=True), 5),
        (4, Cut("high"), Refusal("low")),
        (4, Cut(), 5),
        (3, Cut("other"), Refusal("low")),
    ],
)
def test_one_reason_of_a_guard_is_passed_over(at: int, cut: Cut, there: Any) -> None:
    """What the same guard says next still refuses, but where the cut is wide."""
    assert let_through(Gate().enter, at, cut=cut) == there
