"""Questions, exercises and the bug hunt in tablets: answers come from the tables and models."""

from __future__ import annotations

from typing import Any

import pytest

from kit.errors import BadInput, KitError
from kit.lessons.exercises import exercise
from kit.lessons.hunting import VARIANTS, Variant, drawn, hunt, hunts, judged, suspected
from kit.lessons.predictions import predict
from kit.lessons.replays import shortest_breach, verbs_to
from kit.model.registry import build, entry_of
from kit.model.timeline import Timeline
from kit.protocols.tablets.lessons.questions import (
    END,
    STAYS,
    late_arrives,
    next_stage,
    stage_fails,
    written_to,
)
from kit.protocols.tablets.lessons.rebuilding import comes_from, may_be_lost, skipped_by_repair
from kit.protocols.tablets.rules.stages import TRANSITIONS
from tests.protocols.tablets.answers import REPLACED, RIGHT, one_loss_later, until


def at(stage: str, *verbs: str, **given: Any) -> Timeline:
    """A tablet that has just entered a stage, and what was done then."""
    timeline = until(Timeline(build("tablets", {"moves": 1, **given})), stage)
    for verb in verbs:
        option = timeline.model.find(timeline.state, verb)
        assert option is not None, verb
        timeline.do(option[0])
    return timeline


@pytest.mark.parametrize("edition", ["documents", "server"])
def test_the_right_answer_on_the_next_stage_is_the_happy_edge(edition: Any) -> None:
    """In every stage of a move, in both editions."""
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
def test_the_right_answer_on_a_failure_is_the_stage_that_follows(
    stage: str, verbs: tuple[str, ...], edition: str, answer: str
) -> None:
    """By edition, by stage and by the nodes that are gone."""
    given: dict[str, Any] = {"edition": edition, "crashes": 1, "exclusions": 1}
    question = stage_fails(at(stage, *verbs, **given)).question
    assert question.right == (answer,)
    assert answer in question.choices


def test_the_right_answer_on_a_late_rpc_depends_on_its_stage() -> None:
    """While its stage is open it is let in, and behind a barrier refused."""
    timeline = at("streaming", "delay 0", late=1)
    assert late_arrives(timeline).question.right == ("it lets it in",)
    until(timeline, "cleanup")
    assert late_arrives(timeline).question.right == ("it refuses it",)


def test_a_question_about_tablets_without_its_subject_is_refused() -> None:
    """A transition, work, a late RPC, or the model itself is missing."""
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
def test_each_exercise_on_tablets_passes_its_right_answer_and_fails_a_wrong_one(name: str) -> None:
    """The wrong one is empty, or as if nothing ever moved."""
    assert "✓" in repr(exercise(name).check(RIGHT[name]()))
    wrong: Any = {"replicas-used": always_old, "resize-decided": never_resized, **NOBODY}.get(
        name, []
    )
    assert "✗" in repr(exercise(name).check(wrong))


def replacing(**more: object) -> Timeline:
    """The default schedule of a replace, until C has left."""
    timeline = Timeline(build("tablets", {**REPLACED, "crashes": 1, **more}))
    while timeline.state.control.topology.nodes[2].state != "left":
        assert timeline.forward() is not None
    return timeline


def test_the_right_answer_on_a_further_loss_changes_with_the_rebuild() -> None:
    """Right after the replace it is D alone, and in the end any node."""
    timeline = replacing()
    assert predict(timeline, may_be_lost).right == ("D",)
    while timeline.forward() is not None:
        pass
    assert predict(timeline, may_be_lost).right == ("A", "B", "D")


@pytest.mark.parametrize(("kind", "sources"), [("rebuild", ("A:0", "B:0")), ("rebuild_v2", 1)])
def test_the_right_answer_on_sources_is_all_replicas_or_one_after_a_repair(
    kind: str, sources: object
) -> None:
    """Asking leaves the run where it was."""
    timeline = replacing(rebuild=kind)
    before = timeline.at
    right = predict(timeline, comes_from).right
    assert sources in (right, len(right))
    assert timeline.at == before
    while timeline.forward() is not None:
        pass
    with pytest.raises(KitError, match="no tablet is streamed"):
        predict(timeline, comes_from)


def test_the_right_answer_on_skipped_repairs_has_the_tablets_without_their_primary() -> None:
    """Once they are rebuilt it is none."""
    timeline = replacing(tablets=("A B C", "B C A", "C A B", "A C B"))
    assert predict(timeline, skipped_by_repair).right == ("2",)
    while timeline.forward() is not None:
        pass
    assert predict(timeline, skipped_by_repair).right == ("none of these",)
    with pytest.raises(BadInput, match="the model tablets"):
        predict(build("twophase"), skipped_by_repair)


def test_a_loss_before_the_request_is_done_fails_its_exercise() -> None:
    """Every tablet can still spare that node."""
    early = [*verbs_to(replacing()), "crash B"]
    said = exercise("one-loss-later").check(early)
    assert not said.passed
    assert "every tablet can spare it" in " ".join(said.lines)
    assert exercise("one-loss-later").check(one_loss_later()).passed


OF = "tablets"

EVERY = [
    (model, id_) for model, pool in hunts().items() if pool.of == OF for id_ in pool.safeguards
]

LONG = {"S-24", "S-57"}
"""These need requests of their own."""


def variant_of(model: str, id_: str) -> Variant:
    """The variant that lacks one safeguard."""
    guard = next(g for g in entry_of(model).safeguards if g.id == id_)
    return Variant(model, {**guard.smallest, **hunts()[model].budgets}, guard)


@pytest.mark.sweep(3)
@pytest.mark.parametrize(("model", "id_"), EVERY)
def test_a_search_breaks_every_tablet_hunt_variant_and_refutes_a_wrong_accusation(
    model: str, id_: str
) -> None:
    """The name of the missing safeguard passes."""
    variant = variant_of(model, id_)
    assert shortest_breach(variant.build(), 20_000).violation is not None
    assert judged(variant, 1, id_).passed
    others = [guard.id for guard in suspected(variant) if guard.id not in {id_, *LONG}]
    verdict = judged(variant, 1, others[EVERY.index((model, id_)) % len(others)])
    assert not verdict.passed
    assert "With only" in " ".join(verdict.lines)


def test_a_hunt_in_tablets_draws_eight_variants_of_all_three_models() -> None:
    """Its sheet tells no two safeguards of one model apart."""
    for seed in range(20):
        variants = drawn(seed, OF)
        assert len({(v.model, v.missing.id) for v in variants}) == len(variants) == VARIANTS, seed
        assert {v.model for v in variants} == {"tablets", "tablet", "resize"}, seed
    planned = {(row[1], row[2]) for seed in range(20) for row in hunt(seed, OF).sheet().rows}
    assert len(planned) == len({about for about, _ in planned})
