"""The committed notebooks as lessons: what each begins with, asks, shows and checks.

That they run, and give these outputs again, is shown by nbval (tools/test.py). Of an image it
compares only the words beside it, which say what is plotted.
"""

from __future__ import annotations

import ast
import base64
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

from kit.catalogue.course import without_magics
from kit.lessons.tasks import tasks
from tests.house.source import ROOT
from tests.lessons.answers import RIGHT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PICTURE = re.compile(
    r'<img (?:style="[^"]*" )?src="data:image/(?:svg\+xml|png);base64,([A-Za-z0-9+/=]+)" alt="[^"]+'
)
A_PATH = re.compile(r"(?<![\w.:/<])/(?:home|root|tmp|usr|var|opt|work|Users|private)/|[A-Z]:\\\\")
ENDING = 9  # cells at the end that hold the exercises
each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def cells(path: Path, kind: str | None = None) -> list[Any]:
    """The cells of a notebook, of one kind or of all."""
    found = nbformat.read(path, as_version=4).cells
    return [cell for cell in found if kind in (None, cell.cell_type)]


def calls(path: Path) -> list[ast.Call]:
    """Every call in the code of a notebook, in order."""
    code = "\n".join(without_magics(cell.source) for cell in cells(path, "code"))
    return [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]


def named(path: Path, name: str) -> list[ast.Call]:
    """The calls of a function or of a method by that name."""
    return [
        call
        for call in calls(path)
        if (isinstance(call.func, ast.Name) and call.func.id == name)
        or (isinstance(call.func, ast.Attribute) and call.func.attr == name)
    ]


def shown(cell: Any) -> str:
    """All that a cell shows as text."""
    parts = [output.get("text", "") for output in cell.outputs]
    parts += [output.get("data", {}).get("text/plain", "") for output in cell.outputs]
    return "\n".join(parts)


@each_notebook
def test_it_begins_with_aim_and_time(path: Path) -> None:
    """First come what will be learned and how long it takes; only to watch may come before."""
    found = [cell.source for cell in cells(path)]
    first = next(source for source in found if not source.startswith("# Press Shift+Enter"))
    assert first.startswith("# ")
    asked = next(i for i, source in enumerate(found) if "predict(" in source)
    told = "\n".join(found[:asked] if first != found[0] else found[:1])
    assert re.search(r"\*\*What you will learn( here)?\.\*\*", told)
    assert re.search(r"\*\*Time\.\*\* .*minutes", told)


@pytest.mark.spec("H-002")
@each_notebook
def test_only_the_versions_may_differ(path: Path) -> None:
    """One cell says the versions in use; no other is left out of the comparison of outputs."""
    [ignored] = [cell for cell in cells(path, "code") if cell.metadata.get("tags")]
    assert ignored.metadata["tags"] == ["nbval-ignore-output"]
    assert {"kit", "ipywidgets", "pyspark", "nbval"} <= set(shown(ignored).split())


@each_notebook
def test_it_asks_for_predictions_that_the_model_answers(path: Path) -> None:
    """At least three predictions, each with the model's answer; no answer is typed in, right or
    wrong: what is right is stored, and a guess is the reader's own.
    """
    asked = named(path, "predict")
    assert len(asked) == len(named(path, "with_answer")) >= 3
    assert not named(path, "answer")
    code = "\n".join(without_magics(cell.source) for cell in cells(path, "code"))
    assert not re.search(r"\b(Question|PosedQuestion|Prediction)\b", code)


@each_notebook
def test_stored_questions_tell_their_answer(path: Path) -> None:
    """A question that is stored has the model's answer with it; code that only asks is folded."""
    for cell in cells(path, "code"):
        if ".with_answer(" in cell.source:
            assert re.search(r"\nAnswer: .+\n  .+", shown(cell))
            assert cell.metadata["jupyter"]["source_hidden"]


@pytest.mark.spec("H-011")
@each_notebook
def test_it_ends_with_exercises_that_are_checked(path: Path) -> None:
    """At the end every exercise is shown and its placeholder checked: not yet, and the hint."""
    last = [cell for cell in cells(path)[-ENDING:] if cell.cell_type == "code"]
    checks = [cell for cell in last if ").check(" in cell.source]
    assert len(checks) >= 2
    for cell in checks:
        assert re.search(r"✗ Not yet\.\n  Public cases: \d+ of \d+ passed\.", shown(cell))
        assert "\n  Hint: " in shown(cell)


def test_every_exercise_is_in_a_notebook() -> None:
    """The exercises of the notebooks are all there are, and each has a known right answer."""
    names = {
        ast.literal_eval(call.args[0]) for path in NOTEBOOKS for call in named(path, "exercise")
    }
    assert names == set(tasks()) == set(RIGHT)


@pytest.mark.spec("H-014")
@each_notebook
def test_every_player_has_a_picture_and_its_words(path: Path) -> None:
    """Where a Player stands, the stored output has a line of text and drawings as images; of a
    model that has no drawings, the table of its state or the list of who says what.
    """
    players = [
        output.data
        for cell in cells(path, "code")
        for output in cell.outputs
        if output.get("data", {})
        .get("text/plain", "")
        .startswith(("Player(", "DryRun(", "Rehearsal("))
    ]
    assert players
    for data in players:
        assert "\n" not in data["text/plain"]
        found = PICTURE.findall(data["text/html"])
        own = not data["text/plain"].startswith(("Player(tcm", "DryRun("))
        assert found or (own and re.search("<table|<ul", data["text/html"]))
        assert all(base64.b64decode(one).startswith(b"<svg") for one in found)


@each_notebook
def test_every_picture_has_words(path: Path) -> None:
    """Each stored picture has an alternative text; a chart says all that it draws."""
    for cell in cells(path, "code"):
        for output in cell.outputs:
            data = output.get("data", {})
            html = data.get("text/html", "")
            assert html.count("<img ") == len(PICTURE.findall(html))
            if "image/png" in data:
                assert len(data["text/plain"].splitlines()) > 2
                assert output.metadata["image/png"]["alt"] == data["text/plain"]


@each_notebook
def test_stored_output_survives_an_untrusted_notebook(path: Path) -> None:
    """No inline drawing, style sheet or script: what a code host or a closed notebook removes."""
    for cell in cells(path, "code"):
        for output in cell.outputs:
            html = output.get("data", {}).get("text/html", "")
            assert not re.search(r"<(svg|style|script|iframe|link)\b|\son\w+=", html)


@each_notebook
def test_no_path_of_a_machine_is_stored(path: Path) -> None:
    """Neither code nor output names a folder of the machine that it was made on."""
    for cell in cells(path):
        assert not A_PATH.search(cell.source)
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            texts = [output.get("text", ""), *(v for k, v in data.items() if k.startswith("text/"))]
            # Digits of an image may spell anything.
            assert not any(A_PATH.search(re.sub(r"base64,[^\"]+", "", text)) for text in texts)


@each_notebook
def test_links_lead_somewhere(path: Path) -> None:
    """Every file that a lesson links to exists."""
    for cell in cells(path, "markdown"):
        for link in re.findall(r"\]\((?!https?:|#)([^)#]+)", cell.source):
            assert (path.parent / link).exists()


@each_notebook
def test_lines_of_code_are_short(path: Path) -> None:
    """Code fits a projector: at most 100 characters a line."""
    for cell in cells(path, "code"):
        assert all(len(line) <= 100 for line in cell.source.splitlines())


@pytest.mark.spec("A-010")
def test_a_cell_works_the_tables_out_twice() -> None:
    """In the first notebook a cell calls the function of placements twice and compares."""
    [cell] = [cell for cell in cells(NOTEBOOKS[0], "code") if "stable_placement(" in cell.source]
    assert cell.source.count("stable_placement(ring, SimpleStrategy(2))") == 2
    assert "once == again" in cell.source
    assert shown(cell).strip() == "the same tables: True"
