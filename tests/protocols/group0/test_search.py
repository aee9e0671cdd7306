"""Every reachable state of small groups: all holds; without a safeguard it does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from kit.errors import Refusal
from kit.model.model import Model, Rule
from kit.model.network import DeliverMessage
from kit.model.registry import build, entry_of
from kit.protocols.group0.discovery import FoundGroup
from kit.protocols.group0.group0 import Group0
from kit.protocols.group0.raft import CommitCommand, Elect
from kit.search.check import Result, check
from kit.search.fuzz import fuzz
from tests.quality.breaking import answering, broken, changing, never, own_answer, unguarded
from tests.quality.reporting import assert_reported, judges

ONE = ("create table ks.t at A",)


ALTERS = {
    "operations": ("alter table ks.t add c at A", "alter table ks.t add d at B"),
    "earlier": ("create keyspace ks at A", "create table ks.t at A"),
}


SCHEMA = {"operations": ("create keyspace ks at A", "create table ks.t at B"), "earlier": ()}


HOUR = {"edition": "server", "hours": 1}


# name -> parameters, unique states, steps of the longest shortest run, what is out of reach
CONFIGURATIONS: dict[str, tuple[dict[str, Any], int, int, tuple[str, ...]]] = {
    "race": ({}, 2130, 28, ()),
    "schema": (SCHEMA, 633, 25, ("no-op",)),
    "two columns": (ALTERS, 4811, 35, ()),
    "crash": ({"crashes": 1}, 11928, 30, ()),
    "election": ({"operations": ONE, "elections": 1}, 1781, 20, ()),
    "snapshots, a newcomer": (
        {"operations": (*ONE, "create table ks.v at B"), "kept": 1, "newcomers": 1},
        8741,
        34,
        (),
    ),
    "election, race of two": ({"nodes": 2, "elections": 1}, 13253, 35, ()),
    "election and loss": ({"operations": ONE, "elections": 1, "losses": 1}, 3541, 22, ()),
    "election and crash": ({"operations": ONE, "elections": 1, "crashes": 1}, 8627, 21, ()),
    "hour": ({"nodes": 2, **HOUR}, 1900, 26, ()),
    "hour and election": (
        {"nodes": 2, "operations": ONE, "elections": 1, "release": "2025.3", **HOUR},
        498,
        18,
        (),
    ),
    "request": (
        {
            "operations": ("alter table ks.t add c at A",),
            "earlier": ("create keyspace ks at A", "create table ks.t at A"),
            "requests": ("write ks.t at A to B", "read ks.t at B to C"),
        },
        614,
        17,
        ("no-op",),
    ),
}


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_no_reachable_state_breaks_a_promise(name: str) -> None:
    """The search is complete, judges everything, and reaches the goals of the configuration."""
    parameters, states, depth, unreached = CONFIGURATIONS[name]
    result = check(build("group0", parameters))
    assert result.violation is None, result
    assert result.complete, result
    assert result.unjudged == ()
    assert (result.states, result.depth, result.unreached) == (states, depth, unreached)


AGAIN = "create table ks.t at A"


@pytest.mark.parametrize("dropped", [False, True])
def test_a_change_asked_for_once_before_is_judged_anew(dropped: bool) -> None:
    """Refused, or done again since the table was dropped; only then can it be done twice."""
    earlier = ("create keyspace ks at A", AGAIN, *["drop table ks.t at B"] * dropped)
    given = {"nodes": 2, "operations": (AGAIN,), "earlier": earlier}
    result = check(build("group0", given))
    assert result.complete, result
    assert result.violation is None, result.violation
    assert ("success" in result.unreached) != dropped
    elected = build("group0", {**given, "elections": 1}, ("same-id-on-retry",))
    violation = check(elected).violation
    assert (violation is not None and violation.property == "once") == dropped


@pytest.mark.deep
def test_a_race_with_an_election_breaks_no_promise() -> None:
    """Three nodes, two clients, 625,616 states."""
    result = check(build("group0", {"elections": 1}))
    assert (result.violation, result.complete, result.states) == (None, True, 625616)


# safeguard -> what its smallest configuration breaks first, and in how many steps
BROKEN = {
    "read-barrier": ("linearizable", 12),
    "state-id-check": ("built-on", 14),
    "same-id-on-retry": ("once", 19),
    "commit-with-guard": ("built-on", 14),
    "schema-version-check": ("new-enough", 10),
}


def without(name: str, only: str | None = None, **parameters: Any) -> Result:
    """A search of the safeguard's smallest configuration with the safeguard off."""
    guard = next(guard for guard in Group0.safeguards if guard.name == name)
    model = build("group0", {**guard.smallest, **parameters}, (name,))
    chosen = tuple(p for p in model.properties if only in (None, p.name))
    watching = tuple(each for each in model.monitors if only in (None, each.name))
    return check(model, chosen, monitors=watching)


@pytest.mark.parametrize("name", BROKEN)
def test_a_promise_breaks_without_each_safeguard(name: str) -> None:
    """A promise of an invariant that the safeguard protects, in a shortest run."""
    violation = without(name).violation
    assert violation is not None
    assert (violation.property, len(violation.actions)) == BROKEN[name]
    guard = next(guard for guard in Group0.safeguards if guard.name == name)
    model = build("group0", guard.smallest)
    invariants = {each.name: each.invariant for each in model.properties}
    invariants |= {each.name: each.invariant for each in model.monitors}
    assert invariants[violation.property] in guard.protects


@pytest.mark.parametrize("name", BROKEN)
def test_each_safeguard_is_enough_in_its_smallest_configuration(name: str) -> None:
    """Where a promise breaks without it."""
    guard = next(guard for guard in Group0.safeguards if guard.name == name)
    result = check(build("group0", guard.smallest))
    assert (result.violation, result.complete) == (None, True)


def test_every_safeguard_has_a_test() -> None:
    """BROKEN names each, under the ids of the documents."""
    assert sorted(BROKEN) == sorted(guard.name for guard in Group0.safeguards)
    assert [guard.id for guard in Group0.safeguards] == ["S-29", "S-30", "S-31", "S-59", "S-51"]


TWICE = {"operations": ("alter keyspace ks rf 3 at A",)}


HARM = [
    ("state-id-check", "linearizable", {}, "succeeds although the previous state did not allow it"),
    ("state-id-check", "versions", ALTERS, "version 5 of ks.t has columns"),
    ("commit-with-guard", "linearizable", {}, "succeeds although the previous state did not allow"),
    ("commit-with-guard", "versions", ALTERS, "version 5 of ks.t has columns"),
    ("same-id-on-retry", "once", TWICE, "alter keyspace ks rf 3 at A took effect twice"),
]


@pytest.mark.parametrize(("name", "only", "given", "witness"), HARM)
def test_each_harm_has_its_witness(
    name: str, only: str, given: dict[str, Any], witness: str
) -> None:
    """Judged alone, it breaks as the minimal traces tell."""
    violation = without(name, only, **given).violation
    assert violation is not None
    assert witness in str(violation.witness)


def test_random_walks_of_seven_nodes_break_nothing_and_take_every_rule() -> None:
    """With every fault."""
    fuzzing = entry_of("group0").fuzzing
    model = build("group0", fuzzing.parameters)
    result = fuzz(model, seeds=range(30), steps=200, weights=fuzzing.weights)
    assert result.findings == ()
    assert result.untaken == ()


Broken = Callable[[], Model[Any, Any]]


SMALLEST = {
    guard.name: guard.smallest
    for name in ("group0", "discovery")
    for guard in entry_of(name).safeguards
}


def variant(name: str, off: str, **given: Any) -> Broken:
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
    "built-on": variant("group0", "state-id-check"),
    "once": variant("group0", "same-id-on-retry"),
    "versions": variant("group0", "state-id-check", **ALTERS),
    "new-enough": variant("group0", "schema-version-check"),
    "majority": lambda: broken(build("group0"), CommitCommand, by_one),
    "elected": lambda: broken(build("group0", {"elections": 1}), Elect, unguarded),
    "no-op": lambda: build("group0", {"operations": ONE}),
    "success": lambda: build("group0", {"operations": ("alter table ks.t add c at A",)}),
    "answered": lambda: broken(build("group0"), CommitCommand, never),
    "linearizable": variant("group0", "read-barrier"),
}


DISCOVERY: dict[str, Broken] = {
    "one-group": variant("discovery", "transitive-closure"),
    "admitted": lambda: broken(
        build("discovery", {"seeds": ("A", "A")}), DeliverMessage, changing(admits_nobody)
    ),
    "everybody": lambda: unfounded(rests_at_goals=False),
    "member": unfounded,
}


@pytest.mark.parametrize(("name", "made"), [*GROUP0.items(), *DISCOVERY.items()])
def test_a_search_reports_each_promise_broken_on_purpose(name: str, made: Broken) -> None:
    """Each promise is judged alone, on a model that was broken for it."""
    assert_reported(made(), name)


def test_every_property_and_monitor_has_a_broken_variant() -> None:
    """Of group 0 and of discovery."""
    assert set(GROUP0) == set(judges(build("group0")))
    assert set(DISCOVERY) == set(judges(build("discovery")))
