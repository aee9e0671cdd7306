"""The bug hunt in group 0: variants of the log, of the coordinator and of requests beside it."""

from __future__ import annotations

import pytest

from kit.errors import BadInput
from kit.lessons import exercise, hunt
from kit.lessons.hunting import VARIANTS, Variant, drawn, hunts, judged, suspected
from kit.model.registry import entry_of
from kit.search.check import check
from tests.saying import like

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
def test_every_variant_is_broken_and_every_wrong_name_is_refuted(model: str, id_: str) -> None:
    """A search finds what is broken; the right name passes, and any other of the hunt is refuted by
    a run that stops or leads elsewhere in the variant; S-57 takes a search of its own.
    """
    variant = variant_of(model, id_)
    assert check(variant.build(), max_states=20_000).violation is not None
    for other in (guard.id for guard in suspected(variant) if guard.id != "S-57"):
        verdict = judged(variant, 1, other)
        assert verdict.passed == (other == id_)
        if other != id_:
            assert f"With only {other} missing" in " ".join(verdict.lines)


def test_a_seed_draws_from_all_three_models() -> None:
    """Eight different variants, of each model at least two; its draws do not touch CEP-21's."""
    for seed in range(20):
        variants = drawn(seed, OF)
        assert len({(v.model, v.missing.id) for v in variants}) == len(variants) == VARIANTS
        assert {v.model for v in variants} == {"group0", "topology", "vnodes"}
    assert {v.model for v in drawn(1)} == {"tcm", "dataplane"}


def test_a_hunt_is_named_searched_and_checked() -> None:
    """Its table says what may be under way; all eight names pass in a process of their own."""
    found = hunt(3, OF)
    assert repr(found).startswith("Eight broken variants of group 0, seed 3")
    for number, variant in enumerate(drawn(3, OF), 1):
        assert repr(found.search(number)).splitlines()[-1].startswith("✗ ")
        assert found.accuse(number, variant.missing.id).passed
    assert found.score().startswith("Score: 8 of 8")
    assert exercise("find-the-bug").check(found).passed


def test_an_unknown_protocol_is_told() -> None:
    """In one line, with those that there are."""
    with pytest.raises(BadInput, match=like("of | 'raft' | CEP-21")):
        hunt(1, "raft")


def test_what_no_run_shows_is_no_suspect() -> None:
    """Redundant, or only ever a cluster that rests: it is neither listed nor taken as a word."""
    variant = variant_of("topology", "S-20")
    assert not {"S-53", "S-58"} & {guard.id for guard in suspected(variant)}
    with pytest.raises(BadInput, match=like("safeguard | 'S-58'")):
        judged(variant, 1, "S-58")
