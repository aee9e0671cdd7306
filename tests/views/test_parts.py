"""Parts that panels and lessons share: a text with code in it."""

from __future__ import annotations

import pytest

from kit.lessons.exercises import Exercise
from kit.lessons.stills import Judgement
from kit.lessons.tasks import tasks
from kit.model.family import families
from kit.views.fragment import h
from kit.views.parts import prose


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("no code", "<p>no code</p>"),
        ("`sizes` are, `lost` is", "<p><code>sizes</code> are, <code>lost</code> is</p>"),
        ("`<b>` & co", "<p><code>&lt;b&gt;</code> &amp; co</p>"),
        ("one ` alone", "<p>one ` alone</p>"),
        ("`a` and ` alone", "<p><code>a</code> and ` alone</p>"),
        ("", "<p></p>"),
    ],
)
def test_what_stands_between_backticks_is_code(text: str, html: str) -> None:
    """A pair makes code, one alone is a letter; all of it is escaped."""
    assert h("p", prose(text)).html() == html


def test_no_exercise_shows_a_backtick() -> None:
    """Neither the text of an exercise nor its hint, wherever they are drawn; some have code."""
    known = tasks()
    assert len(known) > len(families())
    drawn = [Exercise(task).draw().html() for task in known.values()]
    drawn += [Judgement(False, task.title, (task.hint,)).draw().html() for task in known.values()]
    assert not [html for html in drawn if "`" in html]
    assert any("<code>" in html for html in drawn)
