"""The report of requirements tells the truth about markers."""

from functools import cache
from pathlib import Path

import pytest

from tests.spec.report import (
    Mark,
    Requirements,
    marks,
    missing,
    read_requirements,
    report,
    status,
    unknown,
)

SMALL = Requirements({"X-001": "one", "X-002": "two", "X-003": "three"}, frozenset({"X-003"}))
HERE = "test_it.py::test_a"


@cache
def stated() -> list[Mark]:
    """The markers of this checkout."""
    return marks()


def test_every_due_requirement_has_a_test() -> None:
    """No requirement of this landing is without a test that shows it, or a part of it."""
    assert missing(read_requirements(), stated()) == []


def test_every_marker_names_a_known_requirement() -> None:
    """A marker with a mistyped id would show nothing, so it fails here."""
    assert unknown(read_requirements(), stated()) == []


def test_marks_are_read_from_functions_and_classes(tmp_path: Path) -> None:
    """Markers are found on functions and classes, with several ids, without importing the file."""
    (tmp_path / "test_it.py").write_text(
        "import nowhere\n"
        "@pytest.mark.spec('X-001', 'X-002')\ndef test_a(): ...\n"
        "@pytest.mark.partly('X-003', 'the other half')\nclass TestB: ...\n"
    )
    assert marks(tmp_path) == [
        Mark("X-001", "test_it.py::test_a"),
        Mark("X-002", "test_it.py::test_a"),
        Mark("X-003", "test_it.py::TestB", "the other half"),
    ]


def test_what_is_missing_outweighs_what_is_shown() -> None:
    """An id is shown when all its tests show it in full; one that says *partly* is enough."""
    shown, partly = Mark("X-001", HERE), Mark("X-001", HERE, "the picture")
    assert status("X-001", [shown]) == "shown"
    assert status("X-001", [partly]) == status("X-001", [shown, partly]) == "partly"
    assert status("X-002", [shown, partly]) == "not yet"


def test_the_report_names_what_is_missing() -> None:
    """The three kinds are counted; what is missing stands below its id; later ids are no gap."""
    found = [Mark("X-001", HERE), Mark("X-001", HERE, "the picture"), Mark("X-009", HERE)]
    text = report(SMALL, found)
    assert f"partly   X-001  one\n         {HERE}\n         missing: the picture\n" in text
    assert "0 shown\n1 partly: X-001\n2 not yet: X-002 X-003\n" in text
    assert "due, without a test: X-002\n" in text
    assert "unknown id X-009" in text


@pytest.mark.spec("H-021")
def test_the_report_covers_every_requirement() -> None:
    """``make spec`` has a line an id with its status, and below it the tests that it rests on."""
    requirements, found = read_requirements(), stated()
    lines = report(requirements, found).splitlines()
    for name, statement in requirements.statements.items():
        at = lines.index(f"{status(name, found):<7}  {name}  {statement}")
        tests = {mark.where for mark in found if mark.id == name}
        assert tests == {line.strip() for line in lines[at + 1 : at + 1 + len(tests)]}


def test_later_ids_are_known_ids() -> None:
    """The list of what is not due yet names only ids that have a statement and no test."""
    requirements = read_requirements()
    assert requirements.later <= set(requirements.statements)
    assert requirements.later.isdisjoint(mark.id for mark in stated())
