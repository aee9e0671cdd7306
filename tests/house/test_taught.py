"""No lesson uses a word before it is taught.

A word of the glossary is taught by the lesson that its entry names, and by each lesson that sets it
in italics or bold letters, as one does where it is explained. A lesson may use what it teaches and
what the lessons teach that it needs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import nbformat
import pytest

from kit.catalogue.course import COURSE, Lesson, lesson
from kit.catalogue.glossary import Finder, words
from tests.house.source import ROOT
from tools.linking import APART, LINKED, spoken

SEARCHING = Finder({word: words()[word] for word in ("search", "walk", "seed")})
"""Words with a plain sense as well that every lesson means in their strict one."""
COMPLETE = re.compile(r"\bsearch(?:es)? (?:is|was|are) (complete)|(complete) search", re.IGNORECASE)
STRESSED = re.compile(r"\*{1,2}([^*]+)\*{1,2}")


@cache
def texts(name: str) -> tuple[str, ...]:
    """The prose of a lesson, without links to the glossary."""
    notebook = nbformat.read(ROOT / "notebooks" / lesson(name).file, as_version=4)
    prose = (cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    return tuple(LINKED.sub(r"\1", text) for text in prose)


@cache
def finders(name: str) -> tuple[Finder, Finder]:
    """What finds the words of the models that a lesson is about, and those of searches."""
    file = lesson(name).file
    return spoken(nbformat.read(ROOT / "notebooks" / file, as_version=4), file), SEARCHING


@cache
def taught(name: str) -> frozenset[str]:
    """The words that a lesson explains."""
    stressed = [part for text in texts(name) for part in STRESSED.findall(text)]
    found = {word for each in finders(name) for part in stressed for word, *_ in each.find(part)}
    return frozenset(found | {word for word, known in words().items() if known.lesson == name})


def before(one: Lesson) -> set[str]:
    """A lesson and all that it needs."""
    return {one.slug}.union(*(before(lesson(name)) for name in one.needs))


def used(name: str, text: str) -> Iterator[tuple[str, str]]:
    """Each word of the glossary in the running text of a lesson, with what is around it."""
    places = [place for each in finders(name) for place in each.find(text)]
    places += [("complete", *match.span()) for match in COMPLETE.finditer(text)]
    apart = [match.span() for match in APART.finditer(text)]
    for word, begin, end in places:
        if not any(a < end and begin < b for a, b in apart):
            yield word, " ".join(text[max(0, begin - 30) : end + 20].split())


def untaught(one: Lesson, *said: str) -> list[tuple[str, str]]:
    """The words of a lesson's texts that neither it nor a lesson before it explains."""
    known = frozenset[str]().union(*map(taught, before(one)))
    found = (each for text in said for each in used(one.slug, text))
    return [(word, near) for word, near in found if word not in known]


@pytest.mark.parametrize("one", COURSE, ids=lambda one: one.name)
def test_a_lesson_uses_no_word_before_it_is_taught(one: Lesson) -> None:
    """Each word of the glossary in it is explained there, or in a lesson that it needs."""
    assert not untaught(one, *texts(one.slug))


def test_a_word_that_comes_too_early_is_found() -> None:
    """In the start notebook, cancelled operations and walks would be; code and tables are not."""
    said = "The search is complete. Each walk is cancelled.\n\n| a seed |\n\n`edition`"
    found = [word for word, _ in untaught(lesson("start-here"), said)]
    assert sorted(found) == ["cancel", "complete", "walk"]
    assert not untaught(lesson("find-the-bug"), said)


def test_searches_and_walks_are_taught_first() -> None:
    """Every lesson but the start needs the one that teaches them."""
    assert {"search", "complete", "walk", "seed", "model"} <= taught("every-run")
    assert [one.slug for one in COURSE if "every-run" not in before(one)] == ["start-here"]
