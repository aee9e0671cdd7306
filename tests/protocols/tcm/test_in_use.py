"""Majorities of all epochs in use meet: the barrier and the exchange of epochs see to it."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from kit.model.model import always
from kit.model.registry import build
from kit.protocols.tcm.rules.quorums import quorums_meet
from kit.search.check import check

NOBODY: frozenset[int] = frozenset()
DECOMMISSION = {"nodes": 4, "rf": 3, "operations": ("decommission D",)}


def missing(given: dict[str, Any], *off: str, exchange: bool = True) -> tuple[int, int]:
    """In how many states majorities in use miss one another, and how many states there are.

    Without the ``exchange`` all majorities are in use of the epochs that nodes are at.
    """
    model: Any = build("tcm", given, off)
    found = set()

    def apart(s: Any) -> bool:
        if exchange:
            return model.quorums_meet(s) is not None
        by = [model.snapshot(s, epoch) for epoch in {*model.applied(s)}]
        pairs = ((one, other, NOBODY, NOBODY) for one, other in product(by, by))
        return quorums_meet(pairs) is not None

    def counted(s: Any) -> str | None:
        if apart(s):  # a search may ask twice
            found.add(s)
        return None

    result = check(model, (always("counted", "Each state is counted", counted),), monitors=())
    assert result.complete
    return len(found), result.states


@pytest.mark.parametrize(
    "given", [{}, {"rf": 1}, {"rf": 3}, {"rf": 3, "cancels": 1}, DECOMMISSION], ids=str
)
def test_with_both_none_misses_another(given: dict[str, Any]) -> None:
    """With every safeguard on no two majorities of any two epochs in use miss each other."""
    assert missing(given)[0] == 0


def test_the_barrier_alone_is_not_enough() -> None:
    """Without the exchange of epochs majorities of older epochs would miss those of newer ones;
    without the barrier, too, many more.
    """
    assert missing({"rf": 3}, exchange=False) == (21, 138)
    assert missing({"rf": 3}, "progress-barrier", exchange=False) == (313, 827)


@pytest.mark.parametrize(("given", "steps"), [({"rf": 1}, 6), ({"rf": 3}, 8)], ids=str)
def test_the_exchange_alone_is_not_enough(given: dict[str, Any], steps: int) -> None:
    """Without the barrier they miss one another although epochs are compared: the lamp goes out."""
    model = build("tcm", given, ("progress-barrier",))
    lamp = tuple(prop for prop in model.properties if prop.name == "quorums")
    violation = check(model, lamp, monitors=()).violation
    assert violation is not None
    assert len(violation.actions) == steps
    assert missing(given, "progress-barrier")[0] > 0
