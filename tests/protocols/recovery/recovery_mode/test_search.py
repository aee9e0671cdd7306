"""Every reachable state of the old procedure, its steps in any order; what each promise catches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kit.engine.check import check
from kit.engine.registry import build
from kit.engine.scenario import begun
from kit.protocols.recovery.recovery_mode import Enter, Finish, RecoveryMode, Remove
from tests.protocols.recovery.recovery_mode.runs import (
    ENTER,
    LEAVE,
    REMOVE,
    TRUNCATE,
    UPGRADE,
    after,
)
from tests.protocols.storage.proofs import assert_holds
from tests.quality.breaking import broken, doing, never, unguarded
from tests.quality.reporting import assert_reported, judges

THREE: dict[str, Any] = {"commit_indexes": (1, 1, 1), "dead": "B C"}
# name: parameters, states, steps of the longest of the shortest runs
CLEAN: dict[str, tuple[dict[str, Any], int, int]] = {
    "one lives": (THREE, 3120, 23),
    "one lives, a crash": ({**THREE, "crashes": 1}, 6240, 23),
}


@pytest.mark.parametrize(("first", "second"), [(1, 2), (2, 1), (1, 3), (3, 2)])
def test_the_numbers_of_new_groups_do_not_matter(first: int, second: int) -> None:
    """States that differ in them alone, and in groups that nobody knows, are one to a search."""
    start: Any = build("recovery_mode", THREE).start()
    a, b, c = start.nodes

    def in_groups(one: int, other: int) -> Any:
        size = max(one, other) + 1
        logs, groups = [((9, 9),)] * size, [4] * size
        logs[0], groups[0] = start.logs[0], start.groups[0]
        logs[one], groups[one], logs[other], groups[other] = (), 1, ((0, 1),), 2
        nodes = (a.but(group=one, group_id=one), b.but(group=other, group_id=other), c)
        return start.but(nodes=nodes, groups=tuple(groups), logs=tuple(logs))

    usual = in_groups(1, 2)
    state, numbers = in_groups(first, second).renumbered()
    assert state == usual
    assert numbers == {0: 0, first: 1, second: 2}
    assert usual.renumbered() == (usual, {0: 0, 1: 1, 2: 2})


@pytest.mark.parametrize("name", CLEAN)
def test_with_one_live_node_any_order_can_be_mended(name: str) -> None:
    """Whatever the operator does, nothing breaks, and the cluster can become whole."""
    parameters, states, depth = CLEAN[name]
    assert_holds(check(build("recovery_mode", parameters)), states, depth)


# name: parameters, states up to symmetry, steps of the longest of the shortest runs
ANY_ORDER: dict[str, tuple[dict[str, Any], int, int]] = {
    "two of three live, a stuck upgrade": (
        {"commit_indexes": (1, 1, 1), "dead": "C", "stuck": True}, 302_784, 42,
    ),
    "two of four live": ({"commit_indexes": (1, 1, 1, 1), "dead": "C D"}, 386_368, 43),
}  # fmt: skip


@pytest.mark.deep
@pytest.mark.parametrize("name", ANY_ORDER)
def test_with_two_live_nodes_any_order_can_be_mended(name: str) -> None:
    """The same with two: the operator may do any step at any time, on either node."""
    parameters, states, depth = ANY_ORDER[name]
    result = check(build("recovery_mode", parameters), symmetry=True)
    assert (result.verdict, result.states, result.depth) == ("up to symmetry", states, depth)
    assert result.unreached == ()


def test_numbers_of_groups_are_names() -> None:
    """Joined or not, one live node has as many states: it never has two new groups."""
    result = check(build("recovery_mode", {**THREE, "crashes": 1}), symmetry=True)
    assert (result.verdict, result.states) == ("up to symmetry", 6240)


def begun_with(*verbs: str, **more: Any) -> Any:
    """The model at the end of a run."""
    return begun(after({"commit_indexes": (1, 2, 2, 2), "dead": "C D", **more}, *verbs)).model


def keeping_the_history() -> Any:
    """Both are upgraded; nobody truncated the history, and a client changes the schema twice."""
    kept = [verb for verb in TRUNCATE if not verb.startswith("history")]
    return begun_with(*ENTER, *REMOVE, *kept, *LEAVE, *UPGRADE, changes=2)


def creating_a_group_each() -> Any:
    """Nobody asks another node for its group."""
    model = begun_with(*ENTER, *REMOVE, *TRUNCATE, *LEAVE)

    def creating(s: Any, action: Any) -> Any:
        node = model.number(action.node)
        return s.at(node, discovery=s.peers).created(node)

    return broken(broken(model, Enter, unguarded), Enter, doing(creating))


REPORTED: dict[str, Callable[[], Any]] = {
    "one-group": creating_a_group_each,
    "one-schema": keeping_the_history,
    "linearizable": keeping_the_history,
    "majority": lambda: broken(
        build("recovery_mode", {**THREE, "changes": 1}), RecoveryMode.alter.struct, unguarded
    ),
    "taken-out": lambda: broken(build("recovery_mode", THREE), Remove, unguarded),
    "whole": lambda: broken(build("recovery_mode", THREE), Finish, never),
    "ends": lambda: broken(build("recovery_mode", THREE), Enter, never),
}


@pytest.mark.parametrize("name", REPORTED)
def test_a_search_reports_it(name: str) -> None:
    """Judged alone, each promise is broken by what was broken for it."""
    assert_reported(REPORTED[name](), name)


def test_every_judge_has_a_broken_variant() -> None:
    """The table names all properties."""
    assert set(REPORTED) == set(judges(build("recovery_mode")))
