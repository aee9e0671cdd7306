"""Runs without a person: what a model suggests, chance that is the same everywhere, breaches."""

from __future__ import annotations

from itertools import islice
from random import Random
from typing import Any

import pytest

from kit.errors import BadInput
from kit.model.model import Property, always
from kit.model.registry import build
from kit.model.timeline import (
    MOST,
    Timeline,
    catch_up,
    first_breaches,
    held,
    played_out,
    suggested,
)
from kit.search.fuzz import Chance
from tests.model.toys import LiftModel, LiftParameters, Up


def _below(top: int) -> Property:
    """The lift stays below a floor."""
    return always(f"below {top}", "Not so high", lambda s: "high" if s.floor >= top else None)


def test_suggestions_are_followed_until_there_are_none() -> None:
    """The run ends where the model suggests nothing, or before what is held back."""
    model: Any = build("twophase", {"rms": 2})
    actions = list(suggested(model, model.start()))
    timeline = Timeline.along(model, actions)
    assert timeline.suggest() is None
    held = list(suggested(model, model.start(), lambda action: action == actions[2]))
    assert held == actions[:2]


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


def test_a_run_is_held_where_a_promise_breaks() -> None:
    """The step that breaks it is the last that is done."""
    model: Any = LiftModel(LiftParameters(floors=9))
    model.properties = (_below(3),)
    timeline = Timeline(model)
    timeline.run(held(timeline, [Up()] * 5))
    assert timeline.state.floor == 3


def test_a_run_is_played_to_its_end() -> None:
    """The schedule is followed until it has nothing more to suggest."""
    timeline = played_out(Timeline(build("twophase")))
    assert timeline.suggest() is None
    assert timeline.at > 0


def test_a_run_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A schedule that goes round for ever is cut, and the model named."""
    monkeypatch.setattr("kit.model.timeline.MOST", 3)
    with pytest.raises(BadInput, match="a run that ends within 3 steps"):
        played_out(Timeline(LiftModel(LiftParameters(floors=9))))
    assert MOST > 3
