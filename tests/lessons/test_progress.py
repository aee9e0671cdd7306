"""The map of the course shows what a learner has solved, and keeps it in one file of theirs."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit import course
from kit.catalogue.course import COURSE
from kit.errors import BadInput
from kit.lessons import exercise
from kit.lessons.progress import VARIABLE, keep, solved
from kit.views.fragment import escape
from tests.lessons.answers import RIGHT


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a learner who has solved nothing."""
    path = tmp_path / "solved.json"
    monkeypatch.setenv(VARIABLE, str(path))
    return path


def test_a_solved_exercise_is_on_the_map(mine: Path) -> None:
    """The first right answer is noted, once; a wrong one and looking at the map write nothing."""
    count = len({name for one in COURSE for name in one.exercises})
    assert repr(course()).startswith(f"0 of {count} exercises solved\n00-start-here: 0 of 2\n")
    assert not exercise("fewest-steps").check(["bootstrap X --tokens 150"]).passed
    assert not mine.exists()
    for _ in range(2):
        assert exercise("fewest-steps").check(RIGHT["fewest-steps"]()).passed
    assert solved() == ["fewest-steps"]
    done = ("✓ You have solved it.", "✓ You have solved it.</p>")
    for name, is_done in (("fewest-steps", True), ("still-quorum", False)):
        task = exercise(name)
        for text, words in zip((repr(task), task.draw().html()), done, strict=True):
            assert (words in text) is is_done
    assert repr(course()).startswith(f"1 of {count} exercises solved\n00-start-here: 1 of 2\n")


def test_each_lesson_is_a_link_on_the_map(mine: Path) -> None:
    """A press on a lesson opens its notebook."""
    page = course()._repr_mimebundle_()["text/html"]
    assert not [
        one.file for one in COURSE if f'<a href="{one.file}">{escape(one.title)}</a>' not in page
    ]


@pytest.mark.parametrize("text", ["{}", "[1]", "[", "\udcff"])
def test_a_file_of_somebody_else_is_refused_and_stays(mine: Path, text: str) -> None:
    """What the kit has not written is never read as progress and never written over."""
    mine.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(BadInput, match=VARIABLE):
        course()
    with pytest.raises(BadInput, match=VARIABLE):
        keep("fewest-steps")
    assert mine.read_bytes() == text.encode("utf-8", "surrogateescape")


def test_an_answer_passes_though_it_cannot_be_noted(mine: Path) -> None:
    """A file that cannot be read costs nobody the verdict: it is named below it."""
    mine.write_text("{}", encoding="utf-8")
    judged = exercise("fewest-steps").check(RIGHT["fewest-steps"]())
    assert judged.passed
    assert VARIABLE in repr(judged)
