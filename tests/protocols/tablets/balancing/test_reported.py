"""Each property of balancing is reported by a search: a broken variant for every one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kit.model.registry import build
from kit.protocols.tablets.balance import Balance, BalanceState
from tests.quality.breaking import broken, doing, never, unguarded
from tests.quality.reporting import assert_reported, judges

TWO: dict[str, Any] = {"tablets": ("A B",), "nodes": 3}
RACKS: dict[str, Any] = {**TWO, "racks": ("dc1/r1", "dc1/r2", "dc1/r2")}
UNEVEN: dict[str, Any] = {"nodes": 2, "tablets": ("A", "A")}

REPORTED: dict[str, Callable[[], Any]] = {
    "whole-map": lambda: broken(build("balance", TWO), Balance.move.struct, unguarded),
    "racks": lambda: broken(build("balance", RACKS), Balance.move.struct, unguarded),
    "even": lambda: broken(build("balance", UNEVEN), Balance.move.struct, never),
    "ends": lambda: broken(build("balance", UNEVEN), Balance.move.struct, doing(stays)),
}


def stays(s: BalanceState, action: Any) -> BalanceState:
    """A move that does nothing."""
    return s


@pytest.mark.parametrize("name", REPORTED)
def test_a_search_reports_it(name: str) -> None:
    """Judged alone, each promise is broken by what was broken for it."""
    assert_reported(REPORTED[name](), name)


def test_every_judge_has_a_broken_variant() -> None:
    """The table names all properties."""
    assert set(REPORTED) == set(judges(build("balance")))
