"""Questions on group 0 and discovery are answered by the models; a race is drawn as it runs."""

from __future__ import annotations

import pytest

from kit.errors import BadInput, KitError
from kit.lessons import effective, founders, predict
from kit.model.timeline import Timeline
from kit.protocols.group0.discovery import Discovery
from kit.protocols.group0.panels import graphs
from tests.protocols.group0.driving import Driven
from tests.views.tabled import drawn_rows


def test_the_lesson_accepts_only_the_entries_that_took_effect() -> None:
    """Of a retried command that is in the log twice, the first."""
    driven = Driven(operations=("create table ks.t at A",), elections=1)
    driven.submitted("create table ks.t at A").do("commit 4 by A B", "elect B", "retry A")
    driven.do("commit 4 by A B")
    prediction = predict(driven.timeline, effective)
    right = prediction.choices[:2]
    assert prediction.answer(*right).passed
    wrong = prediction.answer(*prediction.choices[:3])
    assert not wrong.passed
    assert "The states follow one another: 0 → 1, 1 → 4." in repr(wrong)
    assert wrong.evidence is not None


@pytest.mark.parametrize(
    ("seeds", "right"),
    [
        (("A", "A", "A"), ("A",)),
        (("C", "C", "C"), ("A", "B", "C")),
        (("A", "B", "A B"), ("A", "B")),
    ],
)
def test_the_lesson_searches_which_nodes_may_found_a_group(
    seeds: tuple[str, ...], right: tuple[str, ...]
) -> None:
    """The right nodes are those that found a group in some run."""
    prediction = predict(Discovery(Discovery.Parameters(seeds)), founders)
    assert prediction.right == right
    assert prediction.answer(*right).passed


def test_a_question_that_cannot_be_answered_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """No log, no discovery, or too large a search."""
    monkeypatch.setattr("kit.protocols.group0.lessons._MOST", 10_000)
    with pytest.raises(KitError, match="group 0's log has no entry"):
        predict(Timeline(Discovery()), effective)
    with pytest.raises(BadInput, match="discovery"):
        predict(Driven().timeline, founders)
    with pytest.raises(KitError, match="more than 10,000 states"):
        predict(Discovery(Discovery.Parameters(("A",) * 5)), founders)


def lanes() -> list[list[str]]:
    """The rows of the drawing, each with what A, the log and B do."""
    [(_, source)] = graphs()
    return [[words for *_, words in row] for row in drawn_rows(source)]


def test_the_drawing_shows_a_race_on_the_same_state() -> None:
    """A's command takes effect, B's is a no-op, and B begins again."""
    assert lanes() == [
        ["A", "log", "B"],
        ["takes its lock", "", "takes its lock"],
        ["read barrier", "", "read barrier"],
        ["newest is 1", "", "newest is 1"],
        ["makes 4", "", "makes 2"],
        ["it makes sense", "", "it makes sense"],
        ["submits 1 → 4", "", "submits 1 → 2"],
        ["", "1 → 4: takes effect", ""],
        ["", "1 → 2: no-op", ""],
        ["finds 4: success", "", ""],
        ["", "", "finds no 2, starts again"],
        ["", "", "read barrier"],
        ["", "", "newest is 4"],
        ["", "", "makes 5"],
        ["", "", "no longer makes sense: error"],
    ]
