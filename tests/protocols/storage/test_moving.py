"""What a step of a range that moves was, and what is said of it, on a history made by hand."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kit.protocols.storage.events import Applied, Copied, DiskEvent, EpochCommitted
from kit.protocols.storage.moving import ApplyEpoch, Commit, Crash, Fetch, Land, LandLate
from kit.protocols.storage.ranges import COPIED, NOT_COPIED, LateCopy, StorageState
from kit.protocols.storage.rules.exchange import ExchangeSwitches
from kit.protocols.storage.rules.history import CopyTask, Edge, RangeEpoch, RangeHistory
from kit.protocols.storage.rules.requests import DONE, OPEN, Request, written
from kit.protocols.storage.rules.view import View
from tests.outcomes import why
from tests.protocols.storage.toys import BOTH, A, X, epoch, history, toy, versions

MOVES = history(
    replace(epoch(1, A, A, Edge("add", "X is added", 1)), session=6),
    replace(
        epoch(2, A, BOTH, Edge("switch", "reads move", 2), copies=(CopyTask(0, 1),)), session=7
    ),
    replace(epoch(2, A, BOTH, Edge("drop", "A is dropped", 3)), quiet=True),
    epoch(3, X, X),
    unit="version",
)
ASKS = ("K1 write ONE", "K2 write ONE")


def standing(model: Any, trail: int, **more: Any) -> StorageState:
    """So many events have happened; write 1 is done, and K2 is at work on the other one."""
    copies = (NOT_COPIED,) * len(model.trails[trail].newest.copies)
    requests = (Request(DONE, timestamp=1), Request(OPEN, 0, 1, BOTH, timestamp=2))
    state: StorageState = model.start().but(trail=trail, copies=copies, requests=requests)
    return state.but(**more)


@pytest.mark.parametrize(
    ("trail", "verb", "said", "label", "event", "why_here"),
    [
        (0, "add", "Version 2: X is added.", "2: X is added",
         EpochCommitted(2, "epoch 2", "version"), "From now on, X is written to."),
        (1, "switch", "reads move.", "2: reads move", EpochCommitted(2, "epoch 2", "version"), ""),
        (2, "drop", "Version 3: A is dropped.", "3: A is dropped",
         EpochCommitted(3, "epoch 3", "version"),
         "From now on, A is no longer written to, and X is read from, and A is no longer read "
         "from."),
    ],
)  # fmt: skip
def test_what_a_commit_was(
    trail: int, verb: str, said: str, label: str, event: EpochCommitted, why_here: str
) -> None:
    """A quiet one has no number of its own; who is asked then is said where that changes."""
    model = toy(MOVES, ASKS)
    before, action = standing(model, trail), Commit(verb)
    after = standing(model, trail + 1)
    assert model.happened(before, action, after) == (event,)
    assert model.describe(before, action, after) == said
    assert model.label(before, action) == label
    told = model.why_here(before, action, after)
    assert told == why_here if why_here else not told.startswith("From now on")


def test_several_are_added_and_leave_at_once() -> None:
    """The words fit their number."""
    views = View(3, 3, 3, 3), View(12, 12, 12, 12)
    moves = RangeHistory(
        *("(0, 10]", 0, 10, tuple("ABCD"), ("dc1",) * 4),
        (RangeEpoch(1, "", views[0], (Edge("swap", "", 1),)), RangeEpoch(2, "", views[1])),
    )
    model = toy(moves, ASKS)
    start = model.start()
    assert model.why_here(start, Commit("swap"), model.act(start, Commit("swap"))) == (
        "From now on, C and D are written to, and A and B are no longer written to, and "
        "C and D are read from, and A and B are no longer read from."
    )


def test_only_a_commit_says_who_is_asked_from_there_on() -> None:
    """Not a step of a node."""
    model = toy(MOVES, ASKS)
    before, after = standing(model, 0), standing(model, 1)
    assert "From now on" not in model.why_here(before, ApplyEpoch("A"), after)


@pytest.mark.parametrize(("node", "number"), [("A", 2), ("X", 1), ("K2", 2)])
def test_what_a_node_has_applied(node: str, number: int) -> None:
    """A replica what it knows; a coordinator what that of its open request is."""
    model = toy(MOVES, ASKS)
    after = standing(model, 1, known=(1, 0, 0, 0))
    assert model.happened(after, ApplyEpoch(node), after) == (Applied(node, number),)


@pytest.mark.parametrize(("exchanges", "known"), [(True, 1), (False, None)])
def test_what_a_copy_was(exchanges: bool, known: int | None) -> None:
    """What it brings, with the epoch of its source where messages carry one, and the session."""
    safe = replace(ExchangeSwitches().safeguards, epoch_exchange=exchanges)
    model = toy(MOVES, ASKS, switches=replace(ExchangeSwitches(), safeguards=safe))
    before = standing(model, 1, cells=(written(1), 0))
    read = before.but(copies=(written(1),))
    copied = Copied("A", "X", "write 1", False, known, 7)
    assert model.happened(before, Fetch("A", "X"), read) == (copied,)
    landed = read.but(copies=(COPIED,))
    arrives = replace(copied, landed=True)
    assert model.happened(read, Land("A", "X"), landed) == (arrives,)
    assert model.act(read, Land("A", "X")).cells == (written(1), written(1))
    newer = read.but(cells=(written(1), written(2)))
    assert model.act(newer, Land("A", "X")).cells == (written(1), written(2))


@pytest.mark.parametrize(("session", "refused"), [(2, False), (1, True)])
def test_what_a_late_copy_was(session: int, refused: bool) -> None:
    """It shows its permit, and is turned away where that is not of the session that X knows."""
    moves = versions()
    numbered = tuple(replace(e, session=n) for n, e in enumerate(moves.epochs))
    model = toy(replace(moves, epochs=numbered, sessions=True), ASKS, late=1)
    trail = next(at for at, each in enumerate(model.trails) if len(each.nodes) == 3)
    late = (LateCopy(0, 1, written(1), session),)
    before = standing(model, trail, known=(2, 2, 2, 2), late_copies=late, late_left=1)
    action = LandLate("A", "X", session)
    [event] = model.happened(before, action, model.act(before, action))
    assert event == Copied("A", "X", "write 1", True, None, session, True, refused)
    assert model.rejects_late(before, action) is refused
    assert not model.rejects_late(before, Crash("X"))
    assert model.act(before, action).cells == (0, 0 if refused else written(1))


def test_a_crash_is_told_of_by_its_replica() -> None:
    """And of no other; the others go on."""
    model = toy(MOVES, ASKS, crashes=1)
    before = standing(model, 0)
    after = model.act(before, Crash("X"))
    assert (after.down, after.crashes) == (X, 1)
    assert model.happened(before, Crash("X"), after) == (DiskEvent("X", "fails"),)
    assert why(model, after, Crash("A")) == "the run's budget of crashes is used up"


@pytest.mark.parametrize(
    ("copies", "said"),
    [
        ((COPIED, COPIED), ""),
        ((COPIED, NOT_COPIED), "streaming is not complete: 1 of 2 done"),
        ((written(1), COPIED), "streaming is not complete: 1 of 2 done"),
        ((NOT_COPIED, NOT_COPIED), "streaming is not complete: 0 of 2 done"),
    ],
)
def test_reads_move_once_all_copies_are_there(copies: tuple[Any, ...], said: str) -> None:
    """Each of them."""
    tasks = (CopyTask(0, 1), CopyTask(1, 0))
    moves = history(
        epoch(1, A, BOTH, Edge("switch", "", 1, streamed=True), copies=tasks), epoch(2, X, X)
    )
    model = toy(moves, ASKS)
    assert why(model, standing(model, 0, copies=copies), Commit("switch")) == said
