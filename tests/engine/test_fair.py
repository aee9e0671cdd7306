"""Fair schedules come to every goal of each registered model, and not of broken ones."""

from __future__ import annotations

from typing import Any

import pytest

from kit.engine.check import check
from kit.engine.fuzz import AT_REST, fuzz, led_on
from kit.engine.model import goal
from kit.engine.registry import build, entries
from kit.engine.search import LOST
from kit.engine.timeline import Timeline
from tests.engine.toys import Graph

ENDLESS = {"failures", "recovery_mode"}
"""Models in which somebody may undo for ever what was done."""
WITH_GOALS = [
    name
    for name in entries()
    if name not in ENDLESS and any(prop.kind == "goal" for prop in build(name).properties)
]


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", WITH_GOALS)
def test_every_fair_schedule_comes_to_its_end(name: str) -> None:
    """From wherever walks ended, in the configuration they start from: within 1,000 steps."""
    model = build(name, entries()[name].fuzzing.parameters)
    goals = {prop.name for prop in model.properties if prop.kind == "goal"}
    walked = fuzz(model, range(12), steps=60)
    assert set(walked.scope.judged["goal"]) == goals
    assert not [finding for finding in walked.findings if finding.property in goals]


@pytest.mark.parametrize("name", sorted(ENDLESS))
def test_where_nothing_has_to_end_goals_are_left_to_searches(name: str) -> None:
    """The walks say that they have not judged them; every other property holds."""
    model = build(name, entries()[name].fuzzing.parameters)
    goals = {prop.name for prop in model.properties if prop.kind == "goal"}
    walked = fuzz(model, range(12), steps=60)
    assert goals
    assert set(walked.scope.left_out) >= goals
    assert walked.findings == ()
    assert {
        each for each, entry in entries().items() if not entry.fuzzing.comes_to_goals
    } == ENDLESS


def test_a_plan_that_dies_with_its_driver_never_comes_to_an_end() -> None:
    """Without the steps kept in the metadata some schedule rests half way, and is told."""
    model = build("tcm", {"crashes": 1}, ("pending-in-metadata",))
    found = {finding.property: finding for finding in fuzz(model, range(30), steps=4).findings}
    finding = found["stable"]
    assert finding.witness == AT_REST
    assert not model.properties[-1].check(finding.timeline(model).state)
    assert fuzz(model, range(30), steps=4, within=0).findings == ()


HOME: Any = goal("home", "", lambda s: s.at == 3)


@pytest.mark.parametrize(
    ("edges", "why"),
    [
        ({0: (1,), 1: (0,)}, LOST),
        ({0: (1,), 1: (2,)}, AT_REST),
    ],
)
def test_what_does_not_come_to_its_goal_is_found(edges: Any, why: str) -> None:
    """Round and round, or at an end elsewhere: the run is told up to there, and opens."""
    model = Graph(edges, HOME)
    (finding,) = fuzz(model, range(5), steps=1, within=50).findings
    assert (finding.property, finding.witness, finding.times) == ("home", why, 5)
    assert Timeline.along(model, finding.actions).state.at != 3
    assert len(finding.actions) == (2 if why == AT_REST else 0)
    assert fuzz(model, range(5), steps=1, within=0).findings == ()


@pytest.mark.parametrize(("rungs", "found"), [(30, False), (400, False), (1_000, True)])
def test_a_goal_that_takes_luck_is_not_broken(rungs: int, found: bool) -> None:
    """No schedule comes to it, but it stays in reach: a small search from there says so, too.

    Of a ladder that is longer than such a search the run is told.
    """
    ladder: dict[int, tuple[int, ...]] = {at: (10, at + 1) for at in range(10, 10 + rungs)}
    ladder |= {0: (10,), 10 + rungs: (3,), 3: (3,)}
    model = Graph(ladder, HOME)
    assert check(model).verdict == "complete"
    assert bool(fuzz(model, range(2), steps=1, within=200).findings) is found


def test_whatever_waits_longest_is_taken() -> None:
    """At least every other step is the one that has been enabled longest: none waits for ever."""
    model = Graph({0: (0, 1), 1: (3, 1)}, HOME)
    for seed in range(50):
        assert led_on(model, model.rules, model.start(), (HOME,), seed, 8) is None
    away = Graph({0: (0, 1), 1: (1,)}, HOME)
    lost = led_on(away, away.rules, away.start(), (HOME,), 0, 0)
    assert lost is not None
    assert lost[0] == ()
