"""What learners have solved, as a table that a gradebook reads: a row each, a column a lesson."""

import csv
import io
import os
import re
from pathlib import Path

from kit.catalogue.course import COURSE
from kit.edge.arguments import checked
from kit.edge.writing import write_whole
from kit.errors import BadInput
from kit.lessons.progress import VARIABLE, names_in, solved

POSSIBLE = "Points Possible"
"""The row, by the name that gradebooks know, with how many exercises a lesson has."""
_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,63}")
"""How a student may be called: no spreadsheet takes it for a formula."""


@checked
def export_grades(
    path: str | os.PathLike[str] = "grades.csv",
    *,
    student: str = "student",
    folder: str | os.PathLike[str] | None = None,
) -> Path:
    """Write a table of points as CSV: a row for each student, a column for each lesson.

    Each solved exercise is one point. Without ``folder``, the table has one student: you, under the
    name ``student``. A ``folder`` holds what students handed in: each one's file of progress
    (``.kit-solved.json``), renamed to ``NAME.json``.

    The files say only what each student's own kit noted. For proof, run the student's notebook
    again.

    Raises BadInput for a folder without such files, a file that the kit did not write, a name with
    other signs than letters, digits and ``_ . @ -``, or a place that cannot be written.
    """
    graded = [lesson for lesson in COURSE if lesson.exercises]
    rows = [["Student", *(f"{lesson.number:02} {lesson.title}" for lesson in graded)]]
    rows.append([POSSIBLE, *(str(len(lesson.exercises)) for lesson in graded)])
    for name, done in _handed_in(student, folder).items():
        rows.append([name, *(str(len(done & {*lesson.exercises})) for lesson in graded)])
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n").writerows(rows)  # as RFC 4180 has it
    return write_whole(path, text.getvalue(), "path")


def _handed_in(student: str, folder: str | os.PathLike[str] | None) -> dict[str, set[str]]:
    if folder is None:
        return {_named(student, "student"): {*solved()}}
    try:
        files = sorted(Path(folder).glob("*.json"))
    except OSError:  # no folder can have such a name
        files = []
    if not files:
        raise BadInput("folder", str(folder), f"a folder with files NAME.json ({VARIABLE})")
    return {_named(file.stem, "folder"): {*names_in(file, "folder")} for file in files}


def _named(name: str, field: str) -> str:
    if not _ID.fullmatch(name):
        raise BadInput(field, name, "1 to 64 letters, digits and _ . @ -, a letter or digit first")
    return name
