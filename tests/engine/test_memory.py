"""A search looks at the memory that is left, whatever shape the model has, and ends bounded."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from kit.engine.check import check
from kit.engine.declared import Declared, State, action, parameter

SENTENCE = "bounded, limited by the memory available: no violation found so far"


class At(State, frozen=True):
    """Two numbers."""

    row: int = 0
    column: int = 0


class Grid(Declared[At]):
    """From each number of a row one goes to every one of the next."""

    name, title = "grid", "A grid"
    State = At
    rows: int = parameter(3, "how many rows", ge=1)
    wide: int = parameter(1, "how many numbers in each", ge=1)
    short_at: int = parameter(0, "the row at which memory runs out", ge=0)

    def start(self) -> At:
        """The first number."""
        return At()

    @action(tag="go", each=lambda m, s: range(m.wide))
    def go(self, s: At, to: int) -> At | None:
        """To a number of the next row."""
        if s.row == self.rows:
            return None
        if self.short_at and s.row == self.short_at:
            raise MemoryError
        return At(s.row + 1, to)


@pytest.mark.parametrize("mode", ["breadth", "depth"])
@pytest.mark.parametrize(("rows", "wide"), [(300, 1), (1, 300), (20, 20)])
def test_progress_is_told_whatever_the_shape(rows: int, wide: int, mode: Any) -> None:
    """A long row of states with one step each, one state with many, and what lies between."""
    seen: list[int] = []
    result = check(
        Grid(rows=rows, wide=wide), mode=mode, progress=lambda done, _: seen.append(done)
    )
    assert result.verdict == "complete"
    assert seen == sorted(seen)
    assert seen[0] < (100 if wide < 300 else 302)
    assert all(b <= a * 1.25 + wide + 16 for a, b in pairwise(seen))


@pytest.mark.parametrize("mode", ["breadth", "depth"])
def test_no_memory_at_all_is_no_fault_of_the_model(mode: Any) -> None:
    """What was visited is counted, and then given back."""
    result = check(Grid(rows=90, short_at=40), mode=mode)
    assert result.sentence.startswith(SENTENCE)
    assert result.states == 41
    assert result.memory > 0
