"""What waits for what on a data range: events for the clock, tombstones for whatever is older."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kit.protocols.storage.learning import learning_waits
from kit.protocols.storage.ranges import COPIED, NOT_COPIED, LateCopy
from kit.protocols.storage.rules.conditions import (
    AllKnow,
    HaveCleaned,
    MajorityKnows,
    MoreLost,
    NothingBelow,
    NoWriteBegun,
    SessionClosed,
    begun_writes,
)
from kit.protocols.storage.rules.history import CopyTask, Edge
from kit.protocols.storage.rules.requests import (
    DONE,
    FAILED,
    NOTHING,
    OPEN,
    REPAIRING,
    Request,
    tombstone,
    written,
)
from kit.protocols.storage.storage import (
    Admit,
    ApplyEpoch,
    Cleanup,
    CollectTombstones,
    Commit,
    Crash,
    Fetch,
    Finish,
    LandLate,
    Serve,
    StorageState,
    Tick,
    TimeOut,
    WriteBack,
)
from tests.outcomes import why
from tests.protocols.storage.toys import BOTH, A, X, epoch, epochs, history, toy

DELETED = ("K1 write QUORUM", "K1 delete QUORUM")
UNDER_WAY = written(1)


def test_an_event_waits_for_the_clock_but_the_first_one() -> None:
    """Where nothing but RING_DELAY guards it, and as long as that says."""
    model = toy(epochs("MajorityKnows"), ring_delay=2)
    assert why(model, model.start(), Commit("add")) == ""
    added = replace(model.act(model.start(), Commit("add")), copies=(COPIED,))
    for waited in range(4):
        said = why(model, replace(added, waited=waited), Commit("switch"))
        assert bool(said) is (waited < 2)
        assert not said or said.startswith(f"RING_DELAY: {waited} of 2 ticks")
    without = toy(epochs("MajorityKnows"))
    assert why(without, added, Commit("switch")) == ""


@pytest.mark.parametrize("other", [NOTHING, written(1), tombstone(1), written(2), tombstone(2)])
def test_a_tombstone_outlives_what_is_older(other: int) -> None:
    """Of the owners, that is: a cell that is as new, newer, or none at all holds it up no more."""
    model = toy(epochs(), DELETED, collecting=True)
    collect, state = CollectTombstones("A"), model.start()
    added = replace(model.act(state, Commit("add")), cells=(tombstone(2), other))
    older = other in (written(1), tombstone(1))
    said = "no repair has brought the tombstone to every replica"
    assert why(model, added, collect) == (said if older else "")
    assert why(model, replace(state, cells=(tombstone(2), other)), collect) == ""


def test_a_tombstone_outlives_what_is_on_its_way() -> None:
    """Messages of any request, and copies that have begun and not arrived."""
    model = toy(epochs(), DELETED, collecting=True)
    collect, start = CollectTombstones("A"), replace(model.start(), cells=(tombstone(2), NOTHING))
    idle = start.requests
    for phase, in_flight in ((OPEN, 0), (REPAIRING, 0), (DONE, X)):
        busy = replace(start, requests=(*idle[:1], Request(phase, in_flight=in_flight)))
        assert why(model, busy, collect).startswith("messages are still on their way")
    assert why(model, replace(start, requests=(Request(DONE), *idle[1:])), collect) == ""
    added = replace(model.act(start, Commit("add")), cells=start.cells)
    for copied, waits in ((NOT_COPIED, False), (COPIED, False), (UNDER_WAY, True)):
        said = why(model, replace(added, copies=(copied,)), collect)
        assert said.startswith("a copy is still on its way") is waits


def test_a_copy_is_left_behind_by_the_event_that_ends_its_step() -> None:
    """While the next epoch has the same copies it goes on; then it may come late, if any may."""
    copies = (CopyTask(0, 1),)
    moves = history(
        epoch(1, A, A, Edge("begin", "", 1)),
        epoch(2, A, BOTH, Edge("go on", "", 2), copies=copies),
        epoch(3, A, BOTH, Edge("end", "", 3), copies=copies),
        epoch(4, A, A),
    )
    for late in (0, 1):
        model = toy(moves, late=late)
        state = model.act(model.start(), Commit("begin"))
        state = model.act(replace(state, copies=(UNDER_WAY,)), Commit("go on"))
        assert state.copies == (UNDER_WAY,)
        assert not state.late_copies
        state = model.act(state, Commit("end"))
        assert (state.late_copies or ()) == ((LateCopy(0, 1, UNDER_WAY, 0),) if late else ())


# what replicas A and X know, who is down, the second request, and whether the next epoch waits
OLDEST: tuple[tuple[tuple[int, int], int, Request, bool], ...] = (
    ((1, 1), 0, Request(), False),
    ((0, 1), 0, Request(), True),
    ((1, 0), 0, Request(), True),
    ((0, 1), A, Request(), False),
    ((0, 1), X, Request(), True),
    ((1, 1), 0, Request(OPEN, 1, 1), False),
    ((1, 1), 0, Request(OPEN, 0, 1), True),
    ((1, 1), 0, Request(OPEN, 1, 0), True),
    ((1, 1), BOTH, Request(REPAIRING, 0, 1), True),
    ((1, 1), 0, Request(DONE, 0, 0), False),
    ((1, 1), 0, Request(DONE, 0, 1, in_flight=X), True),
    ((1, 1), X, Request(DONE, 0, 1, in_flight=X), False),
    ((1, 1), A, Request(DONE, 0, 1, in_flight=X), True),
    ((1, 1), 0, Request(DONE, 1, 0, in_flight=X), False),
)


@pytest.mark.parametrize(("known", "down", "request_", "waits"), OLDEST)
def test_the_oldest_epoch_drops_out_once_nobody_works_by_it(
    known: tuple[int, int], down: int, request_: Request, waits: bool
) -> None:
    """No living replica, no coordinator, no request planned by it that may still arrive."""
    plain = (epoch(number, A, A, Edge(f"to {number + 1}", "", number)) for number in (1, 2))
    model = toy(history(*plain, epoch(3, A, A), lag=1))
    one = model.act(model.start(), Commit("to 2"))
    state = replace(one, known=(*known, 1, 1), down=down, requests=(one.requests[0], request_))
    said = "no node may be more than 1 epochs behind" if waits else ""
    assert why(model, state, Commit("to 3")) == said


@pytest.mark.parametrize(
    ("condition", "known", "down", "missing"),
    [
        (MajorityKnows(BOTH, 2), (2, 1), 0, (1,)),
        (MajorityKnows(BOTH, 2, 1), (2, 1), 0, ()),
        (MajorityKnows(BOTH, 2, 1), (0, 1), 0, (0,)),
        (MajorityKnows(X, 1), (0, 0), 0, (1,)),
        (AllKnow(BOTH), (0, 0), X, (0, 1)),
        (AllKnow(BOTH, 1), (1, 0), 0, (1,)),
        (AllKnow(BOTH, but_down=True), (0, 0), X, (0,)),
        (AllKnow(BOTH, but_down=True), (0, 0), 0, (0, 1)),
        (AllKnow(X, but_down=True), (0, 0), X, ()),
    ],
)
def test_who_has_yet_to_learn(
    condition: MajorityKnows | AllKnow, known: tuple[int, int], down: int, missing: tuple[int, ...]
) -> None:
    """Of the replicas that are asked, who does not know epoch 2, or one that is so much older."""
    state = StorageState(0, known, (0, 0), (), (), down)
    assert (condition.missing(state, 2), condition.holds(state, 2)) == (missing, not missing)


@pytest.mark.parametrize(("ignored", "over"), [(0b00, False), (0b01, False), (0b10, True)])
def test_each_request_is_ignored_by_its_own_number(ignored: int, over: bool) -> None:
    """The second one is open, and was planned by an earlier epoch."""
    requests = (Request(DONE, 2), Request(OPEN, 1))
    state = StorageState(0, (2, 2), (0, 0), (), requests)
    assert NothingBelow(ignored=ignored).holds(state, 2) is over


@pytest.mark.parametrize(
    ("begun", "down", "holds"), [(0, 0, True), (X, 0, True), (A, 0, False), (A, A, True)]
)
def test_no_write_is_at_work_on_the_replicas_that_are_asked(
    begun: int, down: int, holds: bool
) -> None:
    """On A; what is at work on others, or on one that is down, keeps nobody waiting."""
    requests = (Request(OPEN, timestamp=1, begun=begun), Request())
    assert NoWriteBegun(A).holds(StorageState(0, (0, 0), (0, 0), (), requests, down), 0) is holds


@pytest.mark.parametrize(
    ("copies", "holds"),
    [
        ((), True),
        ((NOT_COPIED, COPIED), True),
        ((COPIED, UNDER_WAY), False),
        ((UNDER_WAY, NOT_COPIED), False),
        ((NOTHING,), False),  # a copy of a range without a cell is on its way, too
    ],
)
def test_a_session_closes_once_no_copy_is_on_its_way(copies: tuple[int, ...], holds: bool) -> None:
    """Before they begin and after they have arrived none is."""
    assert SessionClosed().holds(StorageState(0, (0, 0), (0, 0), copies, ()), 0) is holds


@pytest.mark.parametrize("phase", [OPEN, REPAIRING, DONE])
@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("ignored", range(4))
def test_coordinators_of_requests_know_it_unless_they_are_ignored(
    phase: int, number: int, ignored: int
) -> None:
    """Only one at work keeps anybody waiting, and only while it knows less."""
    for knows in (1, 2):
        requests = [Request(DONE), Request(DONE)]
        requests[number] = Request(phase, 1, knows)
        state = StorageState(0, (2, 2, 0, 0), (0, 0), (), tuple(requests))
        holds = phase == DONE or knows == 2 or bool(ignored & 1 << number)
        assert AllKnow(BOTH, ignored=ignored).holds(state, 2) is holds
        assert AllKnow(BOTH, 1, ignored=ignored).holds(state, 2)


def test_a_request_without_a_datacenter_is_at_home_in_the_first() -> None:
    """In a cluster of two, too; one with a name is where that is."""
    moves = replace(epochs(), dcs=("dc1", "dc2"))
    model = toy(moves, ("K1 write QUORUM", "K2@dc2 read QUORUM", "K3@dc1 read QUORUM"))
    assert [model.home(number) for number in range(3)] == [0, 1, 0]


@pytest.mark.parametrize(
    ("waits", "known", "learned"),
    [
        ((AllKnow(BOTH),), (0, 0), "A A X X"),
        ((AllKnow(BOTH),), (1, 2), "A"),
        ((AllKnow(BOTH),), (2, 2), ""),
        ((AllKnow(BOTH, 1),), (0, 0), "A X"),
        ((AllKnow(BOTH, 1),), (1, 0), "X"),
        ((AllKnow(BOTH, 2),), (0, 0), ""),
        ((AllKnow(A, 1), AllKnow(BOTH, 2)), (0, 0), "A"),
        ((AllKnow(BOTH, 1), AllKnow(A)), (0, 0), "A A X"),
        ((AllKnow(A), AllKnow(BOTH, 1)), (0, 0), "A A X"),
        ((MajorityKnows(BOTH, 2),), (0, 1), "A A X"),
        ((MajorityKnows(BOTH, 2, 1),), (0, 0), "A X"),
        ((MajorityKnows(X, 1, 1),), (0, 0), "X"),
    ],
)
def test_before_an_event_no_more_is_learned_than_it_asks_for(
    waits: tuple[AllKnow | MajorityKnows, ...], known: tuple[int, int], learned: str
) -> None:
    """Of three epochs the newest, or one that is so much older; whatever is beyond may wait. The
    event may then happen.
    """
    moves = history(
        epoch(1, A, A, Edge("one", "", 1)),
        epoch(2, A, A, Edge("two", "", 2)),
        epoch(3, A, A, Edge("three", "", 3, waits)),
        epoch(4, A, A),
    )
    model = toy(moves)
    state = model.act(model.act(model.start(), Commit("one")), Commit("two"))
    state = replace(state, known=(*known, *state.known[2:]))
    [lead] = learning_waits(model).leads(state, Commit("three"))
    assert lead == tuple(map(ApplyEpoch, learned.split()))
    for each in lead:
        assert why(model, state, Commit("three"))
        state = model.act(state, each)
    assert why(model, state, Commit("three")) == ""


@pytest.mark.parametrize(
    ("condition", "down", "request_", "learned"),
    [
        (AllKnow(BOTH), 0, Request(), "A X"),
        (AllKnow(BOTH), A, Request(), "X"),
        (AllKnow(BOTH), X, Request(), "A"),
        (MajorityKnows(BOTH, 1), A, Request(), "X"),
        (AllKnow(BOTH), BOTH, Request(OPEN, 0, 0), "K2"),
        (AllKnow(BOTH, ignored=0b01), BOTH, Request(OPEN, 0, 0), "K2"),
        (AllKnow(BOTH, ignored=0b10), BOTH, Request(OPEN, 0, 0), ""),
        (AllKnow(BOTH), BOTH, Request(DONE, 0, 0), ""),
        (AllKnow(BOTH), BOTH, Request(OPEN, 0, 1), ""),  # it knows the newest
        (MajorityKnows(BOTH, 1), A, Request(OPEN, 0, 0), "X"),  # of replicas, not of coordinators
        (HaveCleaned(BOTH), 0, Request(), ""),  # nobody need know anything
    ],
)
def test_who_is_down_or_ignored_learns_nothing(
    condition: AllKnow | MajorityKnows | HaveCleaned, down: int, request_: Request, learned: str
) -> None:
    """Nobody could tell it, or nobody waits for it. The second request is K2's."""
    moves = history(
        epoch(1, A, A, Edge("one", "", 1)),
        epoch(2, A, BOTH, Edge("two", "", 2, (condition,))),
        epoch(3, X, X),
    )
    model = toy(moves)
    one = model.act(model.start(), Commit("one"))
    state = replace(one, down=down, requests=(one.requests[0], request_))
    [lead] = learning_waits(model).leads(state, Commit("two"))
    assert lead == tuple(map(ApplyEpoch, learned.split()))


# what NothingBelow says besides, of a request, and whether it then is over; the newest epoch is 2
BELOW: tuple[tuple[NothingBelow, Request, int, bool], ...] = (
    (NothingBelow(), Request(OPEN, 2), 0, True),
    (NothingBelow(), Request(OPEN, 1), 0, False),
    (NothingBelow(1), Request(OPEN, 1), 0, True),
    (NothingBelow(1), Request(OPEN, 0), 0, False),
    (NothingBelow(), Request(REPAIRING, 1), 0, False),
    (NothingBelow(), Request(DONE, 1), 0, True),
    (NothingBelow(), Request(DONE, 1, in_flight=X), 0, False),
    (NothingBelow(), Request(DONE, 1, in_flight=X), X, True),
    (NothingBelow(replicas=A), Request(DONE, 1, in_flight=X), 0, True),
    # given up, or ignored: what is on its way is not waited for, what is at work is
    (NothingBelow(), Request(FAILED, 1, in_flight=X, timestamp=1), 0, True),
    (NothingBelow(), Request(FAILED, 1, in_flight=X, timestamp=1, begun=0), 0, True),
    (NothingBelow(), Request(FAILED, 1, in_flight=X, timestamp=1, begun=X), 0, False),
    (NothingBelow(), Request(FAILED, 1, in_flight=X, timestamp=1, begun=X), X, True),
    (NothingBelow(replicas=A), Request(FAILED, 1, in_flight=BOTH, timestamp=1, begun=X), 0, True),
    (NothingBelow(ignored=1), Request(OPEN, 1, in_flight=X, timestamp=1), 0, True),
    (NothingBelow(ignored=2), Request(OPEN, 1, in_flight=X, timestamp=1), 0, False),
    (NothingBelow(ignored=1), Request(OPEN, 1, in_flight=X, timestamp=1, begun=X), 0, False),
    (NothingBelow(ignored=1), Request(OPEN, 1, in_flight=X, begun=X), 0, True),  # it reads
)


@pytest.mark.parametrize(("condition", "request_", "down", "over"), BELOW)
def test_what_was_planned_earlier_is_over(
    condition: NothingBelow, request_: Request, down: int, over: bool
) -> None:
    """Answered, given up, or not on its way to anybody that lives and counts."""
    state = StorageState(0, (2, 2, 0), (0, 0), (), (request_,), down)
    assert condition.holds(state, 2) is over


@pytest.mark.parametrize(
    ("request_", "at_work"),
    [
        (Request(OPEN, timestamp=1), 0),
        (Request(OPEN, timestamp=1, begun=X), X),
        (Request(OPEN, begun=X), 0),
        (Request(REPAIRING, begun=X), X),
        (Request(FAILED, timestamp=1, begun=BOTH), BOTH),
    ],
)
def test_who_is_at_work_on_a_write(request_: Request, at_work: int) -> None:
    """On a mutation, or on what a read writes back; not on a read, nor where it takes no time."""
    assert begun_writes(request_) == at_work


def test_who_has_yet_to_clean_up() -> None:
    """Of those asked, whoever lives and has not."""
    for cleaned, down, missing in (
        (0, 0, (0, 1)), (A, 0, (1,)), (0, A, (1,)), (A, X, ()), (A, A, (1,)), (BOTH, 0, ()),
    ):  # fmt: skip
        state = StorageState(0, (0, 0), (0, 0), (), (), down, cleaned)
        condition = HaveCleaned(BOTH)
        assert (condition.missing(state, 0), condition.holds(state, 0)) == (missing, not missing)


@pytest.mark.parametrize(
    ("these", "those", "down", "ignored", "more", "lost"),
    [
        (0b011, 0b100, 0b000, 0, False, ()),
        (0b011, 0b100, 0b001, 0, True, (0,)),
        (0b011, 0b100, 0b100, 0, False, (2,)),
        (0b011, 0b100, 0b101, 0, False, (0, 2)),
        (0b011, 0b100, 0b001, 0b100, False, (0, 2)),
        (0b011, 0b100, 0b100, 0b011, True, (0, 1, 2)),
        (0b011, 0b110, 0b010, 0, False, (1,)),
        (0b011, 0b110, 0b011, 0, True, (0, 1)),
        (0b011, 0, 0b100, 0, False, ()),
        (0b011, 0, 0, 0b110, True, (1,)),
    ],
)
def test_a_way_back_counts_who_is_lost_on_either_side(
    these: int, those: int, down: int, ignored: int, more: bool, lost: tuple[int, ...]
) -> None:
    """Down or excluded, each once; who is in neither group does not count."""
    state = replace(toy(epochs()).start(), down=down)
    condition = MoreLost(these, those, ignored)
    assert (condition.holds(state, 0), condition.missing(state, 0)) == (more, lost)


KNOW = (AllKnow(BOTH),)
"""What a copy and a cleanup ask for below: both replicas know the newest epoch."""


@pytest.mark.parametrize(
    ("action", "leads"),
    [
        (Admit(0, "A"), ["", "A", "A A"]),
        (Serve(0, "X"), ["", "X"]),
        (WriteBack(0, "A"), ["", "A", "A A"]),
        (Crash("X"), ["", "X"]),
        (LandLate("X", "A", 0), ["", "A", "A A"]),
        (CollectTombstones("X"), ["", "X", "A", "A X", "A A", "A A X"]),  # whose copies are late
        (Fetch("A", "X"), ["A A X"]),
        (Cleanup("A"), ["A A X"]),
        (Tick(), [""]),
    ],
)
def test_who_learns_right_before_a_step(action: Any, leads: list[str]) -> None:
    """Whom the step looks at, as far as it can by now; A knows the first of three epochs, X the
    second.
    """
    last = epoch(3, A, BOTH, copies=(CopyTask(0, 1, KNOW),))
    moves = history(
        epoch(1, A, A, Edge("one", "", 1)),
        epoch(2, A, A, Edge("two", "", 2)),
        replace(last, cleans_after=KNOW),
    )
    model = toy(moves, late=1)
    state = model.act(model.act(model.start(), Commit("one")), Commit("two"))
    late = (LateCopy(1, 0, written(1), 0), LateCopy(0, 1, written(1), 0))
    state = replace(state, known=(0, 1, *state.known[2:]), late_copies=late)
    found = [
        " ".join(each.node for each in lead) for lead in learning_waits(model).leads(state, action)
    ]
    assert found == leads


@pytest.mark.parametrize(
    ("requests", "repair", "matters"),
    [
        (("K1 write QUORUM", "K2 read QUORUM"), "none", (False, False)),
        (("K1 write QUORUM", "K1 read QUORUM"), "none", (True, False)),
        (("K1 write ONE", "K2 read ONE", "K1 read ONE"), "none", (True, False, False)),
        (("K1 write QUORUM", "K2 read QUORUM"), "blocking", (True, True)),
    ],
)
@pytest.mark.parametrize("ends", [Finish, TimeOut])
def test_what_a_coordinator_knows_at_an_end_matters_to_its_next_request(
    ends: type, requests: tuple[str, ...], repair: str, matters: tuple[bool, ...]
) -> None:
    """That of another one begins with what the other knows; a repair asks for it at once."""
    model = toy(epochs(), requests, repair=repair)
    state = model.act(model.start(), Commit("add"))
    for number, name in enumerate(each.coordinator for each in model.workload):
        leads = list(learning_waits(model).leads(state, ends(number)))
        assert leads == [(), (ApplyEpoch(name),)][: 1 + matters[number]]
