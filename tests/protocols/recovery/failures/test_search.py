"""Every reachable state of failures: all holds; without the majority it does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from kit.model.registry import build
from kit.protocols.recovery.failures import CatchUp, Failures, Rejoin, Stop
from kit.search.check import check
from tests.protocols.storage.proofs import assert_holds, assert_needed
from tests.quality.breaking import broken, doing, never
from tests.quality.reporting import assert_reported, judges

[MAJORITY] = Failures.safeguards
# parameters, states, steps of the longest of the shortest runs; the same for both editions
CLEAN: dict[str, tuple[dict[str, Any], int, int]] = {
    "three nodes": ({**MAJORITY.smallest}, 2268, 10),
    "two datacenters of two": ({"datacenters": (2, 2), "changes": 1}, 1458, 8),
    "two fail at once": ({"datacenters": (4,), "changes": 1, "together": "A B"}, 7290, 11),
    "three datacenters of one": ({"datacenters": (1, 1, 1), "changes": 1}, 945, 9),
    "voters are chosen again": (
        {"edition": "server", "datacenters": (2, 2), "changes": 1}, 7884, 13,
    ),
}  # fmt: skip
LARGE: dict[str, tuple[dict[str, Any], int, int]] = {
    "five nodes": ({"datacenters": (5,), "changes": 1}, 128_061, 15),
    "voters of five nodes": ({"edition": "server", "datacenters": (5,), "changes": 1}, 128_061, 15),
    "voters of six nodes": (
        {"edition": "server", "datacenters": (2, 2, 2), "changes": 0}, 25_242, 10,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CLEAN)
def test_no_run_breaks_a_promise(name: str) -> None:
    """The search is complete, judged all, and finds no harm."""
    parameters, states, depth = CLEAN[name]
    assert_holds(check(build("failures", parameters)), states, depth)


@pytest.mark.deep
@pytest.mark.parametrize("name", LARGE)
def test_no_large_run_breaks_a_promise(name: str) -> None:
    """The same where it takes longer."""
    parameters, states, depth = LARGE[name]
    assert_holds(check(build("failures", parameters)), states, depth)


def test_the_majority_is_needed() -> None:
    """Off, each side of a cut adds a column; one does not see the other's."""
    model = build("failures", MAJORITY.smallest, (MAJORITY.name,))
    result = check(model)
    assert_needed(result, model, MAJORITY, ("sees-all", 3))
    assert result.violation is not None
    verbs = [model.verb(action) for action in result.violation.actions]
    assert verbs[1] == "cut off A" or verbs[0] == "cut off A"


def without_fetching() -> Any:
    """A node serves at once, with what it has stored."""
    model: Any = build("failures", {"changes": 1})

    def serving(s: Any, action: Any) -> Any:
        return replace(s, serving=s.serving | 1 << model.number(action.node))

    return broken(model, CatchUp, doing(serving))


REPORTED: dict[str, Callable[[], Any]] = {
    "sees-all": lambda: build("failures", MAJORITY.smallest, ("majority",)),
    "newest": without_fetching,
    "no-majority": lambda: broken(build("failures", {"datacenters": (1,)}), Stop, never),
    "whole": lambda: broken(build("failures", {"changes": 0}), Rejoin, never),
}


@pytest.mark.parametrize("name", REPORTED)
def test_a_search_reports_it(name: str) -> None:
    """Judged alone, each promise is broken by what was broken for it."""
    assert_reported(REPORTED[name](), name)


def test_every_judge_has_a_broken_variant() -> None:
    """The table names all properties."""
    assert set(REPORTED) == set(judges(build("failures")))
