"""What lessons ask, check and try is said in the language of the reader."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ipywidgets
import pytest

from kit.engine.check import WORDS
from kit.engine.progress import PATIENCE, ProgressBar, Terminal
from kit.engine.timeline import Timeline
from kit.lessons import questions
from kit.lessons.exercises import Exercise, _verdict
from kit.lessons.handouts import Handout, LessonText, key_of, sheet_of
from kit.lessons.hunt_board import HuntBoard
from kit.lessons.hunting import hunt
from kit.lessons.judge import function_task
from kit.lessons.prediction_form import form, reply_to
from kit.lessons.predictions import NONE, predict
from kit.lessons.replays import Ground, replay
from kit.lessons.stills import frames, still
from kit.lessons.tasks import Case, Marks
from kit.lessons.trying import attempt
from kit.views import registry
from kit.widgets.player import Player
from tests.widgets.greek import VIEWS, Greek
from tests.widgets.pseudo import marked, spoken

LATIN = re.compile(r"\b[A-Za-z]{2,}\b")
NAMES = re.compile(r"<style.*?</style>|<[^>]*>|&\w+;|S-\d+|greek|CEP", re.DOTALL)


@pytest.fixture
def greek(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Timeline]:
    """A history whose own words are Greek, in a language that nobody speaks."""
    monkeypatch.setitem(registry._VIEWS, Greek.name, VIEWS)
    with spoken(tmp_path):
        yield Timeline(Greek())


def latin(*texts: str) -> list[str]:
    """The words in Latin letters without marks, apart from names and tags."""
    return [word for text in texts for word in LATIN.findall(NAMES.sub(" ", text))]


def words_of(widget: Any) -> Iterator[str]:
    """All that a widget and those within it show."""
    for trait in ("description", "tooltip", "value"):
        if isinstance(text := getattr(widget, trait, None), str):
            yield text
    for kid in getattr(widget, "children", ()):
        yield from words_of(kid)


ASKED = (questions.allowed, questions.fails, questions.shortest, questions.how_many)


@pytest.mark.parametrize("question", ASKED)
def test_no_word_of_a_prediction_is_left_in_english(greek: Timeline, question: Any) -> None:
    """Asked, answered in every way, and without a form; "none of these" may be said in English."""
    asked = predict(greek, question)
    wrong = [choice for choice in asked.choices if choice not in asked.right]
    said = [*words_of(form(asked)), repr(asked.with_answer()), reply_to(asked, [])]
    answers = [*asked.right], [*asked.choices], wrong, [asked.right[0], *wrong]
    said += (reply_to(asked, chosen) for chosen in answers)
    assert latin(*said) == []
    assert asked.choices[-1] == marked(NONE)
    assert asked.answer(NONE).passed == (asked.right == (marked(NONE),))


def test_no_word_of_an_exercise_is_left_in_english(greek: Timeline) -> None:
    """The task and its verdicts, a run that cannot be replayed, the hand-out and its key."""
    task = function_task("έργο", "Έργο", "Κάνε.", "Σκέψου.", abs, ([1],), lambda chance: [1])
    said = [Exercise(task).draw().html(), repr(Exercise(task))]
    marks = Marks((Case(False, "όχι"),), (False,)), Marks((Case(True),), (True,))
    said += (repr(_verdict(task, each)) for each in marks)
    wrong = task.judge({"name": "f", "source": "def f(x): return 2"})
    broken = task.judge({"name": "f", "source": "def f(x): return [][1]"})
    assert latin(*(case.note.replace("abs", "") for case in wrong.public)) == []
    assert latin(broken.public[0].note.partition("IndexError")[0].replace("abs", "")) == []
    timeline, stopped = replay(Ground("twophase"), ["x"])
    verbs = ", ".join(map(timeline.model.verb, timeline.model.actions(timeline.state)))
    said.append((stopped or "").replace(verbs, "").replace("'x'", ""))
    lesson = LessonText("Τίτλος", "Στόχος", "", (), ())
    asked = predict(greek, questions.allowed)
    handout = Handout(lesson, (asked,), {asked.text: "Πρώτα"}, (task,), None)
    sheets = (sheet_of(handout), key_of(handout))
    said += [sheet.content.html().replace("abs", "") for sheet in sheets]
    assert latin(*said) == []


def test_no_word_of_what_a_cell_tries_is_left_in_english(greek: Timeline) -> None:
    """An action that is done, one that must wait, the frames of a run."""
    player = Player(greek, controls=False)
    tried = attempt(player, "μίλα Α", "τέλος")
    film = frames(Timeline(Greek(), ("μίλα Α", "μίλα Β")))
    assert latin(repr(tried), repr(film), tried.draw().html(), still(player).draw().html()) == []


def test_no_word_of_a_hunt_is_left_in_english(greek: Timeline) -> None:
    """Apart from what models say: their runs, and the titles of safeguards."""
    hunted = hunt(1)
    board = HuntBoard(hunted)
    assert isinstance(board.suspect, ipywidgets.Dropdown)
    controls = (board.variant, board.play, board.search, board.suspect, board.accuse)
    said = [text for each in controls for text in words_of(each) if not text.startswith("S-")]
    wrong, right = hunted.suspected(1)[0].id, hunted._variants[0].missing.id
    for each in (hunted.search(1).sheet(), hunted.suspects(1), hunted.sheet()):
        said += [each.title, *each.headings]
    for word in (wrong if wrong != right else hunted.suspected(1)[1].id, right):
        said.append(hunted.accuse(1, word).heading)
    assert latin(*said, hunted.score(), hunted.model(1).title) == []


def test_what_counts_work_says_so(greek: Timeline) -> None:
    """In a terminal or a notebook: how many states a search has seen by now."""
    lines: list[str] = []

    class Line(Terminal):
        def draw(self, done: int, total: int | None, words: str) -> None:
            lines.append(words)

    times = iter((0.0, PATIENCE, PATIENCE))
    ProgressBar(WORDS, 9, paper=Line(), clock=lambda: next(times))(1, 2)
    assert len(lines) == 1
    assert latin(*lines) == []
