"""Single steps of requests on hand-made histories: who takes what, what is said of it."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.storage import facts
from kit.protocols.storage.moving import Fetch, Land
from kit.protocols.storage.ranges import COPIED, NOT_COPIED, LateCopy
from kit.protocols.storage.rules.conditions import AllKnow, SessionClosed
from kit.protocols.storage.rules.exchange import ExchangeSwitches
from kit.protocols.storage.rules.history import Edge, RangeEpoch, RangeHistory, ShardedReplica
from kit.protocols.storage.rules.requests import (
    DONE,
    FAILED,
    NOTHING,
    OPEN,
    REPAIRING,
    Request,
    written,
)
from kit.protocols.storage.rules.view import ShardChoice, View
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
from tests.protocols.storage.toys import BOTH, A, X, epoch, epochs, history, toy, versions

SWAP = history(epoch(1, A, A, Edge("swap", "", 1)), epoch(2, X, X))
"""The range goes from A to X at once, and nobody waits for anything."""
LEAVE = history(epoch(1, BOTH, BOTH, Edge("leave", "", 1)), epoch(2, X, X))
"""A leaves the range of A and X."""
END = epoch(2, X, X)


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


@pytest.mark.parametrize(
    ("applies", "label"), [(False, "write back what read 2 found"), (True, "answer read 2")]
)
def test_the_label_of_an_answer_says_what_follows(applies: bool, label: str) -> None:
    """A read whose plan holds no longer fails: it writes nothing back."""
    union = history(epoch(1, A, BOTH, Edge("swap", "", 1)), epoch(2, X, X))
    model = toy(union, ("K1 write ONE", "K2 read QUORUM"), repair="blocking")
    steps = [Start(0, 1), Serve(0, "A"), Finish(0), Start(1, 1), Serve(1, "A")]
    steps += [Commit("swap"), *[ApplyEpoch("K2")] * applies]
    now = run(model, *steps)
    assert model.label(now.state, Finish(1)) == label


def test_a_write_goes_on_where_it_had_begun_when_its_client_was_told() -> None:
    """Who is at work on it ends it; who is not, begins it yet."""
    model = toy(LEAVE, ("K1 write ALL",), slow=True, timeouts=True)
    state = run(model, Start(0, 1), Admit(0, "A"), TimeOut(0)).state
    assert [*model.actions(state)] == [Serve(0, "A"), Commit("leave"), Admit(0, "X")]


def test_a_write_begins_on_the_shards_that_the_node_chooses() -> None:
    """And on no shard where another node begins it; reads are answered by the shard that reads."""
    view = View(BOTH, BOTH, BOTH, BOTH, shards=ShardChoice(X, 4, 12))
    moves = RangeHistory(
        *("(0, 10]", 0, 10, ("A", "X", "X0", "X1"), ("dc1",) * 4),
        (RangeEpoch(1, "", view),),
        sharded=ShardedReplica(1, 12),
    )
    model = toy(moves, ("K1 write ALL", "K2 read ALL"), slow=True)
    begun = [run(model, Start(0, 1), Admit(0, name)).state.requests[0].begun for name in "AX"]
    assert begun == [A, X | 12]
    state: Any = run(model, Start(0, 1), Admit(0, "X")).state
    state = replace(state, cells=(NOTHING, NOTHING, NOTHING, written(2)))
    assert [model.returned(state, 1, number) for number in (0, 1)] == [written(2), NOTHING]


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


def test_what_is_next_is_the_message_that_is_on_its_way() -> None:
    """Of requests that may begin, the one by the newest epoch; a message before another request."""
    model = toy(epochs(), ("K1 write ONE", "K2 read ONE"), together=True)
    added = run(model, Commit("add"))
    assert model.suggest(added.state) == Start(0, 2)
    begun = run(model, Start(0, 1))
    assert model.suggest(begun.state) == Serve(0, "A")


@pytest.mark.parametrize(
    ("known", "down", "names"),
    [
        ((2, 2), 0, ("X",)),
        ((2, 2), X, ()),
        ((2, 2), A, ("X",)),
        ((2, 1), 0, ()),
        ((1, 2), 0, ("X",)),
    ],
)
def test_whose_session_is_still_open(
    known: tuple[int, int], down: int, names: tuple[str, ...]
) -> None:
    """Only who lives, knows the session of a late copy, and is where that arrives."""
    moves = versions()
    epochs_ = tuple(replace(e, session=n) for n, e in enumerate(moves.epochs))
    model = toy(replace(moves, epochs=epochs_, sessions=True), late=1)
    trail = next(at for at, each in enumerate(model.trails) if len(each.nodes) == 3)
    late = (LateCopy(0, 1, written(1), 2),)
    start = model.start()
    now = replace(start, trail=trail, known=(*known, 2, 2), down=down, late_copies=late)
    assert model.still_open(now) == names


@pytest.mark.parametrize(
    ("copies", "holds"),
    [
        ((), True),
        ((NOT_COPIED,), True),
        ((COPIED, NOT_COPIED), True),
        ((NOTHING,), False),
        ((COPIED, written(1)), False),
        ((written(1), COPIED), False),
    ],
)
def test_a_session_is_closed_once_no_copy_is_on_its_way(
    copies: tuple[int, ...], holds: bool
) -> None:
    """One is enough to keep it open, be it of nothing."""
    facts = replace(toy(epochs()).start(), copies=copies)
    assert SessionClosed().holds(facts, 0) is holds


def test_a_read_may_find_what_is_newer_than_a_deletion() -> None:
    """A write that is not acknowledged yet comes after it: nothing that was deleted is back."""
    model = toy(SWAP, ("K1 delete", "K2 write", "K3 read"), together=True)
    steps = [Start(0, 1), Serve(0, "A"), Finish(0), Start(1, 1), Serve(1, "A"), Start(2, 1)]
    timeline = run(model, *steps, Serve(2, "A"), Finish(2))
    assert timeline.now.say.endswith("returns write 2.")
    assert not timeline.breaches(timeline.at)


def test_a_message_waits_for_a_slow_replica_that_is_down() -> None:
    """Where replicas take time, it says so for the second of two as well as for the first."""
    model = toy(LEAVE, ("K1 write ALL",), slow=True, crashes=2)
    state = run(model, Start(0, 1), Crash("A"), Crash("X")).state
    assert [why(model, state, Admit(0, name)) for name in "AX"] == ["A is down", "X is down"]


def test_a_read_that_finds_nothing_writes_nothing_back() -> None:
    """Though a write would need an answer of X, too."""
    union = history(epoch(1, A, BOTH))
    model = toy(union, ("K1 read QUORUM",), repair="blocking")
    last = run(model, Start(0, 1), Serve(0, "A"), Finish(0)).now
    assert last.say == "K1, at epoch 1, has answers from A and returns nothing."


def test_what_slow_replicas_are_sent_back_has_not_begun_anywhere() -> None:
    """A was at work on the read: on what is written back nobody is yet."""
    model = toy(
        history(epoch(1, A, BOTH)), ("K1 write ONE", "K2 read QUORUM"), slow=True, repair="blocking"
    )
    steps = [Start(0, 1), Admit(0, "A"), Serve(0, "A"), Finish(0)]
    steps += [Start(1, 1), Admit(1, "A"), Serve(1, "A"), Finish(1)]
    state: Any = run(model, *steps).state
    assert state.requests[1] == Request(
        REPAIRING, 0, 0, X, A, written(1), holders=state.requests[1].holders, begun=0
    )


def test_who_ended_late_is_at_work_no_more() -> None:
    """The client has given up. A ends what it had begun, and X still has to."""
    model = toy(LEAVE, ("K1 write ALL",), slow=True, timeouts=True)
    steps = [Start(0, 1), Admit(0, "A"), Admit(0, "X"), TimeOut(0)]
    for done, left in (([], BOTH), (["A"], X), (["X"], A), (["A", "X"], 0)):
        state: Any = run(model, *steps, *(Serve(0, name) for name in done)).state
        assert (state.requests[0].in_flight, state.requests[0].begun) == (left, left)


def test_a_read_is_written_back_again_to_whom_a_write_would_go() -> None:
    """It was sent to A alone; by now X is written to, too, though not read from."""
    model = toy(epochs(), ("K1 write ONE", "K2 read QUORUM"), repair="blocking", retry=True)
    begun = model.act(model.start(), Commit("add"))
    back = Request(REPAIRING, 0, 1, 0, A, written(1), holders=A)
    state = replace(begun, requests=(Request(DONE, timestamp=1), back))
    [_, again] = model.act(state, Finish(1)).requests
    assert again == replace(back, epoch=1, in_flight=X)


@pytest.mark.parametrize(
    ("requests", "cells", "lacking"),
    [
        ((("write ONE", DONE),), (1, 0), ""),  # nothing was promised
        ((("write QUORUM", DONE),), (1, 0), "write 1: X"),
        ((("write QUORUM", DONE),), (1, 1), ""),
        ((("write QUORUM", FAILED),), (1, 0), ""),
        ((("write QUORUM", FAILED), ("write QUORUM", DONE)), (2, 1), "write 2: X"),
        ((("write QUORUM", DONE), ("write QUORUM", DONE)), (2, 1), "write 2: X"),
        ((("write QUORUM", DONE), ("write QUORUM", FAILED)), (1, 1), ""),
        ((("read QUORUM", DONE), ("write QUORUM", DONE)), (1, 0), "write 2: X"),
        ((("write QUORUM", DONE), ("delete QUORUM", FAILED)), (1, 0), ""),  # X has forgotten it
        ((("write QUORUM", DONE), ("write QUORUM", FAILED)), (1, 0), "write 1: X"),
    ],
)
def test_reads_move_to_those_that_hold_what_was_promised(
    requests: tuple[tuple[str, int], ...], cells: tuple[int, int], lacking: str
) -> None:
    """``cells`` are the times of what A and X hold. Reads of the next epoch go to X."""
    lines = tuple(f"K{at + 1} {line}" for at, (line, _) in enumerate(requests))
    model: Any = toy(history(epoch(1, A, BOTH, Edge("swap", "", 1, switches=True)), END), lines)
    marks = iter(range(1, 3))
    told = tuple(
        Request(phase, timestamp=0 if line.startswith("read") else next(marks))
        for line, phase in requests
    )
    before = replace(model.start(), cells=tuple(map(written, cells)), requests=told)
    action = Commit("swap")
    said = model.streamed(before, action, model.act(before, action))
    assert said == (f"reads go to replicas without {lacking}" if lacking else None)


def test_a_write_is_older_than_what_the_shards_hold() -> None:
    """It is taken on those that take writes, though only one of them reads."""
    view = View(BOTH, BOTH, BOTH, BOTH, shards=ShardChoice(X, 4, 12))
    moves = RangeHistory(
        *("(0, 10]", 0, 10, ("A", "X", "X0", "X1"), ("dc1",) * 4),
        (RangeEpoch(1, "", view),),
        sharded=ShardedReplica(1, 12),
    )
    model = toy(moves, ("K1 write ALL", "K2 write ALL"), together=True)
    now = run(model, Start(0, 1), Start(1, 1), Serve(1, "X"), Serve(0, "X")).now
    said = "X, at epoch 1, takes write 1 but holds something newer on X0 and X1."
    assert now.say == said


def test_a_plan_that_is_made_again_asks_all_that_store() -> None:
    """Also where the level counts one datacenter, which has no replica any more."""
    moves = replace(
        history(epoch(1, BOTH, BOTH, Edge("leave", "", 1)), epoch(2, A, A)), dcs=("dc1", "dc2")
    )
    model = toy(moves, ("K1@dc2 write LOCAL_QUORUM",), retry=True)
    steps = [Start(0, 1), Serve(0, "X"), Commit("leave"), ApplyEpoch("K1"), Finish(0)]
    state: Any = run(model, *steps).state
    assert state.requests[0] == Request(OPEN, 1, 1, A, 0, NOTHING, 1)


@pytest.mark.parametrize(
    ("write", "read", "owed"),
    [(0, 2, True), (1, 2, False), (2, 0, False), (0, 3, False), (3, 2, True)],
)
def test_what_one_request_owes_another(write: int, read: int, owed: bool) -> None:
    """A read has to see what was written before, where their levels promise it."""
    model = toy(epochs(), ("K1 write ALL", "K2 write ONE", "K3 read QUORUM", "K4 delete ALL"))
    assert model.promises(write, read) is owed


@pytest.mark.parametrize(
    ("lines", "known"),
    [
        (("K1 write ONE", "K1 read ONE"), 1),
        (("K1 write ONE", "K2 read ONE", "K1 read ONE"), 1),
        (("K1 write ONE", "K2 read ONE"), 0),
        (("K1 write ONE",), 0),
    ],
)
def test_a_coordinator_that_asks_again_keeps_what_it_knows(
    lines: tuple[str, ...], known: int
) -> None:
    """It heard of epoch 2 with an answer; nobody will ask again for what another one knows."""
    steps = [Start(0, 1), Commit("add"), ApplyEpoch("K1"), Serve(0, "A"), Finish(0)]
    state: Any = run(toy(epochs(), lines), *steps).state
    assert state.known[2] == known


def test_data_arrives_at_no_replica_that_is_down() -> None:
    """Which is said; it is still on its way."""
    model = toy(epochs("MajorityKnows"), crashes=1)
    read = run(model, Commit("add"), Fetch("A", "X")).state
    land = Land("A", "X")
    assert why(model, read, land) == ""
    assert why(model, model.act(read, Crash("X")), land) == "X is down"
    assert why(model, model.act(read, Crash("A")), land) == ""


@pytest.mark.parametrize(
    ("sharded", "with_shards", "all_shards", "split"),
    [(None, (1, 2, 4, 8), 0, -1), (ShardedReplica(1, 12), (1, 14, 4, 8), 12, 1)],
)
def test_a_node_stands_for_its_shards(
    sharded: ShardedReplica | None, with_shards: tuple[int, ...], all_shards: int, split: int
) -> None:
    """Where one has some, as masks of replicas."""
    view = View(BOTH, BOTH, BOTH, BOTH, shards=sharded and ShardChoice(X, 4, 12))
    names, places = ("A", "X", "X0", "X1"), ("dc1",) * 4
    moves = RangeHistory(
        "(0, 10]", 0, 10, names, places, (RangeEpoch(1, "", view),), sharded=sharded
    )
    model = toy(moves)
    assert (model.with_shards, model.all_shards, model.split) == (with_shards, all_shards, split)


BY_SHARDS = View(BOTH, BOTH, BOTH, BOTH, shards=ShardChoice(X, 4, 12))
SHARDS = replace(
    history(RangeEpoch(1, "", BY_SHARDS, (Edge("go on", "", 1),)), RangeEpoch(2, "", BY_SHARDS)),
    replicas=("A", "X", "X0", "X1"),
    dcs=("dc1",) * 4,
    sharded=ShardedReplica(1, 12),
)
"""X reads on its first shard and writes on both."""


@pytest.mark.parametrize(
    ("i", "index", "cleaned", "after"),
    [
        (1, 1, BOTH, A),
        (1, 0, BOTH, BOTH),
        (1, 1, A, A),
        (0, 1, BOTH, X),
        (0, 3, BOTH, BOTH),
        (0, 1, X, X),
    ],
)
def test_who_gets_the_range_again_has_to_clean_again(
    i: int, index: int, cleaned: int, after: int
) -> None:
    """That is said of the one that has applied an epoch in which it takes writes."""
    model = toy(epochs())
    trail = next(at for at, each in enumerate(model.trails) if len(each.nodes) == 4)
    given = replace(model.start(), trail=trail, cleaned=cleaned)
    now = model.applied(given, i, index)
    assert (now.cleaned, now.known[i], now.known[1 - i]) == (after, index, 0)


@pytest.mark.parametrize(("i", "known"), [(0, (1, 0, 0, 0)), (1, (0, 1, 1, 1))])
def test_shards_know_what_their_node_has_applied(i: int, known: tuple[int, ...]) -> None:
    """And learn nothing from another one."""
    model = toy(SHARDS)
    given = model.act(model.start(), Commit("go on"))
    assert model.applied(given, i, 1).known[:4] == known


@pytest.mark.parametrize(
    ("begun", "chosen", "cells"),
    [
        (UNSET, (4, 12), (0, 0, 2, 2)),
        (A, (4, 12), (0, 0, 2, 2)),
        (X | 4, (4, 4), (0, 0, 2, 0)),
        (X | 8, (8, 8), (0, 0, 0, 2)),
    ],
)
def test_a_request_stays_with_the_shards_that_it_began_on(
    begun: int | UnsetType, chosen: tuple[int, int], cells: tuple[int, ...]
) -> None:
    """Else it reads and writes where the node does by what it knows."""
    model = toy(SHARDS, ("K1 write ONE",))
    given = replace(model.start(), requests=(Request(OPEN, timestamp=1, begun=begun),))
    assert tuple(model.chosen(given, 0, write=write) for write in (False, True)) == chosen
    assert model.stored(given, 1, written(1), 0) == cells


@pytest.mark.parametrize(
    ("acked", "now", "invalidated"), [(X, 1, X), (A, 1, 0), (X, 0, 0), (BOTH, 1, X)]
)
def test_an_answer_of_who_was_no_member_counts_no_more(
    acked: int, now: int, invalidated: int
) -> None:
    """X becomes a replica with the epoch that its coordinator hears of."""
    model = toy(SWAP, ("K1 write ONE",))
    request = Request(OPEN, 0, 0, BOTH, acked, timestamp=1)
    given = replace(model.act(model.start(), Commit("swap")), requests=(request,))
    assert model.informed(given, 0, now).invalidated == invalidated


def test_a_replica_alone_knows_one_of_the_epochs() -> None:
    """All are committed; people play the coordinators."""
    model: Any = build("replica")
    state = model.act(model.start(), model.find(model.start(), "apply A")[0])
    rows = facts.epochs(model, state)
    assert [row.epoch for row in rows] == [99, 100, 101, 102, 103]
    assert [row.knows for row in rows] == [(), ("A",), (), (), ()]


@pytest.mark.parametrize(
    ("epoch", "adopted"), [(101, None), (102, 102), (103, 103)], ids=["same", "next", "last"]
)
def test_an_answer_that_you_make_up_is_told(epoch: int, adopted: int | None) -> None:
    """Whose request it is, and whether the coordinator catches up: only with a newer epoch."""
    model: Any = build("coordinator")
    asked = model.act(model.start(), Start(0, 101))
    reply = model.find(asked, f"B answers ok at epoch {epoch}")[0]
    [told] = model.happened(asked, reply, model.act(asked, reply))
    assert (told.request, told.title, told.coordinator) == (0, "write 1", "K1")
    assert (told.replica, told.epoch, told.knows, told.adopted) == ("B", 101, epoch, adopted)


def test_a_real_coordinator_is_told_of() -> None:
    """It catches up with a newer epoch alone; once it has given up nobody answers it."""
    model: Any = build("coordinator")
    asked = model.act(model.start(), Start(0, 101))
    for at, more in ((101, ""), (102, "; K1 catches up")):
        reply = model.find(asked, f"B answers ok at epoch {at}")[0]
        said = model.describe(asked, reply, model.act(asked, reply))
        assert said == f"B answers ok at epoch {at}{more}."
    over = model.act(asked, TimeOut(0))
    assert model.describe(asked, TimeOut(0), over) == "K1 gives up."
    assert model.find(over, "B answers ok at epoch 101") is None


def test_a_real_replica_is_told_of() -> None:
    """It catches up with a newer epoch alone; writes run out, reads do not, nor do epochs grow."""
    model: Any = build("replica", {"messages": 1})
    assert (model.everybody, model.workload) == (("A",), ())
    state = model.start()
    for at, more in ((99, ""), (100, ", catches up to epoch 100")):
        read = model.find(state, f"read at epoch {at}")[0]
        said = model.describe(state, read, model.act(state, read))
        known = f"A, at epoch 99, gets a read that was planned at epoch {at}"
        assert said == f"{known}{more}, and answers ok at epoch {at}."
    write = "write at epoch 100"
    written_once = model.act(state, model.find(state, write)[0])
    assert model.find(written_once, write)[1].reason == "the run's budget of writes is used up"
    assert model.find(written_once, "read at epoch 100")[1] is None
    last = replace(state, known=model.trail.numbers.index(103))
    assert model.find(last, "apply A")[1].reason == "A has applied every committed epoch"


@pytest.mark.parametrize(
    ("ignored", "known"),
    [(0b00, (0, 1, 2)), (0b01, (0, 0, 2)), (0b10, (0, 1, 2)), (0b11, (0, 0, 2))],
)
def test_what_all_had_to_know_the_coordinators_know(ignored: int, known: tuple[int, ...]) -> None:
    """But for those that are ignored, and for replicas, which tell themselves."""
    model: Any = toy(epochs(), ("K1 write ONE", "K2 read ONE"))
    state = run(model, Commit("add")).state
    trail = next(at for at, each in enumerate(model.trails) if len(each.nodes) == 3)
    given = replace(state, trail=trail, known=(0, 0, 0, 2))
    after = model.known_after(given, (AllKnow(BOTH, 1, ignored=ignored),))
    assert after == (0, 0, *known[1:])
    assert model.known_after(given, ()) == (0, 0, 0, 2)
