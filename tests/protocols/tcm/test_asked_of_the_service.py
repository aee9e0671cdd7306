"""What the metadata service and the log owe everybody: valid events, slow ranges, peers, tests."""

from __future__ import annotations

from typing import Any

import pytest

from kit.errors import Refused
from kit.model.log import AtomicLog, LogParameters, log_of
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.tcm.facts.moment import rows
from kit.protocols.tcm.rules.metadata import Cancel


def play(parameters: dict[str, Any], *verbs: str) -> Any:
    """The history of these verbs; one that must wait raises its refusal."""
    timeline: Any = Timeline(build("tcm", parameters))
    for verb in verbs:
        do(timeline, verb)
    return timeline


def do(timeline: Any, verb: str) -> None:
    """Do what one verb says."""
    model, state = timeline.model, timeline.state
    for action in (*model.actions(state), *(action for action, _ in model.waiting(state))):
        if model.verb(action) == verb:
            timeline.do(action)
            return
    raise AssertionError(verb)


LEAVE_OR_REPLACE = {"nodes": 4, "operations": ("decommission D", "replace D Y")}


@pytest.mark.spec("B-003", "B-004")
def test_a_proposal_is_checked_against_the_committed_log() -> None:
    """Once the leave of D is committed D cannot be replaced, though Y has not applied it."""
    timeline = play(LEAVE_OR_REPLACE, "decommission D")
    assert timeline.state.log.applied[timeline.model.codes["Y"]] == 0
    with pytest.raises(Refused, match="D already takes part in an operation: decommission D"):
        do(timeline, "replace D Y")


@pytest.mark.spec("B-006")
@pytest.mark.parametrize(("nodes", "rf"), [(3, 3), (5, 5), (2, 2)])
def test_a_leave_is_refused_when_fewer_nodes_than_replicas_would_be_left(
    nodes: int, rf: int
) -> None:
    """With one node more it is possible."""
    last = "ABCDEF"[nodes - 1]
    operations = {"rf": rf, "operations": (f"decommission {last}",)}
    with pytest.raises(Refused, match=f"only {nodes - 1} nodes? "):
        play({"nodes": nodes, **operations}, f"decommission {last}")
    assert play({"nodes": nodes + 1, **operations}, f"decommission {last}").at == 1


APART = {
    "nodes": 10,
    "rf": 3,
    "operations": ("bootstrap X --tokens 250", "bootstrap Y --tokens 750"),
}


@pytest.mark.spec("B-020", "B-008")
def test_a_slow_range_holds_back_only_its_own_operation() -> None:
    """While the replicas of X's ranges are silent, Y's join ends, and X's waits."""
    timeline = play(APART, "bootstrap X --tokens 250", "bootstrap Y --tokens 750")
    model = timeline.model
    sequence = model.tcm.sequence(timeline.state.tcm, "X")
    quiet = {
        model.names[code] for b in model.barriers(timeline.state, sequence) for code in b.replicas
    }
    while True:
        ready = [
            action
            for action in model.actions(timeline.state)
            if action.action.node not in quiet and "X" not in model.verb(action).split()
        ]
        if not ready:
            break
        timeline.do(ready[0])
    metadata = model.snapshot(timeline.state).metadata
    assert [one.node for one in metadata.sequences] == ["X"]
    assert metadata.sequences[0].done == 1
    with pytest.raises(Refused, match=r"waiting at the barrier|has not applied epoch"):
        do(timeline, "commit X")


@pytest.mark.spec("B-021")
def test_only_a_node_that_has_applied_an_epoch_acknowledges_that_epoch() -> None:
    """An entry that waits above a gap acknowledges nothing."""
    given = {"rf": 1, "window": 2, "holds": True}
    timeline = play(given, "bootstrap X --tokens 150", "apply X", "apply B", "commit X", "apply X")
    with pytest.raises(Refused, match=r"1 of 2 replicas of \(.*\] applied epoch 2"):
        do(timeline, "stream X: B to X")
    do(timeline, "apply B")
    do(timeline, "stream X: B to X")


@pytest.mark.spec("B-037")
def test_a_peer_that_lags_serves_a_prefix_of_the_log() -> None:
    """In every reachable state each node has a prefix, whichever peer it asks."""
    model: Any = AtomicLog(LogParameters(("A", "B", "C"), epoch=100, peers=True))
    entries = log_of(f"event {i}" for i in range(4))
    start = model.start()
    start = type(start)(entries, start.applied, start.held)
    seen, todo = {start}, [start]
    partial = False
    while todo:
        state = todo.pop()
        for action, after in model.successors(state):
            asked = type(action).__name__ == "CatchUp"
            if asked:
                sent = model.answered(state, action)
                i, peer = model.index[action.node], model.index[action.peer]
                assert sent == tuple(range(101 + state.applied[i], 101 + state.applied[peer]))
                assert after.applied[i] == state.applied[peer]
                partial |= after.applied[i] < len(entries)
            if after not in seen:
                seen.add(after)
                todo.append(after)
    assert partial
    assert len(seen) == 5**3
    assert all(prop.check(state) is None for prop in model.properties for state in seen)


@pytest.mark.spec("B-057", "B-058")
@pytest.mark.parametrize("steps", [1, 2, 3])
def test_a_cancel_adds_events_to_the_log_and_restores_every_range(steps: int) -> None:
    """After each of three steps of a bootstrap."""
    timeline = play({"rf": 3, "cancels": 1}, "bootstrap X --tokens 150")
    before = rows(timeline.model, timeline.model.start())
    while len(timeline.state.tcm.events) < steps:
        timeline.forward()
    committed = tuple(timeline.state.tcm.events)
    do(timeline, "cancel X")
    assert tuple(timeline.state.tcm.events)[: len(committed)] == committed
    while timeline.model.snapshot(timeline.state).metadata.sequences:
        timeline.forward()
    assert tuple(timeline.state.tcm.events)[: len(committed)] == committed
    assert isinstance(timeline.state.tcm.events[len(committed)], Cancel)
    assert rows(timeline.model, timeline.state) == before


@pytest.mark.spec("B-059")
def test_no_node_can_cancel_the_operation_of_a_silent_node() -> None:
    """The join stays pending, and only an operator cancels it."""
    timeline = play({"crashes": 1, "cancels": 1}, "bootstrap X --tokens 150", "crash X")
    with pytest.raises(Refused, match="only an operator can cancel"):
        do(timeline, "give-up X by A")
    for _ in range(40):
        if timeline.forward() is None:
            break
        if timeline.state.tcm.down == ():
            timeline.back()
            break
    assert [one.node for one in timeline.model.snapshot(timeline.state).metadata.sequences] == ["X"]
    do(timeline, "cancel X")


@pytest.mark.spec("B-081")
def test_a_test_can_hold_back_each_commit_and_each_delivery() -> None:
    """What is held is refused with that reason. Released, it goes on."""
    given = {"holds": True, "rf": 1}
    timeline = play(given, "bootstrap X --tokens 150", "hold apply B", "hold commit X", "apply X")
    for verb in ("apply B", "commit X"):
        with pytest.raises(Refused, match=f"the test holds this back: {verb}"):
            do(timeline, verb)
    for verb in ("release apply B", "apply B", "release commit X", "commit X"):
        do(timeline, verb)
    assert len(timeline.state.tcm.events) == 2
    whats = {
        action.action.what
        for action in timeline.model.actions(timeline.state)
        if type(action.action).__name__ == "Hold"
    }
    assert whats == {"commit X", *(f"apply {name}" for name in timeline.model.names)}
