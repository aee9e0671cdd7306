"""Each refusal of the recovery's models keeps a promise, or a complete search shows it harmless.

A rule is cut free of all its refusals (``tests.quality.unguarding``). Then a search finds a promise
that breaks; or it is complete in every configuration below in which that rule refuses anything, and
breaks nothing: such a refusal spares an operator a step that does nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from kit.model.model import Model
from kit.model.registry import build
from kit.model.scenario import begun
from kit.model.timeline import Timeline
from kit.protocols.recovery.lost_majority import NO_GROUP
from kit.protocols.recovery.orders import ANY_ORDER
from kit.search.check import check
from tests.quality.breaking import broken, unguarded
from tests.quality.refusing import refused as refusals

MOST = 40_000
FOUR: dict[str, Any] = {"commit_indexes": (1, 2, 2, 2), "dead": "C D"}
LEVEL: dict[str, Any] = {"commit_indexes": (1, 1, 1, 1), "dead": "C D"}
ONE: dict[str, Any] = {"commit_indexes": (1, 1), "dead": "B"}
Build = Callable[[], Model[Any, Any]]


def of(name: str, **given: Any) -> Build:
    """A model with these parameters."""
    return lambda: build(name, given, ANY_ORDER if name == "recovery_mode" else ())


def upgrading(**given: Any) -> Build:
    """RECOVERY mode after its documented steps: the live nodes are to start the Raft upgrade."""

    def made() -> Model[Any, Any]:
        timeline = Timeline(build("recovery_mode", given, ANY_ORDER))
        while any(n.value for n in timeline.state.nodes if n.standing == "live"):
            timeline.do(timeline.model.suggest(timeline.state))
        return begun(timeline).model

    return made


MODELS: dict[str, Build] = {
    "recovery, writes": of("recovery", **FOUR, writes=1),
    "recovery, a return": of("recovery", **LEVEL, returns=1, changes=1),
    "recovery, two returns": of(
        "recovery", commit_indexes=(1, 1, 1), dead="B C", returns=2, changes=2
    ),
    "recovery, an operation": of("recovery", **LEVEL, deaths=1, operation=True),
    "recovery, manual": of("recovery", **FOUR, edition="server", crashes=1),
    "mode": of("recovery_mode", **ONE, changes=1),
    "mode, upgrading": upgrading(**FOUR, changes=1),
    "mode, stuck": of("recovery_mode", commit_indexes=(1, 1, 1), dead="C", stuck=True, changes=1),
    "failures": of("failures", datacenters=(3,), changes=2),
}
BREAKS = (
    # model, rule without refusals, the promise that breaks
    ("recovery, writes", "Choose", "causal"),
    ("recovery, writes", "Restart", "ends"),
    ("recovery, writes", "Write", "persist-in-order"),
    ("recovery, writes", "Remove", "taken-out"),
    ("recovery, writes", "Replace", "taken-out"),
    ("recovery, writes", "CleanRows", "cleaned-last"),
    ("recovery, two returns", "Alter", "majority"),
    ("recovery, an operation", "Coordinate", "taken-out"),
    ("recovery, manual", "DeleteId", "ends"),
    ("mode", "Remove", "taken-out"),
    ("mode, upgrading", "Alter", "majority"),
    ("mode, upgrading", "Enter", "one-group"),
    ("mode, upgrading", "Synchronize", "one-schema"),
    ("mode, stuck", "Finish", "one-schema"),
    ("failures", "Alter", "sees-all"),
    ("failures", "CatchUp", "newest"),
    ("failures", "Serve", "newest"),
)
HARMLESS = {
    # Who leads is chosen by the index of every live node, whenever that was read.
    "recovery, manual": {"Read", "UnsetOption"},
    # An option that was unset too early is set again. Queries need a server, and can wait for it;
    # what is only looked at changes nothing.
    "mode": {
        *("SetRecovery", "TruncateDiscovery", "TruncateHistory", "DropId", "Unset"),
        *("ReadLogs", "Compare"),
    },
    # To cut everybody off is to cut off nobody.
    "failures": {"Cut"},
}


@cache
def refused(name: str) -> frozenset[str]:
    """The rules of a model that refuse anything in a search."""
    most = MOST // 20 if name.startswith("mode,") else MOST
    return frozenset(action for action, _ in refusals(MODELS[name](), most))


def cut(name: str, rule: str) -> Model[Any, Any]:
    """The model with this rule free of refusals."""
    model = MODELS[name]()
    action = next(each.action for each in model.rules if each.action.__name__ == rule)
    return broken(model, action, unguarded)


@pytest.mark.parametrize(("name", "rule", "promise"), BREAKS)
def test_a_rule_without_its_refusals_breaks_a_promise(name: str, rule: str, promise: str) -> None:
    """A search of the model with that rule unguarded finds the promise of the row broken."""
    violation = check(cut(name, rule), max_states=MOST).violation
    assert violation is not None, f"nothing breaks in {MOST:,} states: is the refusal needed?"
    assert violation.property == promise, "another promise breaks first"


@pytest.mark.sweep(3)
@pytest.mark.parametrize(("name", "rule"), [(n, r) for n in HARMLESS for r in sorted(HARMLESS[n])])
def test_a_harmless_rule_breaks_nothing_without_its_refusals(name: str, rule: str) -> None:
    """The rule does refuse something, and a complete search without that finds no harm."""
    assert rule in refused(name)
    result = check(cut(name, rule), max_states=MOST)
    assert result.complete, result
    assert result.violation is None, result


def test_every_rule_that_refuses_is_tried_without_its_refusals() -> None:
    """BREAKS or HARMLESS lists the rule."""
    for family in ("recovery", "mode", "failures"):
        names = [name for name in MODELS if name.partition(",")[0] == family]
        listed = {rule for name, rule, _ in BREAKS if name in names}
        listed |= {rule for name in names for rule in HARMLESS.get(name, ())}
        assert {rule for name in names for rule in refused(name)} == listed, family


@pytest.mark.parametrize("edition", ["documents", "server"])
def test_the_reason_of_a_refusal_is_true_in_every_state(edition: str) -> None:
    """A leader said to be down is down, one without a group has none, and no leader is none."""
    model: Any = build(
        "recovery",
        {
            "edition": edition, "commit_indexes": (1, 1, 1, 1, 1), "dead": "C D E",
            "crashes": 1, "operation": True,
        },
    )  # fmt: skip
    reached = found = {model.start()}
    said = set()
    while found:
        for state in found:
            for action, refusal in model.waiting(state):
                said.add(refusal.reason)
                at = [state.nodes[model.number(name)] for name in refusal.missing]
                match refusal.reason.split(":")[0]:
                    case "the recovery leader has not created its group yet":
                        assert all(n.group_id <= state.abandoned for n in at), action
                    case "the recovery leader is down":
                        assert all(n.status == "down" for n in at), action
                    case "no recovery leader has been chosen":
                        assert state.leader < 0
                    case "some live nodes do not run in a new group":
                        assert all(n.group <= state.abandoned or n.group == NO_GROUP for n in at)
        found = {model.apply(s, a) for s in found for a in model.actions(s)} - reached
        reached |= found
    assert "the recovery leader is down" in {reason.split(":")[0] for reason in said}
