"""Lessons as pages: what is stored in a notebook is read there, and its Players open again."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import pytest

from kit.engine.registry import build, model_names
from kit.engine.timeline import Timeline
from kit.errors import BadInput
from kit.lessons.course import COURSE, Lesson, lesson
from kit.lessons.hunting import hunt
from kit.playing.stored import FIELD, run_stored, stored_run
from kit.site.lessons import LessonPage, glossary_page, led, lesson_page, read_lesson
from kit.site.parts import Parts
from kit.views.rendered import RenderedTimeline
from tests.house.source import ROOT

FOLDER = ROOT / "notebooks"
PLAYER = re.compile(r"Player\(([\w/]+): step (\d+) of (\d+);")
each = pytest.mark.parametrize("one", COURSE, ids=lambda one: one.slug)


@cache
def paged(one: Lesson) -> LessonPage:
    """The page of a lesson."""
    return lesson_page(one, read_lesson(one, FOLDER))


def players(one: Lesson) -> list[tuple[str, Any]]:
    """The outputs of a stored notebook that show a Player: their text and metadata."""
    cells = read_lesson(one, FOLDER).cells
    outputs = [output for cell in cells for output in cell.get("outputs", ())]
    shown = [(output.get("data", {}).get("text/plain", ""), output) for output in outputs]
    return [(text, output.metadata) for text, output in shown if PLAYER.match(text)]


@each
def test_every_player_that_is_stored_opens_again(one: Lesson) -> None:
    """At the very step that its text names; only one of a model that is not the kit's does not."""
    for text, metadata in players(one):
        name, at, steps = PLAYER.findall(text)[0]
        run = run_stored(metadata)
        assert (run is not None) == (name in model_names()), text
        if run is None:
            continue
        timeline = run.timeline()
        assert timeline.path().index(timeline.at) == int(at)
        told = timeline.path() if int(steps) else [0]
        assert len(told) - 1 == int(steps)


def test_what_hides_its_safeguards_is_not_stored() -> None:
    """Of a variant that lacks one nobody shall read which; that of a scenario says all."""
    assert stored_run(hunt(5).timeline(1), None) == {}
    assert run_stored(stored_run(Timeline(build("tcm")), None)) is not None


@pytest.mark.parametrize("wrong", [{}, {"trace": 1}, {"trace": "", "x": 1}, "run", [1]])
def test_metadata_that_no_player_wrote_is_refused(wrong: object) -> None:
    """One line names the field."""
    with pytest.raises(BadInput, match=FIELD):
        run_stored({FIELD: wrong})


@each
def test_a_lesson_page_leads_nowhere_else(one: Lesson) -> None:
    """Its links are to lessons, the glossary or itself; nothing in it is a script but the page's
    own, and what it shows as code stays text.
    """
    page = paged(one)
    links = re.findall(r'<a [^>]*href="([^"]*)"', page.html)
    allowed = re.compile(
        r"#|https://|(\.\./lessons/)?\d\d-[\w-]+\.html"
        r"|\.\./((index|glossary)\.html|drills/[\w/-]+\.html)"
    )
    assert [link for link in links if not allowed.match(link)] == []
    assert page.html.count("<script") == 1
    assert all((ROOT / "images" / name).is_file() for name in page.pictures)


def test_links_lead_to_pages_of_the_site() -> None:
    """A notebook, a word, a picture; another file is no link, and what is text stays."""
    html = (
        '<a href="01-every-run.ipynb#x">a</a><a href="../docs/glossary.md#ring">b</a>'
        '<img src="../images/ring.svg"><a href="../OPERATORS.md">c</a><a href="#y">href="z"</a>'
    )
    there = (
        '<a href="../lessons/01-every-run.html#x">a</a><a href="../glossary.html#ring">b</a>'
        '<img src="../images/ring.svg"><a >c</a><a href="#y">href="z"</a>'
    )
    assert led(html, "../") == (there, frozenset({"ring.svg"}))


def test_every_word_that_a_lesson_links_is_in_the_glossary() -> None:
    """Its page has the anchors."""
    words = glossary_page((ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")).html
    pages = [paged(one).html for one in COURSE]
    anchors = set(re.findall(r'glossary\.html#([\w-]+)"', "".join(pages)))
    assert anchors
    assert anchors <= {*re.findall(r'id="([\w-]+)"', words)}


def test_one_engine_plays_every_player_of_a_page() -> None:
    """Each by its number, from where its notebook shows it; what it tells has that number."""
    page = paged(lesson("every-run"))
    told: list[tuple[int, Any]] = []
    parts = Parts(told.append)
    for part in page.parts:
        about = json.dumps({"trace": part.run.trace, "name": part.run.name})
        pack = RenderedTimeline(part.run.timeline()).pack().compressed()
        parts.open(part.number, about, pack)
    assert [number for number, said in told if said == "live"] == [0, 1]
    parts.said(0, json.dumps({"message": "act", "control": "step", "at": 0, "have": 0}))
    number, said = told[-1]
    assert number == 0
    assert json.loads(said)["position"]["at"] == 1
    assert parts.opened[1].timeline.broken_by(parts.opened[1].timeline.at)
