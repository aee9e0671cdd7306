"""Each property of the join handshake is reported by a search: a broken variant for every one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from kit.model.registry import build, entry_of
from kit.protocols.topology.handshake import JOINER, joiner, left, tables, with_tables
from kit.protocols.topology.join import CallFails, LearnOutcome, PlaceRequest
from tests.quality.breaking import broken, changing, doing, never
from tests.quality.reporting import assert_reported, judges

SMALLEST = {guard.name: guard.smallest for guard in entry_of("join").safeguards}


def without(off: str) -> Callable[[], Any]:
    """The model without one safeguard, in the smallest configuration that needs it."""
    return lambda: build("join", SMALLEST[off], (off,))


def careless() -> Any:
    """Whoever asks is in group 0 at once."""

    def adding(s: Any, action: Any, after: Any) -> Any:
        held = tables(after)
        added = (*held.members, joiner(after).host)
        return with_tables(after, replace(held, members=added))

    return broken(build("join"), PlaceRequest, changing(adding))


def giving_up() -> Any:
    """A cluster of edition ``documents`` gives a joiner up as the published code does."""

    def giving(s: Any, action: Any, after: Any) -> Any:
        joining = tables(after).joining
        return left(after, joining.host, "not-accepted") if joining else after

    return broken(build("join", {"edition": "documents", "losses": 1}), CallFails, changing(giving))


def mistaken() -> Any:
    """A joiner that has left takes itself for normal."""
    model: Any = build("join", {"edition": "server", "losses": 1})

    def mistakes(s: Any, action: Any) -> Any:
        normal = replace(joiner(s), status="normal")
        return model.turned(s, model.index[JOINER], (normal, ()))

    return broken(model, LearnOutcome, doing(mistakes))


REPORTED: dict[str, Callable[[], Any]] = {
    "attempt": without("join-message-order"),
    "members": careless,
    "stays": giving_up,
    "left-final": without("refuse-left"),
    "in-service": mistaken,
    "features": without("features-with-joins"),
    "owners-store": without("host-id-handshake"),
    "no-return": without("host-id-handshake"),
    "over": lambda: broken(build("join"), LearnOutcome, doing(lambda s, action: s)),
    "ends": lambda: broken(build("join"), LearnOutcome, never),
}


@pytest.mark.parametrize("name", REPORTED)
def test_a_search_reports_it(name: str) -> None:
    """Judged alone, each promise is broken by what was broken for it."""
    assert_reported(REPORTED[name](), name)


def test_every_judge_has_a_broken_variant() -> None:
    """The table names all properties."""
    assert set(REPORTED) == set(judges(build("join")))
