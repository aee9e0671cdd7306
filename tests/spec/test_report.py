"""The report of requirements tells the truth about markers."""

from pathlib import Path

import pytest

from tests.spec.report import Mark, Requirements, marks, missing, read_requirements, report, unknown

SMALL = Requirements({"X-001": "one", "X-002": "two", "X-003": "three"}, frozenset({"X-003"}))


@pytest.mark.spec("H-021")
def test_every_due_requirement_has_a_test() -> None:
    """No requirement of this landing is without a test that shows it."""
    assert missing(read_requirements(), marks()) == []


def test_every_marker_names_a_known_requirement() -> None:
    """A marker with a mistyped id would show nothing, so it fails here."""
    assert unknown(read_requirements(), marks()) == []


def test_marks_are_read_from_functions_and_classes(tmp_path: Path) -> None:
    """Markers are found on functions and classes, with several ids, without importing the file."""
    (tmp_path / "test_it.py").write_text(
        "import nowhere\n"
        "@pytest.mark.spec('X-001', 'X-002')\ndef test_a(): ...\n"
        "@pytest.mark.spec('X-003')\nclass TestB: ...\n"
    )
    assert marks(tmp_path) == [
        Mark("X-001", "test_it.py::test_a"),
        Mark("X-002", "test_it.py::test_a"),
        Mark("X-003", "test_it.py::TestB"),
    ]


def test_the_report_names_what_is_missing() -> None:
    """An id that is due and has no test is named in the last lines; a later one is not."""
    text = report(SMALL, [Mark("X-001", "test_it.py::test_a"), Mark("X-009", "test_it.py::test_b")])
    assert "1 of 2 due requirements" in text
    assert "missing: X-002" in text
    assert "three  (later)" in text
    assert "unknown id X-009" in text


def test_later_ids_are_known_ids() -> None:
    """The list of what is not due yet names only ids that have a statement."""
    requirements = read_requirements()
    assert requirements.later <= set(requirements.statements)
