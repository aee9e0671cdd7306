"""Every reachable state of small configurations: all holds; without a safeguard it does not."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from kit.errors import Refused
from kit.model.model import always
from kit.model.registry import build
from kit.protocols.tcm.cluster import SAFEGUARDS
from kit.protocols.tcm.rules.quorums import quorums_meet
from kit.ring.replication import Keyspace, NetworkTopologyStrategy
from kit.ring.topology import Node
from kit.search.check import Result, check
from tests.protocols.tcm.exploring import reachable

TWO_DATACENTERS = {
    "members": (Node("a", (100,), "dc1"), Node("b", (150,), "dc2"), Node("c", (200,), "dc1")),
    "low": 0,
    "high": 400,
    "keyspaces": (Keyspace("ks", NetworkTopologyStrategy((("dc1", 1), ("dc2", 1)))),),
    "operations": ("bootstrap X --tokens 50 --dc dc2",),
}
# name -> parameters, unique states, steps of the longest shortest run
CONFIGURATIONS: dict[str, tuple[dict[str, Any], int, int]] = {
    "bootstrap": ({}, 122, 22),
    "bootstrap, RF 3": ({"rf": 3}, 138, 23),
    "bootstrap, implementation": ({"edition": "server"}, 152, 22),
    "decommission": ({"nodes": 4, "operations": ("decommission D",)}, 119, 22),
    "decommission, RF 3": ({"nodes": 4, "rf": 3, "operations": ("decommission D",)}, 153, 23),
    "move": ({"nodes": 4, "operations": ("move B --tokens 350",)}, 88, 28),
    "replace": ({"nodes": 4, "rf": 3, "operations": ("replace B Z",)}, 74, 16),
    "removenode": ({"nodes": 4, "rf": 3, "operations": ("removenode B",)}, 76, 19),
    "assassinate": ({"nodes": 4, "rf": 3, "operations": ("assassinate B",)}, 9, 4),
    "two joins": (
        {"operations": ("bootstrap X --tokens 150", "bootstrap Y --tokens 130")},
        4983,
        52,
    ),
    "crash": ({"crashes": 1}, 731, 24),
    "cancel": ({"cancels": 1}, 1914, 49),
    "crash and cancel": ({"crashes": 1, "cancels": 1}, 11396, 51),
    "early arrivals": ({"nodes": 2, "rf": 1, "window": 2}, 85, 17),
    "two datacenters": (TWO_DATACENTERS, 116, 21),
    "two datacenters, implementation": ({**TWO_DATACENTERS, "edition": "server"}, 104, 21),
}
SMALL = [name for name, (_, states, _) in CONFIGURATIONS.items() if states < 2000]


@pytest.mark.sweep(3)
@pytest.mark.spec("A-009")
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_no_reachable_state_of_a_small_cluster_breaks_a_promise(name: str) -> None:
    """The search is complete with the counts of the table, and every goal is reached."""
    parameters, states, depth = CONFIGURATIONS[name]
    found = check(build("tcm", parameters))
    assert found.violation is None, found
    assert found.complete, found
    assert found.unjudged == ()
    assert (found.states, found.depth) == (states, depth)
    assert found.unreached == (() if name != "assassinate" else ("in-transition",))


FORCED = ["assassinate B", "decommission B --force", "removenode B --force"]


@pytest.mark.parametrize("edition", ["documents", "server"])
@pytest.mark.parametrize("line", FORCED)
def test_a_forced_operation_that_leaves_too_few_is_a_known_cost(line: str, edition: str) -> None:
    """Only "replicas" breaks. With enough nodes, or without force, nothing does."""
    found = check(build("tcm", {"nodes": 2, "edition": edition, "operations": (line,)}))
    refused = line == "assassinate B" and edition == "documents"
    assert (found.violation, found.complete) == (None, True)
    assert {each.property for each in found.costs} == (set() if refused else {"replicas"})
    enough = check(build("tcm", {"nodes": 3, "edition": edition, "operations": (line,)}))
    assert (enough.violation, enough.complete, enough.costs) == (None, True, ())


def test_two_assassinations_together_may_leave_too_few_replicas() -> None:
    """One of them leaves three of four nodes, which is enough."""
    given = {"nodes": 4, "rf": 3, "edition": "server"}
    one = check(build("tcm", {**given, "operations": ("assassinate B",)}))
    assert (one.violation, one.costs) == (None, ())
    two = check(build("tcm", {**given, "operations": ("assassinate B", "assassinate C")}))
    assert two.violation is None, two
    assert [each.property for each in two.costs] == ["replicas"]


# safeguard -> what its smallest configuration breaks first, and in how many steps
BROKEN = {
    "progress-barrier": ("one-step", 3),
    "write-before-read": ("reads-in-writes", 7),
    "old-writer-stays": ("quorums", 14),
    "validate-committed": ("valid", 2),
    "apply-in-order": ("same-state", 5),
    "operator-cancel": ("asked-for", 2),
    "two-event-cancel": ("quorums", 15),
    "range-locks": ("locks", 2),
    "replication-check": ("replicas", 1),
    "pending-in-metadata": ("stable", 2),
    "split-first": ("cover", 1),
    "merge-equality": ("replicas", 15),
}


def without(name: str, only: str | None = None, **parameters: Any) -> tuple[Result, Any]:
    """A search of the safeguard's smallest configuration with the safeguard off, and its model."""
    guard = next(guard for guard in SAFEGUARDS if guard.name == name)
    model = build("tcm", {**guard.smallest, **parameters}, (name,))
    chosen = tuple(prop for prop in model.properties if only in (None, prop.name))
    return check(model, chosen), model


@pytest.mark.parametrize("name", BROKEN)
def test_a_cluster_without_one_safeguard_breaks_the_promise_of_that_safeguard(name: str) -> None:
    """The shortest run has as many steps as the table says, and replays to the same violation."""
    found, model = without(name)
    assert found.violation is not None
    assert (found.violation.property, len(found.violation.actions)) == BROKEN[name]
    before, action, state = None, None, model.start()
    for action in found.violation.actions:
        before, state = state, model.act(state, action)
    (broken,) = (prop for prop in model.properties if prop.name == found.violation.property)
    if broken.kind == "goal":
        assert not any(broken.check(ahead) for ahead in reachable(model, state))
    else:
        seen = broken.check(before, action, state) if broken.kind == "step" else broken.check(state)
        assert seen == found.violation.witness
    assert broken.invariant in next(g.protects for g in SAFEGUARDS if g.name == name)


@pytest.mark.parametrize("name", BROKEN)
def test_the_smallest_configuration_of_each_safeguard_holds_with_all_on(name: str) -> None:
    """The search is complete."""
    guard = next(guard for guard in SAFEGUARDS if guard.name == name)
    found = check(build("tcm", guard.smallest))
    assert found.violation is None, found
    assert found.complete, found


def test_the_table_of_broken_clusters_names_every_safeguard() -> None:
    """A new safeguard needs a run that breaks without it."""
    assert sorted(BROKEN) == sorted(guard.name for guard in SAFEGUARDS)
    assert sorted(guard.id for guard in SAFEGUARDS) == [
        "S-01", "S-05", "S-06", "S-09", "S-10", "S-11", "S-16", "S-17", "S-18",
        "S-53", "S-54", "S-55",
    ]  # fmt: skip


HARM = [
    ("progress-barrier", "one-step", {"rf": 3}, "although only 1 of A, B, C, X applied epoch 1"),
    ("validate-committed", "valid", {}, "D takes part in both decommission D and replace D with Y"),
    ("validate-committed", "locks", {}, "decommission D and replace D with Y both change"),
    ("apply-in-order", "same-state", {}, "A has applied epoch 2 without epoch 1"),
    ("operator-cancel", "asked-for", {}, "undone: 1, cancelled by an operator: 0"),
    ("two-event-cancel", "quorums", {}, "a read at epoch 3 from X, A misses a write at epoch 4"),
    ("write-before-read", "quorums", {"rf": 3}, "a read at epoch 2 from X, A misses a write"),
    ("write-before-read", "reads-in-writes", {"rf": 3}, "X serves reads but gets no writes"),
    ("old-writer-stays", "quorums", {}, "a read at epoch 2 from C, A misses a write at epoch 3"),
    ("range-locks", "replicas", {}, "reads go to {A, Y, X}, but should go to 2 replicas"),
    ("replication-check", "replicas", {}, "reads go to {A, B}, but should go to 3 replicas"),
    ("pending-in-metadata", "stable", {}, "out of reach"),
    ("pending-in-metadata", "settled", {}, "no pending operation will change that"),
    ("split-first", "cover", {}, "(100, 200] is owned twice"),
    ("merge-equality", "replicas", {}, "(200, 500]: reads go to {A, C}, but should go to {A, B}"),
]


@pytest.mark.parametrize(
    ("name", "only", "given", "witness"),
    [
        pytest.param(*harm, marks=[pytest.mark.deep] * (harm[:2] == ("range-locks", "replicas")))
        for harm in HARM
    ],
)
def test_each_harm_of_a_missing_safeguard_has_its_witness(
    name: str, only: str, given: dict[str, Any], witness: str
) -> None:
    """The named property is judged alone."""
    found, _ = without(name, only, **given)
    assert found.violation is not None
    assert witness in found.violation.witness


@pytest.mark.parametrize("name", SMALL)
def test_no_action_of_a_reachable_state_is_both_enabled_and_refused(name: str) -> None:
    """Verbs are unique, and acting on a refusal raises its reason."""
    model = build("tcm", CONFIGURATIONS[name][0])
    for state in reachable(model):
        enabled = list(model.actions(state))
        waiting = dict(model.waiting(state))
        assert not set(enabled) & set(waiting)
        verbs = [model.verb(action) for action in (*enabled, *waiting)]
        assert len({*verbs}) == len(verbs), verbs
        suggested = model.suggest(state)
        assert suggested is None or suggested in enabled
        for action, refusal in waiting.items():
            assert refusal.reason
            with pytest.raises(Refused) as refused:
                model.act(state, action)
            assert refused.value.reason == refusal.reason


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_following_the_suggestions_ends_every_operation(name: str) -> None:
    """Each listed operation has begun by then."""
    model: Any = build("tcm", CONFIGURATIONS[name][0])
    state, steps = model.start(), 0
    while (action := model.suggest(state)) is not None:
        state = model.act(state, action)
        steps += 1
        assert steps < 200
    metadata = model.snapshot(state).metadata
    assert not metadata.sequences
    begun = [event for event in state.tcm.events if type(event).__name__ == "Begin"]
    assert len(begun) == len(model.tcm.cluster.operations)


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
    assert result.complete, result
    return len(found), result.states


@pytest.mark.parametrize(
    "given", [{}, {"rf": 1}, {"rf": 3}, {"rf": 3, "cancels": 1}, DECOMMISSION], ids=str
)
def test_with_every_safeguard_no_two_majorities_in_use_miss(given: dict[str, Any]) -> None:
    """Every reachable state is counted."""
    assert missing(given)[0] == 0


def test_the_barrier_without_the_epoch_exchange_lets_majorities_miss() -> None:
    """In 21 of 138 states, and without the barrier in 313 of 827."""
    assert missing({"rf": 3}, exchange=False) == (21, 138)
    assert missing({"rf": 3}, "progress-barrier", exchange=False) == (313, 827)


@pytest.mark.parametrize(("given", "steps"), [({"rf": 1}, 6), ({"rf": 3}, 8)], ids=str)
def test_the_epoch_exchange_without_the_barrier_lets_majorities_miss(
    given: dict[str, Any], steps: int
) -> None:
    """The lamp "quorums" goes out."""
    model = build("tcm", given, ("progress-barrier",))
    lamp = tuple(prop for prop in model.properties if prop.name == "quorums")
    violation = check(model, lamp, monitors=()).violation
    assert violation is not None
    assert len(violation.actions) == steps
    assert missing(given, "progress-barrier")[0] > 0
