"""Questions on the two upgrades are answered by the models; the bug hunt has three safeguards."""

from __future__ import annotations

import pytest

from kit.errors import BadInput, KitError
from kit.lessons import first_advice, hunt, missing_from_table, predict, upgrade_log, upgrade_waits
from kit.lessons.hunting import VARIANTS, Variant, drawn, hunts, judged, suspected
from kit.lessons.replays import shortest_breach
from kit.model.registry import entry_of
from tests.protocols.upgrade.runs import ROLLING, STARTED, raft
from tests.views.frames import after, go_on


def test_a_node_in_the_upgrade_waits_for_peers_outside_group_0() -> None:
    """A waits for B and C; once all are members it waits for nobody."""
    timeline = raft({}, [*ROLLING, "join-group A"])
    assert predict(timeline, upgrade_waits, "A").right == ("B", "C")
    go_on(timeline, "join-group B", "join-group C")
    prediction = predict(timeline, upgrade_waits, "A")
    assert prediction.answer("nobody").passed
    assert not prediction.answer("B").passed


@pytest.mark.parametrize(
    ("given", "verbs", "right"),
    [
        ({"crashes": 1, "cuts": 1}, ["crash C", "cut A B"], "restart nodes that are down"),
        ({"cuts": 1}, ["cut A B"], "repair a connection"),
        ({"schema_problem": True}, [], "a rolling restart"),
        ({"deaths": 1}, ["die C"], "manual recovery"),
        (
            {"schema_problem": True, "restarts": 3},
            ["restart A", "restart B", "restart C"],
            "ask support",
        ),
    ],
)
def test_the_first_advice_fits_the_trouble(
    given: dict[str, object], verbs: list[str], right: str
) -> None:
    """Each row is a trouble, and the lesson's right answer for it."""
    timeline = raft(given, [*STARTED, *verbs])
    assert predict(timeline, first_advice).right == (right,)


def test_a_member_without_a_row_is_missing_from_the_topology_table() -> None:
    """Once every member has a row, nobody is."""
    timeline = after("topology_upgrade", {"joiners": 0}, "post A", "build B")
    assert predict(timeline, missing_from_table).right == ("A", "C")
    go_on(timeline, "build A", "build C")
    assert predict(timeline, missing_from_table).right == ("nobody",)


def test_the_upgrade_log_of_a_node_has_its_own_lines_only() -> None:
    """Two lines are marked as the kit's own words."""
    lines = repr(upgrade_log(raft({}, [*ROLLING, "join-group A", "join-group B"]), "A"))
    assert "joined group 0 with group id 1" in lines
    assert lines.count("Joining group 0") == 1
    assert lines.count("in the kit's own words") == 2


def test_a_question_about_another_model_or_node_is_refused() -> None:
    """The error names the model that is asked about, or the nodes that there are."""
    topology = after("topology_upgrade", {})
    with pytest.raises(BadInput, match="the Raft upgrade"):
        predict(topology, upgrade_waits, "A")
    with pytest.raises(BadInput, match="the topology upgrade"):
        predict(raft({}), missing_from_table)
    with pytest.raises(BadInput, match="one of A, B, C"):
        predict(raft({}), upgrade_waits, "Z")
    with pytest.raises(KitError, match="not a run of the Raft upgrade"):
        upgrade_log(topology, "A")
    with pytest.raises(BadInput, match="one of A, B, C"):
        upgrade_log(raft({}), "Z")
    with pytest.raises(KitError, match="no node is waiting"):
        predict(raft({}), first_advice)


OF = "upgrade"


EVERY = [
    (model, id_) for model, pool in hunts().items() if pool.of == OF for id_ in pool.safeguards
]


@pytest.mark.parametrize(("model", "id_"), EVERY)
def test_a_hunt_refutes_every_name_but_the_missing_safeguards(model: str, id_: str) -> None:
    """A run refutes each wrong name, and says whether it is of the other model."""
    [guard] = [each for each in entry_of(model).safeguards if each.id == id_]
    variant = Variant(model, {**guard.smallest, **hunts()[model].budgets}, guard)
    assert shortest_breach(variant.build(), 20_000).violation is not None
    suspects = suspected(variant)
    assert len(suspects) > 1
    for other in suspects:
        verdict = judged(variant, 1, other.id)
        assert verdict.passed == (other is guard)
        if other is not guard:
            own = other in entry_of(model).safeguards
            said = (
                f"With only {other.id} missing" if own else f"No step of this run needs {other.id}"
            )
            assert said in " ".join(verdict.lines)
            assert verdict.lines[1].startswith("1. ")


def test_a_hunt_draws_every_variant_of_the_two_upgrades_and_names_none() -> None:
    """The table says what each variant is about; eight right names score 8 of 8."""
    variants = drawn(1, OF)
    assert len(variants) == VARIANTS
    assert {(v.model, v.missing.id) for v in variants} == set(EVERY)
    found = hunt(1, OF)
    assert "S-" not in repr(found)
    assert "A, B move to Raft (start: without Raft)" in repr(found)
    assert "the topology of A moves to group 0; B joins" in repr(found)
    for number, variant in enumerate(variants, 1):
        assert repr(found.search(number)).splitlines()[-1].startswith("✗ ")
        assert found.accuse(number, variant.missing.id).passed
    assert found.score().startswith("Score: 8 of 8")
