"""What pictures and tables are told of a range, its replicas and its requests, row by row."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kit.errors import BadInput, Refusal
from kit.model.registry import build
from kit.protocols.storage import facts
from kit.protocols.storage.coordinating import Finish, Start, TimeOut
from kit.protocols.storage.events import QuotaRow
from kit.protocols.storage.facts import AskedRow, CopyRow, EpochRow, ReplicaRow, RequestRow
from kit.protocols.storage.ranges import COPIED, NOT_COPIED, LateCopy, StorageState
from kit.protocols.storage.rules.history import (
    CopyTask,
    Edge,
    RangeEpoch,
    RangeHistory,
    ShardedReplica,
)
from kit.protocols.storage.rules.requests import (
    DONE,
    FAILED,
    NOTHING,
    OPEN,
    REPAIRING,
    WAITING,
    Request,
    tombstone,
    written,
)
from kit.protocols.storage.rules.view import ShardChoice, View
from kit.protocols.storage.solo import ReplicaState
from tests.protocols.storage.toys import BOTH, A, X, epochs, history, toy

ASKS = ("K1 write QUORUM", "K2 read QUORUM", "K1 delete ONE")
"""Cells are those of the first and the third: 2 and 5 while both have begun in this order."""
BEGUN = (Request(DONE, timestamp=1), Request(), Request(DONE, timestamp=2))


def standing(model: Any, trail: int, **more: Any) -> StorageState:
    """A model whose range has come so far: 0 at the start, 3 at the end."""
    copies = (NOT_COPIED,) * len(model.trails[trail].newest.copies)
    state: StorageState = model.start().but(trail=trail, copies=copies)
    return state.but(**more)


def quota(needed: int, *counted: str) -> QuotaRow:
    """So many of A and X are needed; these have answered."""
    return QuotaRow(("A", "X"), needed, counted)


MET, SHORT = quota(1, "A"), quota(2, "A")


@pytest.mark.parametrize(
    ("quotas", "enough"), [((), True), ((MET,), True), ((SHORT,), False), ((MET, SHORT), False)]
)
def test_every_quota_of_a_plan_has_its_answers(quotas: tuple[QuotaRow, ...], enough: bool) -> None:
    """Of the plan that was sent, and of what is needed by now, each on its own."""
    of_request = RequestRow(
        *(0, "write 1", "K1", None, "ONE", "open", 1, 1, (), ("A",)), plan=(), judged=(), result=""
    )
    sent, judged = replace(of_request, plan=quotas), replace(of_request, judged=quotas)
    assert (sent.enough, sent.valid) == (enough, True)
    assert (judged.enough, judged.valid) == (True, enough)


@pytest.mark.parametrize(("again", "key"), [(0, "view:7"), (1, "view:7:1"), (2, "view:7:2")])
def test_rows_of_one_number_have_different_keys(again: int, key: str) -> None:
    """The first of them is known by its number."""
    assert EpochRow(7, "", (), (), False, ()).key == "view:7"
    assert EpochRow(7, "", (), (), False, (), again).key == key


def with_sessions(*sessions: int) -> Any:
    """The move of the range, its epochs with these sessions; numbers begin at 3."""
    moves = epochs()
    pairs = zip(moves.epochs, sessions, strict=True)
    numbered = tuple(replace(e, epoch=e.epoch + 2, session=at) for e, at in pairs)
    return toy(replace(moves, epochs=numbered))


@pytest.mark.parametrize(
    ("sessions", "trail", "open_"),
    [((0, 0, 0, 0), 1, None), ((0, 5, 0, 0), 0, 0), ((0, 5, 0, 0), 1, 5), ((0, 5, 0, 0), 2, 0)],
)
def test_the_session_that_is_open(sessions: tuple[int, ...], trail: int, open_: int | None) -> None:
    """That of the newest epoch; where no epoch has one, nobody asks for it."""
    model = with_sessions(*sessions)
    assert facts.session(model, standing(model, trail)) == open_


@pytest.mark.parametrize(
    ("trail", "newest", "stable"), [(0, 3, True), (1, 4, False), (2, 5, False), (3, 6, True)]
)
def test_how_far_the_range_is(trail: int, newest: int, stable: bool) -> None:
    """Placements are computed at the start, and once for each epoch behind it."""
    model = with_sessions(0, 0, 0, 0)
    state = standing(model, trail)
    assert facts.epoch(model, state) == newest
    assert facts.computed(model, state) == trail + 1
    assert facts.stable(model, state) is stable


def test_every_epoch_has_a_row() -> None:
    """With who knows it as the newest: replicas, and coordinators that are at work."""
    model = toy(epochs(), ASKS)
    asked = (Request(OPEN, 0, 1), Request(DONE, 0, 0), Request(WAITING))
    state = standing(model, 2, known=(0, 2, 2, 2), requests=asked)
    assert facts.epochs(model, state) == (
        EpochRow(1, "epoch 1", ("A",), ("A",), False, ("A",)),
        EpochRow(2, "epoch 2", ("A",), ("A", "X"), True, ("K1",)),
        EpochRow(3, "epoch 3", ("X",), ("A", "X"), True, ("X",)),
    )
    repairs = state.but(requests=(asked[2], Request(REPAIRING, 0, 2), asked[2]))
    assert [row.knows for row in facts.epochs(model, repairs)] == [("A",), (), ("X", "K2")]


@pytest.mark.parametrize(
    ("given", "row_a", "row_x"),
    [
        (
            {"trail": 0},
            ReplicaRow("A", "dc1", 1, 0, "reads and writes", "reads and writes", "nothing",
                       "nothing", False, True, (), tag="@1"),
            ReplicaRow("X", "dc1", 1, 0, "no replica", "no replica", "nothing", "nothing", False,
                       True, (), tag="@1"),
        ),
        (
            {"trail": 1, "cells": (written(1), NOTHING), "down": A, "known": (0, 1, 0, 0)},
            ReplicaRow("A", "dc1", 1, 1, "reads and writes", "reads and writes", "write 1",
                       "value", False, False, (CopyRow("A", "X", "not begun", "", 0),), tag="@1"),
            ReplicaRow("X", "dc1", 2, 0, "writes only", "writes only", "nothing", "nothing", False,
                       True, (CopyRow("A", "X", "not begun", "", 0),), tag="@2", joins=True),
        ),
        (
            {"trail": 3, "cells": (tombstone(2), written(1)), "down": X, "known": (2, 0, 0, 0)},
            ReplicaRow("A", "dc1", 3, 1, "no replica", "writes only", "delete 3", "tombstone",
                       True, True, (), tag="@3"),
            ReplicaRow("X", "dc1", 1, 3, "reads and writes", "no replica", "write 1", "value",
                       False, False, (), tag="@1"),
        ),
    ],
)  # fmt: skip
def test_every_replica_has_a_row(
    given: dict[str, Any], row_a: ReplicaRow, row_x: ReplicaRow
) -> None:
    """Its part by the newest epoch and by its own, and what it holds, owned or not."""
    model = toy(epochs(), ASKS)
    state = standing(model, given.pop("trail"), requests=BEGUN, **given)
    assert facts.replicas(model, state) == (row_a, row_x)


def test_a_replica_has_the_copies_that_begin_or_end_at_it() -> None:
    """Y gets the range from A, and X has no part in it."""
    view, copies = View(1, 5, 1, 4), (CopyTask(0, 2),)
    last = RangeEpoch(1, "", view, copies=copies)
    moves = RangeHistory("(0, 10]", 0, 10, ("A", "X", "Y"), ("dc1",) * 3, (last,))
    model = toy(moves, ASKS)
    way = CopyRow("A", "Y", "not begun", "")
    rows = facts.replicas(model, model.start())
    assert [(row.copies, row.joins) for row in rows] == [
        ((way,), False),
        ((), False),
        ((way,), True),
    ]


def test_a_replica_with_shards_tells_which_it_uses() -> None:
    """One reads, two are written to; the others use none."""
    view = View(BOTH, BOTH, BOTH, BOTH, shards=ShardChoice(X, 4, 12))
    moves = RangeHistory(
        *("(0, 10]", 0, 10, ("A", "X", "X0", "X1"), ("dc1",) * 4),
        (RangeEpoch(1, "", view),),
        sharded=ShardedReplica(1, 12),
    )
    model = toy(moves, ASKS)
    rows = facts.replicas(model, model.start().but(cells=(0, 0, written(1), 0), requests=BEGUN))
    assert [(row.read_from, row.written_to) for row in rows] == [
        ((), ()),
        (("X0",), ("X0", "X1")),
        ((), ()),
        ((), ()),
    ]
    assert [row.cell for row in rows] == ["nothing", "write 1", "write 1", "nothing"]


@pytest.mark.parametrize(
    ("requests", "reads", "writes"),
    [
        ((Request(), Request()), ((1, 2, ("A",), ()), None), ((1, 2, ("A",), ("X",)), None)),
        (
            (Request(OPEN, 1, 1, X, A), Request()),
            ((1, 2, ("A",), ()), None),
            ((2, 2, ("A", "X"), ()), (0, ("X",), (), ("A",))),
        ),
        (
            (Request(DONE, 0, 1, BOTH, begun=X), Request(OPEN, 0, 0, 0, A)),
            ((1, 1, ("A",), ()), (1, (), (), ("A",))),
            ((1, 1, ("A",), ()), (0, ("A",), ("X",), ())),
        ),
        (
            (Request(DONE, 0, 1), Request(REPAIRING, 1, 1, X, A, 2, begun=0)),
            ((1, 2, ("A",), ()), None),
            ((2, 2, ("A", "X"), ()), (1, ("X",), (), ("A",))),
        ),
        (
            (Request(FAILED, 0, 1, 0, A), Request(DONE, 0, 0, 0, A)),
            ((1, 2, ("A",), ()), None),
            ((1, 2, ("A",), ("X",)), None),
        ),
    ],
)
def test_whom_a_client_asks(requests: Any, reads: Any, writes: Any) -> None:
    """By its request that is open, or has a message on its way; else by any epoch that it may plan
    by. Of two requests of one client a read is told before a write.
    """
    model = toy(epochs(), ("K1 write ONE", "K1 read ONE"), together=True)
    rows = facts.addressees(model, standing(model, 1, requests=requests))
    expected = []
    for write, (epochs_, request) in ((False, reads), (True, writes)):
        expected.append(AskedRow("K1", write, *epochs_, *(request or ())))
    assert rows == tuple(expected)


def test_each_client_is_told_of_for_what_it_ever_asks() -> None:
    """In the order in which they begin; who only reads is not told of for writes."""
    model = toy(epochs(), ("K2 read ONE", "K1 write ONE", "K2 read ONE"))
    rows = facts.addressees(model, model.start())
    assert [(row.client, row.write) for row in rows] == [("K2", False), ("K1", True)]
    idle = [("K2", False, None), ("K1", True, None)]
    writing_back = [idle[0], ("K2", True, 2), idle[1]]
    for last, told in (
        (Request(OPEN), [("K2", False, 2), idle[1]]),
        (Request(REPAIRING), writing_back),
        (Request(DONE, in_flight=X), writing_back),
        (Request(DONE), idle),
        (Request(FAILED), idle),
    ):
        rows = facts.addressees(model, model.start().but(requests=(Request(), Request(), last)))
        assert [(row.client, row.write, row.number) for row in rows] == told


def test_epochs_without_a_number_of_their_own_have_primes() -> None:
    """As many as there are epochs of that number before it."""
    view, numbers = View(A, A, A, A), (1, 1, 1, 2)
    linked = tuple(
        RangeEpoch(number, "", view, (Edge("go on", "", at),) * (at < 4), quiet=number == 1)
        for at, number in enumerate(numbers, 1)
    )
    model = toy(history(*linked))
    state = standing(model, 3)
    assert [facts.known_text(model, state, at) for at in range(4)] == ["@1", "@1′", "@1′′", "@2"]
    assert [row.again for row in facts.epochs(model, state)] == [0, 1, 2, 0]


@pytest.mark.parametrize(
    ("cell", "kind"),
    [(NOTHING, "nothing"), (written(1), "value"), (tombstone(1), "tombstone"),
     (tombstone(0), "tombstone"), (written(2), "value")],
)  # fmt: skip
def test_what_kind_of_cell_it_is(cell: int, kind: str) -> None:
    """One that was deleted is no value."""
    assert facts.held(cell) == kind


@pytest.mark.parametrize(
    ("reads", "writes", "roles"),
    [
        (A, A, ("reads and writes", "no replica")),
        (A, BOTH, ("reads and writes", "writes only")),
        (A, X, ("reads only", "writes only")),
    ],
)
def test_the_part_of_a_replica(reads: int, writes: int, roles: tuple[str, str]) -> None:
    """By whom requests ask."""
    view = View(reads, writes, A, X)
    assert (facts.role(view, 0), facts.role(view, 1)) == roles


def test_shards_have_the_part_of_what_they_do() -> None:
    """One shard reads and both are written to; the node itself is asked for both."""
    view = View(X, BOTH, A, X, shards=ShardChoice(X, 4, 12))
    parts = [facts.role(view, i) for i in range(4)]
    assert parts == ["writes only", "reads and writes", "reads and writes", "writes only"]


@pytest.mark.parametrize(
    ("copied", "row"),
    [
        (NOT_COPIED, CopyRow("A", "X", "not begun", "", 0)),
        (NOTHING, CopyRow("A", "X", "on its way", "nothing")),
        (written(1), CopyRow("A", "X", "on its way", "write 1")),
        (COPIED, CopyRow("A", "X", "arrived", "", 0)),
    ],
)
def test_how_far_a_copy_is(copied: Any, row: CopyRow) -> None:
    """With what it brings while it is on its way; and the late ones behind."""
    model = toy(epochs(), ASKS)
    state = standing(model, 1, requests=BEGUN).but(copies=(copied,))
    assert facts.copies(model, state) == (row,)
    assert facts.late_copies(model, state) == []
    late = state.but(late_copies=(LateCopy(0, 1, tombstone(2), 4),))
    text = "delete 3, permit of session 4"
    assert facts.copies(model, late) == (row, CopyRow("A", "X", "left behind", text, 4))
    assert facts.late_copies(model, late) == ["A → X: delete 3, permit of session 4"]
    assert facts.late_copies(model, None) == []


def of_request(phase: str, **more: Any) -> RequestRow:
    """The row of the first request in the test below."""
    given: Any = {"planned": None, "knows": None, "on_the_way": ("X",), "answered": ("A",),
                  "plan": (), "judged": (), "result": ""}  # fmt: skip
    kind: Any = phase
    return RequestRow(0, more.pop("title"), "K1", None, "QUORUM", kind, **{**given, **more})


@pytest.mark.parametrize(
    ("ask", "phase", "best", "row"),
    [
        ("write", WAITING, 0, of_request("waiting", title="write 1")),
        (
            "write",
            OPEN,
            0,
            of_request(
                *("open",),
                title="write 1",
                planned=2,
                knows=3,
                plan=(QuotaRow(("A", "X"), 2, ("A",)),),
                judged=(QuotaRow(("A", "X"), 2, ("A",)),),
            ),
        ),
        ("write", DONE, 0, of_request("done", title="write 1", result="done")),
        ("delete", DONE, 0, of_request("done", title="delete 1", result="done")),
        ("write", FAILED, 0, of_request("failed", title="write 1", result="failed")),
        ("read", DONE, 0, of_request("done", title="read 1", result="returned nothing")),
        ("read", DONE, written(1), of_request("done", title="read 1", result="returned write 2")),
        (
            "read",
            DONE,
            tombstone(2),
            of_request("done", title="read 1", result="returned delete 3 (deleted)"),
        ),
        ("read", FAILED, written(1), of_request("failed", title="read 1", result="failed")),
        (
            "read",
            OPEN,
            written(1),
            of_request(
                *("open",),
                title="read 1",
                planned=2,
                knows=3,
                plan=(QuotaRow(("A",), 1, ("A",)),),
                judged=(QuotaRow(("X",), 1, ()),),
            ),
        ),
        (
            "read",
            REPAIRING,
            written(1),
            of_request(
                *("open",),
                title="read 1",
                planned=2,
                knows=3,
                plan=(QuotaRow(("A", "X"), 2, ("A",)),),
                judged=(QuotaRow(("A", "X"), 2, ("A",)),),
                writes_back="write 2",
            ),
        ),
    ],
)
def test_every_request_has_a_row(ask: str, phase: int, best: int, row: RequestRow) -> None:
    """What it waits for while it is open, and what its client was told afterwards."""
    model = toy(epochs(), (f"K1 {ask} QUORUM", "K2 write ONE", "K3 delete ONE"))
    request = Request(phase, 1, 2, X, A, best, timestamp=9)
    begun = (request, Request(DONE, timestamp=1), Request(DONE, timestamp=2))
    first, second, third = facts.requests(model, standing(model, 2, requests=begun))
    assert first == row
    assert (second.number, third.title) == (1, "delete 3")


@pytest.mark.parametrize(
    ("witness", "keys"),
    [
        ("", set()),
        ("X lacks write 1.", {"X", "request:0", "message:0:X"}),
        ("K2 (at epoch 2): read 2, of A", {"K2", "A", "request:1", "message:1:A"}),
        ("write 10 is none of these, AX neither", set()),
        ("delete 3", {"request:2"}),
        (
            "A;X saw write 1 and read 2",
            {"A", "X", "request:0", "request:1", "message:0:A", "message:0:X", "message:1:A",
             "message:1:X"},
        ),
    ],
)  # fmt: skip
def test_what_a_witness_is_about(witness: str, keys: set[str]) -> None:
    """Nodes and requests that it names, and their messages."""
    assert facts.about(toy(epochs(), ASKS), witness) == keys


@pytest.mark.parametrize(
    ("cleaning", "cleaned", "said"),
    [
        (False, 0, "nothing cleans it up automatically"),
        (False, BOTH, "nothing cleans it up automatically"),
        (True, 0, "not cleaned up yet"),
        (True, X, "not cleaned up yet"),
        (True, A, "no cleanup is to come"),
    ],
)
def test_why_a_node_still_has_what_it_does_not_own(cleaning: bool, cleaned: int, said: str) -> None:
    """A has given the range to X."""
    model = toy(epochs(), ASKS, cleaning=cleaning)
    state = standing(
        model, 3, cleaned=cleaned, cells=(written(1), 0), down=X, known=(3, 3, 0, 0), requests=BEGUN
    )
    assert facts.why_kept(model, state, "A") == said
    was_cleaned = "no cleanup is to come" if cleaned >> 1 else "not cleaned up yet"
    assert facts.why_kept(model, state, "X") == (was_cleaned if cleaning else said)
    of_a = f"A at epoch 4: no replica, holds write 1, data not owned: {said}"
    of_x = "X at epoch 4: reads and writes, holds nothing, down"
    shown = facts.OUTPUT["replicas"]
    assert shown(model, state, "") == f"{of_a}\n{of_x}"
    assert [shown(model, state, name) for name in "AX"] == [of_a, of_x]
    with pytest.raises(BadInput, match="replica: got 'K1'; allowed: one of A, X"):
        shown(model, state, "K1")


@pytest.mark.parametrize(
    ("request_", "stands"),
    [
        (Request(), "waiting"),
        (Request(DONE, in_flight=X), "done; still on its way to X"),
        (Request(FAILED, in_flight=BOTH), "failed; still on its way to A, X"),
        (
            Request(OPEN, 1, 1, X, A),
            "planned at 2, K1 knows 2; needs 2 of A,X (answered: A); still on its way to X",
        ),
        (
            Request(OPEN, 1, 1, BOTH),
            "planned at 2, K1 knows 2; needs 2 of A,X (answered: nobody); still on its way to A, X",
        ),
        (
            Request(OPEN, 0, 1, 0, A),
            "planned at 1, K1 knows 2; needs 1 of A (answered: A); the plan is no longer valid",
        ),
        (Request(OPEN, 1, 1, 0, BOTH), "planned at 2, K1 knows 2; needs 2 of A,X (answered: A,X)"),
        (
            Request(OPEN, 0, 1, A),
            "planned at 1, K1 knows 2; needs 1 of A (answered: nobody); still on its way to A",
        ),
    ],
)
def test_how_a_request_stands_in_words(request_: Request, stands: str) -> None:
    """Its plan is no longer valid where it has its answers, and by now more are needed."""
    model = toy(epochs(), ("K1 write QUORUM",))
    state = standing(model, 1, requests=(request_,))
    assert facts.OUTPUT["requests"](model, state, "") == f"write 1: {stands}"


def test_what_a_read_writes_back_in_words() -> None:
    """Before whom it goes to."""
    model = toy(epochs(), ("K1 write ONE", "K2 read QUORUM"))
    asked = (Request(DONE, timestamp=1), Request(REPAIRING, 1, 1, X, A, written(1)))
    assert facts.OUTPUT["requests"](model, standing(model, 1, requests=asked), "") == (
        "write 1: done\nread 2: writes write 1 back; planned at 2, K2 knows 2; "
        "needs 2 of A,X (answered: A); still on its way to X"
    )


def test_views_and_the_log_in_words() -> None:
    """A line for each epoch; the first one was never committed."""
    model = toy(epochs(), ASKS)
    start, moved = model.start(), standing(model, 1, known=(1, 1, 0, 0))
    assert facts.OUTPUT["log"](model, start, "") == "nothing is committed"
    assert facts.OUTPUT["log"](model, moved, "") == "2: epoch 2"
    assert facts.OUTPUT["views"](model, moved, "") == (
        "1: reads A; writes A\n2: reads A; writes A,X; known to A,X"
    )


LATE = Refusal("a replica that is behind epoch 102 catches up before it answers")


@pytest.mark.parametrize(
    ("kind", "asked", "words"),
    [("write", "ABCX", ("ok", "error")), ("read", "BCX", ("ok", "ok, has it", "error"))],
)
def test_what_you_may_answer_for_a_replica(kind: str, asked: str, words: tuple[str, ...]) -> None:
    """At each epoch, that of the message or a later one; for those that are asked."""
    model: Any = build("coordinator", {"request": f"K1 {kind} ONE"})
    start = model.start()
    begun = model.act(start, Start(0, 102))
    rows = list(facts.answers(model, begun))
    assert [row.replica for row in rows] == [*"ABCX"]
    assert "".join(row.replica for row in rows if row.in_flight) == asked
    every = [(at, word, LATE if at < 102 else None) for at in range(99, 104) for word in words]
    for row in rows:
        assert {each.action.replica for each in row.choices} == {row.replica} & {*asked}
        said = [(each.epoch, each.word, each.refusal) for each in row.choices]
        assert said == (every if row.in_flight else [])
    assert all(not row.in_flight and not row.choices for row in facts.answers(model, start))


def test_what_the_real_coordinator_may_do() -> None:
    """It plans at any epoch; then it waits, or gives up."""
    model: Any = build("coordinator", {"request": "K1 read ONE"})
    start = model.start()
    plans = facts.choices(model, start, Start, Finish, TimeOut)
    assert [(each.action, each.epoch, each.word) for each in plans] == [
        (Start(0, at), at, "plans") for at in range(99, 104)
    ]
    ends = facts.choices(model, model.act(start, Start(0, 102)), Finish, TimeOut)
    assert [(each.epoch, each.word) for each in ends] == [
        (None, "answer the client"),
        (None, "time out"),
    ]
    assert [each.refusal is None for each in ends] == [False, True]


@pytest.mark.parametrize(
    ("replica", "writes", "reads"),
    [("A", (99, 100, 101, 102), (99, 100, 101)), ("C", range(99, 104), range(99, 104)),
     ("X", (101, 102, 103), (102, 103))],
)  # fmt: skip
def test_what_you_may_send_to_the_real_replica(replica: str, writes: Any, reads: Any) -> None:
    """Writes and reads, each of the epochs at which it is asked for them."""
    model: Any = build("replica", {"replica": replica})
    sends = facts.sends(model, model.start())
    assert list(sends) == ["write", "read"]
    for kind, may in (("write", writes), ("read", reads)):
        assert {each.action.write for each in sends[kind]} == {kind == "write"}
        assert [(each.epoch, each.word) for each in sends[kind]] == [
            (at, "send") for at in range(99, 104)
        ]
        assert [each.epoch for each in sends[kind] if each.refusal is None] == [*may]


@pytest.mark.parametrize(
    ("replica", "known", "cell", "row"),
    [
        ("C", 0, 0, ("C", "dc1", 99, 4, "reads and writes", "reads and writes", "nothing",
                     "nothing", False)),
        ("C", 4, 2, ("C", "dc1", 103, 0, "reads and writes", "reads and writes", "write 1",
                     "value", False)),
        ("A", 3, 4, ("A", "dc1", 102, 1, "no replica", "writes only", "write 2", "value", True)),
        ("A", 1, 0, ("A", "dc1", 100, 3, "no replica", "reads and writes", "nothing", "nothing",
                     False)),
        ("X", 2, 0, ("X", "dc1", 101, 2, "reads and writes", "writes only", "nothing", "nothing",
                     False)),
    ],
)  # fmt: skip
def test_the_real_replica_has_a_row(replica: str, known: int, cell: int, row: Any) -> None:
    """It is up, and no copies are told of."""
    model: Any = build("replica", {"replica": replica})
    assert facts.real(model, ReplicaState(known, cell)) == ReplicaRow(*row, True, ())
