"""Every reachable state of the Raft upgrade: all holds; without a safeguard it does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kit.model.registry import build
from kit.protocols.upgrade.raft_upgrade import Finish, JoinGroup, RaftUpgrade, Synchronize
from kit.protocols.upgrade.rules import POST
from kit.search.check import check
from kit.search.fuzz import fuzz
from tests.protocols.storage.proofs import assert_holds
from tests.protocols.upgrade.runs import raft, to_the_end
from tests.quality.breaking import broken, doing, never, unguarded
from tests.quality.reporting import assert_reported, judges

GUARDS = {guard.name: guard for guard in RaftUpgrade.safeguards}


NEEDED = [
    (guard.name, invariant) for guard in RaftUpgrade.safeguards for invariant in guard.protects
]


# name: parameters, states, steps of the longest of the shortest runs
CLEAN: dict[str, tuple[dict[str, Any], int, int]] = {
    "a change": ({"nodes": 2, "changes": 1}, 101, 16),
    "two changes": ({"nodes": 2, "changes": 2}, 299, 17),
    "a crash": ({"nodes": 2, "crashes": 1}, 108, 16),
    "a crash and a change": ({"nodes": 2, "crashes": 1, "changes": 1}, 392, 18),
    "three nodes, a change": ({"changes": 1}, 551, 24),
    "three nodes, two crashes": ({"crashes": 2}, 948, 25),
    "three nodes, a cut": ({"cuts": 1}, 430, 23),
    "older version": ({"nodes": 2, "beginning": "older version", "turns": 1, "deaths": 1}, 437, 19),
    "new cluster": ({"beginning": "new cluster", "changes": 2, "crashes": 2, "cuts": 1}, 1350, 9),
    "schema problem": ({"schema_problem": True, "crashes": 1, "cuts": 1}, 865, 12),
    "rows by hand": ({"nodes": 2, "edits": 1, "changes": 1, "crashes": 1}, 3176, 19),
}  # fmt: skip


LARGE: dict[str, tuple[dict[str, Any], int, int]] = {
    "all faults": ({"crashes": 2, "changes": 1, "cuts": 1}, 32_277, 30),
    "a death": ({"deaths": 1, "changes": 1, "crashes": 1, "turns": 1, "restarts": 1}, 70_942, 30),
    "older version, three nodes": (
        {"beginning": "older version", "crashes": 1, "changes": 2, "cuts": 1}, 354_552, 32,
    ),
    "rows by hand, three nodes": ({"edits": 1, "changes": 1, "crashes": 1}, 31_236, 27),
}  # fmt: skip


# safeguard and invariant: the property that breaks, and in how many steps
BROKEN = {
    ("schema-synchronization", "INV-SCHEMA"): ("one-schema", 13),
    ("schema-synchronization", "INV-RAFT"): ("one-base", 16),
    ("all-alive", "INV-ONEGROUP"): ("one-group", 7),
    ("all-alive", "INV-SCHEMA"): ("one-schema", 12),
}


@pytest.mark.parametrize(
    "name", [*CLEAN, *(pytest.param(name, marks=pytest.mark.deep) for name in LARGE)]
)
def test_no_run_breaks_a_promise(name: str) -> None:
    """No order of steps and faults breaks a promise: the search is complete."""
    parameters, states, depth = (CLEAN | LARGE)[name]
    assert_holds(check(build("raft_upgrade", parameters)), states, depth)


@pytest.mark.parametrize(("name", "invariant"), NEEDED)
def test_each_invariant_breaks_without_its_safeguard(name: str, invariant: str) -> None:
    """Judged alone, in a shortest run of the length in BROKEN."""
    guard = GUARDS[name]
    model = build("raft_upgrade", guard.breaking(invariant), (name,))
    judges = tuple(prop for prop in model.properties if prop.invariant == invariant)
    violation = check(model, judges).violation
    assert violation is not None
    assert (violation.property, len(violation.actions)) == BROKEN[name, invariant]


@pytest.mark.parametrize(("name", "invariant"), NEEDED)
def test_each_safeguard_is_enough_where_it_is_needed(name: str, invariant: str) -> None:
    """The configuration is among those of CLEAN, in which no promise breaks."""
    assert GUARDS[name].breaking(invariant) in [given for given, _, _ in CLEAN.values()]


def test_without_a_safeguard_its_first_invariant_breaks_first() -> None:
    """All properties are judged together."""
    for guard in RaftUpgrade.safeguards:
        model = build("raft_upgrade", guard.smallest, (guard.name,))
        violation = check(model).violation
        assert violation is not None
        [broken] = [p.invariant for p in model.properties if p.name == violation.property]
        assert broken == guard.protects[0]


@pytest.mark.spec("G-011")
def test_the_upgrade_ends_while_connections_come_and_go() -> None:
    """Random walks that cut and heal pairs find nothing; a run with three cuts reaches its end."""
    model = build("raft_upgrade", {"cuts": 4, "changes": 1})
    walks = fuzz(model, seeds=range(20), steps=40)
    assert not walks.findings
    assert not {"cut", "heal"} & {*walks.untaken}
    cuts = ["configure A", "cut A B", "restart A", "heal A B", "cut B C", "configure B"]
    timeline = raft({"cuts": 3}, [*cuts, "cut A C"])
    to_the_end(timeline)
    assert {node.state for node in timeline.state.nodes} == {"use_post_raft_procedures"}
    assert timeline.state.cut == ()


TWO = {"nodes": 2}


def without(name: str, invariant: str) -> Any:
    """The smallest configuration in which an invariant breaks without a safeguard."""
    return build("raft_upgrade", GUARDS[name].breaking(invariant), (name,))


def skipping() -> Any:
    """A node that finishes where it should enter ``synchronize``."""
    model: Any = build("raft_upgrade", TWO)

    def enter(s: Any, action: Any) -> Any:
        return s.at(model.number(action.node), row=POST, state=POST)

    return broken(model, Synchronize, doing(enter))


def nothing(state: Any, action: Any) -> Any:
    """A step without effect."""
    return state


REPORTED: dict[str, Callable[[], Any]] = {
    "one-group": lambda: without("all-alive", "INV-ONEGROUP"),
    "one-schema": lambda: without("schema-synchronization", "INV-SCHEMA"),
    "one-base": lambda: without("schema-synchronization", "INV-RAFT"),
    "majority": lambda: broken(
        build("raft_upgrade", {"beginning": "new cluster", "changes": 1, "crashes": 2}),
        RaftUpgrade.alter.struct,
        unguarded,
    ),
    "in-order": skipping,
    "finished": lambda: broken(build("raft_upgrade", TWO), Finish, doing(nothing)),
    "ends": lambda: broken(build("raft_upgrade", TWO), Finish, never),
    "held": lambda: broken(
        build("raft_upgrade", {**TWO, "schema_problem": True}), JoinGroup, doing(nothing)
    ),
}


@pytest.mark.parametrize("name", REPORTED)
def test_a_search_reports_each_promise_broken_on_purpose(name: str) -> None:
    """Each promise is judged alone, on a model that was broken for it."""
    assert_reported(REPORTED[name](), name)


def test_every_property_has_a_broken_variant() -> None:
    """Those of clusters with a schema problem included."""
    problem = build("raft_upgrade", {**TWO, "schema_problem": True})
    assert set(REPORTED) == {*judges(build("raft_upgrade")), *judges(problem)}
