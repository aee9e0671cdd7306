"""Every reachable state of the topology upgrade: all holds; without its safeguard it does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kit.model.registry import build
from kit.protocols.upgrade.rules import DONE
from kit.protocols.upgrade.topology_upgrade import Build, End, Post, TopologyUpgrade
from kit.search.check import check
from tests.protocols.storage.proofs import assert_holds
from tests.quality.breaking import broken, doing, never, unguarded
from tests.quality.reporting import assert_reported, judges

[GUARD] = TopologyUpgrade.safeguards
# name: parameters, states, steps of the longest of the shortest runs
CLEAN: dict[str, tuple[dict[str, Any], int, int]] = {
    "smallest": ({**GUARD.smallest}, 25, 7),
    "a crash and an older node": ({"nodes": 2, "crashes": 1, "older": 1}, 684, 13),
    "three nodes, a crash": ({"crashes": 1, "older": 1}, 3229, 15),
}
LARGE: dict[str, tuple[dict[str, Any], int, int]] = {
    "two joiners, a crash": ({"joiners": 2, "crashes": 1}, 21_912, 17),
    "two joiners, two crashes": ({"joiners": 2, "crashes": 2, "older": 2}, 98_171, 21),
}
SHORTEST = ["post A", "bootstrap B", "serve B"]


@pytest.mark.parametrize(
    "name", [*CLEAN, *(pytest.param(name, marks=pytest.mark.deep) for name in LARGE)]
)
def test_no_run_breaks_a_promise(name: str) -> None:
    """No order of steps and crashes breaks a promise: the search is complete."""
    parameters, states, depth = (CLEAN | LARGE)[name]
    assert_holds(check(build("topology_upgrade", parameters)), states, depth)


@pytest.mark.parametrize("invariant", GUARD.protects)
def test_each_invariant_breaks_without_the_safeguard(invariant: str) -> None:
    """In one shortest run: a join is served before a row was read. CLEAN has the safeguard on."""
    model = build("topology_upgrade", GUARD.smallest, (GUARD.name,))
    judge = tuple(prop for prop in model.properties if prop.invariant == invariant)
    violation = check(model, judge).violation
    assert violation is not None
    assert [model.verb(action) for action in violation.actions] == SHORTEST
    assert CLEAN["smallest"][0] == GUARD.smallest


def leaping() -> Any:
    """POST that sets ``done`` at once."""
    model: Any = build("topology_upgrade", GUARD.smallest)
    return broken(model, Post, doing(lambda s, action: s.committed(DONE)))


REPORTED: dict[str, Callable[[], Any]] = {
    "in-table": lambda: broken(build("topology_upgrade"), End, unguarded),
    "majority": lambda: broken(
        build("topology_upgrade", {"nodes": 1, "crashes": 1}), Build, unguarded
    ),
    "understood": lambda: broken(
        build("topology_upgrade", {"nodes": 2, "older": 1}), Post, unguarded
    ),
    "same-ring": lambda: build("topology_upgrade", GUARD.smallest, (GUARD.name,)),
    "state-in-order": leaping,
    "done": lambda: broken(build("topology_upgrade"), Build, doing(lambda s, action: s)),
    "ends": lambda: broken(build("topology_upgrade"), End, never),
}


@pytest.mark.parametrize("name", REPORTED)
def test_a_search_reports_each_promise_broken_on_purpose(name: str) -> None:
    """Each promise is judged alone, on a model that was broken for it."""
    assert_reported(REPORTED[name](), name)


def test_every_property_has_a_broken_variant() -> None:
    """The table names all properties."""
    assert set(REPORTED) == set(judges(build("topology_upgrade")))
