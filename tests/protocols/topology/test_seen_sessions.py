"""What a student sees of sessions: the guards that nodes hold, the column, who waits for them."""

from __future__ import annotations

import pytest

from kit.engine.timeline import Timeline
from kit.protocols.topology import actions as act
from tests.protocols.topology.test_seen import in_state, press, seen, starting, until


@pytest.mark.spec("F-006", "F-007")
def test_guards_are_counted_per_session_and_node() -> None:
    """Who streams holds one of the open session. A late part gets one while that is open, and
    keeps the barrier waiting behind it; with the session closed it gets none.
    """
    timeline = until(starting("join D", late=1), lambda s: s.attempted.streaming)
    session = timeline.state.topology.session
    assert _sessions(timeline) == {"D": f"{session} open, 1 guard"}
    press(press(timeline, "leave behind"), "late D")
    assert _sessions(timeline) == {"D": f"{session} open, 2 guards"}
    until(timeline, in_state("write_both_read_new"))
    press(timeline, "apply D")
    assert _sessions(timeline) == {"D": f"{session} closed, 1 guard"}
    refusal = timeline.model.refusal(timeline.state, act.AnswerBarrier("D"))
    assert refusal is not None
    assert refusal.reason == "work of a session that is closed still runs here"
    late = until(starting("join D", late=1), lambda s: s.attempted.streaming)
    press(late, "leave behind")
    until(late, in_state("write_both_read_new"))
    press(press(late, "apply D"), "late D")
    assert _sessions(late) == {}


def _sessions(timeline: Timeline) -> dict[str, str]:
    """What stands of sessions with guards in the barrier's lines, by node."""
    lines = [line.strip() for line in seen(timeline)["Barrier by node"] if "guard" in line]
    return {line[0]: line.partition(", ")[2].partition(";")[0] for line in lines}


@pytest.mark.spec("F-007")
def test_a_barrier_empties_the_list_of_sessions() -> None:
    """Once the state is left, each node still has the session until it answers the barrier."""
    timeline = until(starting("join D", edition="code"), in_state("write_both_read_new"))
    open_at = [line for line in seen(timeline)["Barrier by node"] if "open" in line]
    assert len(open_at) == 3
    until(timeline, lambda s: s.topology.transition != "write_both_read_new")
    assert not any("open" in line for line in seen(timeline)["Barrier by node"])


@pytest.mark.spec("F-004")
def test_vnode_operations_have_one_session_for_all() -> None:
    """It is a static column: one value, whatever the node."""
    timeline = until(starting("join D", edition="code"), lambda s: s.attempted.streaming)
    sessions = [x for x in seen(timeline)["system.topology"] if "session" in x]
    assert len(sessions) == 1
    assert sessions[0].strip(" *").startswith("static.session = ")
