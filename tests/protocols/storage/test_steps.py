"""Single steps of requests on hand-made histories: who takes what, what is said of it."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kit.model.timeline import Timeline
from kit.protocols.storage.rules.exchange import ExchangeSwitches
from kit.protocols.storage.rules.history import Edge
from kit.protocols.storage.rules.requests import NOTHING, OPEN, Request, written
from kit.protocols.storage.storage import (
    Admit,
    ApplyEpoch,
    Commit,
    Crash,
    Finish,
    Serve,
    Start,
    TimeOut,
)
from tests.outcomes import why
from tests.protocols.storage.toys import BOTH, A, X, epoch, epochs, history, toy

SWAP = history(epoch(1, A, A, Edge("swap", "", 1)), epoch(2, X, X))
"""The range goes from A to X at once, and nobody waits for anything."""
LEAVE = history(epoch(1, BOTH, BOTH, Edge("leave", "", 1)), epoch(2, X, X))
"""A leaves the range of A and X."""


def run(model: Any, *actions: Any) -> Timeline:
    """A model after these steps."""
    timeline = Timeline(model)
    for action in actions:
        timeline.do(action)
    return timeline


@pytest.mark.parametrize(("applies", "repaired"), [(False, True), (True, False)])
def test_read_repair_writes_to_a_stale_replica_unless_that_replica_left(
    applies: bool, repaired: bool
) -> None:
    """A lacked the write when it answered. Having applied its leave, it gets no repair."""
    model = toy(LEAVE, ("K1 write ONE", "K2 read ALL"), repair="answered")
    steps = [Start(0, 1), Serve(0, "X"), Finish(0), Start(1, 1), Serve(1, "A"), Serve(1, "X")]
    steps += [Commit("leave"), *[ApplyEpoch("A")] * applies, Finish(1)]
    state: Any = run(model, *steps).state
    assert state.cells == (written(1) if repaired else NOTHING, written(1))


def test_a_write_continues_on_its_replicas_after_its_client_timed_out() -> None:
    """A replica at work may end the write, and another may still begin it."""
    model = toy(LEAVE, ("K1 write ALL",), slow=True, timeouts=True)
    state = run(model, Start(0, 1), Admit(0, "A"), TimeOut(0)).state
    assert [*model.actions(state)] == [Serve(0, "A"), Commit("leave"), Admit(0, "X")]


def test_a_replica_that_is_down_admits_no_request() -> None:
    """The other replica still admits it."""
    model = toy(LEAVE, ("K1 write ALL",), slow=True, crashes=1)
    for name, other in ("AX", "XA"):
        state = run(model, Start(0, 1), Crash(name)).state
        assert why(model, state, Admit(0, name)) == f"{name} is down", name
        assert why(model, state, Admit(0, other)) == "", name


def test_a_slow_replica_refuses_a_request_for_a_range_stored_elsewhere() -> None:
    """It answers with an error at once, and the coordinator hears of the newer epoch."""
    model = toy(SWAP, ("K1 write ONE",), slow=True)
    refused = run(model, Start(0, 1), Commit("swap"), ApplyEpoch("A"), Admit(0, "A")).now
    said = "A, at epoch 2, is not a write replica of the range: it answers with an error"
    assert refused.say == f"{said}; K1 hears of epoch 2 and catches up."
    begun = run(model, Start(0, 1), Admit(0, "A")).now
    assert begun.say == "A, at epoch 1, begins write 1."


def test_a_replica_that_refuses_an_older_row_version_says_so() -> None:
    """By "last-modified" A refuses, though it is a member."""
    model = toy(
        epochs(), ("K1 write ONE",), switches=ExchangeSwitches("last-modified"), timeouts=True
    )
    now = run(model, Start(0, 1), Commit("add"), ApplyEpoch("A"), Serve(0, "A")).now
    assert now.say == (
        "A, at epoch 2, knows newer replicas of the range than those of epoch 1: it answers with "
        "an error; K1 hears of epoch 2 and catches up."
    )


def test_a_request_below_the_fence_is_refused_as_stale_even_by_a_former_replica() -> None:
    """Above the fence the same replica answers that it does not store the range."""
    last = epoch(2, X, X, fence=0)
    last = replace(last, view=replace(last.view, stores=X))
    steps = [Start(0, 1), Commit("swap"), ApplyEpoch("A"), Serve(0, "A")]
    fenced = history(epoch(1, A, A, Edge("swap", "", 1)), last, admission="fence")
    now = run(toy(fenced, ("K1 write ONE",)), *steps).now
    assert now.say == (
        "A, at epoch 2, does not admit a request planned at epoch 1: it answers with an error; "
        "K1 hears of epoch 2 and catches up."
    )
    older = replace(last, view=replace(last.view, fence=1))
    late = history(epoch(1, A, A, Edge("swap", "", 1)), older, admission="fence")
    now = run(toy(late, ("K1 write ONE",)), *steps).now
    assert now.say == (
        "A, at epoch 2, is not a write replica of the range: it answers with an error; "
        "K1 hears of epoch 2 and catches up."
    )


def test_a_read_of_a_write_newer_than_a_delete_breaks_no_promise() -> None:
    """The write is not acknowledged yet, and nothing that was deleted is back."""
    model = toy(SWAP, ("K1 delete", "K2 write", "K3 read"), together=True)
    steps = [Start(0, 1), Serve(0, "A"), Finish(0), Start(1, 1), Serve(1, "A"), Start(2, 1)]
    timeline = run(model, *steps, Serve(2, "A"), Finish(2))
    assert timeline.now.say.endswith("returns write 2.")
    assert not timeline.breaches(timeline.at)


def test_a_replica_that_ends_a_timed_out_write_is_no_longer_at_work() -> None:
    """The other one still is."""
    model = toy(LEAVE, ("K1 write ALL",), slow=True, timeouts=True)
    steps = [Start(0, 1), Admit(0, "A"), Admit(0, "X"), TimeOut(0)]
    for done, left in (([], BOTH), (["A"], X), (["X"], A), (["A", "X"], 0)):
        state: Any = run(model, *steps, *(Serve(0, name) for name in done)).state
        assert (state.requests[0].in_flight, state.requests[0].begun) == (left, left), done


def test_a_retried_plan_asks_every_replica_even_outside_its_datacenter() -> None:
    """LOCAL_QUORUM of dc2 counts none of them, and A is written to nevertheless."""
    moves = replace(
        history(epoch(1, BOTH, BOTH, Edge("leave", "", 1)), epoch(2, A, A)), dcs=("dc1", "dc2")
    )
    model = toy(moves, ("K1@dc2 write LOCAL_QUORUM",), retry=True)
    steps = [Start(0, 1), Serve(0, "X"), Commit("leave"), ApplyEpoch("K1"), Finish(0)]
    state: Any = run(model, *steps).state
    assert state.requests[0] == Request(OPEN, 1, 1, A, 0, NOTHING, 1)
