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
def test_a_late_copy_is_turned_away_where_sessions_are_checked(name: str, answer: str) -> None:
    """Without the safeguard "sessions" its target takes the copy."""
    question = late_copy(before(name, "late copy of session 1, B to C")).question
    assert question.right == (answer,)
    why = {TURNS_AWAY: "C has applied version 13", TAKES: "sessions are not checked here"}
    assert why[answer] in question.because


def test_a_late_copy_is_taken_by_a_target_that_has_not_applied_the_rollback() -> None:
    """The copy's session is still open there."""
    timeline = before("late-stream-turned-away", "delete 2 at version 12")
    assert late_copy(timeline).question.right == (TAKES,)


def test_an_older_request_is_refused_only_by_replicas_that_know_the_fence() -> None:
    """Before the fence is known, no replica refuses it."""
    assert refusers(before("fence-refuses", "write 1 reaches B"), "write 1").question.right == (
        "B",
    )
    early = refusers(before("fence-refuses", "commit write_both_read_old"), "write 1").question
    assert (early.choices, early.right) == (("B",), ())
    assert "B is at version 10 and admits it" in early.because


def test_a_prediction_of_a_late_copy_passes_only_with_the_right_answer() -> None:
    """With sessions off, "takes it" is right."""
    asked = predict(before("off-sessions", "late copy of session 1, B to C"), late_copy)
    assert asked.answer(TAKES).passed
    assert not asked.answer(TURNS_AWAY).passed


def test_a_question_about_nothing_or_of_another_model_is_refused() -> None:
    """No copy was left behind, no request begun, or the model has neither."""
    idle = Timeline(build("vnodes", {}))
    with pytest.raises(KitError, match="predict: no copy was left behind"):
        late_copy(idle)
    with pytest.raises(BadInput, match="request"):
        refusers(idle, "write 1")
    with pytest.raises(BadInput, match="model"):
        late_copy(Timeline(build("twophase", {})))


@pytest.mark.parametrize("name", ["bring-it-back", "wrong-permit", "refused-though-alive"])
@pytest.mark.usefixtures("judged_here")
def test_a_run_that_stops_one_step_early_fails_its_exercise(name: str) -> None:
    """The reply says what the run lacks."""
    assert exercise(name).check(RIGHT[name]()).passed
    short = exercise(name).check(RIGHT[name]()[:-1])
    assert not short.passed
    lacks = ("In your run", "no read has found", "no write has failed")
    assert any(words in repr(short) for words in lacks)


def counted_by_quotas(edition: str, old: list[str], new: list[str], answered: list[str]) -> bool:
    """Whether a write at QUORUM may be acknowledged, by the model's own quotas."""
    before, after, has = (mask_of(map("ABCD".index, group)) for group in (old, new, answered))
    view = View(before, before | after, before, after)
    rule = ACKNOWLEDGEMENT["documents" if edition == "documents" else "server"]
    return enough(write_quotas("QUORUM", view, (15,), 0, rule), has)


def test_the_solution_counts_acknowledgements_as_the_model_does() -> None:
    """Two moves, both editions and all sets of up to four answers are tried."""
    for old, new in ((["A", "B", "C"], ["B", "C", "D"]), (["A", "B"], ["B", "D"])):
        for size in range(5):
            for answered in combinations("ABCD", size):
                for edition in ("documents", "server"):
                    case = (edition, old, new, list(answered))
                    assert acknowledged(*case) == counted_by_quotas(*case), case


def test_a_shared_safeguard_off_breaks_the_same_promise_under_epochs_and_versions() -> None:
    """With all of them on, nothing breaks. A safeguard that is not shared is refused."""
    sheet = side_by_side("dataplane", "vnodes", "S-05", "S-06", "S-07", "S-08")
    assert [row[0] for row in sheet.rows] == ["S-05", "S-06", "S-07", "S-08", "nothing"]
    assert all(row[1] == row[4] for row in sheet.rows)
    quorums = "Every read quorum in use meets every write quorum in use"
    streamed = "At the read switch, the new group holds every acknowledged write"
    harms = [quorums, quorums, streamed, streamed, "nothing"]
    assert [row[1] for row in sheet.rows] == harms
    with pytest.raises(BadInput, match="safeguards"):
        side_by_side("dataplane", "vnodes", "S-20")
