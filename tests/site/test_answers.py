"""Exercises of a page: an answer is a program that stands alone, run and judged by itself."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kit.catalogue.course import COURSE, Lesson, without_magics
from kit.edge import progress
from kit.lessons import exercises
from kit.lessons import judge as judging
from kit.lessons.progress import VARIABLE, solved
from kit.site.answers import answered, judge
from kit.site.lessons import lesson_page, read_lesson
from kit.site.programs import GIVEN, free_names, program_of
from tests.house.source import ROOT
from tools.site import kit_files

ASKS = "from kit.lessons import exercise\n"
FUNCTION = (
    ASKS
    + """
def every_state(start, arrows):
    seen = [start]
    for here in seen:
        seen += {b for a, b in arrows if a == here} - {*seen}
    return {END}

exercise("every-state").check(every_state)
"""
)
PLAYED = (
    ASKS
    + """
mine = Player("rf3")
print(mine.step().say)
exercise("prepared-in-vain").check(mine)
"""
)
TYPED = (
    ASKS
    + """
lost = DrillBoard("cms/cms-lost")
lost.enter("nodetool status")
exercise("typed-loss").check(lost.typed)
"""
)


@pytest.fixture(autouse=True)
def apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What is solved here is nobody's."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "solved.json"))


def answers(one: Lesson) -> Iterator[str]:
    """The boxes for answers of a lesson, as programs."""
    cells = [
        cell for cell in read_lesson(one, ROOT / "notebooks").cells if cell.cell_type == "code"
    ]
    for number, cell in enumerate(cells):
        if "nbgrader" in cell.metadata:
            before = [without_magics(each.source) for each in cells[:number]]
            program = program_of(before, cell.source)
            assert program.endswith(cell.source)
            yield program


def hunted(one: Lesson) -> Iterator[str]:
    """What the page of a lesson says to write in the place of a board's buttons."""
    html = lesson_page(one, ROOT / "notebooks").html
    for search, accuse in re.findall(r"no buttons.*?<code>(.*?)</code>.*?<code>(.*?)</code>", html):
        yield unescape(f"{search}; {accuse}").replace("; ", "\n").replace("…", "01")


@pytest.mark.parametrize("one", COURSE, ids=lambda one: one.slug)
def test_every_answer_of_the_course_stands_alone(one: Lesson) -> None:
    """Before it stands what it needs of the cells before, and nothing of widgets."""
    programs = [*answers(one)]
    assert len(programs) == len(one.exercises)
    for program in programs:
        assert free_names(program) <= {*GIVEN}


def test_a_cell_brings_what_it_needs() -> None:
    """Imports first, one name each, then what was made of them; what it has itself stays so."""
    before = [
        "from kit import Player, build",
        "mine = build('tcm')\nother = 1",
        "mine = build('cms')",
    ]
    program = program_of(before, "run = Player(mine)\nrun")
    assert program == "from kit import build\nmine = build('cms')\n\nrun = Player(mine)\nrun"
    for own in ("mine = 1\nmine", "def f(mine):\n    return mine"):
        assert program_of(before, own) == own


def test_a_right_answer_passes_and_a_wrong_one_is_told() -> None:
    """By the judge of the notebooks, with its counts; what is solved is noted."""
    right = answered(FUNCTION.replace("{END}", "sorted(seen)"))
    assert right.passed
    assert "Hidden cases: 8 of 8 passed" in right.html
    assert solved() == ["every-state"]
    wrong = answered(FUNCTION.replace("{END}", "[start]"))
    assert not wrong.passed
    assert "Not yet." in wrong.html


def test_an_answer_may_be_played_or_typed() -> None:
    """A Player and a drill are there, though nobody sees them; what is printed is shown."""
    played = answered(PLAYED)
    assert "“Bootstrap X at 150” begins." in played.html
    assert "Step 1, " in played.html
    typed = answered(TYPED)
    assert not typed.passed
    assert "Public cases: " in typed.html


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("x = (", "line 1: SyntaxError"),
        ("x = 1\ny = x / 0", "line 2: ZeroDivisionError: division by zero"),
        ("raise SystemExit('<b>')", "line 1: SystemExit: &lt;b&gt;"),
        (ASKS + "exercise('none')", "exercise: got "),
        (ASKS + "exercise('every-state').check(7)", "answer: got 7"),
        ("", "The last line has to call the judge"),
        ("7", "The last line has to call the judge"),
    ],
)
def test_what_is_wrong_with_an_answer_is_one_line(program: str, said: str) -> None:
    """It names where; nothing of it is HTML."""
    told = answered(program)
    assert not told.passed
    assert said in told.html


def test_the_page_hears_that_the_judge_has_begun() -> None:
    """And then what came of it."""
    heard: list[Any] = []
    judge("7", lambda said: heard.append(json.loads(said)))
    assert heard[0] == {"judging": True}
    assert not heard[1]["answered"]["passed"]


def test_the_page_hears_how_many_cases_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """While a function takes its time, where it runs in the worker itself; then nothing counts."""
    for module in (exercises, judging):
        monkeypatch.setattr(module, "ALONE", True)
    for name in ("PATIENCE", "PAUSE"):
        monkeypatch.setattr(progress, name, 0)
    heard: list[Any] = []
    right = FUNCTION.replace("{END}", "sorted(seen)")
    judge(right, lambda said: heard.append(json.loads(said)))
    counted = [said["counted"] for said in heard if "counted" in said]
    assert counted[0] == "1 of 11 cases"
    assert "11 of 11 cases" in counted
    assert counted[-2:] == ["120 of 120 cases", ""]
    assert heard[-1]["answered"]["passed"]
    assert not progress.HERE


JUDGED = """
import sys
from kit.edge import limits
limits.ALONE = True
from msgspec.json import decode, encode
from kit.site.answers import answered
print(encode([answered(program).html for program in decode(sys.stdin.buffer.read())]).decode())
"""


def test_every_answer_is_judged_by_what_a_page_carries(tmp_path: Path) -> None:
    """No judge needs a folder that the site leaves out, or another package than msgspec."""
    for path in kit_files():
        place = tmp_path / path.relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, place)
    (tmp_path / "msgspec").symlink_to(Path(msgspec.__file__).parent)
    programs = [program for one in COURSE for program in answers(one)]
    hunts = [program for one in COURSE for program in hunted(one)]
    assert hunts
    programs += hunts
    judged = subprocess.run(
        [sys.executable, "-S", "-c", JUDGED],
        input=json.dumps(programs),
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        check=True,
    )
    told = json.loads(judged.stdout)
    assert len(told) == len(programs)
    assert not [html for html in told if "ModuleNotFoundError" in html or "ImportError" in html]
    for html in told[-len(hunts) :]:
        assert "<pre>Variant 1: the shortest run" in html
