"""Questions on reads and writes are answered by the model, and change with it."""

from __future__ import annotations

from itertools import combinations

import pytest

from kit.errors import BadInput, KitError
from kit.lessons import (
    after,
    before,
    enough_answers,
    exercise,
    holders,
    not_owned,
    outcome,
    predict,
    story,
)
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.dataplane.lessons import always_meet
from kit.widgets import Player
from tests.lessons.answers import RIGHT


@pytest.mark.spec("B-022")
def test_the_missed_write_is_foretold() -> None:
    """What the client will be told is taken from the model; the write is offered, and wrong."""
    player = story("dataplane/anomaly-invisible-write")
    player = before(player, "answer read 2")
    asked = predict(player, outcome, "answer read 2")
    assert asked.posed.question.right == ("returned nothing",)
    assert "returned write 1" in asked.choices
    assert not asked.answer("returned write 1").passed
    assert asked.answer("returned nothing").passed
    assert player.timeline.now.action != player.timeline.moments[-1].action


def test_a_step_that_must_wait_is_no_question() -> None:
    """A step that is refused, or is not there, or is not worth asking about, says so."""
    player = Player(build("dataplane"))
    with pytest.raises(BadInput, match="one of"):
        predict(player, outcome, "answer read 9")
    player.act("bootstrap X --tokens 150")
    with pytest.raises(KitError, match="must wait: waiting at the barrier"):
        predict(player, outcome, "commit X")
    with pytest.raises(KitError, match="nothing to ask"):
        predict(player, outcome, "apply A")


@pytest.mark.spec("B-024")
def test_who_holds_a_write_leaves_out_who_is_down() -> None:
    """After A has cleaned up and B has failed nobody within reach has the write."""
    player = story("dataplane/anomaly-lost-write")
    player = after(player, "answer write 1")
    assert predict(player, holders, "write 1").posed.question.right == ("A", "B")
    player = after(player, "crash B")
    assert predict(player, holders, "write 1").posed.question.right == ()
    with pytest.raises(BadInput, match="write 1"):
        predict(player, holders, "write 7")


@pytest.mark.spec("A-027")
def test_leftovers_are_those_of_the_replica_that_gave_the_range_up() -> None:
    """When a node has joined, the one whose place it took still has the data."""
    assert predict("dataplane/write-and-read", not_owned).posed.question.right == ("A",)


@pytest.mark.parametrize("acknowledgement", ["union", "joint"])
def test_enough_answers_follow_the_rule(acknowledgement: str) -> None:
    """Two of each set do by the one rule, and never by the other."""
    player = Player(
        build("dataplane", {"acknowledgement": acknowledgement, "requests": ["K1 write QUORUM"]})
    )
    with pytest.raises(KitError, match="not open"):
        predict(player, enough_answers)
    for verb in ("bootstrap X --tokens 150", "apply A", "apply B", "apply X", "commit X"):
        player.act(verb)
    player.act("write 1 at epoch 101")
    right = predict(player, enough_answers).posed.question.right
    assert ("B C" in right) == (acknowledgement == "joint")
    assert "A B C" in right
    assert "A X" not in right or acknowledgement == "joint"


def test_a_story_is_named_or_the_nearest_names_are() -> None:
    """Stories are the scenario files of the kit; steps are found by their verbs."""
    with pytest.raises(BadInput, match="anomaly-lost-write"):
        story("dataplane/anomaly-lost")
    player = story("dataplane/anomaly-lost-write")
    assert player.timeline.at == 0
    with pytest.raises(BadInput, match="crash B"):
        player = before(player, "crash C")


def test_majorities_that_always_meet() -> None:
    """The judge's enumeration agrees with counting, on all groups of up to four of five nodes."""
    groups = [list(some) for size in range(1, 5) for some in combinations("ABCDE", size)]
    counted = RIGHT["always-meet"]()
    assert all(always_meet(a, b) == counted(a, b) for a in groups for b in groups)


def test_wrong_runs_are_told_what_is_missing() -> None:
    """A run that breaks nothing, or fails for another reason, does not pass."""
    calm = Timeline(build("dataplane", {}, ("S-01",)))
    calm.forward()
    assert "no read has missed a write" in repr(exercise("miss-a-write").check(calm))
    given_up = ["write 1 at epoch 100", "A answers ok at epoch 100", "time out"]
    assert "plan had gone stale" in repr(exercise("stale-plan").check(given_up))
