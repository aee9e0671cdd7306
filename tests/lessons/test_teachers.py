"""A teacher's notebook: folds are open, and what is filled in has passed the judge."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest

from kit.commands.cli import main
from kit.edge.writing import write_all
from kit.errors import BadInput
from kit.lessons.exercises import exercise
from kit.lessons.progress import VARIABLE
from kit.lessons.tasks import tasks
from kit.lessons.teachers import answered, teacher_of
from tests.house.source import ROOT

LESSON = ROOT / "notebooks" / "01-every-run.ipynb"


def test_a_lesson_is_opened_and_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each exercise of the copy has passed, all else is as it was, nobody's progress is touched."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "solved.json"))
    before = nbformat.read(LESSON, as_version=4).cells
    [written] = write_all([teacher_of(LESSON, tmp_path)], "--out")
    book = nbformat.read(written, as_version=4)
    nbformat.validate(book)
    assert len(book.cells) == len(before)
    checks = [cell for cell in book.cells if ".check(" in cell.source]
    assert len(checks) == 2
    for cell in checks:
        assert cell.outputs[0].data["text/plain"].startswith("✓ Passed.\n  Public cases: ")
    verbs: dict[str, list[str]] = {}
    exec(checks[0].source.partition("\n\nexercise")[0], verbs)
    assert exercise("prepared-in-vain").task.judge(verbs["verbs"]).passed
    assert not any("<details>" in cell.source for cell in book.cells)
    assert any("<details open>" in cell.source for cell in book.cells)
    changed = [a for a, b in zip(before, book.cells, strict=True) if a.source != b.source]
    assert all(".check(" in each.source or "<details>" in each.source for each in changed)
    assert [*tmp_path.iterdir()] == [tmp_path / "01-every-run-teacher.ipynb"]


def test_answers_of_each_kind() -> None:
    """A ring, typed lines and functions are filled in; a hunt, whose seed a class chooses, has its
    key.
    """
    for name, begins in (("any-may-leave", "ring = {"), ("typed-loss", "verbs = ["),
                         ("may-alter", "\ndef may_alter(")):  # fmt: skip
        code, shown = answered(exercise(name))
        assert code.startswith(begins)
        assert shown.heading == "Passed."
    assert answered(exercise("find-the-bug"))[0] == 'exercise("find-the-bug").key()'


FUNCTIONS = [name for name, task in tasks().items() if task.wants == "function"]


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_is_answered_in_python_alone(name: str) -> None:
    """The code that is filled in defines the function by itself, and the judge has passed it."""
    code, shown = answered(exercise(name))
    assert shown.heading == "Passed."
    names: dict[str, object] = {}
    exec(code.partition("\n\nexercise")[0], names)
    assert callable(names[tasks()[name].judge.name])  # type: ignore[attr-defined]  # as functions have


@pytest.mark.parametrize("text", ["", "[]", '{"cells": [1]}', '{"cells": [{"source": 1}]}'])
def test_what_is_no_notebook_is_refused(tmp_path: Path, text: str) -> None:
    """The error names the file, and nothing is written."""
    path = tmp_path / "a.ipynb"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match="notebook"):
        teacher_of(path, tmp_path)
    assert [*tmp_path.iterdir()] == [path]


def test_the_command_writes_it_beside_the_sheets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three files; without the option, two."""
    cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None,
              "source": 'from kit.lessons import exercise\nexercise("every-state")'}]  # fmt: skip
    path = tmp_path / "small.ipynb"
    path.write_text(json.dumps({"cells": cells}), encoding="utf-8")
    assert main(["handout", str(path), "--teacher", "--out", str(tmp_path)]) == 0
    assert "small-teacher.ipynb" in capsys.readouterr().out
    assert len([*tmp_path.glob("small-*")]) == 3
    assert main(["handout", "--all", "--teacher", "--out", str(tmp_path)]) == 2
    assert "--teacher" in capsys.readouterr().err
