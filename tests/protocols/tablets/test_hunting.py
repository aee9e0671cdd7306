"""The bug hunt in tablets: variants of the coordinator, of requests and of resizes."""

from __future__ import annotations

import pytest

from kit.lessons.hunting import VARIANTS, Variant, drawn, hunt, hunts, judged, suspected
from kit.lessons.replays import shortest_breach
from kit.model.registry import entry_of

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
def test_every_variant_is_broken_and_a_wrong_name_is_refuted(model: str, id_: str) -> None:
    """A search finds what is broken; the right name passes, and the next one of its model's is
    refuted by a run.
    """
    variant = variant_of(model, id_)
    assert shortest_breach(variant.build(), 20_000).violation is not None
    assert judged(variant, 1, id_).passed
    others = [guard.id for guard in suspected(variant) if guard.id not in {id_, *LONG}]
    verdict = judged(variant, 1, others[EVERY.index((model, id_)) % len(others)])
    assert not verdict.passed
    assert "With only" in " ".join(verdict.lines)


def test_a_seed_draws_from_all_three_models() -> None:
    """Eight different variants, of each model at least two; none says what it lacks."""
    for seed in range(20):
        variants = drawn(seed, OF)
        assert len({(v.model, v.missing.id) for v in variants}) == len(variants) == VARIANTS
        assert {v.model for v in variants} == {"tablets", "tablet", "resize"}
    planned = {(row[1], row[2]) for seed in range(20) for row in hunt(seed, OF).sheet().rows}
    assert len(planned) == len({about for about, _ in planned})
