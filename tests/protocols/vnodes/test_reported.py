"""Each judge of the model is reported by a search: a broken variant for every one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from kit.model.model import Model
from kit.model.registry import build
from kit.protocols.storage.storage import Commit, Finish
from kit.protocols.vnodes.vnodes import DELETED
from kit.search.check import check
from tests.protocols.vnodes.runs import GUARDS, ONE
from tests.quality.breaking import broken, never, unguarded
from tests.quality.reporting import assert_reported, judges

Broken = Callable[[], Model[Any, Any]]
SIDE_BY_SIDE = {**ONE, "together": True}


def without(off: str) -> Broken:
    """The model without one safeguard, in the smallest configuration that needs it."""
    return lambda: build("vnodes", dict(GUARDS[off].smallest), (off,))


def hasty() -> Model[Any, Any]:
    """A coordinator that tells its client of success whenever it likes."""
    model: Any = build("vnodes", ONE)
    model.success = lambda s, number: True
    return broken(model, Finish, unguarded)


REPORTED: dict[str, Broken] = {
    "consistency-level": hasty,
    "streamed": without("streams-before-switch"),
    "answered": lambda: build("vnodes", {**ONE, "requests": ("K1 write THREE",)}),
    "moved": lambda: broken(build("vnodes", ONE), Commit, never),
    "available": without("drain-before-leaving"),
    "fenced": without("fencing"),
    "session": without("sessions"),
    "quorums-in-use": without("write-before-read"),
    "visible": without("write-before-read"),
    "no-resurrection": without("cleanup-first"),
    "linearizable": lambda: build("vnodes", SIDE_BY_SIDE, ("write-before-read",)),
}


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", REPORTED)
def test_a_search_reports_it(name: str) -> None:
    """Judged alone, each promise is broken by what was broken for it."""
    assert_reported(REPORTED[name](), name, 30_000)


def test_an_answer_below_the_fence_is_not_counted() -> None:
    """A read stores nothing: a coordinator that counts what a replica refuses is reported."""
    model: Any = build("vnodes", {**GUARDS["fencing"].smallest, "requests": ("K1 read QUORUM",)})
    own = model.answered

    def counted(s: Any, request: int, replica: int, answer: Any, seen: Any) -> Any:
        return own(s, request, replica, replace(answer, verdict="ok"), seen)

    assert check(model, (judges(model)["fenced"],), monitors=()).violation is None
    model.answered = counted
    assert_reported(model, "fenced", 30_000)


def test_every_judge_has_a_broken_variant() -> None:
    """The table names all properties and monitors that the model can have."""
    whole = build("vnodes", {**SIDE_BY_SIDE, "requests": DELETED})
    assert set(REPORTED) == set(judges(whole))
