"""What scenario files of requests tell, held against states; parameters without sense."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest

from kit.errors import BadInput
from kit.model.registry import build
from kit.model.scenario import file_named, open_file
from kit.model.timeline import Timeline
from kit.protocols.storage.panels.lanes import LANES
from kit.protocols.storage.rules.requests import DONE, FAILED, NOTHING, OPEN, value
from kit.views.panel import scene_at
from tests.saying import says


def told(name: str) -> Any:
    """The history of a file, at its end."""
    timeline: Any = open_file(file_named(f"dataplane/{name}"))
    timeline.goto(timeline.tip)
    return timeline


def at(timeline: Any, verb: str) -> Any:
    """The state after the last step with that verb."""
    model = timeline.model
    moments = [m for m in timeline.moments if m.id and model.verb(m.action) == verb]
    timeline.goto(moments[-1].id)
    return timeline.state


def red(timeline: Any) -> list[str]:
    """The lamps that are out."""
    return [verdict.name for verdict in timeline.verdicts() if not verdict.ok]


@pytest.mark.spec("B-022")
def test_the_story_of_the_invisible_write_has_two_disjoint_quorums_that_succeed() -> None:
    """The write at 103 is on C and X, and the read at 101 asks A and B and returns nothing."""
    timeline = told("anomaly-invisible-write")
    state = at(timeline, "write 1 reaches X")
    assert timeline.model.epoch(state, state.requests[0].epoch) == 103
    assert timeline.model.history.names(state.requests[0].acked) == ("C", "X")
    state = at(timeline, "read 2 reaches B")
    assert timeline.model.epoch(state, state.requests[1].epoch) == 101
    assert timeline.model.history.names(state.requests[1].acked) == ("A", "B")
    state = at(timeline, "answer read 2")
    assert [request.phase for request in state.requests] == [DONE, DONE]
    assert value(state.requests[1].newest_seen) == NOTHING
    assert red(timeline) == ["visible"]


@pytest.mark.spec("B-023", "B-024")
def test_the_story_of_the_lost_write_ends_with_no_live_replica_holding_the_write() -> None:
    """The write at 100 is on A and B. A drops the range, and B crashes."""
    timeline = told("anomaly-lost-write")
    state = at(timeline, "write 1 reaches B")
    assert timeline.model.epoch(state, state.requests[0].epoch) == 100
    assert timeline.model.history.names(state.requests[0].acked) == ("A", "B")
    state = at(timeline, "read 2 reaches X")
    assert timeline.model.epoch(state, state.requests[1].epoch) == 102
    assert timeline.model.history.names(state.requests[1].acked) == ("C", "X")
    state = at(timeline, "answer read 3")
    assert state.requests[2].phase == DONE
    code = timeline.model.code
    left = [name for name in "ABCX" if not state.down >> code[name] & 1]
    assert left == ["A", "C", "X"]
    assert [state.cells[code[name]] for name in left] == [NOTHING] * 3
    scene = scene_at(timeline, timeline.tip)
    [line] = [line for line in LANES.text(scene).splitlines() if "holds w1" in line]
    assert line.startswith("  B: ")
    assert "down" in line


@pytest.mark.spec("B-024")
def test_every_later_read_of_the_lost_write_returns_nothing() -> None:
    """At whichever epoch, C and X answer, unless the message to C still arrives."""
    timeline = told("anomaly-lost-write")
    model, state = timeline.model, at(timeline, "crash B")
    seen, ends = {state}, set[tuple[int, tuple[str, ...], int]]()
    waiting = deque(seen)
    while waiting:
        now = waiting.popleft()
        for action, after in model.successors(now):
            if model.verb(action) == "answer read 3":
                quorum = model.history.names(now.requests[2].acked)
                epoch = model.epoch(now, now.requests[2].epoch)
                ends.add((epoch, quorum, value(after.requests[2].newest_seen)))
            if after not in seen and model.verb(action) != "write 1 reaches C":
                seen.add(after)
                waiting.append(after)
    assert ends == {(epoch, ("C", "X"), NOTHING) for epoch in (102, 103)}


@pytest.mark.spec("B-017", "B-018", "B-019")
def test_the_barrier_commits_no_epoch_before_three_of_four_replicas_know_the_last() -> None:
    """So the steps of the two anomalies are not possible."""
    model: Any = build("dataplane", {"requests": ("K3 write QUORUM", "K4 read QUORUM")})
    timeline: Any = Timeline(model)
    verbs = {model.verb(action): action for action in model.actions(timeline.state)}
    timeline.do(verbs["bootstrap X --tokens 150"])
    for knows in range(1, 4):
        waiting = {model.verb(action): why for action, why in model.waiting(timeline.state)}
        assert "commit X" in waiting, knows
        node = "XBC"[knows - 1]
        verbs = {model.verb(action): action for action in model.actions(timeline.state)}
        timeline.do(verbs[f"apply {node}"])
    assert "commit X" in {model.verb(action) for action in model.actions(timeline.state)}


@pytest.mark.spec("B-016")
def test_a_coordinator_may_plan_at_an_epoch_once_that_is_committed() -> None:
    """No replica has applied the epoch yet."""
    model: Any = build("dataplane")
    state = model.start()
    state = model.act(
        state, next(a for a in model.actions(state) if model.verb(a).startswith("bootstrap"))
    )
    assert "write 1 at epoch 100" in {model.verb(action) for action in model.actions(state)}
    assert set(state.known) == {0}


@pytest.mark.spec("A-015", "A-016", "B-027", "B-029")
def test_a_replica_behind_a_message_applies_its_epoch_before_the_write() -> None:
    """The message carries epoch 100, and A is at 99."""
    timeline = told("behind-catches-up")
    state = at(timeline, "write 1 reaches A")
    code = timeline.model.code["A"]
    assert state.known[code] == state.requests[0].epoch == 1
    assert "gets a message planned at epoch 100, catches up and takes" in timeline.now.say


@pytest.mark.spec("B-030", "B-032", "B-033")
def test_a_coordinator_learns_a_newer_epoch_from_a_replica_that_is_ahead() -> None:
    """A, at 100, takes a write of epoch 99, and its answer counts."""
    timeline = told("ahead-and-member")
    state = at(timeline, "write 1 reaches A")
    assert state.requests[0].coordinator_epoch == 1
    assert timeline.model.history.names(state.requests[0].acked) == ("A",)


@pytest.mark.spec("B-034", "B-035")
def test_a_stale_plan_fails_its_request_or_is_retried() -> None:
    """By default it is not retried."""
    assert told("plan-revalidated").state.requests[0].phase == FAILED
    timeline = told("plan-retried")
    answers = [m for m in timeline.moments if m.id and "answer" in timeline.model.verb(m.action)]
    assert [moment.state.requests[0].phase for moment in answers] == [OPEN, DONE]
    plain: Any = build("dataplane")
    assert plain.retry is False


@pytest.mark.spec("B-031")
def test_an_error_of_a_former_replica_counts_for_no_read_quorum() -> None:
    """A, at 102, serves no read of epoch 101, so the quorum is B and C."""
    timeline = told("no-longer-a-member")
    state = at(timeline, "read 1 reaches C")
    assert timeline.model.history.names(state.requests[0].acked) == ("B", "C")


@pytest.mark.spec("A-027")
def test_a_former_replica_keeps_its_data_until_cleanup() -> None:
    """After the bootstrap A takes no writes, and still holds the old one."""
    timeline = told("data-not-owned")
    model, code = timeline.model, timeline.model.code["A"]
    state = at(timeline, "commit X")
    assert not model.views(state)[-1].writes >> code & 1
    assert value(state.cells[code]) == 1
    assert value(at(timeline, "cleanup A").cells[code]) == NOTHING


def test_deleted_data_returns_without_the_membership_check() -> None:
    """A replica stores a write for a range it left, gets the range back, and serves the write."""
    timeline = told("deleted-data-returns")
    assert value(timeline.state.requests[2].newest_seen) == 1
    assert "no-resurrection" in red(timeline)
    timeline = told("deleted-data-stays-away")
    assert value(timeline.state.requests[2].newest_seen) == NOTHING
    assert red(timeline) == []


@pytest.mark.parametrize("model", ["dataplane", "coordinator", "replica"])
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"rf": 1, "operations": ("removenode B",)}, "rf | 1 | 2 or more | dead | removenode B"),
        ({"rf": 1, "operations": ("replace C X",)}, "rf | 1 | 2 or more | dead | replace C"),
        ({"nodes": 2, "operations": ("decommission B",)}, "| moves replicas | only 1 node is left"),
        ({"rf": 3, "operations": ("move B --tokens 250",)}, "| moves replicas | here none moves"),
    ],
)
def test_a_plan_that_moves_no_range_or_has_no_source_is_refused(
    model: str, given: dict[str, Any], said: str
) -> None:
    """The reason is the model's own."""
    with pytest.raises(BadInput) as error:
        build(model, given)
    assert says(error.value, said)


@pytest.mark.parametrize("given", [{"rf": 9}, {"nodes": 1}, {"strategy": "everywhere"}])
def test_requests_complete_in_odd_clusters(given: dict[str, Any]) -> None:
    """More replicas than nodes, a ring of one node, and replicas everywhere."""
    model = build("dataplane", {**given, "requests": ("K1 write", "K2 read")})
    state = model.start()
    while (action := model.suggest(state)) is not None:
        state = model.act(state, action)
    assert {request.phase for request in state.requests} == {DONE}
