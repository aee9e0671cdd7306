"""What an earlier coordinator decided and is committed late, where no guard holds it off (S-59)."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kit.engine.registry import build, entry_of
from kit.engine.timeline import Timeline
from kit.protocols.tablets.cluster import TabletCommand, TabletRow, TabletTransition
from kit.protocols.tablets.rules.replica_sets import replicas_in
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.protocols.topology.topology import CommitDecision, CommitDeposed
from tests.protocols.tablets.tablets.test_given_up import reached

GIVEN: dict[str, Any] = {"nodes": 2, "tablets": ("A",), "moves": 2}
SOON = "An earlier coordinator's decision is committed late. Group 0 stores it: "


def played(given: dict[str, Any], *verbs: str) -> Timeline[Any, Any]:
    """A history without the guard, in which each verb is done as soon as it may be."""
    timeline = Timeline(build("tablets", {**GIVEN, **given}, off=("S-59",)))
    for verb in verbs:
        reached(timeline, verb)
    return timeline


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("meanwhile", ["ended", "another kind"])
def test_a_late_stage_finds_no_transition(edition: Edition, meanwhile: str) -> None:
    """The repair that it was decided for has ended, and a migration may stand in its place: it
    changes nothing, and says so.
    """
    timeline = played(
        {"edition": edition, "nodes": 3, "changes": 1, "kinds": ("migration", "repair")},
        *("imbalance", "repair-tablet 0", "commit", "work on 0", "decide", "commit", "barrier"),
    )
    for verb in (*["work on 0"] * (edition == "server"), "decide", "elect B"):
        reached(timeline, verb)
    while timeline.state.in_transition:
        assert timeline.forward() is not None
    if meanwhile == "another kind":
        reached(timeline, "migrate 0 A:0 B:0")
        reached(timeline, "commit")
    before = timeline.state.tablets
    assert [way.kind for way in before[0].transitions] == ["migration"] * (meanwhile != "ended")
    reached(timeline, "commit deposed")
    assert timeline.state.tablets == before
    assert timeline.moments[-1].say == SOON + "nothing."


def test_a_late_rollback_drains_nobody_of_whom_it_no_longer_speaks() -> None:
    """A stream failed, a new coordinator tried it again, and the tablet has moved."""
    timeline = played(
        {"changes": 1, "failures": 1},
        *("imbalance", "migrate 0 A:0 B:0", "commit", "fail work on 0", "decide", "elect B"),
    )
    while timeline.state.in_transition:
        assert timeline.forward() is not None
    before = timeline.state.tablets
    assert [each.host for each in before[0].replicas] == ["B"]
    reached(timeline, "commit deposed")
    assert (timeline.state.tablets, timeline.state.given_up) == (before, 0)


def test_a_stage_decided_later_is_committed_without_the_entry_before_it() -> None:
    """Two coordinators are deposed: the first with the entry into the track, the second with a
    stage. What is committed late is the stage alone.
    """
    timeline = played(
        {"changes": 2},
        *("imbalance", "migrate 0 A:0 B:0", "elect B", "migrate 0 A:0 B:0", "commit", "barrier"),
        *("decide", "elect A"),
    )
    entry = timeline.state.control.deposed
    assert entry is not None
    assert timeline.state.deposed_alone
    reached(timeline, "commit deposed")
    assert timeline.state.control.deposed == entry
    assert [way.stage for way in timeline.state.tablets[0].transitions] == ["write_both_read_old"]


@pytest.mark.parametrize(
    ("off", "edge"),
    [((), ()), (("S-59",), ("migration: allow_write_both_read_old → write_both_read_old",))],
)
def test_a_command_on_an_older_state_takes_an_edge_only_without_the_guard(
    off: tuple[str, ...], edge: tuple[str, ...]
) -> None:
    """A request that is made after the decision is a newer state of group 0."""
    given = {**GIVEN, "nodes": 3, "moves": 1, "operations": ("leave C",)}
    timeline = Timeline(build("tablets", given, off=off))
    for verb in ("imbalance", "migrate 0 A:0 B:0", "commit", "barrier", "decide", "leave C"):
        reached(timeline, verb)
    before = timeline.state
    assert before.command.stale
    reached(timeline, "commit")
    rows = entry_of("tablets").rows
    assert rows is not None
    assert rows(timeline.model).taken(before, CommitDecision(), timeline.state) == edge
    assert (before.tablets == timeline.state.tablets) == (edge == ())


@pytest.mark.parametrize(
    ("deposed", "joint", "action", "judged"),
    [
        (True, False, CommitDeposed(), False),
        (True, False, CommitDecision(), True),
        (True, True, CommitDeposed(), True),
        (False, False, CommitDeposed(), True),
    ],
)
def test_what_comes_late_of_tablets_alone_is_none_of_the_clusters(
    deposed: bool, joint: bool, action: Any, judged: bool
) -> None:
    """What the cluster promises is held against every other step."""
    model: Any = build("tablets", GIVEN)
    command = TabletCommand(joint=joint) if deposed else None
    state = model.start().but(deposed=command)
    assert model.is_judged(state, action) == judged


@pytest.mark.parametrize("done", [0, 1])
@pytest.mark.parametrize("failed", [False, True])
def test_a_new_coordinator_knows_of_no_work(done: int, failed: bool) -> None:
    """Of two transitions one has gone on, or none, or both: all are as they were stored."""
    stored = TabletTransition("migration", "streaming", replicas_in("A"), replicas_in("B"), 1)
    known = stored.but(done=done, failed=failed, full=failed)
    row = TabletRow(replicas_in("A"), (), replicas_in("A"), replicas_in("A"))
    for ways in ((), (known,), (known, stored), (stored, known), (known, known)):
        as_stored = (stored,) * len(ways)
        assert row.but(transitions=ways).forgotten() == row.but(transitions=as_stored)


@pytest.mark.parametrize(
    ("asks", "given_up", "left"),
    [("leave", 0b10, 0b10), ("leave", 0b00, 0b00), ("leave", 0b11, 0b10), ("", 0b10, 0b00)],
)
def test_a_drain_that_has_failed_is_one_of_who_still_asks_to_leave(
    asks: str, given_up: int, left: int
) -> None:
    """B asks to leave, or no more."""
    model: Any = build("tablets", GIVEN)
    state = model.start()
    a, b = state.control.topology.nodes
    topology = replace(state.control.topology, nodes=(a, replace(b, request=asks)))
    state = state.but(control=state.control.but(topology=topology), given_up=given_up)
    assert model.settled(state, state).given_up == left


@pytest.mark.parametrize(("nodes", "more", "mask"), [(1, (), 0b1), (3, ("bootstrap D",), 0b1111)])
def test_everybody_is_who_is_or_will_be_a_member(
    nodes: int, more: tuple[str, ...], mask: int
) -> None:
    """A mask of all names."""
    given = {"nodes": nodes, "tablets": ("A",), "operations": more}
    model: Any = build("tablets", given)
    assert model.everybody == mask


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_late_command_makes_what_is_decided_now_stale(edition: Edition) -> None:
    """Both decided the same stage: once the first is committed, late, group 0 is another one."""
    timeline = played(
        {"edition": edition, "nodes": 3, "changes": 1},
        *("imbalance", "migrate 0 A:0 B:0", "commit", "barrier", "decide", "elect B"),
        *("decide", "commit", "barrier", "decide"),
    )
    assert not timeline.state.command.stale
    before = timeline.state.control.state_id
    reached(timeline, "commit deposed")
    assert timeline.state.control.state_id == before
    assert timeline.state.command.stale


@pytest.mark.parametrize("edition", EDITIONS)
def test_with_the_guard_a_late_command_counts_until_its_successor_commits(edition: Edition) -> None:
    """Before that group 0 is as it was decided on: the stage is entered; afterwards it is void."""
    given = {**GIVEN, "edition": edition, "nodes": 3, "changes": 1}
    for verb, stage in (
        ("commit deposed", "write_both_read_old"),
        ("commit", "allow_write_both_read_old"),
    ):
        timeline = Timeline(build("tablets", given))
        for each in ("imbalance", "migrate 0 A:0 B:0", "commit", "barrier", "decide", "elect B"):
            reached(timeline, each)
        assert timeline.state.deposed is not None
        reached(timeline, verb)
        assert timeline.state.deposed is None
        [way] = timeline.state.tablets[0].transitions
        assert way.stage == stage


STREAMS = TabletTransition("migration", "streaming", replicas_in("A"), replicas_in("B"), 1)
A_ROW = TabletRow(replicas_in("A"), (STREAMS,), replicas_in("A"), replicas_in("A"))


@pytest.mark.parametrize(
    ("row", "more", "stale"),
    [
        (A_ROW, 0, False),
        (A_ROW.way(0, STREAMS.but(done=1)), 0, False),
        (A_ROW.way(0, STREAMS.but(failed=True)), 0, False),
        (A_ROW.but(some=replicas_in("A B")), 0, False),
        (A_ROW.way(0, STREAMS.but(stage="write_both_read_new")), 0, True),
        (A_ROW.way(0, None), 0, True),
        (A_ROW.but(replicas=replicas_in("B")), 0, True),
        (A_ROW, 1, True),
    ],
)
@pytest.mark.parametrize("off", [(), ("S-59",)])
def test_a_decision_is_stale_once_group_0_has_changed(
    row: TabletRow, more: int, stale: bool, off: tuple[str, ...]
) -> None:
    """Not by work that only the coordinator knows of, or by data; what is late is refused then."""
    model: Any = build("tablets", GIVEN, off=off)
    start = model.start()
    before = start.but(tablets=(A_ROW,), command=TabletCommand(), deposed=TabletCommand())
    control = before.control.but(state_id=before.control.state_id + more)
    s = model.settled(before, before.but(tablets=(row,), control=control))
    assert s.command == TabletCommand(stale=stale)
    assert s.deposed == (None if stale and not off else TabletCommand(stale=stale))


@pytest.mark.parametrize(
    ("between", "tablets", "marker"),
    [((), True, False), (("decide",), False, True)],
)
def test_only_what_was_decided_last_is_committed_late(
    between: tuple[str, ...], tablets: bool, marker: bool
) -> None:
    """A stage was decided, then nothing, or that a new coordinator begins; both are deposed."""
    timeline = played(
        {"nodes": 3, "changes": 2},
        *("imbalance", "migrate 0 A:0 B:0", "commit", "barrier", "decide", "elect B"),
        *(*between, "elect C"),
    )
    assert (timeline.state.deposed is not None) == tablets
    assert (timeline.state.control.deposed is not None) == marker
