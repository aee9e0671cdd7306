"""Each property of a recovery is reported by a search: a broken variant for every one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kit.model.registry import build
from kit.protocols.recovery.recovery import CleanRows, Recovery, Remove, Restart, Write
from tests.quality.breaking import broken, changing, doing, never, unguarded
from tests.quality.reporting import assert_reported, judges

GUARDS = {guard.name: guard for guard in Recovery.safeguards}


def without(name: str) -> Any:
    """The smallest configuration without a safeguard."""
    return build("recovery", GUARDS[name].smallest, (name,))


def keeping_its_schema() -> Any:
    """A node that joins keeps the schema that it has."""
    model: Any = build("recovery", GUARDS["latest-index"].smallest)

    def keeping(s: Any, action: Any, after: Any) -> Any:
        number = model.number(action.node)
        return after.at(number, columns=s.nodes[number].columns)

    return broken(model, Restart, changing(keeping))


def storing_early() -> Any:
    """Data are stored whatever is persisted, though the rule says otherwise."""
    return broken(build("recovery", GUARDS["causality"].smallest), Write, unguarded)


REPORTED: dict[str, Callable[[], Any]] = {
    "causal": lambda: without("latest-index"),
    "one-group": lambda: without("leader-first"),
    "one-schema": keeping_its_schema,
    "linearizable": lambda: without("isolation"),
    "majority": lambda: broken(build("recovery", {"changes": 1}), Recovery.alter.struct, unguarded),
    "cleaned-last": lambda: broken(build("recovery"), CleanRows, unguarded),
    "persist-in-order": storing_early,
    "taken-out": lambda: broken(build("recovery"), Remove, unguarded),
    "recovered": lambda: broken(build("recovery"), CleanRows, doing(lambda s, action: s)),
    "ends": lambda: broken(build("recovery"), Restart, never),
}


@pytest.mark.parametrize("name", REPORTED)
def test_a_search_reports_it(name: str) -> None:
    """Judged alone, each promise is broken by what was broken for it."""
    assert_reported(REPORTED[name](), name)


def test_every_judge_has_a_broken_variant() -> None:
    """The table names all properties."""
    assert set(REPORTED) == set(judges(build("recovery")))


def test_the_harm_of_missing_causality_is_looked_for_behind_its_sign() -> None:
    """With the switch off data that come too early are a sign, judged where it is asked for."""
    model = without("causality")
    assert [sign.name for sign in model.signs] == ["persist-in-order"]
