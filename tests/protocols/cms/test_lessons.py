"""What the lessons on the CMS ask is answered by the models, also for who answers wrong."""

from __future__ import annotations

import pytest

from kit import Player
from kit.errors import BadInput, KitError
from kit.lessons import (
    after,
    answer_to,
    attempt,
    before,
    deciding,
    done_changes,
    exercise,
    fetched,
    finders,
    kept_changes,
    predict,
    recipients,
    starters,
    story,
    with_log,
)
from kit.protocols.cms.lessons import promises


def test_the_lesson_knows_how_a_submission_ends() -> None:
    """By the end of the run, wherever one looks."""
    race = story("cms/race-rejected")
    assert predict(race, answer_to, "r2").answer("rejected").passed
    race.goto(3)
    assert predict(race, answer_to, "r2").answer("rejected").passed
    assert predict(race, answer_to, "r1").answer("committed as epoch 1").passed
    assert predict(story("cms/race-retried"), answer_to, "r2").answer("committed as epoch 2").passed
    wrong = predict(race, answer_to, "r2").answer("committed as epoch 2")
    assert "table t has been dropped (epoch 1)" in repr(wrong)


def test_the_lesson_knows_what_a_node_is_sent_of_the_log() -> None:
    """A snapshot and the entries above it where the log was cut; else the entries."""
    asked = before(story("cms/snapshot-and-archive"), "ask A for D")
    assert predict(asked, fetched, "D", "A").answer("the snapshot of epoch 2 and epoch 3").passed
    assert predict(asked, fetched, "D", "B").answer("epochs 1, 2, 3").passed
    assert predict(asked, fetched, "D", "C").answer("nothing").passed


def test_the_lesson_knows_which_members_decide() -> None:
    """Most of the readers and most of the writers, while a node is added in two events."""
    grown = Player("cms/third-node")
    assert predict(grown, deciding).answer("A").passed
    attempt(grown, "bootstrap A C A", "advance A A")
    assert predict(grown, deciding).answer("A and B").passed
    assert not predict(grown, deciding).answer("A").passed
    attempt(grown, "catch-up B A", "advance A A B", "advance A A B")
    assert predict(grown, deciding).answer("A and B").passed
    attempt(grown, "catch-up C A", "advance A A B")
    assert predict(grown, deciding).right == ("A and B", "A and C", "B and C")


def test_a_question_about_an_unknown_node_or_model_is_refused() -> None:
    """Or about an unknown request."""
    race = story("cms/race-rejected")
    with pytest.raises(BadInput, match="request: got 'r9'"):
        predict(race, answer_to, "r9")
    with pytest.raises(BadInput, match="node: got 'Z'"):
        predict(race, fetched, "A", "Z")
    with pytest.raises(BadInput, match="the model cms"):
        predict(race, deciding)
    with pytest.raises(BadInput, match="the model commit"):
        predict("cms/grow", answer_to, "r1")


@pytest.mark.usefixtures("judged_here")
def test_the_exercise_on_overtaking_names_what_is_missing() -> None:
    """A's ballot before B's, both answers, or B's event as epoch 1."""
    alone = ["submit r2 B", "ballot B", "prepare B C", "propose B", "accept B C", "learn B"]
    told_so = repr(exercise("overtaken").check(alone))
    assert "A has to open a ballot first, and then B." in told_so
    assert "the submitters know: waiting, sent" in told_so
    late = ["submit r1 A", "submit r2 B", "ballot A", "ballot B"]
    assert "epoch 1 is not the event of B" in repr(exercise("overtaken").check(late))


def test_the_solution_promises_no_ballot_below_its_promise() -> None:
    """The rule of the exercise is that of the model."""
    assert promises([3, 1, 3, 4, 2]) == [True, False, True, True, False]


def test_the_lesson_compares_a_race_by_gossip_and_in_the_log() -> None:
    """By gossip both changes are done and no node starts again; in the log one change is done."""
    gossip, ordered = (with_log("cms/type-dropped-by-gossip", ordered=o) for o in (False, True))
    both = [planned.text for planned in gossip.model.planned]
    assert predict(gossip, done_changes).right == tuple(both)
    assert predict(ordered, done_changes).right == (both[0],)
    assert predict(gossip, starters).answer("none of these").passed
    assert predict(ordered, starters).right == ("A", "B")
    assert len(gossip.timeline.branches()) == 2
    assert gossip.timeline.at == 0
    assert ordered.timeline.here.ordered
    assert not gossip.timeline.here.ordered


def test_the_lesson_knows_which_nodes_find_a_write() -> None:
    """Two creations by gossip leave it under an id that no node reads; before, two nodes do."""
    twice = story("cms/two-ids-by-gossip")
    assert predict(twice, finders).answer("none of these").passed
    fresh = Player(twice.model, controls=False)
    attempt(fresh, "create table ks.t at A", "create table ks.t at B", "learn A C", "write A")
    assert predict(fresh, finders).right == ("A", "C")
    with pytest.raises(KitError, match="nothing is written"):
        predict("schema/two-changes", finders)


def test_the_lesson_knows_to_whom_a_coordinator_writes() -> None:
    """B, which has dropped the joiner, does not write to it; A does."""
    dropped = after(story("cms/silent-joiner-by-gossip"), "time-out B")
    assert predict(dropped, recipients, "B").right == ("A", "B")
    assert predict(dropped, recipients, "A").right == ("A", "B", "X")
    with pytest.raises(BadInput, match="node: got 'Z'"):
        predict(dropped, recipients, "Z")


def test_the_lesson_knows_which_changes_the_log_keeps() -> None:
    """A change that only gossip knew is not in the log; without a log nothing can be asked."""
    assert predict(story("cms/off-metadata-switch"), kept_changes).right == ("change 2",)
    assert predict(story("cms/off-equal-metadata"), kept_changes).answer("none of these").passed
    with pytest.raises(KitError, match="no log begins"):
        predict("migration/to-the-log", kept_changes)


@pytest.mark.usefixtures("judged_here")
def test_the_exercise_on_mending_names_what_is_missing() -> None:
    """A mismatch that was found, and a log on both nodes."""
    alike = ["upgrade A", "upgrade B", "initialize A", "answer A B", "begin-log A", "catch-up B"]
    said = repr(exercise("mended").check(alike))
    assert "No initiator of your run has found a mismatch." in said
    assert "not both nodes follow a log" in said
