"""What nodes learn may wait: in larger steps three replicas and a crash are searched to the end."""

from __future__ import annotations

from typing import Any

import pytest

from kit.protocols.storage.storage import USUAL_REQUESTS, ApplyEpoch
from kit.protocols.tablets.tablet import DELETED
from kit.search.check import Result, check
from kit.search.partial_order import LargerSteps
from tests.protocols.storage.proofs import assert_needed
from tests.protocols.tablets.tablet.runs import BROKEN, CLEAN, GUARDS, ONE, REPAIRED, SERVER, built

CRASH = {"crashes": 1}
EVERY = {
    "migration, server, RF 2": False,
    "slow replicas, RF 1": False,
    "time-outs, server, RF 1": True,
    "a crash, server, RF 1": True,
    "two moves, server, RF 1": True,
    "clients side by side, server, RF 1": True,
    "repair, a deletion, a late copy, RF 2": True,
}
"""Configurations of which every state is compared; whether that is left to ``make test-deep``."""
QUICK = ("barrier-drains", "allow-stage", "level-in-both-sets", "stable-ownership")


def larger(parameters: dict[str, Any], left_out: str = "") -> Result:
    """A search in larger steps, up to names where they do not matter, of all but one property."""
    model = built(parameters)
    judged = tuple(each for each in model.properties if each.name != left_out)
    joins = model.symmetry is not None
    return check(model, judged, monitors=model.monitors, partial_order=True, symmetry=joins)


def reached(states: set[Any], steps: Any, kinds: type | tuple[()] = ()) -> set[Any]:
    """Those states, and all that steps (of these kinds alone, if any) lead to."""
    seen, pending = set(states), list(states)
    for at in pending:  # grows while it is walked along
        for action, after in steps(at):
            if after not in seen and (kinds == () or isinstance(action, kinds)):
                seen.add(after)
                pending.append(after)
    return seen


@pytest.mark.parametrize(
    ("name", "off"),
    [
        *(pytest.param(name, (), marks=[pytest.mark.deep] * deep) for name, deep in EVERY.items()),
        ("migration, server, RF 1", ("barrier-drains",)),
    ],
)
def test_larger_steps_leave_out_only_states_with_less_learned(
    name: str, off: tuple[str, ...]
) -> None:
    """Letting nodes learn gives every state of the search in single steps."""
    model = built(CLEAN[name][0], off)
    met = reached({model.start()}, LargerSteps(model).successors)
    every = reached({model.start()}, model.successors)
    assert reached(met, model.successors, ApplyEpoch) == every
    assert len(met) < len(every) * 0.7


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.deep] * (name not in QUICK)) for name in BROKEN]
)
def test_larger_steps_find_the_harm_of_each_missing_safeguard(name: str) -> None:
    """The run is one of single steps, and replays to it."""
    within = built(dict(GUARDS[name].smallest)).history.sharded is not None
    model = built(ONE if within else dict(GUARDS[name].smallest), (name,))
    alone, found = check(model), check(model, partial_order=True)
    assert alone.violation is not None
    assert found.violation is not None
    assert found.violation.property == alone.violation.property == BROKEN[name][0]
    harm = (found.violation.property, len(found.violation.actions))
    assert harm[1] >= len(alone.violation.actions)
    assert_needed(found, model, GUARDS[name], harm)


def test_a_cleanup_waits_for_slow_writes_of_an_excluded_coordinator() -> None:
    """A search with a slow write beside a read breaks no promise."""
    found = check(built({**ONE, **SERVER, "slow": True, "excluded": "K1"}), partial_order=True)
    assert (found.violation, found.verdict) == (None, "up to order")


def test_a_node_that_is_down_learns_nothing_before_a_tombstone_is_collected() -> None:
    """The search of a late copy to a target that may crash goes to its end."""
    found = check(
        built({**REPAIRED, **CRASH, "requests": ("K1 delete QUORUM",)}), partial_order=True
    )
    assert (found.violation, found.verdict) == (None, "up to order")


def test_a_read_of_all_replicas_may_fail_while_a_quorum_lives() -> None:
    """Of the three one crashes: no promise is broken, nor is it a known cost."""
    given = {**SERVER, **CRASH, "kind": "repair", "requests": ("K1 read ALL",)}
    found = check(built(given), partial_order=True, max_states=3000)
    assert (found.violation, found.costs) == (None, ())


@pytest.mark.deep
def test_a_write_and_a_crash_among_three_replicas_break_no_promise() -> None:
    """The search is complete up to symmetry and order."""
    found = larger({**SERVER, **CRASH, "requests": USUAL_REQUESTS[:1]})
    assert (found.violation, found.verdict) == (None, "up to symmetry and order")
    assert found.states == 12_918


@pytest.mark.deep
def test_a_write_a_read_and_a_crash_among_three_replicas_break_no_promise() -> None:
    """The search is complete up to symmetry and order."""
    found = larger({**SERVER, **CRASH})
    assert (found.violation, found.verdict) == (None, "up to symmetry and order")
    assert (found.states, found.depth) == (169_921, 23)


REBUILT = {**REPAIRED, "kind": "rebuild_v2"}
CRASHED = {**REPAIRED, **CRASH, "requests": DELETED[:2]}


@pytest.mark.parametrize(
    ("given", "states", "depth"),
    [
        pytest.param(given, *found, marks=[pytest.mark.deep] * (given is not CRASHED))
        for given, *found in (
            (CRASHED, 9_131, 18),
            ({**REBUILT, "edition": "server", "rf": 2}, 39_682, 25),
            ({**REBUILT, "edition": "server", "rf": 3}, 599_390, 33),
            ({**REBUILT, "edition": "documents", "rf": 3}, 745_659, 33),
        )
    ],
)
def test_a_late_copy_of_a_repair_or_a_rebuild_brings_no_deleted_data_back(
    given: dict[str, Any], states: int, depth: int
) -> None:
    """The search has a write, its deletion, and tombstones that are collected."""
    found = larger(given)
    assert (found.violation, found.complete) == (None, True)
    assert (found.states, found.depth) == (states, depth)


@pytest.mark.parametrize(
    ("rf", "states"),
    [
        (1, 4_414),
        *(pytest.param(*each, marks=pytest.mark.deep) for each in ((2, 20_712), (3, 272_468))),
    ],
)
def test_the_documents_stages_break_only_the_promise_of_one_stage_apart(
    rf: int, states: int
) -> None:
    """Their way back changes both selectors at once, and all else holds."""
    given = {"rf": rf, **CRASH}
    assert larger({**given, **ONE}).violation is not None
    found = larger(given, "one-stage-apart")
    assert (found.violation, found.complete, found.states) == (None, True, states)
    assert found.scope.left_out == ("one-stage-apart",)
