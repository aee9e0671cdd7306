"""What travels in chosen steps of requests, of real plans and of nodes that a person plays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from kit.model.declared import Travel
from kit.model.flows import Flow, flows
from kit.model.registry import build
from kit.model.scenario import file_named, open_file
from kit.model.timeline import Timeline
from kit.protocols.storage.events import Copied, legs
from tests.saying import says


def moved(timeline: Any, verb: str) -> tuple[Flow, ...]:
    """What travels in the first step of a history that has the verb."""
    model = timeline.model
    moment = next(m for m in timeline.moments if m.id and model.verb(m.action) == verb)
    before = timeline.moments[moment.parent].state
    return flows(model, before, moment.action, moment.state)


def way(flow: Flow) -> tuple[str, str]:
    """From where to where it travels."""
    return flow.from_key, flow.to_key


def about(travels: Sequence[Flow], *pinned: str) -> bool:
    """Whether their sentences, one by one, are about that: who to whom, and key words."""
    return all(says(flow.text, each) for flow, each in zip(travels, pinned, strict=True))


def history(name: str) -> Timeline:
    """The history of a scenario file."""
    return open_file(file_named(f"dataplane/{name}"))


def acted(name: str, parameters: dict[str, Any], *verbs: str) -> Timeline:
    """A history of a model, by verbs."""
    timeline = Timeline(build(name, parameters))
    for verb in verbs:
        option = timeline.model.find(timeline.state, verb)
        assert option is not None, verb
        timeline.do(option[0])
    return timeline


def test_a_request_leaves_for_every_replica_of_its_plan() -> None:
    """What was sent is on its way: it ends where it is drawn, not at the replica."""
    timeline = acted("dataplane", {"rf": 2}, "write 1 at epoch 99")
    sent = moved(timeline, "write 1 at epoch 99")
    asked = timeline.model.history.names(timeline.state.requests[0].in_flight)
    assert len(asked) == 2
    assert [(flow.kind, *way(flow), flow.label) for flow in sent] == [
        ("request", "n:K1", f"away:0:{name}", "write 1") for name in asked
    ]
    assert about(sent, *(f"K1 → {name} | write 1 | 99" for name in asked))


def test_a_message_is_answered_in_the_step_in_which_it_arrives() -> None:
    """First the request, then the answer back."""
    timeline = acted("dataplane", {"rf": 2}, "write 1 at epoch 99", "write 1 reaches B")
    there, back = moved(timeline, "write 1 reaches B")
    assert (there.kind, *way(there), there.leg) == ("request", "n:K1", "n:B", 0)
    assert (back.kind, *way(back), back.leg) == ("answer", "n:B", "n:K1", 2)
    assert about([there, back], "K1 → B | write 1 | 99", "B → K1 | write 1 | 99")


def test_who_is_behind_adopts_the_epoch_of_the_other() -> None:
    """A replica adopts it with the message, before its answer; a coordinator after the answer."""
    behind = acted("dataplane", {"rf": 1}, "bootstrap X --tokens 150", "write 1 at epoch 100",
                   "write 1 reaches B")  # fmt: skip
    adopts = sorted(moved(behind, "write 1 reaches B"), key=leg)
    assert about(adopts, "K1 → B | write 1 | 100", "K1 → B | epoch | 100", "B → K1 | write 1 | 100")
    assert list(map(leg, adopts)) == [0, 1, 2]
    ahead = acted("dataplane", {"rf": 1}, "bootstrap X --tokens 150", "apply B",
                  "write 1 at epoch 99", "write 1 reaches B")  # fmt: skip
    adopted = sorted(moved(ahead, "write 1 reaches B"), key=leg)
    assert about(adopted, "K1 → B | write 1 | 99", "B → K1 | write 1 | 100", "B → K1 | epoch | 100")
    assert list(map(leg, adopted)) == [0, 2, 3]


def leg(flow: Flow) -> int:
    """Which part of the step it is."""
    return flow.leg


def test_an_error_is_a_refusal() -> None:
    """A replica that is none any more refuses, and the client is refused."""
    timeline = history("no-longer-a-member")
    model = timeline.model
    steps = [moved(timeline, model.verb(moment.action)) for moment in timeline.moments[1:]]
    kinds = {flow.kind for step in steps for flow in step}
    assert "refusal" in kinds


def test_who_comes_too_late_is_not_answered() -> None:
    """When the client has its answer, a message still arrives, and nothing comes back."""
    timeline = history("late-message")
    late = [
        moved(timeline, timeline.model.verb(moment.action))
        for moment in timeline.moments[1:]
        if "already has its answer" in moment.say
    ]
    assert late
    assert [[flow.kind for flow in step] for step in late] == [["request"]] * len(late)


def test_the_client_is_told() -> None:
    """The answer of a request goes to its card, which stands for the client."""
    timeline = Timeline(build("dataplane"))
    while "answer write 1" not in [timeline.model.verb(m.action) for m in timeline.moments[1:]]:
        timeline.forward()
    [flow] = moved(timeline, "answer write 1")
    assert (flow.kind, flow.to_key) == ("answer", "request:0")
    assert about([flow], "K1 → client | write 1")


def test_a_copy_is_on_its_way_between_two_steps() -> None:
    """It is read at its source in one step and arrives at its target in another."""
    timeline = Timeline(build("dataplane"))
    while "land A to X" not in [timeline.model.verb(m.action) for m in timeline.moments[1:]]:
        assert timeline.forward() is not None
    assert about(moved(timeline, "copy A to X"), "A → X | write 1")
    assert [flow.to_key for flow in moved(timeline, "copy A to X")] == ["copy:A:X"]
    assert about(moved(timeline, "land A to X"), "A → X | write 1")
    assert [flow.to_key for flow in moved(timeline, "land A to X")] == ["n:X"]


def test_your_own_answers_and_messages_travel_too() -> None:
    """Alone with a coordinator you are the replicas, alone with a replica its coordinators."""
    coordinator = Timeline(build("coordinator"))
    coordinator.forward()
    reply = next(
        action for action in coordinator.model.actions(coordinator.state)
        if type(action).__name__ == "Reply" and action.verdict != "ok"
    )  # fmt: skip
    coordinator.do(reply)
    kinds = [flow.kind for flow in moved(coordinator, coordinator.model.verb(reply))]
    assert kinds[:2] == ["request", "refusal"]
    replica = Timeline(build("replica"))
    send = next(iter(replica.model.actions(replica.state)))
    replica.do(send)
    assert moved(replica, replica.model.verb(send))[0].text.startswith("you → ")


def test_what_a_read_writes_back_travels() -> None:
    """It leaves before the read is answered, and arrives as a write does; of those that answered
    alone it is told in the step of the answer.
    """
    waiting = history("read-repair-blocking")
    assert about(moved(waiting, "answer read 2"), "K2 → X | write 1 | back | 101")
    assert about(
        moved(waiting, "read 2 writes back to X"),
        *("K2 → X | write 1 | back | 101", "X → K2 | write 1 | 101"),
    )
    given = {"requests": ("K1 write QUORUM", "K2 read QUORUM"), "together": True}
    at_once = acted(
        "dataplane", {**given, "repair": "answered"},
        "write 1 at epoch 99", "write 1 reaches A", "read 2 at epoch 99", "read 2 reaches A",
        "read 2 reaches B", "answer read 2",
    )  # fmt: skip
    travels = moved(at_once, "answer read 2")
    assert [flow.leg for flow in travels] == [0, 1]
    assert about(travels, "K2 → B | write 1 | back", "K2 → client | read 2 | write 1")


@pytest.mark.parametrize(
    ("event", "flow"),
    [
        (
            Copied("A", "X", "write 1", False, 101),
            Travel("data", "n:A", "copy:A:X", "write 1", "A → X: streams write 1"),
        ),
        (
            Copied("A", "X", "write 1", True, 101, 7),
            Travel(
                *("data", "n:A", "n:X", "write 1, session 7"),
                "A → X: write 1 arrives, frozen_topology_guard of session 7",
            ),
        ),
        (
            Copied("A", "X", "write 1", True, None, 7, late=True),
            Travel(
                *("data", "n:A", "n:X", "write 1, session 7"),
                "A → X: write 1 arrives late, frozen_topology_guard of session 7",
            ),
        ),
        (
            Copied("A", "X", "write 1", True, None, 7, late=True, refused=True),
            Travel(
                *("refusal", "n:A", "n:X", "write 1, session 7"),
                "A → X: turned away, frozen_topology_guard of session 7",
            ),
        ),
    ],
)
def test_what_a_copy_says_on_its_way(event: Copied, flow: Travel) -> None:
    """What it brings, its permit, and that it comes late, where it may not be let in."""
    assert [*legs(event, "epoch")] == [flow]
