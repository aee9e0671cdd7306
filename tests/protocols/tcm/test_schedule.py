"""The schedule that drives a cluster: who follows, what is streamed, which commits come next."""

from __future__ import annotations

from typing import Any

from kit.model.registry import build
from kit.protocols.tcm import cluster as schedule

TWO = ("bootstrap X --tokens 150", "bootstrap Y --tokens 350")


def verbs(model: Any, actions: Any) -> list[str]:
    """What actions are called."""
    return [model.verb(action) for action in actions]


def begun(model: Any) -> Any:
    """The state once every operation of the list has begun, and nobody knows of it."""
    state = model.start()
    for action in model.to_begin(state):
        state = model.act(state, action)
    return state


def followed(model: Any, state: Any) -> Any:
    """The state once all know all."""
    for action in schedule.follow(model, state):
        state = model.act(state, action)
    return state


def test_only_those_who_are_named_follow() -> None:
    """A node that is named applies all that it lacks; without names everybody who is up does."""
    model: Any = build("tcm", {"nodes": 4, "operations": TWO})
    state = begun(model)
    assert verbs(model, schedule.follow(model, state, ("B",))) == ["apply B", "apply B"]
    assert set(verbs(model, schedule.follow(model, state))) == {f"apply {n}" for n in "ABCDXY"}


def test_nothing_is_streamed_before_the_writes_reach_the_new_replica() -> None:
    """Streams are due once an operation waits for them, and those of one node alone on demand."""
    model: Any = build("tcm", {"nodes": 4, "operations": TWO})
    state = followed(model, begun(model))
    assert verbs(model, schedule.stream(model, state)) == []
    for action in schedule.commit(model, state):
        state = followed(model, model.act(state, action))
    of_all = verbs(model, schedule.stream(model, state))
    of_x = verbs(model, schedule.stream(model, state, "X"))
    of_y = verbs(model, schedule.stream(model, state, "Y"))
    assert of_x
    assert of_y
    assert of_all == [*of_x, *of_y]


def test_an_operation_or_all_of_them_go_on() -> None:
    """The next step of each operation under way, or of one."""
    model: Any = build("tcm", {"nodes": 4, "operations": TWO})
    state = begun(model)
    assert verbs(model, schedule.commit(model, state)) == ["commit X", "commit Y"]
    assert verbs(model, schedule.commit(model, state, "Y")) == ["commit Y"]
    assert list(model.to_begin(state)) == []
