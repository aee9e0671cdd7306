"""What every drill understands: help, its checklist, its grade; and which drills there are."""

from __future__ import annotations

import pytest

from kit.engine.drill import (
    CheckedStep,
    Grade,
    GradeRow,
    checklist_lines,
    grade_lines,
    open_drill,
    refusal_line,
)
from kit.errors import BadInput, Refusal
from tests.drills import errors, printed, typed


def test_every_drill_has_words_of_its_own() -> None:
    """Help tells all forms or those that begin so; checklist and grade are those of the run."""
    drill = typed("raft_upgrade", "help")
    told = printed(drill)
    for word in ("help", "checklist", "grade"):
        assert f"{word} – " in told
    drill.enter("help CHECK")
    [line] = printed(drill).splitlines()
    assert line.startswith("checklist – the steps of the procedure, ticked as they are done")
    drill.enter("checklist")
    assert printed(drill).splitlines() == list(checklist_lines(drill.checklist()))
    drill.enter("grade")
    assert printed(drill).splitlines() == list(grade_lines(drill.grade()))
    drill.enter("help nothing-of-the-kind")
    [error] = errors(drill)
    assert "the beginning of a command; help alone lists them all" in error


def test_a_drill_that_there_is_not_is_named() -> None:
    """Models and their scenarios are names of drills."""
    for name in ("upgrade", "raft_upgrade/no-such"):
        with pytest.raises(BadInput, match=r"^drill: "):
            open_drill(name)


def test_lists_and_refusals_in_lines() -> None:
    """What is done, what holds, what was not asked; who stands in the way, and what shows it."""
    steps = (CheckedStep("one", "first", True), CheckedStep("two", "then", False))
    assert checklist_lines(steps) == ("[x] one: first", "[ ] two: then")
    rows = (GradeRow("a", True, "good"), GradeRow("b", None, "not asked"))
    assert grade_lines(Grade(rows)) == ("Passed.", "✓ a: good", "– b: not asked")
    failed = Grade((*rows, GradeRow("c", False, "bad")))
    assert grade_lines(failed) == ("Not passed.", "✓ a: good", "– b: not asked", "! c: bad")
    assert refusal_line(Refusal("no")) == "no"
    assert refusal_line(Refusal("no", ("x is y", "z"), ("A", "B"))) == "no (A, B); x is y; z"
