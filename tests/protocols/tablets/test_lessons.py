"""Questions and exercises on one tablet: answers come from the tables and the model."""

from __future__ import annotations

from typing import Any

import pytest

from kit.errors import BadInput, KitError
from kit.lessons.exercises import exercise
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.tablets.lessons.questions import (
    END,
    STAYS,
    late_arrives,
    next_stage,
    stage_fails,
    written_to,
)
from kit.protocols.tablets.rules.stages import TRANSITIONS
from tests.protocols.tablets.answers import RIGHT, until


def at(stage: str, *verbs: str, **given: Any) -> Timeline:
    """A tablet that has just entered a stage, and what was done then."""
    timeline = until(Timeline(build("tablets", {"moves": 1, **given})), stage)
    for verb in verbs:
        option = timeline.model.find(timeline.state, verb)
        assert option is not None, verb
        timeline.do(option[0])
    return timeline


@pytest.mark.parametrize("edition", ["documents", "server"])
def test_what_comes_next(edition: Any) -> None:
    """In every stage of a move the answer is where the table's happy edge leads."""
    table = TRANSITIONS[edition]["migration"]
    stage = table.begins.target
    while stage != END:
        edge = table.edge(stage, "happy")
        assert edge is not None
        answer = END if edge.target == "*" else edge.target
        question = next_stage(at(stage, edition=edition)).question
        assert question.right == (answer,)
        assert answer in question.choices
        stage = answer


@pytest.mark.parametrize(
    ("stage", "verbs", "edition", "answer"),
    [
        ("streaming", ("crash D",), "documents", "cleanup_target"),
        ("streaming", ("crash D",), "server", STAYS),
        ("streaming", ("crash D", "exclude D"), "server", "cleanup_target"),
        ("write_both_read_new", ("crash D",), "documents", "cleanup_target"),
        ("write_both_read_new", ("crash C",), "documents", "use_new"),
        ("write_both_read_new", ("crash D", "exclude D"), "server",
         "write_both_read_old_fallback_cleanup"),
        ("use_new", ("crash D",), "documents", STAYS),
    ],
)  # fmt: skip
def test_where_a_failure_leads(
    stage: str, verbs: tuple[str, ...], edition: str, answer: str
) -> None:
    """Back, on, or nowhere: by edition, by stage and by who is gone."""
    given: dict[str, Any] = {"edition": edition, "crashes": 1, "exclusions": 1}
    question = stage_fails(at(stage, *verbs, **given)).question
    assert question.right == (answer,)
    assert answer in question.choices


def test_a_late_rpc_is_judged_by_its_stage() -> None:
    """While its stage is still open it is let in; once a barrier has passed it is refused."""
    timeline = at("streaming", "delay 0", late=1)
    assert late_arrives(timeline).question.right == ("it lets it in",)
    until(timeline, "cleanup")
    assert late_arrives(timeline).question.right == ("it refuses it",)


def test_questions_ask_of_what_is_there() -> None:
    """Without a transition, work or a late RPC, or of another model, there is nothing to ask."""
    rests = Timeline(build("tablets"))
    for question in (next_stage, written_to, stage_fails, late_arrives):
        with pytest.raises(KitError, match="predict:"):
            question(rests)
    with pytest.raises(BadInput, match="the model tablets"):
        next_stage(Timeline(build("twophase")))
    over = at("streaming", "work on 0")
    with pytest.raises(KitError, match="no work left"):
        stage_fails(over)


def always_old(stage: str, write: bool, old: list[str], new: list[str]) -> list[str]:
    """A wrong answer: as if nothing ever moved."""
    return old


def never_resized(average: int, under_way: str, count: int, initial: int) -> str:
    """A wrong answer: as if sizes did not matter."""
    return "none"


def nobody(*given: object) -> list[object]:
    """A wrong answer: none at all."""
    return []


NOBODY = dict.fromkeys(("homes", "without-majority", "may-alter", "to-be-warned-of"), nobody)


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.usefixtures("judged_here")
def test_right_answers_pass_and_wrong_ones_do_not(name: str) -> None:
    """What is right passes in full; an empty answer does not."""
    assert "✓" in repr(exercise(name).check(RIGHT[name]()))
    wrong: Any = {"replicas-used": always_old, "resize-decided": never_resized, **NOBODY}.get(
        name, []
    )
    assert "✗" in repr(exercise(name).check(wrong))
