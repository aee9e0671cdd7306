"""Lessons as pages: what is stored in a notebook is read there, and its Players open again."""

from __future__ import annotations

import json
import re
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kit.catalogue.course import COURSE, Lesson, lesson
from kit.errors import BadInput
from kit.lessons.hunting import hunt
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.playing.stored import FIELD, run_stored, stored_run
from kit.site.lessons import LessonPage, glossary_page, led, lesson_page, read_lesson
from kit.site.parts import Parts
from kit.site.programs import Program
from kit.site.worker import Engine, search
from kit.views.rendered import RenderedTimeline
from tests.house.source import ROOT
from tools.site import build as build_site

FOLDER = ROOT / "notebooks"
PLAYER = re.compile(r"Player\(([\w/]+): step (\d+) of (\d+);|DryRun\(|Rehearsal\(")
each = pytest.mark.parametrize("one", COURSE, ids=lambda one: one.slug)


@cache
def paged(one: Lesson) -> LessonPage:
    """The page of a lesson."""
    return lesson_page(one, FOLDER)


def players(one: Lesson) -> list[str]:
    """The texts of a stored notebook's outputs that show a Player."""
    cells = read_lesson(one, FOLDER).cells
    outputs = [output for cell in cells for output in cell.get("outputs", ())]
    shown = (output.get("data", {}).get("text/plain", "") for output in outputs)
    return [text for text in shown if PLAYER.match(text)]


@pytest.mark.sweep(3)
@each
def test_every_player_that_is_stored_opens_again(
    one: Lesson, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the page, at the very step that its text names, with what stands above it outside it."""
    monkeypatch.chdir(FOLDER)
    stored, page = players(one), paged(one)
    assert len(stored) == len(page.parts)
    for text, part in zip(stored, page.parts, strict=True):
        timeline = part.run.timeline()
        shown = PLAYER.match(text)
        assert shown is not None
        if not shown[1]:
            assert timeline.now.say in text or text.startswith("DryRun(")
            continue
        assert shown[1] == timeline.model.name
        assert timeline.path().index(timeline.at) == int(shown[2])
        if steps := int(shown[3]):
            assert len(timeline.path()) - 1 == steps


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


FOLD = re.compile(r"<details><summary>(.*?)</summary>(.*?)</details>", re.DOTALL)


def words(html: str) -> list[str]:
    """The words of some HTML."""
    return unescape(re.sub("<[^>]*>", " ", html)).split()


@each
def test_no_answer_is_read_before_it_is_asked_for(one: Lesson) -> None:
    """A bet, as it is stored and on its page, is a question and choices; its answer is folded."""
    cells = [cell for cell in read_lesson(one, FOLDER).cells if ".with_answer(" in cell.source]
    assert cells
    for cell in cells:
        [bet] = [output.data for output in cell.outputs]
        asked, _, told = bet["text/plain"].partition("\nAnswer: ")
        html = bet["text/html"]
        assert html in paged(one).html
        [(head, answer)] = FOLD.findall(html)
        assert head == "Show the answer"
        assert words(FOLD.sub("", html)) == asked.replace("[ ]", "☐").split()
        assert words(answer) == told.replace("\n  - ", "\n").split()


def test_what_stands_above_a_player_is_read_beside_it() -> None:
    """The warnings of a rehearsal stay when its Player comes to life."""
    html = paged(lesson("rehearse-your-own-cluster")).html
    above, _, first = html.partition('<div class="kit-player"')
    caption = "Every epoch and the state when it is committed"
    assert caption in above.rpartition('<div class="shown">')[2]
    assert caption not in first.partition('<details class="code">')[0]


def test_a_model_of_ones_own_is_switched_and_searched_in_workers() -> None:
    """The program of its cell makes it in each worker; two cells that make it make one."""
    page = paged(lesson("write-your-own-model"))
    told: list[Any] = []
    parts = Parts(lambda said: told.append(said[1]))

    def last(name: str) -> Any:
        heard = [json.loads(said) for said in told if isinstance(said, str) and said[0] == "{"]
        return next(said[name] for said in reversed(heard) if name in said)

    for part in page.parts:
        about = msgspec.json.encode(part.run).decode()
        pack = RenderedTimeline(part.run.timeline()).pack().compressed()
        parts.open(part.number, about, pack)
        assert "a write is compared with what was read" in last("drawer")
        parts.said(part.number, json.dumps({"setup": "switch", "name": "compares", "on": False}))
        parts.said(part.number, json.dumps({"setup": "search", "most": 1000}))
        found: list[str | bytes] = []
        search(**last("search"), tell=found.append)
        parts.said(part.number, json.dumps(json.loads(found[-1])["verdict"]))
        assert "Broken after 4 steps" in last("drawer")
        engine = parts.opened[part.number]
        assert isinstance(engine, Engine)
        assert engine.timeline.broken_by(engine.timeline.at)


def test_a_record_of_a_real_log_has_nothing_to_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """The drawer of its page says so at once, and asks no second worker."""
    monkeypatch.chdir(FOLDER)
    told: list[Any] = []
    parts = Parts(lambda said: told.append(said[1]))
    part = paged(lesson("read-a-real-log")).parts[0]
    about = msgspec.json.encode(part.run).decode()
    parts.open(part.number, about, RenderedTimeline(part.run.timeline()).pack().compressed())
    parts.said(part.number, json.dumps({"setup": "search", "most": 1000}))
    assert "There is nothing to search: this is a record" in told[-1]
    assert not any('{"search"' in said for said in told if isinstance(said, str))


@pytest.mark.parametrize("program", ["", "7", "x = 1"])
def test_a_program_that_shows_no_history_is_refused(program: str) -> None:
    """One line names it."""
    with pytest.raises(BadInput, match="program"):
        Program(program).timeline()


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


def test_what_a_hunt_offers_to_be_typed_is_told_as_it_stands() -> None:
    """A refusal writes letters beyond ASCII as escapes, so that look-alikes are told apart."""
    pages = "".join(paged(one).html for one in COURSE)
    offered = re.findall(r"<code>([^<]*print\(bugs\.[^<]*)</code>", pages)
    assert offered
    assert all(text.isascii() for text in offered)


def test_every_word_that_a_lesson_links_is_in_the_glossary() -> None:
    """Its page has the anchors."""
    words = glossary_page((ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")).html
    pages = [paged(one).html for one in COURSE]
    anchors = set(re.findall(r'glossary\.html#([\w-]+)"', "".join(pages)))
    assert anchors
    assert anchors <= {*re.findall(r'id="([\w-]+)"', words)}


@pytest.mark.parametrize(
    "wrong", [{"names": ["no/story"]}, {"lessons": ["none"]}, {"drilled": ["none"]}]
)
def test_a_wrong_name_costs_no_site(wrong: dict[str, list[str]], tmp_path: Path) -> None:
    """It is told before the folder is emptied."""
    (tmp_path / "index.html").write_text("built before", encoding="utf-8")
    with pytest.raises(BadInput):
        build_site(tmp_path, **wrong)
    assert (tmp_path / "index.html").read_text(encoding="utf-8") == "built before"


def test_one_engine_plays_every_player_of_a_page() -> None:
    """Each by its number, from where its notebook shows it; what it tells has that number."""
    page = paged(lesson("every-run"))
    told: list[tuple[int, Any]] = []
    parts = Parts(told.append)
    for part in page.parts:
        about = msgspec.json.encode(part.run).decode()
        pack = RenderedTimeline(part.run.timeline()).pack().compressed()
        parts.open(part.number, about, pack)
    assert [number for number, said in told if said == "live"] == [0, 1]
    parts.said(0, json.dumps({"message": "act", "control": "step", "at": 0, "have": 0}))
    number, said = told[-1]
    assert number == 0
    assert json.loads(said)["position"]["at"] == 1
    assert parts.opened[1].timeline.broken_by(parts.opened[1].timeline.at)
