"""A second operation after the first: what is left of the first is shut out, or cleaned up."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.flows import as_timeuuid, flows
from kit.model.registry import build
from kit.model.scenario import file_named, open_file
from kit.model.timeline import Timeline
from kit.protocols.storage.storage import Commit, LandLate
from kit.views.frame import frame_text
from kit.views.panel import scene_of
from kit.views.registry import for_model
from tests.protocols.vnodes.runs import OPERATIONS


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
