"""Hand-outs and answer keys: what a notebook says and asks, on one page; the models' answers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kit.catalogue.course import COURSE
from kit.catalogue.glossary import entry, words
from kit.commands.cli import main
from kit.edge.writing import write_all
from kit.errors import BadInput, KitError
from kit.lessons.handouts import handout_of, pages_of, plain, read_lesson, write_reader
from kit.lessons.tasks import task_named
from tests.house.source import ROOT
from tests.saying import like

GOALS = """# A <small> lesson

**What you will learn.** How *two* managers agree. **Time.** Five minutes.

## 1. The `vote`

A **[QUORUM](../docs/glossary.md#quorum)** is prepared. It is **not** alone.
"""
ASKS = """from kit.lessons import allowed, exercise, predict
question = predict("twophase", allowed)
question"""
SHOWS = """class Broken:
    def _repr_mimebundle_(self):
        raise ValueError("no picture")
Broken()"""
SILENT = """class Silent(Exception):
    def __str__(self):
        raise ValueError
"""
NOTEBOOK = ("markdown", GOALS), ("code", ASKS), ("code", 'exercise("an-invariant")')


def notebook(folder: Path, *cells: tuple[str, str]) -> Path:
    """A notebook file of these cells."""
    path = folder / "lesson.ipynb"
    rows = [{"cell_type": kind, "source": text.splitlines(True)} for kind, text in cells]
    path.write_text(json.dumps({"cells": rows}), encoding="utf-8")
    return path


def test_a_lesson_is_read_from_its_notebook(tmp_path: Path) -> None:
    """Title, goals, time, and the words: what it links to the glossary, which says what they mean,
    and its own of the paragraph of words that the glossary does not have, each sentence once.
    """
    lesson = read_lesson(notebook(tmp_path, *NOTEBOOK))
    assert lesson.title == "A <small> lesson"
    assert lesson.goals == "How two managers agree."
    assert lesson.time == "Five minutes."
    said = [(word.term, word.said) for word in lesson.words]
    assert said == [("quorum", entry("quorum")[1].means.split(". ")[0].removesuffix(".") + ".")]
    own = "# T\n\n**Words.** A *yes* and a *no* are votes. A *[nodes](../docs/glossary.md#quorum)*."
    words = read_lesson(notebook(tmp_path, ("markdown", own))).words
    assert [word.term for word in words] == ["yes, no", "quorum"]
    assert words[0].said == "A yes and a no are votes."


def test_words_of_the_course_are_words_and_have_no_marks() -> None:
    """Of every lesson each word stands there once, with a sentence of its own, as plain text."""
    for lesson in COURSE:
        read = read_lesson(ROOT / "notebooks" / lesson.file)
        assert read.words, lesson.file
        terms = [word.term.casefold() for word in read.words]
        sentences = [word.said for word in read.words]
        assert len({*terms}) == len(terms), lesson.file
        cells = "".join(cell.text for cell in read.cells if cell.cell_type == "markdown")
        marked = {term.strip() for term in re.findall(r"\*([^*]+?)\*", cells.replace("**", ""))}
        marked = {plain(term).casefold() for term in marked}
        own = {part for term in terms for part in term.split(", ")}
        known = {word.casefold() for word in words()}
        assert own <= known | marked, (lesson.file, own - known - marked)
        assert all(term[0].isalnum() or term[0] == "(" for term in terms), (lesson.file, terms)
        assert len({*sentences}) == len(sentences), lesson.file
        for text in (*terms, *sentences, read.title, read.goals, read.time):
            assert not re.search(r"\]\(|\*\*|`", text), (lesson.file, text)
            assert not text.startswith(("-", "Look back")), (lesson.file, text)


def test_questions_on_the_page_and_answers_on_the_key(tmp_path: Path) -> None:
    """The page has questions and choices and no answer; the key what the model answers."""
    path = notebook(tmp_path, *NOTEBOOK, ("code", 'exercise("an-invariant").check(len)'))
    (question,) = handout_of(path).questions
    page, key = (text for _, text in pages_of(path, tmp_path))
    for text in (page, key):
        assert "A &lt;small&gt; lesson" in text
        assert question.text in text
    assert all(choice in page for choice in question.choices)
    assert "(The state is in “1. The vote”.)" in page
    because = question.posed.question.because
    assert because in key
    assert because not in page
    assert task_named("an-invariant").text in page
    assert "disagree([&#39;committed&#39;" in key.replace("&#x27;", "&#39;")


def test_the_command_writes_both_pages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It names them; a folder that is not there is one line, before any cell is run."""
    path = str(notebook(tmp_path, *NOTEBOOK))
    assert main(["handout", path, "--out", str(tmp_path)]) == 0
    names = capsys.readouterr().out.split()
    assert [Path(name).name for name in names] == ["lesson-handout.html", "lesson-key.html"]
    slow = str(notebook(tmp_path, *NOTEBOOK, ("code", "1 / 0")))
    assert main(["handout", slow, "--out", "nowhere"]) == 2
    assert capsys.readouterr().err == "kit: --out: got 'nowhere'; allowed: a folder that is there\n"


def test_a_reader_binds_the_sheets_of_many_notebooks(tmp_path: Path) -> None:
    """Each sheet is that of its notebook alone, in their order; answers are in the key only."""
    paths = []
    for title in ("First", "Second"):
        (tmp_path / title).mkdir()
        cells = (("markdown", GOALS.replace("A <small> lesson", title)), *NOTEBOOK[1:])
        paths.append(notebook(tmp_path / title, *cells))
    told: list[tuple[int, int]] = []
    reader, key = write_reader(paths, tmp_path, lambda *counts: told.append(counts))
    assert (reader.name, key.name, told) == ("reader.html", "reader-key.html", [(1, 2), (2, 2)])
    text, answers = reader.read_text("utf-8"), key.read_text("utf-8")
    assert re.findall(r"<h2>(.*?)</h2>", text) == ["First", "Second"]
    assert re.findall(r"<h2>(.*?)</h2>", answers) == ["First: answers", "Second: answers"]
    for path in paths:
        page = pages_of(path, tmp_path)[0][1]
        assert page.partition("<body>")[2].partition("</body>")[0] in text
    because = handout_of(paths[0]).questions[0].posed.question.because
    assert because in answers
    assert because not in text


@pytest.mark.parametrize("words", [[], ["--all", "lesson.ipynb"]])
def test_a_notebook_or_all(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Neither, or both, is one line that says what is wanted."""
    assert main(["handout", *words]) == 2
    assert "a notebook, or --all and no notebook" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ((("markdown", "# T"),), "notebook | predictions or exercises"),
        ((("code", "1 / 0"),), "code cell 1 fails | division by zero"),
        ((("code", "x ="),), "code cell 1 fails | invalid syntax"),
        ((("code", "import sys\nsys.exit(0)"),), "code cell 1 fails | SystemExit 0"),
        ((("code", "import os\nos._exit(0)"),), "code cell 1 fails | SystemExit 0"),
        ((("code", "1"), ("code", SHOWS)), "code cell 2 fails | no picture"),
        ((("code", "raise GeneratorExit"),), "code cell 1 fails | GeneratorExit"),
        ((("code", "raise type('Own', (BaseException,), {})('x')"),), "code cell 1 fails | Own: x"),
        ((("code", "import asyncio\nraise asyncio.CancelledError"),), "fails | Cancelled"),
        ((("code", f"{SILENT}\nraise Silent"),), "code cell 1 fails | no text that can be shown"),
    ],
)
def test_what_is_no_lesson_is_told(
    cells: tuple[tuple[str, str], ...], said: str, tmp_path: Path
) -> None:
    """A notebook that asks nothing, or whose cells fail."""
    with pytest.raises(KitError, match=like(said)):
        handout_of(notebook(tmp_path, *cells))


@pytest.mark.parametrize("cell", [None, 5, {}, {"cell_type": "code"}, {"source": "x"}])
def test_what_is_no_cell_is_named(cell: Any, tmp_path: Path) -> None:
    """The error says which cell it is, and in what it differs."""
    path = tmp_path / "lesson.ipynb"
    path.write_text(json.dumps({"cells": [{"cell_type": "raw", "source": ""}, cell]}))
    with pytest.raises(BadInput, match=r"a notebook file .*cells\[1\]"):
        read_lesson(path)


def test_what_is_no_notebook_is_told(tmp_path: Path) -> None:
    """A file of another kind."""
    path = tmp_path / "ring.json"
    path.write_text('{"nodes": []}', encoding="utf-8")
    with pytest.raises(BadInput, match=like("notebook | a notebook file")):
        read_lesson(path)


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    "name",
    [
        *("light-a-lamp", "crash-and-resume", "way-back", "stale-plan"),
        *("lost-race", "roll-it-back", "take-over", "below-the-fence"),
    ],
)
def test_a_run_of_the_key_passes(name: str) -> None:
    """What was found on the model is judged as a learner's answer would be."""
    judge: Any = task_named(name).judge
    (line,) = judge.answers()
    assert judge(line.split(", ")).passed


@pytest.mark.browser
def test_each_page_is_one_sheet_of_paper(tmp_path: Path, browser: Any) -> None:
    """Printed by a browser, page and key of a lesson have one page each, and nothing is cut."""
    notebook = ROOT / "notebooks" / "37-the-coordinator.ipynb"
    for path in write_all(pages_of(notebook, tmp_path), "--out"):
        page = browser.new_page(viewport={"width": 794, "height": 1123})
        page.goto(path.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= 794
        assert len(re.findall(rb"/Type\s*/Page[^s]", page.pdf(prefer_css_page_size=True))) == 1
        page.close()
