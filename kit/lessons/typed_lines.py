"""Exercises whose answer are lines that were typed in a drill, graded by the run that they make."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from kit.engine.drill import open_drill
from kit.lessons.tasks import Case, Marks

MOST_TOLD = 3
"""Refusals that are told; the first ones."""


class TypedJudge(Struct, frozen=True):
    """Types the lines in a drill of this name, and asks for its grade.

    ``solved`` gives lines that pass.
    """

    drill: str
    solved: Callable[[], tuple[str, ...]]

    def __call__(self, lines: list[str]) -> Marks:
        """Judge lines that were typed; each judged row of the grade is a case."""
        under_way = open_drill(self.drill)
        refused = [f"{e.typed}: {e.error}" for e in map(under_way.enter, lines) if e.error]
        refusals = "".join(f" Refused: {each}." for each in refused[:MOST_TOLD])
        rows = [row for row in under_way.grade().rows if row.holds is not None]
        notes = [f"{row.name}: {row.why}." for row in rows]
        cases = [
            Case(bool(row.holds), "" if row.holds else f"{note}{refusals}")
            for row, note in zip(rows, notes, strict=True)
        ]
        return Marks(tuple(cases))

    def answers(self) -> tuple[str, ...]:
        """Lines that pass, in order."""
        return self.solved()
