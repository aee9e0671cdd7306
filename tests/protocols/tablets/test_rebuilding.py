"""What the lesson on rebuilds asks: who may die, whence data comes, what repairs skip."""

from __future__ import annotations

import pytest

from kit.errors import BadInput, KitError
from kit.lessons.exercises import exercise
from kit.lessons.predictions import predict
from kit.lessons.replays import verbs_to
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.tablets.lessons.rebuilding import comes_from, may_be_lost, skipped_by_repair
from tests.protocols.tablets.answers import REPLACED, one_loss_later


def replacing(**more: object) -> Timeline:
    """The default schedule of a replace, until C has left."""
    timeline = Timeline(build("tablets", {**REPLACED, "crashes": 1, **more}))
    while timeline.state.control.topology.nodes[2].state != "left":
        assert timeline.forward() is not None
    return timeline


def test_who_may_die_is_asked_of_the_replicas_that_live() -> None:
    """Right after the replace only who has no tablet yet; once all are rebuilt, anybody."""
    timeline = replacing()
    assert predict(timeline, may_be_lost).right == ("D",)
    while timeline.forward() is not None:
        pass
    assert predict(timeline, may_be_lost).right == ("A", "B", "D")


@pytest.mark.parametrize(("kind", "sources"), [("rebuild", ("A:0", "B:0")), ("rebuild_v2", 1)])
def test_where_data_comes_from(kind: str, sources: object) -> None:
    """From all that are left, or from one after a repair; what is shown stays where it is."""
    timeline = replacing(rebuild=kind)
    before = timeline.at
    right = predict(timeline, comes_from).right
    assert sources in (right, len(right))
    assert timeline.at == before
    while timeline.forward() is not None:
        pass
    with pytest.raises(KitError, match="no tablet is streamed"):
        predict(timeline, comes_from)


def test_what_repairs_skip() -> None:
    """A tablet whose primary replica has left, until it is rebuilt."""
    timeline = replacing(tablets=("A B C", "B C A", "C A B", "A C B"))
    assert predict(timeline, skipped_by_repair).right == ("2",)
    while timeline.forward() is not None:
        pass
    assert predict(timeline, skipped_by_repair).right == ("none of these",)
    with pytest.raises(BadInput, match="the model tablets"):
        predict(build("twophase"), skipped_by_repair)


def test_a_node_that_dies_too_early_is_no_answer() -> None:
    """The run of the exercise, cut where the request is done, does not pass."""
    early = [*verbs_to(replacing()), "crash B"]
    said = exercise("one-loss-later").check(early)
    assert not said.passed
    assert "every tablet can spare it" in " ".join(said.lines)
    assert exercise("one-loss-later").check(one_loss_later()).passed
