"""Every reachable state of a recovery: all holds; without a safeguard it does not."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.registry import build
from kit.protocols.recovery.recovery import Recovery
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.search.check import check
from tests.protocols.recovery.runs import played
from tests.protocols.storage.proofs import assert_holds

GUARDS = {guard.name: guard for guard in Recovery.safeguards}
FIVE = {"commit_indexes": (1, 2, 2, 2, 2), "dead": "C D E"}
# name: parameters, states, steps of the longest of the shortest runs
CLEAN: dict[str, tuple[dict[str, Any], int, int]] = {
    "latest-index": ({**GUARDS["latest-index"].smallest}, 276, 12),
    "causality": ({**GUARDS["causality"].smallest}, 48, 8),
    "leader-first": ({**GUARDS["leader-first"].smallest}, 128, 11),
    "isolation": ({**GUARDS["isolation"].smallest}, 4391, 17),
    "seed, all but crashes": ({**FIVE, "operation": True, "returns": 1, "writes": 1}, 1699, 15),
    "code, a crash": ({**FIVE, "edition": "server", "crashes": 1}, 1356, 18),
    "code, a death": (
        {"edition": "server", "commit_indexes": (1, 2, 2, 2), "dead": "C D", "deaths": 1,
         "changes": 1},
        3020, 21,
    ),
}  # fmt: skip
LARGE: dict[str, tuple[dict[str, Any], int, int]] = {
    "code, a crash, a death and more": (
        {"edition": "server", "commit_indexes": (1, 2, 2, 2), "dead": "C D", "operation": True,
         "crashes": 1, "deaths": 1, "returns": 1, "changes": 1, "writes": 1},
        294_991, 26,
    ),
    "code, five nodes": (
        {**FIVE, "edition": "server", "operation": True, "crashes": 1, "returns": 2, "changes": 1,
         "writes": 1},
        90_012, 23,
    ),
    "seed, three live nodes, a death": (
        {"commit_indexes": (1, 2, 2, 3, 3, 3), "dead": "D E F", "deaths": 1, "changes": 1,
         "writes": 1},
        316_870, 22,
    ),
}  # fmt: skip
# name: the property that breaks first, and in how many steps
BROKEN = {
    "latest-index": ("causal", 7),
    "causality": ("causal", 5),
    "leader-first": ("one-group", 6),
    "isolation": ("one-group", 5),
}
MOST_STATES = 1_000_000


@pytest.mark.parametrize("name", CLEAN)
def test_no_run_breaks_a_promise(name: str) -> None:
    """The search is complete, judged all, and finds no harm from any order of steps and faults."""
    parameters, states, depth = CLEAN[name]
    assert_holds(check(build("recovery", parameters)), states, depth)


@pytest.mark.deep
@pytest.mark.parametrize("name", LARGE)
def test_no_large_run_breaks_a_promise(name: str) -> None:
    """The same where it takes longer; none has more than a million states."""
    parameters, states, depth = LARGE[name]
    assert states <= MOST_STATES
    assert_holds(check(build("recovery", parameters)), states, depth)


@pytest.mark.parametrize("name", GUARDS)
def test_each_safeguard_is_needed(name: str) -> None:
    """Switched off, the search finds the harm by a shortest run."""
    violation = check(build("recovery", GUARDS[name].smallest, (name,))).violation
    assert violation is not None
    assert (violation.property, len(violation.actions)) == BROKEN[name]


@pytest.mark.parametrize(
    ("name", "invariant"),
    [(name, invariant) for name, guard in GUARDS.items() for invariant in guard.protects],
)
def test_what_a_safeguard_protects_breaks_without_it(name: str, invariant: str) -> None:
    """Each invariant, judged alone."""
    model = build("recovery", GUARDS[name].smallest, (name,))
    all_of_them = (*model.properties, *model.signs)
    judges = tuple(prop for prop in all_of_them if prop.invariant == invariant)
    assert judges
    violation = check(model, judges).violation
    assert violation is not None
    assert violation.property in [judge.name for judge in judges]


@pytest.mark.parametrize("name", GUARDS)
def test_each_safeguard_is_enough(name: str) -> None:
    """Switched on, its smallest configuration is among those searched without harm."""
    assert CLEAN[name][0] == GUARDS[name].smallest


def test_the_published_server_does_not_need_the_leader_to_be_told_first() -> None:
    """S-49 in edition ``server``: others wait for the node that their option names."""
    given = {**GUARDS["leader-first"].smallest, "edition": "server"}
    model = build("recovery", given, ("leader-first",))
    result = check(model, (*model.properties, *model.signs))
    assert result.complete
    assert result.violation is None


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(
    "given",
    [
        {"crashes": 1},
        {"crashes": 3},
        {"commit_indexes": (1, 1), "dead": "B", "crashes": 1},
        {**FIVE, "crashes": 2, "operation": True},
    ],
    ids=str,
)
def test_a_crash_at_any_step_leaves_a_way_to_the_end(edition: Edition, given: Any) -> None:
    """Also of a node whose group id is gone: by the documents the ids are deleted first."""
    result = check(build("recovery", {"edition": edition, **given}))
    assert (result.verdict, result.violation) == ("complete", None)


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("given", [{}, {"commit_indexes": (1, 1), "dead": "B"}], ids=str)
def test_nodes_that_are_cut_off_do_no_harm_together(edition: Edition, given: Any) -> None:
    """A leader dies and returns beside one of the old group: they hear each other, and nobody else
    hears them.
    """
    budgets = {"deaths": 1, "returns": 2, "changes": 1}
    result = check(build("recovery", {"edition": edition, **budgets, **given}))
    assert (result.verdict, result.violation) == ("complete", None)


def test_a_node_that_lags_behind_a_group_without_a_majority_breaks_nothing() -> None:
    """A was down when column 3 was added, and comes back when nobody can tell it."""
    given = {
        "commit_indexes": (2, 2, 1, 1), "dead": "B D", "crashes": 2, "deaths": 1, "changes": 1,
    }  # fmt: skip
    steps = "delete A, delete C, choose A, set A, set C, restart A, restart C, replace B, replace D"
    late = "crash A, alter B, crash B, die C, restart A"
    model, state = played(given, *steps.split(", "), *late.split(", "))
    assert [state.nodes[at].index for at in (0, 1)] == [2, 3]
    assert all(each.check(state) is None for each in model.properties if each.kind == "always")


def test_a_new_node_alone_in_a_group_that_lost_its_majority_recovers_it() -> None:
    """A dies after B was replaced: the new node has the rows of the group that it joined."""
    given = {
        "edition": "server", "commit_indexes": (3, 0), "dead": "B", "majority_lives": True,
        "deaths": 1,
    }  # fmt: skip
    result = check(build("recovery", given))
    assert (result.verdict, result.violation) == ("complete", None)
