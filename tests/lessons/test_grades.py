"""Grades as a gradebook reads them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from kit.catalogue.course import COURSE
from kit.errors import BadInput
from kit.lessons.progress import POSSIBLE, VARIABLE, export_grades, keep

GRADED = [lesson for lesson in COURSE if lesson.exercises]


def read(path: Path) -> dict[str, dict[str, str]]:
    """The rows of a table by their first field."""
    with path.open(encoding="utf-8", newline="") as file:
        return {row["Student"]: row for row in csv.DictReader(file)}


def test_a_learner_exports_what_was_solved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each lesson is a column; an exercise that was noted is a point, others are none."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "solved.json"))
    first, second = GRADED[0], GRADED[1]
    keep(first.exercises[0])
    keep(second.exercises[0])
    keep(second.exercises[1])
    rows = read(export_grades(tmp_path / "grades.csv", student="s-1"))
    assert [*rows] == [POSSIBLE, "s-1"]
    of = {f"{each.number:02} {each.title}": len(each.exercises) for each in GRADED}
    assert {name: rows[POSSIBLE][name] for name in of} == {k: str(n) for k, n in of.items()}
    points = {name: int(rows["s-1"][name]) for name in of}
    assert sum(points.values()) == 3
    assert points[f"{second.number:02} {second.title}"] == 2


def test_a_teacher_exports_what_was_handed_in(tmp_path: Path) -> None:
    """A folder of files of progress gives a row for each, in the order of their names."""
    handed = tmp_path / "in"
    handed.mkdir()
    (handed / "bea.json").write_text(json.dumps([GRADED[0].exercises[0], "no-such-exercise"]))
    (handed / "ali.json").write_text("[]")
    rows = read(export_grades(tmp_path / "grades.csv", folder=handed))
    assert [*rows] == [POSSIBLE, "ali", "bea"]
    name = f"{GRADED[0].number:02} {GRADED[0].title}"
    assert (rows["ali"][name], rows["bea"][name]) == ("0", "1")


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@a", "a,b", "", "a" * 65, "a\nb"])
def test_no_name_is_a_formula(tmp_path: Path, name: str) -> None:
    """A name that a spreadsheet would compute, or that is no name, is refused by its field."""
    with pytest.raises(BadInput, match="student"):
        export_grades(tmp_path / "grades.csv", student=name)
    assert not (tmp_path / "grades.csv").exists()


def test_what_is_no_progress_is_refused(tmp_path: Path) -> None:
    """A folder without files, and a file that the kit did not write, are named; nothing is left."""
    with pytest.raises(BadInput, match=r"NAME\.json"):
        export_grades(tmp_path / "grades.csv", folder=tmp_path)
    (tmp_path / "eve.json").write_text('{"solved": 99}')
    with pytest.raises(BadInput, match="kit wrote"):
        export_grades(tmp_path / "grades.csv", folder=tmp_path)
    assert not (tmp_path / "grades.csv").exists()
