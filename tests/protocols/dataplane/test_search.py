"""Every reachable state of the data plane: all holds; without a safeguard it does not."""

from __future__ import annotations

from typing import Any

import pytest

from kit.errors import BadInput
from kit.model.model import Monitor
from kit.model.registry import build
from kit.protocols.dataplane.dataplane import Dataplane
from kit.protocols.storage.rules.history import RangeHistory
from kit.protocols.storage.solo import Replica
from kit.protocols.storage.storage import Start, TimeOut
from kit.search.check import Result, check
from kit.search.fuzz import fuzz
from tests.protocols.dataplane.runs import (
    BOUND,
    BOUNDED,
    BROKEN,
    CLEAN,
    DELETED,
    JOIN_LEAVE,
    LARGE,
    THREE,
    search,
    smallest,
)
from tests.protocols.dataplane.table import BEYOND, PLACE, TAIL, assert_current, parsed
from tests.protocols.storage.proofs import assert_holds, assert_needed
from tests.protocols.storage.toys import A, epoch, history

MOST_STATES = 1_000_000


@pytest.mark.sweep(3)
@pytest.mark.spec("B-025", "B-039", "A-020", "A-043")
@pytest.mark.parametrize("name", CLEAN)
def test_requests_during_a_plan_break_no_promise(name: str) -> None:
    """The search is complete, and every goal is reached."""
    parameters, states, depth = CLEAN[name]
    found, _ = search(parameters)
    assert_holds(found, states, depth)
    assert found.states <= MOST_STATES
    assert found.unreached == ()


@pytest.mark.deep
@pytest.mark.parametrize("name", LARGE)
def test_requests_during_a_large_plan_break_no_promise(name: str) -> None:
    """The search is complete."""
    parameters, states, depth = LARGE[name]
    found, _ = search(parameters)
    assert_holds(found, states, depth)


@pytest.mark.deep
@pytest.mark.parametrize("name", BOUNDED)
def test_a_bounded_search_breaks_no_promise_within_its_steps(name: str) -> None:
    """A million states hold every run of so many steps. Longer runs are not judged."""
    parameters, steps = BOUNDED[name]
    found, _ = search(parameters, most=BOUND)
    assert found.violation is None, found
    assert not found.complete
    assert found.depth - 1 == steps  # the last level was begun only


@pytest.mark.parametrize("name", BROKEN, ids=lambda name: f"{name}: {BROKEN[name][0]} breaks")
def test_requests_without_one_safeguard_break_the_promise_of_that_safeguard(name: str) -> None:
    """The shortest run has as many steps as the table says, and replays to the same violation."""
    found, model = search(smallest(name), name)
    guard = next(guard for guard in Dataplane.safeguards if guard.name == name)
    assert_needed(found, model, guard, BROKEN[name])


@pytest.mark.parametrize("name", BROKEN)
def test_the_smallest_configuration_of_each_safeguard_is_searched_with_all_on(name: str) -> None:
    """So that safeguard, and nothing else, keeps the promise there."""
    wanted = {"rf": 3, **smallest(name)}
    assert wanted in [parameters for parameters, _, _ in (*CLEAN.values(), *LARGE.values())]


def test_the_table_of_broken_plans_names_every_safeguard() -> None:
    """A new safeguard needs a run that breaks without it."""
    assert sorted(BROKEN) == sorted(guard.name for guard in Dataplane.safeguards)
    assert sorted(guard.id for guard in Dataplane.safeguards) == [
        "S-01", "S-02", "S-03", "S-04", "S-05", "S-06", "S-07", "S-08", "S-18", "S-57",
    ]  # fmt: skip


LOST: dict[str, dict[str, Any]] = {
    "progress-barrier": {"rf": 1},
    "epoch-exchange": {"rf": 1},
    "plan-revalidation": {},
    "write-before-read": {},
    "old-writer-stays": {"rf": 3, "lag": 1},
    "streams-before-switch": {},
    "known-before-streams": {"rf": 1},
    "stream-from-displaced": {},
    "two-event-cancel": {"rf": 1, "cancels": 1},
}

RF_3 = [
    pytest.param(name, {"rf": 3}, marks=pytest.mark.deep)
    for name in ("progress-barrier", "epoch-exchange", "known-before-streams")
]


@pytest.mark.spec("B-022", "B-023")
@pytest.mark.parametrize(("name", "parameters"), [*LOST.items(), *RF_3])
def test_requests_without_one_safeguard_lose_a_write_of_a_client(
    name: str, parameters: dict[str, Any]
) -> None:
    """Judged by what clients alone see. The membership check keeps no write, so it is not here."""
    found, _ = search(parameters, name, lost=True)
    assert found.violation is not None
    assert found.violation.property == "visible"
    assert "which had succeeded" in found.violation.witness


def missed_between(model: Any, written: int, read: int) -> Monitor:
    """A monitor for one anomaly: a write planned by one epoch is missed by a read of another."""
    (visible,) = (monitor for monitor in model.monitors if monitor.name == "visible")

    def step(memory: Any, before: Any, action: Any, after: Any) -> Any:
        epochs, inner = memory
        if isinstance(action, Start):
            epochs = (*epochs[: action.request], action.epoch, *epochs[action.request + 1 :])
        return epochs, visible.after(inner, before, action, after)

    def verdict(memory: Any) -> str | None:
        epochs, inner = memory
        return visible.verdict(inner) if epochs == (written, read) else None

    return Monitor("anomaly", "", lambda: ((0, 0), visible.begin()), step, verdict)


ANOMALIES = [
    pytest.param(rf, *epochs, marks=[pytest.mark.deep] if rf == 3 else [])
    for rf in (1, 3)
    for epochs in ((103, 101), (100, 102))
]


@pytest.mark.spec("B-022", "B-023")
@pytest.mark.parametrize(("rf", "written", "read"), ANOMALIES)
def test_without_the_barrier_a_read_misses_a_write_planned_two_epochs_apart(
    rf: int, written: int, read: int
) -> None:
    """A read at 101 misses a write at 103, or one at 102 a write at 100. With the barrier none."""
    model = build("dataplane", {"rf": rf}, ("progress-barrier",))
    found = check(model, (), monitors=(missed_between(model, written, read),))
    assert found.violation is not None
    verbs = [model.verb(action) for action in found.violation.actions]
    assert f"write 1 at epoch {written}" in verbs
    assert f"read 2 at epoch {read}" in verbs
    kept = build("dataplane", {"rf": 1})
    clean = check(kept, (), monitors=(missed_between(kept, written, read),))
    assert clean.violation is None, clean
    assert clean.complete, clean


@pytest.mark.deep
def test_no_write_is_lost_without_the_membership_check() -> None:
    """Its harm is data in the wrong place, which clients of one operation don't see."""
    found, _ = search({}, "membership-check", lost=True)
    assert found.violation is None, found
    assert found.complete, found


@pytest.mark.spec("B-028")
def test_with_the_last_relevant_epoch_each_missing_safeguard_breaks_the_same_promise() -> None:
    """Barrier, exchange and revalidation are switched off in turn."""
    for name in ("progress-barrier", "epoch-exchange", "plan-revalidation"):
        found, _ = search({**smallest(name), "exchange": "relevant"}, name)
        assert found.violation is not None, name
        assert found.violation.property == BROKEN[name][0], name


@pytest.mark.spec("B-017")
def test_a_majority_of_all_datacenters_does_not_protect_local_quorums() -> None:
    """A client misses a write. The server's barrier counts each datacenter, and none is missed."""
    parameters = {
        "nodes": 4, "dcs": 2, "rf": 1, "strategy": "network",
        "requests": ("K1@dc1 write LOCAL_QUORUM", "K2@dc1 read LOCAL_QUORUM"),
    }  # fmt: skip
    for lost, harm in ((False, "quorums-in-use"), (True, "visible")):
        found, _ = search(parameters, lost=lost)
        assert found.broken is not None, harm
        assert found.broken.property == harm, (lost, harm)
    found, _ = search({**parameters, "edition": "server"})
    assert found.violation is None, found
    assert found.complete, found


@pytest.mark.deep
def test_a_coordinator_that_answers_before_catching_up_misses_a_write() -> None:
    """The exchange "background" breaks "visible"."""
    found, _ = search({"exchange": "background"})
    assert found.violation is not None
    assert found.violation.property == "visible"


@pytest.mark.spec("B-026", "B-036")
def test_a_plan_by_gossip_loses_writes_whatever_its_ring_delay() -> None:
    """A request may also succeed below its level."""
    for delay in (1, 3):
        found, _ = search({"mode": "gossip", "ring_delay": delay})
        assert found.broken is not None, delay
        assert found.broken.property == "consistency-level", delay
        found, _ = search({"rf": 1, "mode": "gossip", "ring_delay": delay}, lost=True)
        assert found.broken is not None, delay
        assert found.broken.property == "visible", delay


def test_a_bound_on_lag_beyond_every_run_leaves_the_states_unchanged() -> None:
    """With a lag as long as the longest way, the graph has as many states as the tree."""
    parameters, states, depth = CLEAN["cancel, RF 1"]
    found, _ = search({**parameters, "lag": 50})
    assert (found.states, found.depth) == (states, depth)


def test_a_plan_that_leads_back_needs_a_bounded_lag() -> None:
    """Without a bound it is refused. With one, a missing barrier still loses a write."""
    with pytest.raises(BadInput, match="or a bounded lag"):
        build("dataplane", {**JOIN_LEAVE, "rf": 1})
    found, _ = search({**JOIN_LEAVE, "rf": 1, "lag": 4}, "progress-barrier")
    assert found.violation is not None
    assert found.violation.property == "visible"


@pytest.mark.spec("B-082")
@pytest.mark.parametrize("repair", ["none", "blocking"])
def test_random_walks_of_requests_during_a_plan_break_no_promise(repair: str) -> None:
    """Clients side by side are judged by one order when each read waits for its repair."""
    asks = ("K1 write QUORUM", "K2 read QUORUM", "K1 write QUORUM", "K2 read QUORUM")
    beside = repair == "blocking"
    given = {"requests": asks, "together": beside, "repair": repair, "cancels": 1, "crashes": 1}
    found = fuzz(build("dataplane", given), range(150), steps=80)
    assert found.walks == 150
    assert found.findings == ()


@pytest.mark.parametrize(
    ("off", "is_sign"),
    [
        ((), False),
        (("write-before-read",), False),
        (("old-writer-stays", "two-event-cancel"), False),
        (("epoch-exchange",), True),
        (("progress-barrier",), True),
        (("write-before-read", "epoch-exchange"), True),
    ],
)
def test_disjoint_quorums_are_only_a_sign_without_exchange_or_barrier(
    off: tuple[str, ...], is_sign: bool
) -> None:
    """With exchange and barrier on, "quorums-in-use" is a property."""
    model: Any = build("dataplane", {"rf": 1}, off)
    assert ("INV-QI" in {each.invariant for each in model.signs}) is is_sign
    assert ("INV-QI" in {each.invariant for each in model.properties}) is not is_sign


MOST_SECONDS = 180


def test_the_table_of_dataplane_searches_is_current() -> None:
    """It holds every configuration with its states and steps, and the target that runs it."""
    assert_current(PLACE, CLEAN, LARGE)


def test_the_table_of_searches_ends_with_the_partial_searches() -> None:
    """The steps that a bounded search covers are named."""
    assert PLACE.read_text(encoding="utf-8").endswith(f"{TAIL}{BEYOND}")


def test_the_searches_of_make_test_stay_below_their_limits() -> None:
    """A million states each, and three minutes together."""
    rows = [row for row in parsed(PLACE.read_text(encoding="utf-8")) if row.target == "make test"]
    assert max(row.states for row in rows) <= MOST_STATES
    assert sum(row.seconds for row in rows) < MOST_SECONDS


class Idle(Replica):
    """A replica that no epoch names."""

    replica = "X"

    def placement_history(self) -> RangeHistory:
        """A range that stays with another one."""
        return history(epoch(1, A, A))


# what is reported -> parameters, the safeguard that is off
VARIANTS: dict[str, tuple[dict[str, Any], str]] = {
    "consistency-level": ({"rf": 1}, "plan-revalidation"),
    "owners-store": ({"rf": 1, "requests": ("K1 write QUORUM",)}, "membership-check"),
    "owners-serve": ({"rf": 1}, "membership-check"),
    "streamed": ({"rf": 1}, "streams-before-switch"),
    "quorums-in-use": ({"rf": 1}, "write-before-read"),
    "visible": ({"rf": 1}, "progress-barrier"),
    "no-resurrection": ({"rf": 1, "requests": DELETED}, "progress-barrier"),
    "linearizable": ({"rf": 1, "requests": THREE, "together": True}, ""),
}

# what is never reached -> parameters: no replicas for the level, a range that does not move
UNREACHED: dict[str, dict[str, Any]] = {
    "answered": {"rf": 1, "requests": ("K1 write THREE", "K2 read THREE")},
    "moved": {"rf": 1, "token": 250},
}

# what the models of one role judge: each is broken in a test of its own below
SOLO = {
    "coordinator": {"consistency-level", "succeeded", "failed"},
    "replica": {"owners-store", "took", "refused"},
}


def judges(model: Any) -> set[str]:
    """The names of all that is judged."""
    return {judge.name for judge in (*model.properties, *model.monitors)}


def reported(found: Result) -> tuple[str | None, tuple[str, ...]]:
    """The property that is broken, and those that are never reached, in the alphabet's order."""
    return found.violation and found.violation.property, tuple(sorted(found.unreached))


def test_every_property_of_dataplane_has_a_broken_model() -> None:
    """The two tables name all properties and monitors that a model of requests can have."""
    whole = build("dataplane", {"requests": DELETED, "together": True})
    assert judges(whole) == {*VARIANTS, *UNREACHED}


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", VARIANTS)
def test_a_search_of_dataplane_reports_the_property_that_was_broken(name: str) -> None:
    """All properties are judged, and the broken one is reported first."""
    given, off = VARIANTS[name]
    broken, _ = reported(check(build("dataplane", given, (off,) * bool(off))))
    assert broken == name


@pytest.mark.parametrize("name", UNREACHED)
def test_a_search_of_dataplane_names_the_goal_that_is_never_reached(name: str) -> None:
    """The search is complete, and nothing is broken."""
    found = check(build("dataplane", UNREACHED[name]))
    assert found.complete, found
    assert reported(found) == (None, (name,))


def test_each_property_of_a_lone_coordinator_is_reported_when_broken() -> None:
    """Success below the level, no success at all, and no failure."""
    whole = build("coordinator")
    assert judges(whole) == SOLO["coordinator"]
    assert reported(check(build("coordinator", {}, ("plan-revalidation",))))[0] == (
        "consistency-level"
    )
    few = build("coordinator", {"rf": 1, "request": "K1 write THREE"})
    assert reported(check(few)) == (None, ("succeeded",))
    patient: Any = build("coordinator", {"rf": 1}, ("plan-revalidation",))
    patient.rules = tuple(rule for rule in patient.rules if rule.action is not TimeOut)
    reachable = tuple(one for one in patient.properties if one.kind == "sometimes")
    assert reported(check(patient, reachable)) == (None, ("failed",))


def test_each_property_of_a_lone_replica_is_reported_when_broken() -> None:
    """A write that is not its own, no success, and no refusal."""
    whole = build("replica")
    assert judges(whole) == SOLO["replica"]
    assert reported(check(build("replica", {}, ("membership-check",))))[0] == "owners-store"
    assert reported(check(build("replica", {"replica": "B"}))) == (None, ("refused",))
    assert reported(check(Idle())) == (None, ("refused", "took"))
