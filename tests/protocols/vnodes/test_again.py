"""A second operation after the first: what is left of the first is shut out, or cleaned up."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.flows import as_timeuuid, flows
from kit.model.model import always
from kit.model.registry import build
from kit.model.scenario import file_named, open_file
from kit.model.timeline import Timeline
from kit.protocols.storage.rules.conditions import AllKnow, NothingBelow
from kit.protocols.storage.storage import Cleanup, Commit, LandLate
from kit.protocols.topology.rules.machines import EDITIONS
from kit.protocols.vnodes.rules import moved, moved_again
from kit.search.check import check
from kit.views.frame import frame_text
from kit.views.panel import scene_of
from kit.views.registry import for_model
from tests.protocols.vnodes.runs import ONE, OPERATIONS


def opened(name: str) -> Timeline:
    """A scenario of this family, at its end."""
    timeline = open_file(file_named(f"vnodes/{name}"))
    timeline.goto(timeline.tip)
    return timeline


def seen(timeline: Timeline, moment: int) -> str:
    """All panels of a moment as text."""
    scene = scene_of(timeline, moment)
    return frame_text(scene, for_model(timeline.model).panels)


def after(timeline: Timeline, action: type) -> tuple[Any, Any]:
    """The moment after the first action of a type, and the moment before it."""
    made = next(m for m in timeline.moments if isinstance(m.action, action))
    return made, timeline.moments[made.parent]


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_second_operation_begins_where_the_first_ends(operation: str, edition: str) -> None:
    """Who joined leaves; who was to leave, and stayed, is to leave again; the rest has no more."""
    given = {"nodes": 4, "rf": 3, "operation": operation, "edition": edition}
    alone = build("vnodes", given).history
    both = build("vnodes", {**given, "leaves": True}).history
    subject = moved(operation, 4, 3).subject
    ends = {epoch.title for epoch in alone.epochs if not epoch.edges}
    begins = {
        epoch.title: edge.title
        for epoch in both.epochs
        for edge in epoch.edges
        if epoch.title in ends
    }
    joins = operation in ("bootstrap", "replace")
    first = f"{subject} is normal" if joins else "rollback_to_normal"
    verb, _ = moved_again(operation, 4, 3)
    assert begins == {
        f"{first} ({moved(operation, 4, 3).title})": f"write_both_read_old ({verb} {subject})"
    }


@pytest.mark.spec("F-002", "F-003")
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_session_is_open_while_something_streams(operation: str) -> None:
    """In write_both_read_old alone, and each time it is a new one; the badge names it."""
    history = build("vnodes", {"operation": operation, "leaves": True}).history
    for epoch in history.epochs:
        streams = epoch.title.startswith("write_both_read_old")
        assert bool(epoch.session) == bool(epoch.copies) == streams
    assert {epoch.session for epoch in history.epochs} == {0, 1, 2}
    timeline = opened("late-stream-turned-away")
    said = [seen(timeline, moment.id) for moment in timeline.moments if is_commit(moment)]
    for session, when in (1, [True, False, False, False]), (2, [False, False, True, False]):
        is_open = f"session {session} ({as_timeuuid(session)}) is open"
        assert [is_open in text for text in said] == when
    assert ["no session is open" in text for text in said] == [False, True, False, True]


def is_commit(moment: Any) -> bool:
    """Whether a moment comes of a commit."""
    return isinstance(moment.action, Commit)


@pytest.mark.spec("F-008")
def test_a_late_stream_is_turned_away() -> None:
    """It shows the permit of a session that its target has closed, so it is refused, and is over.

    The arrow is that of a refusal; the card of either end names the copy and its permit before.
    """
    timeline = opened("late-stream-turned-away")
    made, before = after(timeline, LandLate)
    (flow,) = flows(timeline.model, before.state, made.action, made.state)
    assert (flow.kind, flow.label) == ("refusal", "write 1, session 1")
    assert made.state.cells == before.state.cells
    assert (len(before.state.late_copies), made.state.late_copies) == (1, ())
    assert "copy to C: left behind, carrying write 1, permit of session 1" in seen(
        timeline, before.id
    )
    assert "turns away write 1 from B, session 1" in seen(timeline, made.id)
    assert all(verdict.ok for verdict in timeline.verdicts())


def test_any_copy_of_several_may_come_late() -> None:
    """Two copies were under way as the step failed: either one may be the late one. The tab of
    versions lists both; once one has come, the other does not.
    """
    given = {"nodes": 4, "rf": 2, "operation": "decommission", "leaves": True, "late": 1}
    model: Any = build("vnodes", {**given, "requests": ("K1 write QUORUM", "K1 read QUORUM")})
    found = check(model, (always("one", "At most one", _two_left),)).violation
    assert found is not None
    timeline = Timeline.along(model, found.actions)
    late = [action for action in model.actions(timeline.state) if isinstance(action, LandLate)]
    assert len(late) == 2
    listed = [x for x in seen(timeline, timeline.tip).splitlines() if "may still arrive" in x]
    assert len(listed) == 2
    timeline.do(late[1])
    assert (timeline.state.late_copies, timeline.state.late_left) == ((), 0)


def _two_left(s: Any) -> str | None:
    return "two" if len(s.late_copies) > 1 else None


def test_without_sessions_the_same_stream_brings_a_deleted_key_back() -> None:
    """Every step is the same; the target takes what comes."""
    timeline = opened("off-sessions")
    made, before = after(timeline, LandLate)
    (flow,) = flows(timeline.model, before.state, made.action, made.state)
    assert (flow.kind, flow.label) == ("data", "write 1, session 1")
    assert made.state.cells != before.state.cells
    say = timeline.moments[timeline.tip].say
    assert "K3, at version 14, has answers from C and returns write 1." in say
    assert [verdict.name for verdict in timeline.verdicts() if not verdict.ok] == [
        "no-resurrection"
    ]


def test_a_late_stream_is_let_in_before_its_target_has_heard() -> None:
    """Until C applies the rollback its session is open there; what it brings is cleaned up."""
    timeline = opened("late-stream-turned-away")
    made = next(m for m in timeline.moments if "rollback_to_normal" in m.say)
    timeline.goto(made.id)
    timeline.do(LandLate("B", "C", 1))
    assert "C takes it" in timeline.moments[timeline.at].say
    assert timeline.state.cells[1]


@pytest.mark.spec("F-018")
def test_deleted_data_returns_with_its_range() -> None:
    """B keeps its file when it loses the range, its card says so; it gets the range back after the
    tombstone is gone, and a read finds the deleted key.
    """
    timeline = opened("off-cleanup-first")
    lost = next(m for m in timeline.moments if m.say.startswith("Version 13: X is normal"))
    card = next(line for line in seen(timeline, lost.id).splitlines() if line.startswith("  B:"))
    assert "holds write 1" in card
    assert "data not owned" in card
    end = timeline.moments[timeline.tip]
    assert end.say == "K3, at version 15, has answers from B and returns write 1."
    assert "still finds what delete 2 deleted" in seen(timeline, end.id)


def test_a_range_comes_back_to_a_clean_node_only() -> None:
    """With cleanup first the next operation waits for it, and says for whom."""
    timeline = opened("cleanup-before-the-range-returns")
    cleaned, before = after(timeline, Cleanup)
    refusal = timeline.model.refusal(before.state, Commit("commit write_both_read_old"))
    assert refusal is not None
    assert (refusal.reason, refusal.missing) == ("B might hold data not owned", ("B",))
    assert timeline.model.refusal(cleaned.state, Commit("commit write_both_read_old")) is None


def test_a_cleanup_waits_for_older_requests() -> None:
    """It begins with the global barrier of the version, whatever the operation left behind."""
    for epoch in build("vnodes", {**ONE, "leaves": True}).history.epochs:
        live = AllKnow(0b11 & ~epoch.dead)
        assert epoch.cleans_after == (live, NothingBelow())
