"""What a step of a range that moves was, and what is said of it, on a history made by hand."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kit.protocols.storage.events import Applied, Copied, DiskEvent, EpochCommitted
from kit.protocols.storage.moving import ApplyEpoch, Commit, Crash, Fetch, Land, LandLate
from kit.protocols.storage.ranges import COPIED, NOT_COPIED, LateCopy, StorageState
from kit.protocols.storage.rules.conditions import (
    AllKnow,
    HaveCleaned,
    MajorityKnows,
    MoreLost,
    NothingBelow,
    NoWriteBegun,
    SessionClosed,
)
from kit.protocols.storage.rules.exchange import ExchangeSwitches
from kit.protocols.storage.rules.history import CopyTask, Edge, RangeEpoch, RangeHistory
from kit.protocols.storage.rules.requests import DONE, OPEN, Request, written
from kit.protocols.storage.rules.view import View
from tests.outcomes import outcome, why
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
         ("From now on, A is no longer written to, and X is read from, and A is no longer read "
          "from.")),
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


def test_the_state_after_a_commit() -> None:
    """Who is dead by then is down; those that are told to clean again are not clean; time begins
    anew; copies of the epoch before are gone, and those of the next one have not begun.
    """
    last = replace(epoch(2, X, BOTH, copies=(CopyTask(1, 0),)), dead=A, cleans=A)
    model = toy(history(epoch(1, A, A, Edge("swap", "", 1)), last), ASKS, cleaning=True)
    before = standing(model, 0, cleaned=BOTH, waited=2, crashes=0, known=(0, 0, 0, 0))
    assert model.act(before, Commit("swap")) == replace(
        before, trail=1, cleaned=X, waited=0, down=A, copies=(NOT_COPIED,)
    )


@pytest.mark.parametrize(
    ("cleaning", "cleaned", "said"),
    [
        (True, 0, "A, X might hold data not owned"),
        (True, X, "A might hold data not owned"),
        (True, BOTH, ""),
        (False, 0, ""),
    ],
)
def test_who_gets_a_range_again_is_clean(cleaning: bool, cleaned: int, said: str) -> None:
    """Where anybody cleans up."""
    moves = history(epoch(1, A, A, Edge("swap", "", 1, regains=BOTH)), epoch(2, X, X))
    model = toy(moves, ASKS, cleaning=cleaning)
    assert why(model, standing(model, 0, cleaned=cleaned), Commit("swap")) == said


@pytest.mark.parametrize(
    ("condition", "given", "said"),
    [
        (AllKnow(BOTH), {"known": (1, 1, 1, 1)}, ""),
        (AllKnow(BOTH), {"known": (1, 0, 1, 1)},
         "waiting at the barrier: 2 of 2 replicas must have applied version 2 (so far: 1)"),
        (AllKnow(X), {"known": (0, 0, 1, 1)},
         "waiting at the barrier: 1 of 1 replica must have applied version 2 (so far: 0)"),
        (AllKnow(BOTH, 1), {"known": (0, 0, 0, 0)}, ""),
        (MajorityKnows(BOTH, 1), {"known": (0, 0, 1, 1)},
         "waiting at the barrier: 1 of 2 replicas must have applied version 2 (so far: 0)"),
        (NothingBelow(), {}, "requests planned before version 2 are still in flight"),
        (SessionClosed(), {"copies": (written(1),)}, "the session is open: a copy is on its way"),
        (SessionClosed(), {"copies": (COPIED,)}, ""),
        (HaveCleaned(BOTH), {"cleaned": X}, "A must clean up first"),
        (HaveCleaned(BOTH), {"cleaned": BOTH}, ""),
        (MoreLost(A, X), {}, "too few nodes are down or excluded: 0 of A, 0 of X"),
        (MoreLost(BOTH, X), {"down": X}, "too few nodes are down or excluded: 1 of A, X, 1 of X"),
        (MoreLost(A), {}, "too few nodes are down or excluded: 0 of A"),
        (MoreLost(A), {"down": A}, ""),
        (NoWriteBegun(BOTH), {"requests": (Request(), Request(OPEN, timestamp=1, begun=A))},
         "a write begun before version 2 is still in progress"),
    ],
)  # fmt: skip
def test_what_a_condition_waits_for(condition: Any, given: dict[str, Any], said: str) -> None:
    """The first that does not hold; with who is missing."""
    model = toy(MOVES, ASKS)
    state = standing(model, 1, **given)
    for awaited in ((condition,), (SessionClosed(), condition)):
        refusal = model.unmet(state, awaited)
        assert ("" if refusal is None else refusal.reason) == said
    assert model.unmet(state, ()) is None


def test_who_may_be_one_epoch_behind() -> None:
    """The version that all have to know is the one before."""
    model = toy(MOVES, ASKS)
    state = standing(model, 3, known=(2, 1, 3, 3))
    asked = (state.requests[0], replace(state.requests[1], coordinator_epoch=3))
    refusal = model.unmet(replace(state, requests=asked), (AllKnow(BOTH, 1),))
    assert refusal is not None
    assert refusal.reason == (
        "waiting at the barrier: 2 of 2 replicas must have applied version 2 (so far: 1)"
    )
    assert refusal.missing == ("X",)


@pytest.mark.parametrize(("trail", "waited", "said"), [
    (0, 0, ""), (1, 0, "0 of 2 ticks"), (1, 1, "1 of 2 ticks"), (1, 2, ""),
])  # fmt: skip
def test_an_event_waits_after_the_one_before_it(trail: int, waited: int, said: str) -> None:
    """The first one does not."""
    moves = history(
        epoch(1, A, A, Edge("go", "", 1)), epoch(2, A, A, Edge("go", "", 2)), epoch(3, A, A)
    )
    model = toy(moves, ASKS, ring_delay=2)
    reason = f"RING_DELAY: {said} passed" if said else ""
    assert why(model, standing(model, trail, waited=waited), Commit("go")) == reason


def test_the_first_coordinator_is_no_replica() -> None:
    """Its number is the next one: what it knows is what its open request does."""
    model = toy(MOVES, ASKS)
    asked = (Request(OPEN, 0, 1, timestamp=1), Request())
    state = standing(model, 1, requests=asked)
    assert model.happened(state, ApplyEpoch("K1"), state) == (Applied("K1", 2),)


def test_who_lacks_a_copy_is_named_and_what_is_not_met_is_said() -> None:
    """A has what it was to get; X has not."""
    tasks = (CopyTask(1, 0), CopyTask(0, 1))
    known = (AllKnow(X),)
    last = Edge("switch", "", 1, known, streamed=True)
    model = toy(history(epoch(1, A, BOTH, last, copies=tasks), epoch(2, X, X)), ASKS)
    state = standing(model, 0, copies=(COPIED, NOT_COPIED))
    refusal = outcome(model, state, Commit("switch"))
    assert refusal.missing == ("X",)
    later = history(
        epoch(1, A, A, Edge("add", "", 1)),
        epoch(2, A, BOTH, Edge("switch", "", 2, known)),
        epoch(3, X, X),
    )
    waits = toy(later, ASKS)
    assert why(waits, standing(waits, 1), Commit("switch")) == (
        "waiting at the barrier: 1 of 1 replica must have applied epoch 2 (so far: 0)"
    )


def test_a_coordinator_that_does_not_know_yet() -> None:
    """All replicas do: its request goes by the version before."""
    model = toy(MOVES, ASKS)
    state = standing(model, 1, known=(1, 1, 1, 1))
    behind = (state.requests[0], replace(state.requests[1], coordinator_epoch=0))
    refusal = model.unmet(replace(state, requests=behind), (AllKnow(BOTH),))
    assert refusal is not None
    said = "a coordinator with a request in progress does not know version 2"
    assert refusal.reason == said


@pytest.mark.parametrize(
    ("left", "kept"), [(1, (LateCopy(0, 1, written(1), 7), LateCopy(1, 0, written(2), 3))), (0, ())]
)
def test_a_copy_whose_step_is_over_may_come_late(left: int, kept: tuple[LateCopy, ...]) -> None:
    """With the session of that step, beside those of before; one that has arrived does not."""
    moves = history(
        replace(
            epoch(1, A, BOTH, Edge("swap", "", 1), copies=(CopyTask(0, 1), CopyTask(1, 0))),
            session=7,
        ),
        epoch(2, X, X),
    )
    model = toy(moves, ASKS, late=1)
    before = standing(
        model, 0, copies=(written(1), COPIED), late_left=left,
        late_copies=(LateCopy(1, 0, written(2), 3),),
    )  # fmt: skip
    after = model.act(before, Commit("swap"))
    assert (after.late_copies, after.copies) == (kept, ())
    begun = replace(before, copies=(NOT_COPIED, COPIED))
    assert model.act(begun, Commit("swap")).late_copies == kept[1:]


LAGS = history(
    epoch(1, A, A, Edge("go", "", 1)), epoch(2, A, BOTH, Edge("go", "", 2)), epoch(3, X, X), lag=1
)


def lagging(model: Any, request: Request, **more: Any) -> StorageState:
    """The second epoch is there, and at the next commit the first one drops out."""
    [at] = [at for at, trail in enumerate(model.trails) if trail.nodes == (0, 1)]
    state: StorageState = model.start().but(trail=at, requests=(request, Request()))
    return state.but(**{"known": (1, 1, 0, 0), **more})


@pytest.mark.parametrize(
    ("request_", "more", "missing"),
    [
        (Request(), {}, None),
        (Request(OPEN, 1, 1, A), {}, None),
        (Request(OPEN, 0, 1), {}, ()),
        (Request(OPEN, 0, 0), {}, ()),
        (Request(DONE, 0, 0), {}, None),
        (Request(DONE, 0, 1, A), {}, ()),
        (Request(DONE, 0, 1, A), {"down": A}, None),
        (Request(DONE, 1, 0, A), {}, None),
        (Request(OPEN, 1, 0, A), {}, ()),
        (Request(), {"known": (0, 1, 0, 0)}, ("A",)),
        (Request(), {"known": (0, 0, 0, 0)}, ("A", "X")),
        (Request(), {"known": (0, 0, 0, 0), "down": X}, ("A",)),
        (Request(), {"known": (0, 1, 0, 0), "down": A}, None),
        (Request(OPEN, 0, 1), {"known": (1, 0, 0, 0)}, ("X",)),
    ],
)
def test_nobody_is_too_far_behind(
    request_: Request, more: dict[str, Any], missing: tuple[str, ...] | None
) -> None:
    """No live replica, no open request, and no message on its way to one that lives."""
    model = toy(LAGS, ASKS)
    end = outcome(model, lagging(model, request_, **more), Commit("go"))
    if missing is None:
        assert isinstance(end, StorageState)
        return
    assert end.reason == "no node may be more than 1 epochs behind"
    assert end.missing == missing


def test_the_oldest_epoch_drops_out() -> None:
    """Every index goes down by one; what was at the oldest stays there."""
    model = toy(LAGS, ASKS)
    after = model.act(
        lagging(model, Request(OPEN, 1, 1, A), down=A, known=(0, 1, 1, 0)), Commit("go")
    )
    assert (after.known, after.requests) == ((0, 0, 0, 0), (Request(OPEN, 0, 0, A), Request()))


def test_who_has_not_applied_all() -> None:
    """Replicas, and coordinators whose request is open; one that is down does not apply."""
    model = toy(MOVES, ASKS)
    state = standing(model, 2, known=(2, 1, 0, 0))
    own = [action for action in model.actions(state) if isinstance(action, ApplyEpoch)]
    assert own == [ApplyEpoch("X"), ApplyEpoch("K2")]
    assert model.act(state, own[0]).known == (2, 2, 0, 0)
    assert model.act(state, own[1]).requests[1].coordinator_epoch == 2
    for down, said in ((X, "X is down"), (A, "")):
        assert why(model, replace(state, down=down), ApplyEpoch("X")) == said
    assert model.label(state, ApplyEpoch("X")) == "X applies version 2 (epoch 2)"
    older = replace(state, known=(2, 0, 0, 0))
    assert model.label(older, ApplyEpoch("X")) == "X applies version 2"


@pytest.mark.parametrize(
    ("down", "said"), [(0, ""), (A, "A is down"), (X, "X is down"), (BOTH, "A is down")]
)
def test_a_copy_begins_where_both_live(down: int, said: str) -> None:
    """It waits for what its conditions say, too."""
    model = toy(MOVES, ASKS)
    assert why(model, standing(model, 1, down=down), Fetch("A", "X")) == said
    waits = (CopyTask(0, 1, (AllKnow(X),)),)
    later = toy(history(epoch(1, A, A, Edge("add", "", 1)), epoch(2, A, BOTH, copies=waits)), ASKS)
    barrier = "waiting at the barrier: 1 of 1 replica must have applied epoch 2 (so far: 0)"
    assert why(later, standing(later, 1), Fetch("A", "X")) == barrier
    assert why(later, standing(later, 1, known=(0, 1, 1, 1)), Fetch("A", "X")) == ""


@pytest.mark.parametrize(("left", "rest"), [(2, True), (1, False)])
def test_late_copies_are_over_once_no_more_may_come(left: int, rest: bool) -> None:
    """The one that arrives is gone; the others stay while one more may come."""
    model = toy(MOVES, ASKS, late=2)
    both = LateCopy(0, 1, written(1), 7), LateCopy(1, 0, written(2), 7)
    before = standing(model, 2, late_copies=both, late_left=left)
    after = model.act(before, LandLate("A", "X", 7))
    assert (after.late_copies, after.late_left) == (both[1:] * rest, left - 1)
    assert after.cells == (0, written(1))
    assert model.act(before, LandLate("X", "A", 7)).cells == (written(2), 0)
    for down, said in ((X, "X is down"), (A, "")):
        assert why(model, replace(before, down=down), LandLate("A", "X", 7)) == said
