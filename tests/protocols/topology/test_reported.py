"""Each property of the control model is reported by a search: a broken variant for every one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from kit.model.model import Model
from kit.model.registry import build, entry_of
from kit.protocols.topology.control import with_topology
from kit.protocols.topology.rules.cluster import with_node
from kit.protocols.topology.topology import CommitDecision, DoWork, ExcludeNode, MakeRequest
from tests.quality.breaking import broken, changing, never, unguarded
from tests.quality.reporting import assert_reported, judges

Broken = Callable[[], Model[Any, Any]]
Change = Callable[[Any, Any], Any]
SMALLEST = {guard.name: guard.smallest for guard in entry_of("topology").safeguards}


def without(off: str, **given: Any) -> Broken:
    """The model without one safeguard, in the smallest configuration that needs it."""
    return lambda: build("topology", {**SMALLEST[off], **given}, (off,))


def spoiling(action: type, change: Change, edition: str = "server") -> Broken:
    """The model, where a step also changes the tables: ``change(tables, action)``."""
    spoiled = changing(lambda s, a, after: with_topology(after, change(after.topology, a)))
    return lambda: broken(build("topology", {"nodes": 2, "edition": edition}), action, spoiled)


REPORTED: dict[str, Broken] = {
    "one-operation": spoiling(
        CommitDecision,
        lambda t, a: with_node(with_node(t, 0, state="removing"), 1, state="leaving"),
    ),
    "own-state": spoiling(CommitDecision, lambda t, a: replace(t, transition="rollback_to_normal")),
    "tablets-apart": spoiling(
        CommitDecision, lambda t, a: replace(t, tablets="moving"), edition="documents"
    ),
    "tablets-hold": without("tablet-track-excludes"),
    "tokenless": spoiling(MakeRequest, lambda t, a: with_node(t, 0, zero_token=True)),
    "left-final": without("refuse-left"),
    "members": spoiling(MakeRequest, lambda t, a: replace(t, members=t.members | 1 << 2)),
    "left-silent": without("refuse-live-removal"),
    "clean-first": without("cleanup-first"),
    "sessions": without("sessions"),
    "guarded": without("commit-with-guard"),
    "majority": lambda: broken(
        build("topology", {"nodes": 2, "crashes": 1, "exclusions": 1}), ExcludeNode, unguarded
    ),
    "versions": spoiling(CommitDecision, lambda t, a: replace(t, fence_version=t.version + 1)),
    "live-versions": lambda: build(
        "topology", {"operations": ("leave C",), "clients": 1}, ("fencing", "barrier-drains")
    ),
    "older-over": without("barrier-drains"),
    "shut-down-unused": without("drain-before-leaving"),
    "no-way-back": without("no-rollback-after-switch"),
    "node-edges": spoiling(MakeRequest, lambda t, a: with_node(t, 2, state="normal")),
    "transition-edges": spoiling(
        MakeRequest, lambda t, a: replace(t, transition="write_both_read_new")
    ),
    "success": lambda: build("topology", {"edition": "server", "down": ("B",)}),
    "ends": lambda: broken(build("topology", {"nodes": 2}), DoWork, never),
}


@pytest.mark.parametrize("name", REPORTED)
def test_a_search_reports_it(name: str) -> None:
    """Judged alone, each promise is broken by what was broken for it."""
    assert_reported(REPORTED[name](), name)


def test_every_property_has_a_broken_variant() -> None:
    """The table names all of them."""
    assert set(REPORTED) == set(judges(build("topology")))
