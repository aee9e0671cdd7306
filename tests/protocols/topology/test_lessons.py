"""Questions and exercises on the coordinator, and the bug hunt in group 0."""

from __future__ import annotations

from typing import Any

import pytest

from kit.errors import BadInput, KitError
from kit.lessons import exercise, hunt
from kit.lessons.hunting import VARIANTS, Variant, drawn, hunts, judged, suspected
from kit.lessons.predictions import predict
from kit.lessons.tasks import task_named
from kit.model.registry import build, entry_of
from kit.model.timeline import Timeline, played_out
from kit.protocols.topology import topology as act
from kit.protocols.topology.lessons.coordinator import (
    GROUNDS,
    after_failure,
    barrier_waits,
    may_begin,
    next_transition,
    of_the_deposed,
)
from kit.protocols.topology.lessons.joining import (
    BANNED,
    BY,
    IN,
    NOBODY_NEXT,
    checks_table,
    next_request,
    who_decides,
)
from kit.search.check import check
from tests.protocols import by_rules
from tests.protocols.topology.test_panels import after
from tests.saying import like
from tests.views.frames import go_on


def at(state: str, **parameters: Any) -> Timeline:
    """A bootstrap that has just entered a state."""
    timeline = Timeline(build("topology", {"operations": ("join D",), **parameters}))
    while timeline.state.topology.transition != state:
        assert timeline.forward() is not None
    return timeline


@pytest.mark.parametrize(
    ("state", "answer"),
    [
        ("join_group0", "commit_cdc_generation"),
        ("write_both_read_old", "write_both_read_new"),
        ("write_both_read_new", "null: nothing is under way"),
    ],
)
def test_the_lesson_knows_the_next_transition_state(state: str, answer: str) -> None:
    """Of a bootstrap in which nothing fails."""
    assert next_transition(at(state)).question.right == (answer,)


@pytest.mark.parametrize(
    ("state", "edition", "answer"),
    [
        ("write_both_read_old", "server", "left_token_ring"),
        ("write_both_read_new", "server", "it continues anyway"),
        ("write_both_read_new", "documents", "it retries"),
        ("commit_cdc_generation", "documents", "left_token_ring"),
    ],
)
def test_the_lesson_knows_where_a_failure_leads(state: str, edition: str, answer: str) -> None:
    """Back where the table has a way back; else the editions differ."""
    question = after_failure(at(state, edition=edition)).question
    assert question.right == (answer,)
    assert answer in question.choices


def test_the_lesson_knows_whose_answer_a_barrier_misses() -> None:
    """All four nodes', then those of three."""
    timeline = at("write_both_read_old")
    assert barrier_waits(timeline).question.right == ("A", "B", "C", "D")
    timeline.forward()
    assert barrier_waits(timeline).question.right == ("B", "C", "D")


def test_the_lesson_knows_whether_a_deposed_command_takes_effect() -> None:
    """It does, unless the next coordinator has committed something before."""
    timeline = Timeline(build("topology", {"operations": ("join D",), "changes": 1}))
    after(timeline, (act.MakeRequest, act.TakeDecision, act.ElectCoordinator))
    assert of_the_deposed(timeline).question.right == ("it takes effect",)
    after(timeline, (act.TakeDecision, act.CommitDecision))
    assert of_the_deposed(timeline).question.right == ("it is in the log but has no effect",)


def verbs_of(timeline: Timeline) -> list[str]:
    """The run as verbs."""
    path = timeline.path(timeline.tip)[1:]
    return [timeline.model.verb(timeline.moments[moment].action) for moment in path]


def finish(timeline: Timeline) -> list[str]:
    """The verbs of the run, played to its end."""
    played_out(timeline)
    return verbs_of(timeline)


@pytest.mark.parametrize("kind", ["join", "leave", "remove", "replace", "rebuild"])
def test_the_solution_on_nodes_that_must_be_up_agrees_with_the_queue(kind: str) -> None:
    """For each set of nodes that are down or ignored."""
    for down in ([], ["B"], ["A", "B"], ["C"]):
        for ignored in ([], ["B"], ["A", "B"]):
            case = (kind, "A", "B", down, ignored)
            assert may_begin(*case) == by_rules.may_begin(*case), case
    assert task_named("may-begin").seeded


@pytest.mark.parametrize(
    ("name", "lacks"),
    [
        ("take-over", "no coordinator dies while a stream runs"),
        ("below-the-fence", "no replica refuses a request"),
        ("two-late-parts", "no late part of a stream was let in"),
    ],
)
def test_an_exercise_on_a_fault_rejects_a_calm_run(name: str, lacks: str) -> None:
    """And says what the run lacks."""
    task: Any = task_named(name)
    timeline = Timeline(GROUNDS[name].model())
    marks = task.judge(finish(timeline))
    assert not marks.passed
    assert any(lacks in case.note for case in marks.public)


@pytest.mark.parametrize(
    ("given", "answer"),
    [
        ({}, IN),
        ({"cluster": "test"}, BY["receiver"]),
        ({"removed": True}, BY["placing"]),
        ({"supports": False}, BY["coordinator"]),
        ({"removed": True, "edition": "server"}, BANNED),
    ],
)
def test_the_lesson_knows_where_a_joiner_is_turned_away(given: dict[str, Any], answer: str) -> None:
    """At the first place that can see what is wrong."""
    assert predict(build("join", given), who_decides).right == (answer,)


def test_the_servers_table_of_checks_has_all_of_the_documents_and_more() -> None:
    """An unknown edition is refused."""
    own, server = ({row[0] for row in checks_table(e).rows} for e in ("documents", "server"))
    assert own < server
    with pytest.raises(BadInput, match=like("edition | documents or server")):
        checks_table("neither")  # type: ignore[arg-type]  # what is refused


@pytest.mark.parametrize(("edition", "answer"), [("documents", "rebuild A"), ("server", "join D")])
def test_the_lesson_knows_the_next_request(edition: str, answer: str) -> None:
    """By age in the documents, by kind in the server."""
    requests = ("rebuild A", "leave C", "join D")
    timeline = Timeline(build("topology", {"edition": edition, "operations": requests}))
    go_on(timeline, *requests)
    assert predict(timeline, next_request).right == (answer,)


def test_the_lesson_knows_that_a_lock_lets_no_request_begin() -> None:
    """Before the first request there is nothing to ask."""
    timeline = Timeline(build("topology", {"operations": ("lock", "join D")}))
    with pytest.raises(KitError, match="no request waits"):
        predict(timeline, next_request)
    go_on(timeline, "lock", "join D")
    assert predict(timeline, next_request).right == (NOBODY_NEXT,)


OF = "group 0"


EVERY = [
    (model, id_) for model, pool in hunts().items() if pool.of == OF for id_ in pool.safeguards
]


def variant_of(model: str, id_: str) -> Variant:
    """The variant that lacks one safeguard."""
    guard = next(g for g in entry_of(model).safeguards if g.id == id_)
    return Variant(model, {**guard.smallest, **hunts()[model].budgets}, guard)


@pytest.mark.sweep(3)
@pytest.mark.parametrize(("model", "id_"), EVERY)
def test_a_hunt_refutes_every_name_but_the_missing_safeguards(model: str, id_: str) -> None:
    """A search finds each variant broken; a run refutes each wrong name."""
    variant = variant_of(model, id_)
    assert check(variant.build(), max_states=20_000).violation is not None
    for other in (guard.id for guard in suspected(variant) if guard.id != "S-57"):
        verdict = judged(variant, 1, other)
        assert verdict.passed == (other == id_), other
        if other != id_:
            assert f"With only {other} missing" in " ".join(verdict.lines)


def test_a_hunt_draws_different_variants_from_all_three_models() -> None:
    """CEP-21's hunt draws from its own models."""
    for seed in range(20):
        variants = drawn(seed, OF)
        assert len({(v.model, v.missing.id) for v in variants}) == len(variants) == VARIANTS
        assert {v.model for v in variants} == {"group0", "topology", "vnodes"}
    assert {v.model for v in drawn(1)} == {"tcm", "dataplane"}


def test_the_right_names_of_a_hunt_score_eight_of_eight() -> None:
    """And pass the exercise."""
    found = hunt(3, OF)
    assert repr(found).startswith("Eight broken variants of group 0, seed 3")
    for number, variant in enumerate(drawn(3, OF), 1):
        assert repr(found.search(number)).splitlines()[-1].startswith("✗ ")
        assert found.accuse(number, variant.missing.id).passed
    assert found.score().startswith("Score: 8 of 8")
    assert exercise("find-the-bug").check(found).passed


def test_a_hunt_of_an_unknown_protocol_is_refused() -> None:
    """The error lists the protocols."""
    with pytest.raises(BadInput, match=like("of | 'raft' | CEP-21")):
        hunt(1, "raft")


def test_a_safeguard_that_no_run_shows_is_no_suspect() -> None:
    """Redundant, or only about a cluster at rest: neither listed nor accepted as a name."""
    variant = variant_of("topology", "S-20")
    assert not {"S-53", "S-58"} & {guard.id for guard in suspected(variant)}
    with pytest.raises(BadInput, match=like("safeguard | 'S-58'")):
        judged(variant, 1, "S-58")
