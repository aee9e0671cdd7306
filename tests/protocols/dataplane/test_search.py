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
def test_no_run_breaks_a_promise(name: str) -> None:
    """The search is complete, finds no harm from any schedule, and no property is vacuous."""
    parameters, states, depth = CLEAN[name]
    found, _ = search(parameters)
    assert_holds(found, states, depth)
    assert found.states <= MOST_STATES
    assert found.unreached == ()


@pytest.mark.deep
@pytest.mark.parametrize("name", LARGE)
def test_no_large_run_breaks_a_promise(name: str) -> None:
    """The same for configurations that take longer."""
    parameters, states, depth = LARGE[name]
    found, _ = search(parameters)
    assert_holds(found, states, depth)


@pytest.mark.deep
@pytest.mark.parametrize("name", BOUNDED)
def test_short_runs_of_what_is_too_large_break_nothing(name: str) -> None:
    """A million states hold every run of so many steps; the verdict proves no more than that."""
    parameters, steps = BOUNDED[name]
    found, _ = search(parameters, most=BOUND)
    assert found.violation is None
    assert not found.complete
    assert found.depth - 1 == steps  # the last level was begun only


@pytest.mark.parametrize("name", BROKEN, ids=lambda name: f"{name}: {BROKEN[name][0]} breaks")
def test_without_a_safeguard_the_search_finds_its_harm(name: str) -> None:
    """Switched off, the promise named beside it breaks, in a shortest run that replays to it."""
    found, model = search(smallest(name), name)
    guard = next(guard for guard in Dataplane.safeguards if guard.name == name)
    assert_needed(found, model, guard, BROKEN[name])


@pytest.mark.parametrize("name", BROKEN)
def test_each_safeguard_is_enough(name: str) -> None:
    """Switched on, the same configuration is among those that are searched without harm."""
    wanted = {"rf": 3, **smallest(name)}
    assert wanted in [parameters for parameters, _, _ in (*CLEAN.values(), *LARGE.values())]


def test_every_safeguard_has_a_test() -> None:
    """The list of runs names all safeguards that the model has, with their ids."""
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
def test_a_client_loses_a_write(name: str, parameters: dict[str, Any]) -> None:
    """Judged by what clients alone can see, each safeguard but one is needed, also at RF 3.

    (The membership check keeps data from where it does not belong; no write is lost for it.)
    """
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
def test_the_search_finds_both_anomalies_unaided(rf: int, written: int, read: int) -> None:
    """Without the barrier a write by 103 is missed by a read of 101, one by 100 by one of 102."""
    model = build("dataplane", {"rf": rf}, ("progress-barrier",))
    found = check(model, (), monitors=(missed_between(model, written, read),))
    assert found.violation is not None
    verbs = [model.verb(action) for action in found.violation.actions]
    assert f"write 1 at epoch {written}" in verbs
    assert f"read 2 at epoch {read}" in verbs
    kept = build("dataplane", {"rf": 1})
    clean = check(kept, (), monitors=(missed_between(kept, written, read),))
    assert clean.violation is None
    assert clean.complete


@pytest.mark.deep
def test_no_write_is_lost_without_the_membership_check() -> None:
    """Its harm is data in the wrong place; clients of one operation see nothing of it."""
    found, _ = search({}, "membership-check", lost=True)
    assert found.violation is None
    assert found.complete


@pytest.mark.spec("B-028")
def test_the_last_relevant_epoch_gives_the_same_verdicts() -> None:
    """Messages that carry the last epoch that changed the row lose nothing, and find the same."""
    for name in ("progress-barrier", "epoch-exchange", "plan-revalidation"):
        found, _ = search({**smallest(name), "exchange": "relevant"}, name)
        assert found.violation is not None
        assert found.violation.property == BROKEN[name][0]


@pytest.mark.spec("B-017")
def test_a_majority_of_all_datacenters_does_not_protect_local_quorums() -> None:
    """Local quorums need the barrier that counts each datacenter, as the published code's does.

    With a majority of all, quorums in use miss one another, and a client misses what it wrote.
    """
    parameters = {
        "nodes": 4, "dcs": 2, "rf": 1, "strategy": "network",
        "requests": ("K1@dc1 write LOCAL_QUORUM", "K2@dc1 read LOCAL_QUORUM"),
    }  # fmt: skip
    for lost, harm in ((False, "quorums-in-use"), (True, "visible")):
        found, _ = search(parameters, lost=lost)
        assert found.broken is not None
        assert found.broken.property == harm
    found, _ = search({**parameters, "edition": "server"})
    assert found.violation is None
    assert found.complete


@pytest.mark.deep
def test_catching_up_later_is_not_enough() -> None:
    """A coordinator that hears of a newer epoch and answers before it catches up misses a write."""
    found, _ = search({"exchange": "background"})
    assert found.violation is not None
    assert found.violation.property == "visible"


@pytest.mark.spec("B-026", "B-036")
def test_gossip_loses_writes_whatever_it_waits() -> None:
    """Guarded by waiting alone, both harms are found: success below the level, and a lost write."""
    for delay in (1, 3):
        found, _ = search({"mode": "gossip", "ring_delay": delay})
        assert found.broken is not None
        assert found.broken.property == "consistency-level"
        found, _ = search({"rf": 1, "mode": "gossip", "ring_delay": delay}, lost=True)
        assert found.broken is not None
        assert found.broken.property == "visible"


def test_a_bound_that_nobody_reaches_changes_nothing() -> None:
    """With a lag as long as the longest way, the graph has the states that the tree has."""
    parameters, states, depth = CLEAN["cancel, RF 1"]
    found, _ = search({**parameters, "lag": 50})
    assert (found.states, found.depth) == (states, depth)


def test_what_leads_back_is_searched_with_a_bounded_lag() -> None:
    """Without a bound it is refused, and the error says what to do; rules are needed as ever."""
    with pytest.raises(BadInput, match="or a bounded lag"):
        build("dataplane", {**JOIN_LEAVE, "rf": 1})
    found, _ = search({**JOIN_LEAVE, "rf": 1, "lag": 4}, "progress-barrier")
    assert found.violation is not None
    assert found.violation.property == "visible"


@pytest.mark.spec("B-082")
@pytest.mark.parametrize("repair", ["none", "blocking"])
def test_random_runs_with_tracked_operations(repair: str) -> None:
    """Seeded walks of reads, writes and topology events: each promised quorum is kept.

    Clients side by side see one order of their requests when each read waits for its repair.
    """
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
def test_quorums_that_miss_one_another_are_harm_or_a_sign(
    off: tuple[str, ...], is_sign: bool
) -> None:
    """The harm of who gets writes when; without any other safeguard, a sign on the way to it."""
    model: Any = build("dataplane", {"rf": 1}, off)
    assert ("INV-QI" in {each.invariant for each in model.signs}) is is_sign
    assert ("INV-QI" in {each.invariant for each in model.properties}) is not is_sign


MOST_SECONDS = 180


def test_the_table_is_current() -> None:
    """It holds every configuration with its states and steps, and which target runs it."""
    assert_current(PLACE, CLEAN, LARGE)


def test_what_is_not_proved_is_told() -> None:
    """Below stands what was searched in part only, and how far."""
    assert PLACE.read_text(encoding="utf-8").endswith(f"{TAIL}{BEYOND}")


def test_what_every_landing_searches_is_small() -> None:
    """Each run of ``make test`` has at most a million states; all took less than three minutes."""
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


def test_every_judge_has_a_broken_variant() -> None:
    """The two tables name all properties and monitors that a model of requests can have."""
    whole = build("dataplane", {"requests": DELETED, "together": True})
    assert judges(whole) == {*VARIANTS, *UNREACHED}


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", VARIANTS)
def test_a_search_reports_what_is_broken(name: str) -> None:
    """With all judges looking, the one that the variant breaks is the one that is reported."""
    given, off = VARIANTS[name]
    broken, _ = reported(check(build("dataplane", given, (off,) * bool(off))))
    assert broken == name


@pytest.mark.parametrize("name", UNREACHED)
def test_a_search_reports_what_is_never_reached(name: str) -> None:
    """It is complete, nothing is broken, and the one thing is named."""
    found = check(build("dataplane", UNREACHED[name]))
    assert found.complete
    assert reported(found) == (None, (name,))


def test_the_judges_of_a_coordinator_alone() -> None:
    """Success below the level, no success at all, and no failure: each is reported."""
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


def test_the_judges_of_a_replica_alone() -> None:
    """What is not its own, no success, and no refusal: each is reported."""
    whole = build("replica")
    assert judges(whole) == SOLO["replica"]
    assert reported(check(build("replica", {}, ("membership-check",))))[0] == "owners-store"
    assert reported(check(build("replica", {"replica": "B"}))) == (None, ("refused",))
    assert reported(check(Idle())) == (None, ("refused", "took"))
