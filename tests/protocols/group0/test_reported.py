"""Each judge of the two models is reported by a search: a broken variant for every one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from kit.errors import Refusal
from kit.model.model import Model
from kit.model.network import DeliverMessage
from kit.model.registry import build, entry_of
from kit.model.rule import Rule
from kit.protocols.group0.discovery import FoundGroup
from kit.protocols.group0.raft import CommitCommand, Elect
from tests.protocols.group0.test_search import ALTERS, ONE
from tests.quality.breaking import answering, broken, changing, never, own_answer, unguarded
from tests.quality.reporting import assert_reported, judges

Broken = Callable[[], Model[Any, Any]]
SMALLEST = {
    guard.name: guard.smallest
    for name in ("group0", "discovery")
    for guard in entry_of(name).safeguards
}


def without(name: str, off: str, **given: Any) -> Broken:
    """A model without one of its safeguards, in the smallest configuration that needs it."""
    return lambda: build(name, {**SMALLEST[off], **given}, (off,))


def by_one(rule: Rule[Any, Any]) -> Rule[Any, Any]:
    """A command is committed once a single node has stored it."""
    own, alone = own_answer(rule), own_answer(unguarded(rule))

    def answer(s: Any, action: Any) -> Any:
        end = own(s, action)
        return end if isinstance(end, Refusal) else alone(s, replace(action, by=action.by[:1]))

    return answering(rule, answer)


def admits_nobody(s: Any, action: Any, after: Any) -> Any:
    """Who asks to join is told of success, and no configuration names it."""
    pairs = zip(s.nodes, after.nodes, strict=True)
    return replace(after, nodes=tuple(replace(n, members=old.members) for old, n in pairs))


def unfounded(**more: Any) -> Model[Any, Any]:
    """Two nodes that find each other; nobody founds a group."""
    model = broken(build("discovery", {"seeds": ("A", "A")}), FoundGroup, never)
    for name, value in more.items():
        setattr(model, name, value)
    return model


GROUP0: dict[str, Broken] = {
    "built-on": without("group0", "state-id-check"),
    "once": without("group0", "same-id-on-retry"),
    "versions": without("group0", "state-id-check", **ALTERS),
    "new-enough": without("group0", "schema-version-check"),
    "majority": lambda: broken(build("group0"), CommitCommand, by_one),
    "elected": lambda: broken(build("group0", {"elections": 1}), Elect, unguarded),
    "no-op": lambda: build("group0", {"operations": ONE}),
    "success": lambda: build("group0", {"operations": ("alter table ks.t add c at A",)}),
    "answered": lambda: broken(build("group0"), CommitCommand, never),
    "linearizable": without("group0", "read-barrier"),
}
DISCOVERY: dict[str, Broken] = {
    "one-group": without("discovery", "transitive-closure"),
    "admitted": lambda: broken(
        build("discovery", {"seeds": ("A", "A")}), DeliverMessage, changing(admits_nobody)
    ),
    "everybody": lambda: unfounded(rests_at_goals=False),
    "member": unfounded,
}


@pytest.mark.parametrize("name", GROUP0)
def test_a_search_of_group0_reports_it(name: str) -> None:
    """Judged alone, each promise of the log is broken by what was broken for it."""
    assert_reported(GROUP0[name](), name)


@pytest.mark.parametrize("name", DISCOVERY)
def test_a_search_of_discovery_reports_it(name: str) -> None:
    """Judged alone, each promise of discovery is broken by what was broken for it."""
    assert_reported(DISCOVERY[name](), name)


def test_every_judge_has_a_broken_variant() -> None:
    """The tables name all properties and monitors of the two models."""
    assert set(GROUP0) == set(judges(build("group0")))
    assert set(DISCOVERY) == set(judges(build("discovery")))
