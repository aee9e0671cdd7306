"""Runs without a person: what a model suggests, chance that is the same everywhere, breaches."""

from __future__ import annotations

from itertools import islice
from random import Random
from typing import Any

from kit.model.model import Property, always
from kit.model.registry import build
from kit.model.timeline import Timeline, catch_up, first_breaches
from kit.search.fuzz import Chance
from tests.model.toys import LiftModel, LiftParameters, Up


def _below(top: int) -> Property:
    """The lift stays below a floor."""
    return always(f"below {top}", "Not so high", lambda s: "high" if s.floor >= top else None)


def test_everybody_catches_up() -> None:
    """Each node applies all that it lacks, one epoch after the other."""
    model: Any = build("tcm", {"operations": ("bootstrap X --tokens 150",)})
    state = model.act(model.start(), model.suggest(model.start()))
    taken = list(catch_up(model, state))
    assert sorted(map(model.verb, taken)) == ["apply A", "apply B", "apply C", "apply X"]
    for action in taken:
        state = model.act(state, action)
    assert not list(catch_up(model, state))


def test_draws_are_those_of_the_seed() -> None:
    """Equal seeds draw the same, others not; each thing is drawn at last, and nothing else."""
    draws = [Chance(seed).below(1000) for seed in range(20)]
    assert draws == [Chance(seed).below(1000) for seed in range(20)]
    assert len(set(draws)) > 10
    picking, placing = Chance(7), Chance(7)
    picked = [picking.pick(["a", "b", "c"]) for _ in range(50)]
    assert picked == ["abc"[placing.below(3)] for _ in range(50)]
    assert set(picked) == {"a", "b", "c"}
    assert [Chance(1).under(0.0), Chance(1).under(1.0)] == [False, True]
    share = Random(1).random()
    assert [Chance(1).under(share), Chance(1).under(share + 1e-9)] == [False, True]


def test_a_run_and_its_timeline_tell_the_same_breaches() -> None:
    """Each promise is broken once, at the first step that does, in the order of steps."""
    model: Any = LiftModel(LiftParameters(floors=9))
    model.properties = (_below(4), _below(2))
    timeline = Timeline.along(model, [Up()] * 5)
    found = first_breaches(model, timeline.passed())
    assert found == timeline.breaches(timeline.at)
    assert [(one.name, one.step) for one in found] == [("below 2", 1), ("below 4", 3)]
    assert first_breaches(model, islice(timeline.passed(), 1)) == ()
