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
def test_what_a_read_found_is_written_to_those_that_still_take_writes(
    applies: bool, repaired: bool
) -> None:
    """A lacked the write when it answered: it gets it, unless it knows that it has left."""
    model = toy(LEAVE, ("K1 write ONE", "K2 read ALL"), repair="answered")
    steps = [Start(0, 1), Serve(0, "X"), Finish(0), Start(1, 1), Serve(1, "A"), Serve(1, "X")]
    steps += [Commit("leave"), *[ApplyEpoch("A")] * applies, Finish(1)]
    state: Any = run(model, *steps).state
    assert state.cells == (written(1) if repaired else NOTHING, written(1))


def test_a_write_goes_on_where_it_had_begun_when_its_client_was_told() -> None:
    """Who is at work on it ends it; who is not, begins it yet."""
    model = toy(LEAVE, ("K1 write ALL",), slow=True, timeouts=True)
    state = run(model, Start(0, 1), Admit(0, "A"), TimeOut(0)).state
    assert [*model.actions(state)] == [Serve(0, "A"), Commit("leave"), Admit(0, "X")]


def test_nothing_begins_on_a_replica_that_is_down() -> None:
    """The message waits there; at another one it begins."""
    model = toy(LEAVE, ("K1 write ALL",), slow=True, crashes=1)
    for name, other in ("AX", "XA"):
        state = run(model, Start(0, 1), Crash(name)).state
        assert why(model, state, Admit(0, name)) == f"{name} is down"
        assert why(model, state, Admit(0, other)) == ""


def test_a_slow_replica_refuses_at_once_what_it_does_not_store() -> None:
    """It begins nothing then, and says why."""
    model = toy(SWAP, ("K1 write ONE",), slow=True)
    refused = run(model, Start(0, 1), Commit("swap"), ApplyEpoch("A"), Admit(0, "A")).now
    said = "A, at epoch 2, is not a write replica of the range: it answers with an error"
    assert refused.say == f"{said}; K1 hears of epoch 2 and catches up."
    begun = run(model, Start(0, 1), Admit(0, "A")).now
    assert begun.say == "A, at epoch 1, begins write 1."


def test_a_replica_that_knows_a_newer_row_says_so() -> None:
    """By the finer rule a write from before the row changed is refused, though A is a member."""
    model = toy(
        epochs(), ("K1 write ONE",), switches=ExchangeSwitches("last-modified"), timeouts=True
    )
    now = run(model, Start(0, 1), Commit("add"), ApplyEpoch("A"), Serve(0, "A")).now
    assert now.say == (
        "A, at epoch 2, knows newer replicas of the range than those of epoch 1: it answers with "
        "an error; K1 hears of epoch 2 and catches up."
    )


def test_what_is_stale_is_no_question_of_who_stores() -> None:
    """Below the fence a request is stale, even at who has no replica any more."""
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


def test_a_read_may_find_what_is_newer_than_a_deletion() -> None:
    """A write that is not acknowledged yet comes after it: nothing that was deleted is back."""
    model = toy(SWAP, ("K1 delete", "K2 write", "K3 read"), together=True)
    steps = [Start(0, 1), Serve(0, "A"), Finish(0), Start(1, 1), Serve(1, "A"), Start(2, 1)]
    timeline = run(model, *steps, Serve(2, "A"), Finish(2))
    assert timeline.now.say.endswith("returns write 2.")
    assert not timeline.breaches(timeline.at)


def test_who_ended_late_is_at_work_no_more() -> None:
    """The client has given up. A ends what it had begun, and X still has to."""
    model = toy(LEAVE, ("K1 write ALL",), slow=True, timeouts=True)
    steps = [Start(0, 1), Admit(0, "A"), Admit(0, "X"), TimeOut(0)]
    for done, left in (([], BOTH), (["A"], X), (["X"], A), (["A", "X"], 0)):
        state: Any = run(model, *steps, *(Serve(0, name) for name in done)).state
        assert (state.requests[0].in_flight, state.requests[0].begun) == (left, left)


def test_a_plan_that_is_made_again_asks_all_that_store() -> None:
    """Also where the level counts one datacenter, which has no replica any more."""
    moves = replace(
        history(epoch(1, BOTH, BOTH, Edge("leave", "", 1)), epoch(2, A, A)), dcs=("dc1", "dc2")
    )
    model = toy(moves, ("K1@dc2 write LOCAL_QUORUM",), retry=True)
    steps = [Start(0, 1), Serve(0, "X"), Commit("leave"), ApplyEpoch("K1"), Finish(0)]
    state: Any = run(model, *steps).state
    assert state.requests[0] == Request(OPEN, 1, 1, A, 0, NOTHING, 1)
