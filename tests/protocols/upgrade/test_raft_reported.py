"""Each property of the Raft upgrade is reported by a search: a broken variant for each of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kit.model.registry import build
from kit.protocols.upgrade.raft_upgrade import Finish, JoinGroup, RaftUpgrade, Synchronize
from kit.protocols.upgrade.rules import POST
from tests.quality.breaking import broken, doing, never, unguarded
from tests.quality.reporting import assert_reported, judges

GUARDS = {guard.name: guard for guard in RaftUpgrade.safeguards}
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
def test_a_search_reports_it(name: str) -> None:
    """Judged alone, each promise is broken by what was broken for it."""
    assert_reported(REPORTED[name](), name)


def test_every_judge_has_a_broken_variant() -> None:
    """The table names all properties, of clusters with a schema problem, too."""
    problem = build("raft_upgrade", {**TWO, "schema_problem": True})
    assert set(REPORTED) == {*judges(build("raft_upgrade")), *judges(problem)}
