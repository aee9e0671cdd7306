"""Each judge of submitting an event is reported by a search: a broken variant for each of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kit.model.registry import build, entry_of
from kit.protocols.cms.commit import Commit
from tests.quality.breaking import broken, doing, never
from tests.quality.reporting import assert_reported, judges

SMALLEST = {guard.name: guard.smallest for guard in entry_of("commit").safeguards}
SMALL: dict[str, Any] = {"nodes": 2, "members": 2, "events": ("drop table t at A",)}


def without(off: str) -> Callable[[], Any]:
    """The service without one of its safeguards, where that is needed."""
    return lambda: build("commit", SMALLEST[off], (off,))


def unchanged(s: Any, action: Any) -> Any:
    """A step without effect."""
    return s


REPORTED: dict[str, Callable[[], Any]] = {
    "one-log": without("promises-bind"),
    "valid": without("validation"),
    "same-state": without("apply-in-order"),
    "once": without("entry-id"),
    "majority": without("cms-quorum"),
    "committed": lambda: broken(build("commit", SMALL), Commit.answer.struct, doing(unchanged)),
    "all-answered": lambda: broken(build("commit", SMALL), Commit.answer.struct, never),
}


@pytest.mark.parametrize("name", REPORTED)
def test_a_search_reports_it(name: str) -> None:
    """Judged alone, each promise is broken by what was broken for it."""
    assert_reported(REPORTED[name](), name)


def test_every_judge_has_a_broken_variant() -> None:
    """The table names all properties of the model."""
    assert set(REPORTED) == set(judges(build("commit")))
