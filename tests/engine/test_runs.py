"""Runs without a person: what a model suggests, chance that is the same everywhere, breaches."""

from __future__ import annotations

from itertools import islice
from random import Random
from typing import Any

import pytest

from kit.engine.fuzz import Chance
from kit.engine.model import Monitor, Property, always, step
from kit.engine.registry import build
from kit.engine.timeline import (
    Breach,
    PassedStep,
    Timeline,
    catch_up,
    every,
    first_breaches,
    held,
    suggested,
)
from tests.engine.toys import LiftModel, LiftParameters, Up


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


def test_breaches_of_a_step_come_in_the_order_of_the_model() -> None:
    """Of whatever kind they are: properties as the model lists them, then monitors.

    Each is told once, by the first step that breaks it; monitors where memories are known.
    """
    model: Any = LiftModel(LiftParameters(floors=9))
    model.properties = (
        step("moves", "It stays", lambda before, action, after: f"from {before.floor}"),
        always("low", "It is low", lambda floor: f"at {floor}", of=lambda s: s.floor),
        always("closed", "It is no lift", lambda s: "a lift"),
        always("ground", "It is there", lambda floor: f"on {floor}", of=lambda s: s.floor),
    )
    model.monitors = (
        Monitor("tired", "It rests", lambda: 0, lambda n, *_: n + 1, lambda n: f"{n} times"),
        Monitor(
            "busy", "Not twice", lambda: 0, lambda n, *_: n + 1, lambda n: "2" * (n > 1) or None
        ),
    )
    timeline = Timeline.along(model, [Up()] * 3)
    first = (
        Breach(0, Up(), "moves", "It stays", "from 0"),
        Breach(0, Up(), "low", "It is low", "at 1"),
        Breach(0, Up(), "closed", "It is no lift", "a lift"),
        Breach(0, Up(), "ground", "It is there", "on 1"),
    )
    tired = Breach(0, Up(), "tired", "It rests", "1 times")
    busy = Breach(1, Up(), "busy", "Not twice", "2")
    assert timeline.breaches(3) == first_breaches(model, timeline.passed()) == (*first, tired, busy)
    assert [timeline.broken_by(moment) for moment in range(4)] == [(), (*first, tired), (busy,), ()]
    unseen = (PassedStep(each.before, each.action, each.after) for each in timeline.passed())
    assert first_breaches(model, unseen) == first


def test_what_no_step_touched_is_not_judged_again() -> None:
    """A property of a part of the state is asked where that part moved, and of the first step.

    What the start broke is told by the first step, as of any other property.
    """
    asked: list[int] = []

    def low(floor: int) -> str | None:
        asked.append(floor)
        return "high" if floor >= 2 else None

    model: Any = LiftModel(LiftParameters(floors=9))
    model.properties = (
        always("built", "Nine floors", lambda _: "a lift", of=lambda _: model),
        always("low", "Not so high", low, of=lambda s: s.floor),
    )
    timeline = Timeline.along(model, [Up()] * 3)
    passed = timeline.passed()
    still = PassedStep(passed[0].after, Up(), passed[0].after)
    asked.clear()
    found = first_breaches(model, (passed[0], still, still, *passed[1:]))
    assert [(one.name, one.step) for one in found] == [("built", 0), ("low", 3)]
    assert asked == [1, 2, 3]


@pytest.mark.parametrize("seed", [0, 5])
def test_nothing_is_drawn_beyond_the_last(seed: int) -> None:
    """A number below one is always 0."""
    assert {Chance(seed).below(1) for _ in range(5)} == {0}


def test_actions_are_given_until_none_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each from the state that the last one led to, and no more than the longest run."""
    model = LiftModel(LiftParameters(floors=4))
    for longest, given in ((9, 3), (3, 3), (2, 2)):
        monkeypatch.setattr("kit.engine.timeline.LONGEST_RUN", longest)
        ups = list(every(model, model.start(), lambda action: isinstance(action, Up)))
        assert ups == [Up()] * given
        model.suggest = lambda s: Up() if s.floor < 3 else None  # type: ignore[method-assign]  # its own
        assert list(suggested(model, model.start())) == ups


def test_a_run_is_held_where_a_promise_breaks() -> None:
    """The step that breaks it is the last that is done."""
    model: Any = LiftModel(LiftParameters(floors=9))
    model.properties = (_below(3),)
    timeline = Timeline(model)
    timeline.run(held(timeline, [Up()] * 5))
    assert timeline.state.floor == 3
