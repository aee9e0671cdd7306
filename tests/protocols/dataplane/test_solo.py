"""One real node, the others played: no answers can make a coordinator lie, no message a replica."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from kit.errors import BadInput
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.model.trace import dumps, loads
from kit.protocols.storage.coordinating import Start
from kit.protocols.storage.events import Applied, Delivered, Sent
from kit.protocols.storage.facts import about, real
from kit.protocols.storage.rules.requests import NOTHING, written
from kit.protocols.storage.solo import Send
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


@pytest.mark.parametrize(
    ("nodes", "real", "replica"), [(4, None, "D"), (2, None, "A"), (4, "B", "B")]
)
def test_the_real_replica_is_the_first_that_loses_the_range(
    nodes: int, real: str | None, replica: str
) -> None:
    """Or the first of all where nobody does: two nodes have too few replicas."""
    model = build("replica", {"cluster": {"nodes": nodes, "rf": 3}, "replica": real})
    assert model.replica == replica


def test_a_replica_keeps_to_its_range() -> None:
    """No message makes it store what is not its own; without the check one does."""
    found = check(build("replica"))
    assert found.violation is None
    assert found.complete
    assert found.unreached == ()
    broken = check(build("replica", {}, ("membership-check",)))
    assert broken.violation is not None
    assert broken.violation.property == "owners-store"


@pytest.mark.parametrize("name", ["coordinator", "replica"])
def test_a_cluster_of_earlier_traces_is_understood(name: str) -> None:
    """Its parameters once stood side by side with the others; a run of then ends as it did."""
    cluster = {"nodes": 4, "rf": 2, "operations": ("decommission D",), "epoch": 7}
    timeline = Timeline(build(name, {"cluster": cluster}))
    timeline.do(next(timeline.model.actions(timeline.state)))
    trace = timeline.save()
    plain = {key: value for key, value in trace.parameters.items() if key != "cluster"}
    old = msgspec.structs.replace(trace, parameters={**plain, **cluster})
    run = Timeline.load(loads(dumps(old)))
    assert run.model.parameters == timeline.model.parameters
    assert run.state == timeline.state


def test_a_coordinator_of_a_cluster_of_several_datacenters() -> None:
    """What makes a cluster is there, too: a local quorum of the coordinator's own datacenter."""
    given = {"nodes": 4, "dcs": 2, "rf": 1, "strategy": "network"}
    model = build("coordinator", {**given, "request": "K1@dc2 write LOCAL_QUORUM"})
    timeline = Timeline(model)
    play(timeline, "write 1 at epoch 99", "B answers ok at epoch 99", "answer the client")
    assert timeline.now.say == "K1, at epoch 99, counts answers from B: the request succeeds."


def test_a_cancelled_operation_is_not_what_a_replica_alone_knows() -> None:
    """Where an operation may be cancelled, all events are still those of its way to the end."""
    whole, cancels = (build("replica", {"cancels": budget}).seen for budget in (0, 1))
    assert [view.reads for view in cancels] == [view.reads for view in whole]


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


def test_what_a_replica_did_is_told() -> None:
    """It says who asked for what, what it caught up with, and which epoch it applied by itself."""
    timeline = Timeline(build("replica", {"replica": "A", "messages": 8}))
    play(timeline, "apply A")
    assert timeline.now.say == "A applies epoch 100."
    play(timeline, "write at epoch 101")
    assert timeline.now.say == (
        "A, at epoch 100, gets a write that was planned at epoch 101, catches up to epoch 101, and "
        "answers ok at epoch 101."
    )


def test_no_answer_is_older_than_its_message() -> None:
    """Whoever is asked has caught up with the plan's epoch before it answers."""
    timeline = Timeline(build("coordinator", {"request": "K1 write QUORUM"}))
    model: Any = timeline.model
    starts = [action for action in model.actions(timeline.state) if isinstance(action, Start)]
    timeline.do(starts[-1])
    sent, first = starts[-1].epoch, model.epoch(timeline.state, 0)
    assert first < sent
    verbs = {model.verb(action) for action in model.actions(timeline.state)}
    assert f"B answers ok at epoch {sent}" in verbs
    assert f"B answers ok at epoch {first}" not in verbs


def test_what_a_member_holds_is_its_own() -> None:
    """Only who is no replica by the newest epoch, and holds something, holds what is not owned."""
    found = {}
    for name in ("A", "B"):
        model: Any = build("replica", {"replica": name})
        cells = (NOTHING, written(1))
        rows = [real(model, model.start().but(cell=cell)) for cell in cells]
        found[name] = rows[0].role, [row.not_owned for row in rows]
    assert found == {
        "A": ("no replica", [False, True]),
        "B": ("reads and writes", [False, False]),
    }


def test_a_read_brings_nothing_of_a_write_that_was_refused() -> None:
    """By the finer rule B refuses a write of an older row, though it is a member; it serves reads,
    and holds nothing afterwards either.
    """
    model: Any = build("replica", {"replica": "B", "exchange": "last-modified"})
    latest = model.start().but(known=len(model.seen) - 1)
    first, last = model.epoch(0), model.epoch(latest.known)
    refused = model.act(latest, Send(True, first))
    served = model.act(refused, Send(False, last))
    assert [state.last.verdict for state in (refused, served)] == ["coordinator-behind", "ok"]
    assert [state.cell for state in (refused, served)] == [NOTHING, NOTHING]
    assert model.act(served, Send(True, last)).cell == written(2)


def test_what_a_coordinator_sends_and_sees() -> None:
    """It names the one request, and whom it asks; a read sees write 1, or nothing."""
    for found, cell in ((", write found", written(1)), ("", NOTHING)):
        timeline = Timeline(build("coordinator", {"request": "K1 read ONE"}))
        play(timeline, "read 1 at epoch 99")
        assert timeline.now.say == "K1, at epoch 99, sends read 1 to A, B, C."
        play(timeline, f"A answers ok at epoch 99{found}")
        assert timeline.state.requests[0].newest_seen == cell


def test_who_stores_is_a_write_replica_by_then_or_later() -> None:
    """B at every epoch, the newest as well; X once it is added; A no more at the end."""
    for name, known, fine in (
        ("A", 0, True), ("A", -1, False), ("B", 0, True), ("B", -1, True), ("X", 0, True),
        ("X", -1, True),
    ):  # fmt: skip
        model: Any = build("replica", {"replica": name})
        before = model.start().but(known=range(len(model.seen))[known])
        after = before.but(cell=written(1))
        epoch = model.epoch(before.known)
        said = f"{name}, at epoch {epoch}, stores a write but is no longer a write replica"
        assert model.owners_store(before, None, after) == (None if fine else said)
        assert model.owners_store(before, None, before) is None


ERROR, REFUSES = "no replica", "answers with an error"


@pytest.mark.parametrize(
    ("kind", "says", "knows", "error", "did"),
    [
        ("write", "ok at epoch 100", 100, "", "takes write 1"),
        ("write", "ok at epoch 101", 101, "", "takes write 1"),
        ("write", "error at epoch 101", 101, ERROR, REFUSES),
        ("read", "ok at epoch 100", 100, "", "returns nothing"),
        ("read", "ok at epoch 102, write found", 102, "", "returns write 1"),
        ("read", "error at epoch 103", 103, ERROR, REFUSES),
    ],
)
def test_what_your_answer_was(kind: str, says: str, knows: int, error: str, did: str) -> None:
    """The coordinator sends its request by the epoch of its plan, and learns of a newer one."""
    timeline = Timeline(build("coordinator", {"request": f"K1 {kind} QUORUM"}))
    model: Any = timeline.model
    for verb in (f"{kind} 1 at epoch 100", f"A answers {says}"):
        before = timeline.state
        play(timeline, verb)
        happened = model.happened(before, timeline.now.action, timeline.state)
        title = f"{kind} 1"
        if "answers" not in verb:
            targets = model.history.names(timeline.state.requests[0].in_flight)
            assert happened == (Sent(0, title, "K1", "QUORUM", 100, 100, targets),)
            continue
        adopted = knows if knows > 100 else None
        given = 0, title, "K1", "A", 100, knows, knows, error, did, False, adopted
        assert happened == (Delivered(*given),)
        learns = "; K1 catches up" if adopted else ""
        assert timeline.now.say == f"{verb}{learns}."


@pytest.mark.parametrize(
    ("verbs", "said", "succeeded", "failed"),
    [
        ((), "", False, False),
        (("A answers ok at epoch 100",), "A answers ok at epoch 100.", False, False),
        (
            ("A answers ok at epoch 100", "B answers ok at epoch 100", "answer the client"),
            "K1, at epoch 100, counts answers from A, B: the request succeeds.",
            True,
            False,
        ),
        (("A answers ok at epoch 100", "time out"), "K1 gives up.", False, True),
    ],
)
def test_how_a_request_ends(
    verbs: tuple[str, ...], said: str, succeeded: bool, failed: bool
) -> None:
    """It succeeds, or it fails, or it is open; nobody answers once it has ended."""
    timeline = Timeline(build("coordinator", {"request": "K1 write QUORUM"}))
    play(timeline, "write 1 at epoch 100", *verbs)
    model: Any = timeline.model
    assert (model.succeeded(timeline.state), model.failed(timeline.state)) == (succeeded, failed)
    left = [model.verb(action) for action in model.actions(timeline.state)]
    assert any("answers" in verb for verb in left) is not (succeeded or failed)
    assert not said or timeline.now.say == said


@pytest.mark.parametrize(
    ("earlier", "verb", "happened"),
    [
        ((), "apply A", Applied("A", 100)),
        (
            (),
            "write at epoch 99",
            Delivered(1, "write 1", "you", "A", 99, 99, 99, "", "takes write 1", False, None),
        ),
        (
            (),
            "read at epoch 101",
            Delivered(0, "read", "you", "A", 101, 99, 101, "", "returns nothing", False, None),
        ),
        (
            ("write at epoch 99", "write at epoch 99"),
            "read at epoch 100",
            Delivered(2, "read", "you", "A", 100, 99, 100, "", "returns write 2", False, None),
        ),
        (
            ("apply A",) * 4,
            "write at epoch 99",
            Delivered(1, "write 1", "you", "A", 99, 103, 103, ERROR, REFUSES, False, None),
        ),
    ],
)
def test_what_your_message_was(earlier: tuple[str, ...], verb: str, happened: Any) -> None:
    """Writes are counted, a read returns the newest of them; an old plan is refused."""
    timeline = Timeline(build("replica", {"replica": "A"}))
    play(timeline, *earlier)
    model: Any = timeline.model
    before = timeline.state
    play(timeline, verb)
    assert model.happened(before, timeline.now.action, timeline.state) == (happened,)
    refuses = isinstance(happened, Delivered) and bool(happened.error)
    takes = isinstance(happened, Delivered) and not refuses
    assert (model.took(timeline.state), model.turned_away(timeline.state)) == (takes, refuses)


def test_who_knows_as_much_as_the_message_does_not_catch_up() -> None:
    """It answers, and no more is told."""
    timeline = Timeline(build("replica", {"replica": "A"}))
    play(timeline, "read at epoch 99")
    assert timeline.now.say == (
        "A, at epoch 99, gets a read that was planned at epoch 99, and answers ok at epoch 99."
    )


@pytest.mark.parametrize("messages", [1, 2])
def test_so_many_writes_may_be_sent(messages: int) -> None:
    """Then no more; reads may go on, and so may the real replica, up to the newest epoch."""
    timeline = Timeline(build("replica", {"replica": "B", "messages": messages}))
    model = timeline.model
    write, read = Send(True, 99), Send(False, 99)
    for _ in range(messages):
        assert model.refusal(timeline.state, write) is None
        timeline.do(write)
    refusal = model.refusal(timeline.state, write)
    assert refusal is not None
    assert refusal.reason == "the run's budget of writes is used up"
    assert model.refusal(timeline.state, read) is None
    while (option := model.find(timeline.state, "apply B")) and option[1] is None:
        timeline.do(option[0])
    assert option is not None
    assert option[1].reason == "B has applied every committed epoch"
    assert timeline.now.say == "B applies epoch 103."


def test_a_witness_of_a_replica_alone_is_about_that_replica() -> None:
    """There is no request of whom it could be."""
    model: Any = build("replica", {"replica": "A"})
    witness = "A, at epoch 103, stores a write but is no longer a write replica"
    assert about(model, witness) == {"A"}
