"""Every reachable state of a range: all holds; broken on purpose, it does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from kit.model.model import Model, step
from kit.model.registry import build
from kit.protocols.storage.rules.requests import AT_WORK
from kit.protocols.storage.storage import Commit, Finish, TimeOut
from kit.protocols.vnodes.vnodes import DELETED
from kit.search.check import check
from kit.search.fuzz import fuzz
from tests.protocols.dataplane.table import assert_current
from tests.protocols.storage.proofs import assert_holds, assert_needed
from tests.protocols.vnodes.runs import (
    BROKEN,
    CLEAN,
    FENCED,
    GUARDS,
    LARGE,
    ONE,
    OPERATIONS,
    search,
)
from tests.protocols.vnodes.table import PLACE
from tests.quality.breaking import broken, never, unguarded
from tests.quality.reporting import assert_reported, judges

MOST_STATES = 300_000
RARELY = {"commit": 0.1, "crash": 0.02, "lose": 0.05}


@pytest.mark.sweep(3)
@pytest.mark.spec("D-013", "D-019", "D-020", "D-021", "D-024", "D-025")
@pytest.mark.parametrize("name", CLEAN)
def test_a_range_under_the_coordinator_breaks_no_promise(name: str) -> None:
    """The search is complete, rollbacks included."""
    parameters, states, depth = CLEAN[name]
    found, _ = search(parameters)
    assert_holds(found, states, depth)
    assert found.states <= MOST_STATES


@pytest.mark.deep
@pytest.mark.parametrize("name", LARGE)
def test_a_large_range_under_the_coordinator_breaks_no_promise(name: str) -> None:
    """The search is complete, rollbacks included."""
    parameters, states, depth = LARGE[name]
    found, _ = search(parameters)
    assert_holds(found, states, depth)


@pytest.mark.parametrize("name", BROKEN)
def test_a_range_without_one_safeguard_breaks_the_promise_of_that_safeguard(name: str) -> None:
    """The shortest run has as many steps as the table says, and replays to the same violation."""
    found, model = search(dict(GUARDS[name].smallest), name)
    assert_needed(found, model, GUARDS[name], BROKEN[name])


@pytest.mark.parametrize("name", BROKEN)
def test_the_smallest_configuration_of_each_safeguard_is_searched_with_all_on(name: str) -> None:
    """So that safeguard, and nothing else, keeps the promise there."""
    wanted = GUARDS[name].smallest
    assert wanted in [parameters for parameters, _, _ in (*CLEAN.values(), *LARGE.values())]


def test_the_table_of_broken_ranges_names_every_safeguard() -> None:
    """A new safeguard needs a run that breaks without it."""
    assert sorted(BROKEN) == sorted(GUARDS)
    assert sorted(guard.id for guard in GUARDS.values()) == [
        "S-05", "S-06", "S-07", "S-08", "S-20", "S-21", "S-24", "S-28", "S-41", "S-57", "S-60",
    ]  # fmt: skip


# Without these, answers are lost, or deleted data comes back.
ELSE = ("drain-before-leaving", "sessions", "cleanup-first")
LOST = [name for name in BROKEN if name not in (*ELSE, "stream-from-displaced")]


@pytest.mark.parametrize(
    "name", [*LOST, pytest.param("stream-from-displaced", marks=pytest.mark.deep)]
)
def test_a_range_without_one_safeguard_loses_a_write_of_a_client(name: str) -> None:
    """Judged by what a client sees. Three safeguards keep answers or deletions instead."""
    found, _ = search(GUARDS[name].breaking("INV-VISIBLE"), name, lost=True)
    assert found.violation is not None
    assert found.violation.property == "visible"
    assert "which had succeeded" in found.violation.witness


def test_a_fence_refuses_no_request_where_drains_succeed() -> None:
    """Without it nothing is lost, and the search meets as many states."""
    for edition in ("documents", "server"):
        parameters = {**ONE, "edition": edition}
        kept, _ = search(parameters)
        found, _ = search(parameters, "fencing")
        assert (found.violation, found.complete, found.states) == (None, True, kept.states), edition


def test_a_fence_in_place_of_a_drain_may_leave_a_request_unanswered() -> None:
    """A node may be shut down while a request waits for it."""
    model: Any = build("vnodes", {**ONE, **FENCED, "operation": "decommission"})
    answered = step("available", "A quorum that lives answers", model.available, on=(TimeOut,))
    found = check(model, (answered,))
    assert found.violation is not None
    assert found.violation.property == "available"
    assert "shut down B" in [model.verb(action) for action in found.violation.actions]


@pytest.mark.parametrize("rf", [1, pytest.param(3, marks=pytest.mark.deep)])
def test_going_on_after_a_failed_barrier_loses_a_write(rf: int) -> None:
    """The published server does so: a coordinator that lags still reads the old replicas."""
    given = {"nodes": 4, "rf": rf, "edition": "server", "barrier_fails": True}
    found, model = search(given)
    assert found.violation is not None
    assert found.violation.property == "visible"
    assert "go on to normal" in [model.verb(action) for action in found.violation.actions]


def test_requests_use_no_version_older_than_the_one_before_the_newest() -> None:
    """A rollback whose barrier failed leaves one more version in use."""
    model = build("vnodes", {"nodes": 3, "rf": 2})
    behind: dict[bool, int] = {}
    for s in reachable(model):
        numbers = [model.epoch(s, index) for index in s.known[: model.replicas]]
        numbers += [
            model.epoch(s, request.epoch)
            for request in s.requests
            if request.phase in AT_WORK or request.in_flight
        ]
        back = "left_token_ring" in model.newest(s).title or bool(s.down)
        lag = model.newest(s).epoch - min(numbers)
        behind[back] = max(behind.get(back, 0), lag)
    assert behind == {False: 1, True: 2}


def reachable(model: Any) -> set[Any]:
    """Every state that a search meets."""
    met, rest = {model.start()}, [model.start()]
    while rest:
        for _, after in model.successors(rest.pop()):
            if after not in met:
                met.add(after)
                rest.append(after)
    return met


@pytest.mark.spec("D-044")
@pytest.mark.parametrize("operation", OPERATIONS)
def test_random_walks_of_six_nodes_break_no_promise_and_take_every_action(operation: str) -> None:
    """The walks have crashes, lost messages, time-outs and drains that fail."""
    given = {"nodes": 6, "rf": 3, "crashes": 1, "losses": 2, "timeouts": True, **FENCED}
    found = fuzz(
        build("vnodes", {**given, "operation": operation}), range(300), steps=120, weights=RARELY
    )
    assert found.walks == 300
    assert found.findings == ()
    assert found.untaken == ()


def test_the_table_of_vnodes_searches_is_current() -> None:
    """It holds every configuration with its states and steps, and the target that runs it."""
    assert_current(PLACE, CLEAN, LARGE)


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
def test_a_search_of_vnodes_reports_the_property_that_was_broken(name: str) -> None:
    """Each property is judged alone, on a model that was broken for it."""
    assert_reported(REPORTED[name](), name, 30_000)


def test_a_coordinator_that_counts_a_fenced_answer_is_reported() -> None:
    """A model that counts a refusal as an answer breaks "fenced"."""
    model: Any = build("vnodes", {**GUARDS["fencing"].smallest, "requests": ("K1 read QUORUM",)})
    own = model.answered

    def counted(s: Any, request: int, replica: int, answer: Any, seen: Any) -> Any:
        return own(s, request, replica, replace(answer, verdict="ok"), seen)

    assert check(model, (judges(model)["fenced"],), monitors=()).violation is None
    model.answered = counted
    assert_reported(model, "fenced", 30_000)


def test_every_property_of_vnodes_has_a_broken_model() -> None:
    """The table names all properties and monitors that the model can have."""
    whole = build("vnodes", {**SIDE_BY_SIDE, "requests": DELETED})
    assert set(REPORTED) == set(judges(whole))
