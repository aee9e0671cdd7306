"""The bug hunt on the way into Raft: two models, three safeguards."""

from __future__ import annotations

import pytest

from kit.lessons import hunt
from kit.lessons.hunting import VARIANTS, Variant, drawn, hunts, judged, suspected
from kit.lessons.replays import shortest_breach
from kit.model.registry import entry_of

OF = "upgrade"
EVERY = [
    (model, id_) for model, pool in hunts().items() if pool.of == OF for id_ in pool.safeguards
]


@pytest.mark.parametrize(("model", "id_"), EVERY)
def test_every_variant_is_broken_and_every_wrong_name_is_refuted(model: str, id_: str) -> None:
    """The right name passes; any other is refuted by a run, one of another model as such."""
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


def test_a_seed_draws_from_both_models() -> None:
    """Eight variants, four of each model; the table says what each is about and gives no name."""
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
