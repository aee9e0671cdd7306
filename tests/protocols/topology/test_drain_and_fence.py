"""A barrier's drain, its fence and the plain barrier come in this order, whatever fails.

Source: published ``global_token_metadata_barrier``.
"""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.registry import build
from kit.protocols.topology import topology as act
from kit.protocols.topology.coordinator import task_of
from tests.outcomes import why

FENCE_NEXT = "the drain is over, and the fence is committed next"

# asked for, the state whose barrier is played, and where a plain barrier that fails leads to
BARRIERS = (
    ("join D", "write_both_read_old", "left_token_ring"),
    ("replace D C", "write_both_read_old", "left_token_ring"),
    ("leave C", "write_both_read_old", "rollback_to_normal"),
    ("remove C", "write_both_read_old", "rollback_to_normal"),
    ("join D", "write_both_read_new", ""),
    ("leave C", "write_both_read_new", "left_token_ring"),
    ("leave C", "left_token_ring", "left_token_ring"),
)


def at_barrier(words: str, where: str, **given: Any) -> tuple[Any, Any]:
    """The first state in which the barrier of a transition state runs, and its model."""
    model: Any = build("topology", {"operations": (words,), "failures": 2, **given})
    state = model.start()
    while state.topology.transition != where or not model.unanswered(state):
        state = model.act(state, model.suggest(state))
    return model, state


def until(model: Any, state: Any, *kinds: type[Any]) -> Any:
    """The state after what is suggested, up to the first of these actions and with it."""
    while True:
        action = model.suggest(state)
        state = model.act(state, action)
        if isinstance(action, kinds):
            return state


@pytest.mark.parametrize(("words", "where", "leads_to"), BARRIERS)
def test_the_plain_barrier_fails_behind_the_fence_only(
    words: str, where: str, leads_to: str
) -> None:
    """The drain failed: until the fence is committed nothing else can fail, then it can."""
    model, state = at_barrier(words, where, edition="server")
    state = model.act(state, act.FailWork())
    assert state.attempted.commands
    assert state.topology.fence_version < state.topology.version
    assert why(model, state, act.FailWork()) == FENCE_NEXT
    assert not model.unanswered(state)  # nor does the plain barrier run yet
    state = until(model, state, act.CommitDecision)
    assert state.topology.fence_version == state.topology.version
    state = model.act(state, act.FailWork())
    work = task_of(state, model.setting).work
    paused = work is not None and work.on_failure == "proceed"
    state = until(model, state, act.PauseWork if paused else act.CommitDecision)
    while state.topology.transition == where != leads_to:
        state = model.act(state, model.suggest(state))
    assert state.topology.transition == leads_to


@pytest.mark.parametrize("edition", ["documents", "server"])
@pytest.mark.parametrize(("words", "where"), [row[:2] for row in BARRIERS])
def test_a_drain_that_all_have_answered_does_not_fail(words: str, where: str, edition: str) -> None:
    """Its fence is due, in either edition."""
    model, state = at_barrier(words, where, edition=edition)
    while model.unanswered(state):
        state = until(model, state, act.AnswerBarrier)
    assert state.topology.fence_version < state.topology.version
    for_ever = edition == "documents" and where in ("write_both_read_new", "left_token_ring")
    tried_again = "no failure of work would make a difference now"
    assert why(model, state, act.FailWork()) == (tried_again if for_ever else FENCE_NEXT)
