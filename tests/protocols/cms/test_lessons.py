"""What the lessons on the CMS ask is answered by the models, also for who answers wrong."""

from __future__ import annotations

import pytest

from kit import Player
from kit.errors import BadInput
from kit.lessons import answer_to, attempt, before, deciding, exercise, fetched, predict, story
from kit.protocols.cms.lessons.tasks import promises


def test_what_a_submitter_is_told_is_the_end_of_the_run() -> None:
    """The rest of the story counts, wherever one looks; a request without an answer has none."""
    race = story("cms/race-rejected")
    assert predict(race, answer_to, "r2").answer("rejected").passed
    race.goto(3)
    assert predict(race, answer_to, "r2").answer("rejected").passed
    assert predict(race, answer_to, "r1").answer("committed as epoch 1").passed
    assert predict(story("cms/race-retried"), answer_to, "r2").answer("committed as epoch 2").passed
    wrong = predict(race, answer_to, "r2").answer("committed as epoch 2")
    assert "table t is dropped (epoch 1)" in repr(wrong)


def test_who_asks_is_sent_what_is_left_of_the_log() -> None:
    """From a node that has cut its log off, a snapshot and the entries above it; else entries."""
    asked = before(story("cms/snapshot-and-archive"), "ask A for D")
    assert predict(asked, fetched, "D", "A").answer("the snapshot of epoch 2 and epoch 3").passed
    assert predict(asked, fetched, "D", "B").answer("epochs 1, 2, 3").passed
    assert predict(asked, fetched, "D", "C").answer("nothing").passed


def test_who_decides_needs_both_majorities() -> None:
    """While a node is written to only, the readers have to be among those who store an epoch."""
    grown = Player("cms/third-node")
    assert predict(grown, deciding).answer("A").passed
    attempt(grown, "bootstrap A C A", "advance A A")
    assert predict(grown, deciding).answer("A and B").passed
    assert not predict(grown, deciding).answer("A").passed
    attempt(grown, "catch-up B A", "advance A A B", "advance A A B")
    assert predict(grown, deciding).answer("A and B").passed
    attempt(grown, "catch-up C A", "advance A A B")
    assert predict(grown, deciding).right == ("A and B", "A and C", "B and C")


def test_what_nobody_can_be_asked_is_refused() -> None:
    """Another model, an unknown request, an unknown node."""
    race = story("cms/race-rejected")
    for question, about in ((answer_to, ["r9"]), (fetched, ["A", "Z"]), (deciding, [])):
        with pytest.raises(BadInput):
            predict(race, question, *about)
    with pytest.raises(BadInput):
        predict("cms/grow", answer_to, "r1")


def test_overtaking_needs_the_first_ballot_and_both_answers() -> None:
    """B alone, or B first, or an answer that is missing: each is told."""
    alone = ["submit r2 B", "ballot B", "prepare B C", "propose B", "accept B C", "learn B"]
    told_so = repr(exercise("overtaken").check(alone))
    assert "A has to open a ballot first, then B." in told_so
    assert "the submitters know: waiting, sent" in told_so
    late = ["submit r1 A", "submit r2 B", "ballot A", "ballot B"]
    assert "epoch 1 is not the event of B" in repr(exercise("overtaken").check(late))


def test_an_acceptor_promises_what_is_not_below_its_promise() -> None:
    """The rule of the exercise is that of the model."""
    assert promises([3, 1, 3, 4, 2]) == [True, False, True, True, False]
