"""The course is one table: files, links, minutes and plans say what it says."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest

from kit.catalogue.course import COURSE, TRACKS, Lesson, lesson
from kit.errors import BadInput
from tests.house.source import ROOT
from tools import course

FOLDER = ROOT / "notebooks"
LONG: dict[str, int] = {}
"""Lessons above 45 minutes, and how long they are. This list only gets shorter."""
TEACHING = (ROOT / "TEACHING.md").read_text(encoding="utf-8")
PLANS = {
    part[:2]: part
    for part in re.split(r"^## ", TEACHING, flags=re.MULTILINE)
    if part[:2].isdecimal()
}
each_lesson = pytest.mark.parametrize("one", COURSE, ids=lambda one: one.name)


def head(one: Lesson) -> str:
    """The cell in which a lesson says how long it takes."""
    cells = nbformat.read(FOLDER / one.file, as_version=4).cells
    [found] = [cell.source for cell in cells if course.TIME.search(cell.source)]
    return str(found)


def test_the_table_has_each_notebook_in_order() -> None:
    """Its numbers rise, each is in a track, and its files are those that there are."""
    numbers = [one.number for one in COURSE]
    assert numbers == sorted({*numbers})
    assert {one.track for one in COURSE} == {*TRACKS.values()}
    assert [one.file for one in COURSE] == sorted(path.name for path in FOLDER.glob("*.ipynb"))


@each_lesson
def test_a_lesson_needs_only_what_comes_before(one: Lesson) -> None:
    """What it needs has a smaller number and is linked in its head, below *Before*."""
    needed = [lesson(name) for name in one.needs]
    assert all(each.number < one.number for each in needed)
    before = head(one).partition("**Before.**")[2].partition("\n\n")[0]
    assert not [each.file for each in needed if f"]({each.file})" not in before]


@each_lesson
def test_the_table_has_its_title_and_its_exercises(one: Lesson) -> None:
    """Title and exercises are those of the notebook."""
    cells = nbformat.read(FOLDER / one.file, as_version=4).cells
    titles = [cell.source for cell in cells if cell.source.startswith("# ")]
    assert f"# {one.title}" in "\n".join(titles).splitlines()
    asked = re.findall(r'exercise\("([\w-]+)"\)', "\n".join(cell.source for cell in cells))
    assert one.exercises == tuple(dict.fromkeys(asked))


@each_lesson
def test_a_lesson_takes_45_minutes_at_most(one: Lesson) -> None:
    """By the one formula; those that are longer are named, with their minutes."""
    minutes = course.minutes_of(one)
    assert minutes <= LONG.get(one.slug, course.MOST)
    assert one.slug not in LONG or minutes > course.MOST, "take it off the list"


def test_the_formula_counts_words_cells_steps_and_exercises() -> None:
    """130 words, three cells, ten steps are a minute each; an exercise is four."""
    new = nbformat.v4
    book = new.new_notebook(cells=[new.new_markdown_cell("word " * 260)])
    assert course.minutes(book) == 2
    book.cells += [new.new_code_cell("1"), new.new_code_cell("2"), new.new_code_cell("3")]
    assert course.minutes(book) == 3
    shown = new.new_output("execute_result", {"text/plain": "Player(tcm: step 0 of 20; X)"})
    book.cells[1].outputs = [shown]
    assert course.minutes(book) == 5
    book.cells[2].source = 'exercise("x").check(1)'
    assert course.minutes(book) == 9


def test_a_head_that_does_not_say_its_time_is_told() -> None:
    """A notebook must say once how long it takes."""
    with pytest.raises(ValueError, match="in 0 cells"):
        course.timed(nbformat.writes(nbformat.v4.new_notebook()))


def test_an_unknown_name_is_told_with_the_nearest() -> None:
    """Nobody guesses which lesson was meant."""
    with pytest.raises(BadInput, match="allowed: one of 13-the-cms"):
        lesson("the-csm")


def test_links_and_numbers_agree() -> None:
    """In documents and notebooks, a link that is a number has that of the file it leads to."""
    pages = [*FOLDER.glob("*.ipynb"), *ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    link = re.compile(r"\[(\d\d)[^\]]*\]\([\w./]*?(\d\d)-[\w-]+\.ipynb\)")
    found = [(path.name, *pair) for path in pages for pair in link.findall(path.read_text("utf-8"))]
    assert len(found) > 80
    assert not [each for each in found if each[1] != each[2]]


@pytest.mark.spec("H-022")
def test_the_readme_has_the_lessons_in_order() -> None:
    """Each with its minutes and what a class does with it; the plans are a link away."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.findall(r"^- \[([\w-]+)\]\(notebooks/(.+)\) \((\d+)\): (.+)$", readme, re.MULTILINE)
    assert [(name, file) for name, file, *_ in found] == [(one.name, one.file) for one in COURSE]
    assert [int(taken) for *_, taken, _ in found] == [course.minutes_of(one) for one in COURSE]
    assert len({words for *_, words in found}) == len(COURSE)
    assert "](TEACHING.md)" in readme


@pytest.mark.spec("H-022")
def test_the_readme_tells_a_teacher_what_to_do() -> None:
    """The README has how to install, start and test. TEACHING has a plan for each lesson, in order:
    what to do in class, in at most 60 minutes, what to ask, and what goes wrong.
    """
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(word in readme for word in ("make lab", "make test", "pip install", "conda", "WSL"))
    assert [*PLANS] == [one.name[:2] for one in COURSE]
    for one in COURSE:
        plan = PLANS[one.name[:2]]
        assert plan.startswith(f"{one.name[:2]} {one.title}\n")
        assert f"notebooks/{one.file}" in plan
        assert 0 < sum(map(int, re.findall(r"^\| (\d+) \|", plan, re.MULTILINE))) <= 60
        assert re.search(r"(?s)\*\*Ask\*\*.*\?.*usually goes wrong", plan)


def test_every_link_of_the_pages_beside_the_notebooks_leads_somewhere() -> None:
    """The page of the course links to files that are there."""
    page = FOLDER / "README.md"
    links = re.findall(r"\]\((?!https?:)([^)]+)\)", page.read_text(encoding="utf-8"))
    assert len(links) > 2 * len(COURSE)
    assert not [link for link in links if not Path(page.parent / link).exists()]
