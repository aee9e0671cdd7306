"""Questions and exercises on requests under the coordinator: the model's own rules judge them."""

from __future__ import annotations

from itertools import combinations

import pytest

from kit.errors import BadInput, KitError
from kit.lessons.exercises import exercise
from kit.lessons.predictions import predict
from kit.lessons.trying import side_by_side
from kit.masks import mask_of
from kit.model.registry import build
from kit.model.scenario import file_named, open_file
from kit.model.timeline import Timeline
from kit.protocols.storage.rules.levels import enough, write_quotas
from kit.protocols.storage.rules.view import View
from kit.protocols.vnodes.lessons import TAKES, TURNS_AWAY, acknowledged, late_copy, refusers
from kit.protocols.vnodes.rules import ACKNOWLEDGEMENT
from tests.protocols.vnodes.answers import RIGHT


def before(name: str, verb: str) -> Timeline:
    """A scenario of this family, before one of its steps."""
    timeline = open_file(file_named(f"vnodes/{name}"))
    verbs = [timeline.model.verb(moment.action) for moment in timeline.moments[1:]]
    timeline.goto(timeline.moments[1 + verbs.index(verb)].parent)
    return timeline


@pytest.mark.parametrize(
    ("name", "answer"), [("late-stream-turned-away", TURNS_AWAY), ("off-sessions", TAKES)]
)
def test_who_lets_a_late_copy_in(name: str, answer: str) -> None:
    """Its target turns it away, unless nobody asks for sessions."""
    question = late_copy(before(name, "late copy of session 1, B to C")).question
    assert question.right == (answer,)
    why = {TURNS_AWAY: "C has applied version 13", TAKES: "sessions are not checked here"}
    assert why[answer] in question.because


def test_a_late_copy_is_taken_by_who_has_not_heard() -> None:
    """Before C applies the rollback, session 1 is open there."""
    timeline = before("late-stream-turned-away", "delete 2 at version 12")
    assert late_copy(timeline).question.right == (TAKES,)


def test_who_refuses_an_older_request() -> None:
    """Whoever knows the fence; before that nobody."""
    assert refusers(before("fence-refuses", "write 1 reaches B"), "write 1").question.right == (
        "B",
    )
    early = refusers(before("fence-refuses", "commit write_both_read_old"), "write 1").question
    assert (early.choices, early.right) == (("B",), ())
    assert "B is at version 10 and admits it" in early.because


def test_a_prediction_is_judged_by_the_model() -> None:
    """Right and wrong answers get their reply."""
    asked = predict(before("off-sessions", "late copy of session 1, B to C"), late_copy)
    assert asked.answer(TAKES).passed
    assert not asked.answer(TURNS_AWAY).passed


def test_questions_that_do_not_fit() -> None:
    """Where there is nothing to ask about, or another model: one line."""
    idle = Timeline(build("vnodes", {}))
    with pytest.raises(KitError, match="predict: no copy was left behind"):
        late_copy(idle)
    with pytest.raises(BadInput, match="request"):
        refusers(idle, "write 1")
    with pytest.raises(BadInput, match="model"):
        late_copy(Timeline(build("twophase", {})))


@pytest.mark.parametrize("name", ["bring-it-back", "wrong-permit", "refused-though-alive"])
@pytest.mark.usefixtures("judged_here")
def test_a_run_that_stops_too_early_is_no_answer(name: str) -> None:
    """The exercise takes the whole run; one step less, and it says what is missing."""
    assert exercise(name).check(RIGHT[name]()).passed
    short = exercise(name).check(RIGHT[name]()[:-1])
    assert not short.passed
    assert "In your run" in repr(short) or "no read has found" in repr(short)


def counted_by_quotas(edition: str, old: list[str], new: list[str], answered: list[str]) -> bool:
    """Whether a write at QUORUM may be acknowledged, by the model's own quotas."""
    before, after, has = (mask_of(map("ABCD".index, group)) for group in (old, new, answered))
    view = View(before, before | after, before, after)
    rule = ACKNOWLEDGEMENT["documents" if edition == "documents" else "server"]
    return enough(write_quotas("QUORUM", view, (15,), 0, rule), has)


def test_both_counts_in_plain_words() -> None:
    """The judge counts by hand; so many answers are enough for the model's own quotas, too."""
    for old, new in ((["A", "B", "C"], ["B", "C", "D"]), (["A", "B"], ["B", "D"])):
        for size in range(5):
            for answered in combinations("ABCD", size):
                for edition in ("documents", "server"):
                    case = (edition, old, new, list(answered))
                    assert acknowledged(*case) == counted_by_quotas(*case), case


def test_two_families_side_by_side() -> None:
    """Where both have the safeguard, both break the same promise first, and neither with all on."""
    sheet = side_by_side("dataplane", "vnodes", "S-05", "S-06", "S-07", "S-08")
    assert [row[0] for row in sheet.rows] == ["S-05", "S-06", "S-07", "S-08", "nothing"]
    assert all(row[1] == row[4] for row in sheet.rows)
    quorums = "Every read quorum in use meets every write quorum in use"
    streamed = "At the read switch, the new group holds every acknowledged write"
    harms = [quorums, quorums, streamed, streamed, "nothing"]
    assert [row[1] for row in sheet.rows] == harms
    with pytest.raises(BadInput, match="safeguards"):
        side_by_side("dataplane", "vnodes", "S-20")
