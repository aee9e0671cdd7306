"""What the steps of a resize do, and what they wait for."""

from __future__ import annotations

from typing import Any

import pytest

from kit.engine.registry import build
from kit.protocols.tablets.resize import ResizeState


def played(model: Any, *verbs: str) -> ResizeState:
    """The state after these verbs."""
    state: ResizeState = model.start()
    for verb in verbs:
        option = model.find(state, verb)
        assert option is not None, verb
        state = model.act(state, option[0])
    return state


def refused(model: Any, state: ResizeState, verb: str) -> str:
    """Why a verb may not be done."""
    option = model.find(state, verb)
    assert option is not None, verb
    assert option[1] is not None, f"{verb} is possible"
    return str(option[1].reason)


@pytest.mark.spec("E-043")
def test_a_split_monitor_divides_once_its_node_knows_of_the_split() -> None:
    """A replica's storage is divided into two halves after its node applied the decision; then it
    shows the decision's number.
    """
    model = build("resize", {"tablets": ("A B",), "nodes": 2})
    state = played(model, "grow", "resize")
    assert refused(model, state, "divide 0 A:0") == "its node does not know of the split yet"
    state = played(model, "grow", "resize", "apply A", "divide 0 A:0")
    [[a, b]] = state.stores
    assert (a.divided, a.number) == (True, 1)
    assert (b.divided, b.number) == (False, 0)
    assert "do not show 1" in refused(model, state, "finalize")


@pytest.mark.spec("E-046", "E-047")
def test_finalization_has_a_barrier_before_the_map_and_no_move() -> None:
    """In ``tablet_resize_finalization`` nothing moves; the map waits until every node has applied
    all and no repair holds the former one.
    """
    model = build("resize", {"tablets": ("A",), "nodes": 2, "moves": 1, "repairs": 1})
    begun = ("grow", "resize", "repair A 0", "apply A", "divide 0 A:0", "finalize")
    state = played(model, *begun)
    assert refused(model, state, "move 0 A:0 B:0") == "a resize is being finalized"
    assert model.find(state, "commit map") is None
    assert refused(model, state, "barrier") == "nodes have not applied all"
    state = played(model, *begun, "apply A", "apply B")
    assert refused(model, state, "barrier") == "a repair holds a map"
    state = played(model, *begun, "apply A", "apply B", "end repair", "barrier", "commit map")
    assert state.map.count == 2
    assert state.map.resize_type == "none"


@pytest.mark.spec("E-053")
def test_co_located_siblings_move_together() -> None:
    """While a merge is decided, a balancer's move of one sibling takes the other one along."""
    given = {"tablets": ("A", "A"), "nodes": 2, "grows": 0, "shrinks": 1, "moves": 1}
    state = played(build("resize", given), "shrink", "resize", "move 0 A:0 B:0")
    assert [str(each.replicas[0]) for each in state.map.tablets] == ["B:0", "B:0"]


def test_a_decision_that_is_no_longer_due_is_not_finalized() -> None:
    """The table shrinks again within finalization: the map stays, and the split is revoked."""
    model = build("resize", {"tablets": ("A",), "nodes": 1, "shrinks": 1})
    begun = ("grow", "resize", "apply A", "divide 0 A:0", "finalize", "shrink", "apply A")
    state = played(model, *begun, "barrier", "commit map", "barrier", "resize")
    assert state.map.count == 1
    assert (state.map.resize_type, state.map.resize_seq_number) == ("none", 2)
    assert state.average == 75


@pytest.mark.parametrize(("edition", "count"), [("documents", 4), ("server", 2)])
def test_the_default_schedule_splits_the_table(edition: str, count: int) -> None:
    """Nobody chooses: the table grows, is split, and every node goes by the new map. Its average
    was 300 %; the documents split until it is below 100 %, the server until it is below 200 %.
    """
    model = build("resize", {"tablets": ("A B",), "nodes": 2, "edition": edition})
    state = model.start()
    while (action := model.suggest(state)) is not None:
        assert model.describe(state, action, model.apply(state, action))
        state = model.act(state, action)
    assert state.map.count == count
    assert {view.count for view in state.views} == {count}
