"""Random walks: the same from the same seed, judged at every step, and open to all."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

from kit.engine.fuzz import SEEDS, Finding, Walker, fuzz
from kit.engine.model import Monitor, always, sometimes, step
from kit.engine.registry import build, entry_of, rows_of
from kit.engine.timeline import Timeline
from kit.engine.trace import dumps, loads
from kit.errors import BadInput, Refused
from kit.protocols.twophase.twophase import (
    Decide,
    GiveUp,
    ReceiveDecision,
    TwoPhase,
    TwoPhaseParameters,
)
from tests.engine.test_check import Rash
from tests.house.source import ROOT
from tests.saying import like

# -- the same from the same seed -------------------------------------------------------------------

PROGRAM = """
from kit.engine.fuzz import fuzz
from kit.engine.fuzz import Walker
from kit.engine.registry import build, entry_of
from kit.engine.trace import dumps
from tests.engine.test_check import Rash
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


def test_rows_of_tcm_are_those_of_its_diagrams() -> None:
    """In both editions the rows of tcm are the kinds of action and each row of each diagram."""
    for edition in ("documents", "server"):
        given = {**entry_of("tcm").fuzzing.parameters, "edition": edition}
        names = rows_of(build("tcm", given)).names
        diagrams = [d for d in entry_of("tcm").diagrams if d.name.endswith(edition)]
        rows = {
            f"{diagram.name.split('-')[1]}: {state} - {event}"
            for diagram in diagrams
            for state, event, _ in diagram.transitions
        }
        assert rows < set(names)
        assert len(names) == len(rows) + 8


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


def test_a_model_keeps_its_fault_budget() -> None:
    """No walk has more crashes and cancels than the model's parameters allow."""
    given = {**entry_of("tcm").fuzzing.parameters, "crashes": 2, "cancels": 1}
    model = build("tcm", given)
    walker = Walker(model, steps=60, weights={})
    verbs = [[model.kind(a) for a in walker.walk(seed).actions] for seed in range(6)]
    assert max(kinds.count("crash") for kinds in verbs) == 2
    assert max(kinds.count("cancel") for kinds in verbs) == 1


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


def test_no_seed_no_walk() -> None:
    """Without seeds there is nothing, and everything is untaken."""
    found = fuzz(TwoPhase(), ())
    assert (found.walks, found.steps, found.untaken) == (0, 0, found.rows)


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


def test_a_start_that_is_wrong_needs_no_step() -> None:
    """What breaks at the start is found by the empty walk."""
    wrong = always("wrong", "", lambda s: "from the start")
    (finding,) = fuzz(TwoPhase(), range(3), properties=(wrong,)).findings
    assert (finding.actions, finding.unshrunk, finding.times) == ((), 0, 3)


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


def test_progress_is_told() -> None:
    """The callback hears how many walks are done, of how many."""
    heard: list[tuple[int, int]] = []
    fuzz(TwoPhase(), range(64), progress=lambda done, all_: heard.append((done, all_)))
    assert heard == [(16, 64), (32, 64), (48, 64), (64, 64)]
