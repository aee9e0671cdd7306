"""Ways through a history: what an epoch index means, and what drops out when the lag is bounded."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kit.errors import BadInput
from kit.protocols.storage.ranges import COPIED, NOT_COPIED
from kit.protocols.storage.rules.conditions import (
    AllKnow,
    MajorityKnows,
    NothingBelow,
    NothingElsewhere,
    NoWriteBegun,
    SessionClosed,
)
from kit.protocols.storage.rules.exchange import admits
from kit.protocols.storage.rules.history import Edge, to_the_end, trails
from kit.protocols.storage.rules.requests import DONE, OPEN, Request
from kit.protocols.storage.rules.view import View
from kit.protocols.storage.storage import ApplyEpoch, Commit, StorageState
from tests.protocols.storage.toys import BOTH, A, X, epoch, epochs, history, toy, versions


def test_a_tree_has_a_trail_for_each_node() -> None:
    """Its trails begin at the start, and an epoch index counts the events so far."""
    ways = trails(epochs())
    assert [way.nodes for way in ways] == [(0,), (0, 1), (0, 1, 2), (0, 1, 2, 3)]
    assert [view.last_modified for view in ways[-1].views] == [0, 1, 2, 3]
    assert {way.numbers[0] for way in ways} == {1}


@pytest.mark.parametrize(
    ("rows", "modified"),
    [
        # of each epoch who reads, and who writes
        ("A/A", [0]),
        ("A/A A/A", [0, 0]),
        ("A/A A/AX A/AX X/AX X/AX X/X", [0, 1, 1, 3, 3, 5]),
        ("A/A X/A X/A X/X X/X", [0, 1, 1, 3, 3]),
        ("A/AX A/A A/A A/AX", [0, 1, 1, 3]),
        ("X/AX A/AX X/AX", [0, 1, 2]),
        ("AX/A AX/X AX/A", [0, 1, 2]),
    ],
)
def test_a_row_is_modified_when_who_reads_or_writes_changes(rows: str, modified: list[int]) -> None:
    """An epoch that changes neither keeps the index of the one that last did."""
    of = {"A": A, "X": X, "AX": BOTH}
    groups = [[of[each] for each in row.split("/")] for row in rows.split()]
    many = len(groups)
    moves = history(
        *(
            epoch(at + 1, *pair, *([Edge("next", "", at + 1)] if at + 1 < many else []))
            for at, pair in enumerate(groups)
        )
    )
    assert [view.last_modified for view in trails(moves)[-1].views] == modified


def test_an_event_is_known_by_its_verb() -> None:
    """With the trail behind it; there is none of another name."""
    way, *_ = trails(epochs())
    edge, behind = way.edge("add")
    assert (edge.to, behind) == (1, 1)
    with pytest.raises(KeyError, match="drop"):
        way.edge("drop")


def test_the_end_is_where_every_step_is_taken() -> None:
    """The first event of each epoch; without any it is the start."""
    aside = history(
        epoch(1, A, A, Edge("add", "", 1)),
        epoch(2, A, BOTH, Edge("switch", "", 2), Edge("cancel", "", 3, aside=True)),
        epoch(3, X, X),
        epoch(3, A, A),
    )
    for moves, end in ((history(epoch(1, A, A)), (0,)), (aside, (0, 1, 2))):
        ways = trails(moves)
        assert ways[to_the_end(ways)].nodes == end


def test_a_fence_does_not_modify_the_row() -> None:
    """What changed the row last is where reads or writes last moved: not the fence after it."""
    seen = {way.nodes: [view.last_modified for view in way.views] for way in trails(versions())}
    assert seen[0, 1, 2] == [0, 1, 1]
    assert seen[0, 1, 2, 3, 4] == [0, 1, 1, 3, 3]
    assert seen[1, 2, 3, 4, 5] == [0, 0, 2, 2, 4]
    assert seen[0, 1, 2, 0, 1] == [0, 1, 1, 3, 4]


def test_a_history_that_leads_back_needs_a_bounded_lag() -> None:
    """Else there is a way for each number of attempts; the error says what to bound."""
    with pytest.raises(BadInput, match="a smaller lag"):
        trails(replace(versions(), lag=None))
    assert all(len(way.nodes) <= 5 for way in trails(versions()))


def test_without_any_lag_nodes_may_still_be_one_behind() -> None:
    """An event is committed before anybody has applied it: two epochs are always in use."""
    ways = trails(replace(epochs(), lag=0))
    assert [way.nodes for way in ways] == [(0,), (0, 1), (1, 2), (2, 3)]
    assert replace(epochs(), lag=None).kept is None
    assert replace(epochs(), lag=3).kept == 3


def test_the_oldest_epoch_drops_out() -> None:
    """At a commit all indices go down by one; whoever knows the oldest epoch keeps it waiting."""
    model = toy(replace(epochs(), lag=1))
    s = model.act(model.start(), Commit("add"))
    waits = model.refusal(s, Commit("switch"))
    assert waits is not None
    s = model.act(model.act(s, ApplyEpoch("A")), ApplyEpoch("X"))
    s = replace(s, copies=(COPIED,))
    assert s.known[:2] == (1, 1)
    s = model.act(s, Commit("switch"))
    assert s.known == (0, 0, 0, 0)
    assert [model.epoch(s, i) for i in range(len(model.views(s)))] == [2, 3]


def test_nobody_may_be_further_behind_than_the_lag() -> None:
    """The bound is an assumption: what would break it waits, and says for whom."""
    moves = epochs("MajorityKnows")
    model = toy(replace(moves, lag=1))
    s = replace(model.act(model.start(), Commit("add")), copies=(COPIED,))
    waits = model.refusal(s, Commit("switch"))
    assert waits is not None
    assert waits.reason == "no node may be more than 1 epochs behind"
    assert waits.missing == ("A", "X")


def facts(known: tuple[int, ...], *requests: Request, copies: tuple[int, ...] = ()) -> StorageState:
    """A state in which A, X and one coordinator know these epochs."""
    return StorageState(0, known, (0, 0), copies, requests)


def test_conditions_look_at_one_epoch_each() -> None:
    """The newest, or one that is so many epochs older."""
    lagging = facts((2, 1, 0))
    assert not MajorityKnows(BOTH, 2).holds(lagging, 2)
    assert MajorityKnows(BOTH, 2).missing(lagging, 2) == (1,)
    assert MajorityKnows(BOTH, 1).holds(lagging, 2)
    assert MajorityKnows(BOTH, 2, age=1).holds(lagging, 2)
    assert MajorityKnows(BOTH, 2, age=1).missing(lagging, 2) == ()
    assert MajorityKnows(BOTH, 2, age=1).missing(facts((1, 0, 0)), 2) == (1,)
    assert AllKnow(A).holds(lagging, 2)
    assert not AllKnow(BOTH).holds(lagging, 2)
    assert not AllKnow(A).holds(facts((2, 1, 0), Request(OPEN, 1, 1)), 2)


def test_a_request_is_over_when_no_message_is_left() -> None:
    """One that its client has an answer of may still have messages on their way."""
    assert not NothingBelow().holds(facts((2, 2, 0), Request(OPEN, 1, 2)), 2)
    assert not NothingBelow().holds(facts((2, 2, 0), Request(DONE, 1, 0, X)), 2)
    assert NothingBelow().holds(facts((2, 2, 0), Request(DONE, 1, 0, 0)), 2)
    slow = Request(DONE, 1, 0, X, timestamp=1, begun=X)
    assert NothingBelow(ignored=1).holds(facts((2, 2, 0), replace(slow, begun=0)), 2)
    assert not NothingBelow(ignored=1).holds(facts((2, 2, 0), slow), 2)
    assert not NothingBelow(ignored=1).holds(facts((2, 2, 0), replace(slow, timestamp=0)), 2)
    reads = replace(slow, phase=OPEN, timestamp=0)
    assert NothingBelow(ignored=1).holds(facts((2, 2, 0), reads), 2)
    second = facts((2, 2, 0), Request(DONE, 2, 2), Request(OPEN, 1, 2, X))
    assert [NothingBelow(ignored=each).holds(second, 2) for each in (1, 2)] == [False, True]
    assert NothingBelow(age=1).holds(facts((2, 2, 0), Request(OPEN, 1, 2)), 2)


@pytest.mark.parametrize("late", [(), (0,), (1,), (2,), (0, 1), (0, 2)])
@pytest.mark.parametrize("ignored", range(8))
def test_nobody_waits_for_a_request_that_is_ignored(late: tuple[int, ...], ignored: int) -> None:
    """Of three requests those hold up an event that are planned by the epoch before, unless
    nobody waits for their coordinator.
    """
    requests = (Request(OPEN, 1 if at in late else 2, 2) for at in range(3))
    waits = any(not ignored >> at & 1 for at in late)
    assert NothingBelow(ignored=ignored).holds(facts((2, 2, 2), *requests), 2) is not waits


@pytest.mark.parametrize(
    ("dcs", "masks"),
    [
        ("dc1 dc1 dc1", {"dc1": 0b111}),
        ("dc1 dc2 dc1", {"dc1": 0b101, "dc2": 0b010}),
        ("dc2 dc1 dc1", {"dc2": 0b001, "dc1": 0b110}),
    ],
)
def test_every_replica_is_in_its_own_datacenter(dcs: str, masks: dict[str, int]) -> None:
    """And in no other; they come in the order of their first replicas."""
    three = replace(epochs(), replicas=("A", "X", "Y"), dcs=tuple(dcs.split()))
    assert [*three.datacenters.items()] == [*masks.items()]


@pytest.mark.parametrize(
    ("begun", "down", "elsewhere", "nowhere"),
    [
        ((), 0, True, True),
        ((0,), 0, True, True),
        ((4,), 0, True, False),
        ((8,), 0, False, False),
        ((12,), 0, False, False),
        ((12,), 8, True, False),
        ((8,), 8, True, True),
        ((4, 8), 0, False, False),
        ((4, 8), 12, True, True),
        ((3,), 0, True, True),
    ],
)
def test_where_writes_are_at_work(
    begun: tuple[int, ...], down: int, elsewhere: bool, nowhere: bool
) -> None:
    """On shard 4, which is chosen by now, or on another one of 12; on one that lives, that is."""
    requests = (Request(OPEN, timestamp=at, begun=mask) for at, mask in enumerate(begun, 1))
    given = replace(facts((0, 0, 0), *requests), down=down)
    assert NothingElsewhere(12, 4).holds(given, 0) is elsewhere
    assert NoWriteBegun(12).holds(given, 0) is nowhere
    assert NothingElsewhere(12, 4).missing(given, 0) == NoWriteBegun(12).missing(given, 0) == ()


@pytest.mark.parametrize(
    ("known", "down", "missing", "of_those_up"),
    [
        ((2, 2), 0, (), ()),
        ((1, 2), 0, (0,), (0,)),
        ((1, 1), 0, (0, 1), (0, 1)),
        ((1, 1), A, (0, 1), (1,)),
        ((1, 1), BOTH, (0, 1), ()),
    ],
)
def test_whom_a_barrier_waits_for(
    known: tuple[int, int], down: int, missing: tuple[int, ...], of_those_up: tuple[int, ...]
) -> None:
    """Also for those that are down, unless it says so."""
    given = replace(facts((*known, 0)), down=down)
    for condition, waits in ((AllKnow(BOTH), missing), (AllKnow(BOTH, 0, True), of_those_up)):
        assert condition.missing(given, 2) == waits
        assert condition.holds(given, 2) is (not waits)
    for needed in (1, 2):
        assert MajorityKnows(BOTH, needed).holds(given, 2) is (known.count(2) >= needed)


def test_a_session_is_closed_when_no_copy_is_on_its_way() -> None:
    """Copies that have not begun, or have arrived, keep nobody waiting."""
    assert SessionClosed().holds(facts((0, 0, 0), copies=(NOT_COPIED, COPIED)), 0)
    assert not SessionClosed().holds(facts((0, 0, 0), copies=(0,)), 0)


def test_who_admits_what() -> None:
    """A fence bars what is older than it; stages admit their neighbours; else all is admitted."""
    views = tuple(View(A, A, A, A, fence=fence) for fence in (None, 0, 1))
    assert [admits("fence", views, 1, message) for message in (0, 1, 2)] == [False, True, True]
    assert [admits("fence", views, 2, message) for message in (0, 1, 2)] == [False, True, True]
    assert admits("fence", views, 0, 0)
    assert [admits("one-stage-apart", views, 2, m) for m in (0, 1, 2)] == [False, True, True]
    assert admits("all", views, 2, 0)
