"""Random walks: the same from the same seed, judged at every step, and open to all."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

from kit.errors import BadInput, Refused
from kit.model.model import Monitor, always, goal, sometimes, step
from kit.model.registry import build, entries, entry_of
from kit.model.timeline import Timeline
from kit.model.trace import dumps, loads
from kit.protocols.twophase.twophase import (
    Decide,
    GiveUp,
    ReceiveDecision,
    TwoPhase,
    TwoPhaseParameters,
)
from kit.search.check import check
from kit.search.fuzz import AT_REST, SEEDS, Finding, Walker, fuzz, led_on
from kit.search.search import LOST
from tests.house.source import ROOT
from tests.model.toys import Graph
from tests.saying import like
from tests.search.test_check import Rash

# -- the same from the same seed -------------------------------------------------------------------

PROGRAM = """
from kit.search.fuzz import fuzz
from kit.search.fuzz import Walker
from kit.model.registry import build, entry_of
from kit.model.trace import dumps
from tests.search.test_check import Rash
for name in ("twophase", "tcm"):
    model = build(name, entry_of(name).fuzzing.parameters)
    walker = Walker(model, steps=40)
    for seed in (0, 1, 2**70):
        walk = walker.walk(seed)
        print(seed, [model.verb(action) for action in walk.actions], walk.verdict, walk.taken)
found = fuzz(Rash(), range(20))
print(found.findings, found.untaken, found.steps)
print(dumps(found.findings[0].trace(Rash())))
"""


def output(seed: str) -> bytes:
    """What the program prints under a hash seed."""
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    command = [sys.executable, "-c", PROGRAM]
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, check=True
    ).stdout


@pytest.mark.spec("H-013")
def test_the_hash_seed_changes_no_walk() -> None:
    """Walks, verdicts, coverage and shrunk runs are the same to the byte under two hash seeds."""
    assert len(output("1")) > 3000
    assert output("1") == output("77")


def test_a_walk_is_that_of_its_seed_for_ever() -> None:
    """The draw is pinned: this walk of this seed is the same in every version on every machine."""
    walk = Walker(TwoPhase(), steps=30).walk(7)
    model = TwoPhase()
    assert [model.verb(action) for action in walk.actions] == PINNED
    again = Walker(TwoPhase(), steps=30).walk(7)
    assert again == walk


PINNED = [
    "prepare RM0",
    "receive-prepared RM0",
    "give-up RM1",
    "prepare RM2",
    "receive-prepared RM2",
    "decide abort",
    "receive-decision RM2",
    "receive-decision RM0",
]


@pytest.mark.parametrize("name", ["twophase", "tcm"])
def test_a_walk_replays(name: str) -> None:
    """Every walk is a run of the model: each action enabled where it was drawn."""
    model = build(name, entry_of(name).fuzzing.parameters)
    walker = Walker(model, steps=25)
    for seed in range(5):
        walk = walker.walk(seed)
        assert walk.steps == len(Timeline.along(model, walk.actions).moments) - 1
    with pytest.raises(Refused):
        Timeline.along(TwoPhase(), (ReceiveDecision(0),))


# -- coverage --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["twophase", pytest.param("tcm", marks=pytest.mark.deep)])
def test_default_seeds_take_every_transition(name: str) -> None:
    """With the default seeds and configuration no row of the model's tables is left untaken, and
    everything that may happen sometimes does.
    """
    entry = entry_of(name)
    found = fuzz(build(name, entry.fuzzing.parameters))
    assert (found.walks, found.untaken, found.unreached) == (len(SEEDS), (), ())
    assert found.findings == ()
    assert len(found.rows) >= 9


def test_what_was_never_taken_is_named() -> None:
    """Rows without a budget, or behind a bound, are named as untaken."""
    found = fuzz(build("tcm"), range(5))
    assert {"cancel", "crash", "restart"} <= set(found.untaken)
    found = fuzz(TwoPhase(), range(3), steps=1)
    assert "receive decision" in found.untaken
    assert "manager: prepared - receive-decision" in found.untaken
    assert found.unreached == ("all-commit", "all-abort")


# -- weights and limits ----------------------------------------------------------------------------


def test_weights_make_kinds_rare_or_absent() -> None:
    """A kind of weight 0 is never drawn; a heavier one more often."""

    def drawn(weights: dict[str, float]) -> dict[str, int]:
        walker = Walker(TwoPhase(TwoPhaseParameters(4)), weights=weights)
        kinds: dict[str, int] = {}
        for seed in range(60):
            for action in walker.walk(seed).actions:
                kind = walker.model.kind(action)
                kinds[kind] = kinds.get(kind, 0) + 1
        return kinds

    assert "give up" not in drawn({"give up": 0, "decide": 0.1})
    assert drawn({"give up": 5})["give up"] > 2 * drawn({"give up": 0.2})["give up"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"steps": 0}, "steps | 0 | 1 to 100000"),
        ({"steps": 10**9}, "steps | 1000000000 | from 1"),
        ({"weights": {"giveup": 1}}, "weights | 'giveup' | give | decide"),
        ({"weights": {"decide": -1}}, "weights[decide] | -1 | from 0"),
        ({"weights": {"decide": float("nan")}}, "weights[decide] | nan"),
        ({"seeds": [3, -1]}, "seeds | -1 | from 0"),
        ({"seeds": range(-3, 3)}, "seeds | -3 | from 0"),
        ({"seeds": [1.5]}, "seeds[0] | 1.5 | a whole number"),
        ({"seeds": range(10**9)}, "seeds | 1000000000 | most | 10000000 | range"),
    ],
)
def test_limits_are_kept(given: dict[str, Any], said: str) -> None:
    """Steps, weights and seeds out of their limits are refused in one line."""
    with pytest.raises(BadInput, match=like(said)):
        fuzz(TwoPhase(), **given)


# -- findings --------------------------------------------------------------------------------------


def test_a_planted_bug_is_found_and_shrunk() -> None:
    """The walk that commits too early is shrunk to the fewest steps that do, and opens anywhere."""
    model = Rash()
    found = fuzz(model, range(30))
    (finding,) = found.findings
    assert finding.property == "consistent"
    assert len(finding.actions) == 5 <= finding.unshrunk
    assert finding.times > 1
    walk = Walker(model).walk(finding.seed)
    assert (walk.verdict, walk.steps) == ("consistent", finding.unshrunk)
    timeline = finding.timeline(model)
    (verdict,) = timeline.verdicts()
    assert verdict.witness == finding.witness
    trace = loads(dumps(finding.trace(model)))
    assert Timeline.load(trace, Rash()).state == timeline.state


@pytest.mark.parametrize("name", ["write-before-read", "replication-check"])
def test_a_safeguard_off_is_found_by_chance(name: str) -> None:
    """Walks find what a switched-off safeguard breaks, and the shrunk run opens from its trace."""
    guard = next(g for g in entry_of("tcm").safeguards if g.name == name)
    model = build("tcm", guard.smallest, (name,))
    finding = fuzz(model, range(10)).findings[0]
    again = Timeline.load(loads(dumps(finding.trace(model))))
    assert finding.property in [verdict.name for verdict in again.verdicts() if not verdict.ok]


def test_each_kind_of_judge_is_asked_at_each_step() -> None:
    """Invariants, rules on steps and monitors are judged after each step; the first that breaks
    ends the walk.
    """
    no_abort = always("abort", "", lambda s: "aborted" if s.aborted else None)
    no_obeying = step(
        "receive decision", "", lambda b, a, n: "obeyed" if isinstance(a, ReceiveDecision) else None
    )
    counting = Monitor(
        "count", "", int, lambda m, b, a, n: m + 1, lambda m: "three" if m == 3 else None
    )
    model = TwoPhase()
    found = {f.property: f for f in fuzz(model, properties=(no_abort, no_obeying)).findings}
    assert found["abort"].actions[-1] == GiveUp(found["abort"].actions[-1].rm)
    assert found["receive decision"].witness == "obeyed"
    assert [type(a) for a in found["receive decision"].actions[-2:]] == [Decide, ReceiveDecision]
    (finding,) = fuzz(model, properties=(), monitors=(counting,)).findings
    assert len(finding.actions) == 3
    assert fuzz(model, properties=()).findings == ()
    model.monitors = (counting,)
    assert [f.property for f in fuzz(model).findings] == ["count"]


def test_what_is_awaited_is_told() -> None:
    """*Sometimes* properties that no walk showed are named, also those of the last state."""
    last = sometimes("prepared", "", lambda s: s.prepared)
    never = sometimes("never", "", lambda s: s.prepared > 99)
    found = fuzz(TwoPhase(), range(20), steps=1, properties=(last, never))
    assert found.unreached == ("never",)
    walk = Walker(TwoPhase(), properties=(last, never)).walk(0)
    assert walk.reached in ((), ("prepared",))


# -- a model that breaks its word, and a person who has waited enough ------------------------------


def test_an_interrupted_fuzz_keeps_what_it_found() -> None:
    """Stopped from the keyboard, walks and findings so far are told, shrunk or not."""
    seen = 0

    def stop(s: Any) -> bool:
        nonlocal seen
        seen += 1
        if seen > 400:
            raise KeyboardInterrupt
        return False

    properties = (*Rash().properties, sometimes("stop", "", stop))
    found = fuzz(Rash(), range(1000), properties=properties)
    assert found.interrupted
    assert 0 < found.walks < 1000
    assert [finding.property for finding in found.findings] == ["consistent"]
    assert isinstance(found.findings[0], Finding)


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
    ("edges", "why"), [({0: (1,), 1: (0,)}, LOST), ({0: (1,), 1: (2,)}, AT_REST)]
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
