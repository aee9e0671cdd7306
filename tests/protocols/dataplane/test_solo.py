"""One real node, the others played: no answers can make a coordinator lie, no message a replica."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kit.errors import BadInput
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.search.check import check
from tests.saying import like


def play(timeline: Timeline, *verbs: str) -> None:
    """Do what the verbs say, or fail with what could be done."""
    for verb in verbs:
        model = timeline.model
        enabled = {model.verb(action): action for action in model.actions(timeline.state)}
        assert verb in enabled, (verb, sorted(enabled))
        timeline.do(enabled[verb])


@pytest.mark.spec("B-080")
@pytest.mark.parametrize("kind", ["write", "read"])
@pytest.mark.parametrize("given", [{}, {"rf": 2}, {"acknowledgement": "joint"}, {"retry": True}])
def test_no_answers_make_a_coordinator_lie(kind: str, given: dict[str, Any]) -> None:
    """Whatever the replicas are made to say, success means enough members of the newest plan."""
    found = check(build("coordinator", {"request": f"K1 {kind} QUORUM", **given}))
    assert found.violation is None
    assert found.complete
    assert [name for name in found.unreached if name != "failed"] == []


@pytest.mark.parametrize(
    ("kind", "answers"),
    [
        ("write", ("ok", "error")),
        ("delete", ("ok", "error")),
        ("read", ("ok", "ok, write found", "error")),
    ],
)
def test_only_to_a_read_a_replica_returns_something(kind: str, answers: tuple[str, ...]) -> None:
    """Of any epoch that is not older than the message; nobody answers who is not asked."""
    timeline = Timeline(build("coordinator", {"request": f"K1 {kind} QUORUM"}))
    model, start = timeline.model, timeline.state
    begun = {model.verb(action): after for action, after in model.successors(start)}
    assert all("answers" not in verb for verb in begun)
    [asked] = [after for verb, after in begun.items() if verb.endswith("at epoch 100")]
    verbs = {model.verb(action) for action in model.actions(asked)}
    words = (verb.removeprefix("A answers ") for verb in verbs if verb.startswith("A answers "))
    assert {re.sub(r" at epoch \d+", "", said) for said in words} == {*answers}


@pytest.mark.spec("B-080", "B-034")
def test_without_judging_anew_it_does() -> None:
    """Two answers that tell of epoch 101 are counted by the plan of epoch 100 all the same."""
    found = check(build("coordinator", {}, ("plan-revalidation",)))
    assert found.violation is not None
    assert found.violation.property == "consistency-level"
    assert len(found.violation.actions) == 4


@pytest.mark.spec("B-080", "B-027", "B-033", "B-034")
def test_a_pending_replica_in_mid_flight() -> None:
    """A scripted coordinator: the plan of epoch 100, an answer of 101, and the write fails."""
    timeline = Timeline(build("coordinator"))
    play(timeline, "write 1 at epoch 100", "A answers ok at epoch 100", "B answers ok at epoch 101")
    assert "catches up" in timeline.now.say
    play(timeline, "answer the client")
    assert timeline.now.say == (
        "K1, at epoch 101, counts only answers from A, B under its new plan: the request fails."
    )


@pytest.mark.spec("B-080", "B-029", "B-031")
def test_a_scripted_replica() -> None:
    """A catches up with a newer message, and refuses what an old plan wants of it afterwards."""
    timeline = Timeline(build("replica"))
    play(timeline, "write at epoch 101")
    assert "catches up to epoch 101, and answers ok" in timeline.now.say
    play(timeline, "apply A", "apply A", "write at epoch 101")
    assert timeline.now.say.endswith("answers with an error at epoch 103: it is not a replica.")


def test_a_replica_keeps_to_its_range() -> None:
    """No message makes it store what is not its own; without the check one does."""
    found = check(build("replica"))
    assert found.violation is None
    assert found.complete
    assert found.unreached == ()
    broken = check(build("replica", {}, ("membership-check",)))
    assert broken.violation is not None
    assert broken.violation.property == "owners-store"


@pytest.mark.parametrize(
    ("model", "given", "said"),
    [
        ("coordinator", {"rf": 0}, "rf | 0 | from 1"),
        ("replica", {"strategy": "local"}, "strategy | 'local' | everywhere, network, simple"),
        ("replica", {"replica": "Q"}, "replica | 'Q' | A, B, C, X"),
        ("replica", {"messages": 0}, "messages | 0 | 1 to 8"),
        ("replica", {"messages": 9}, "messages | 9 | 1 to 8"),
        ("coordinator", {"request": "A write QUORUM"}, "request | 'A' | other than A, B"),
        ("coordinator", {"request": "K1 write SOME"}, "requests | 'SOME'"),
        ("coordinator", {"exchange": "none"}, "exchange"),
    ],
)
def test_bad_parameters(model: str, given: dict[str, Any], said: str) -> None:
    """One clear error each."""
    with pytest.raises(BadInput, match=like(said)):
        build(model, given)


ERROR, REFUSES = "no replica", "answers with an error"
