"""What a student sees of what a barrier waits for: guards of sessions, older requests."""

from __future__ import annotations

import pytest

from kit.model.timeline import Timeline
from kit.protocols.topology import topology as act
from tests.protocols.topology.test_seen import in_state, press, seen, starting, until


@pytest.mark.spec("F-006", "F-007")
def test_guards_are_counted_per_session_and_node() -> None:
    """Who streams holds one of the open session. A late part gets one while that is open, and
    keeps the barrier waiting behind it; with the session closed it gets none.
    """
    timeline = until(starting("join D", late=1), lambda s: s.attempted.streaming)
    session = timeline.state.topology.session
    assert _sessions(timeline) == {"D": f"session {session} open, 1 topology_guard"}
    press(press(timeline, "leave behind"), "late D")
    assert _sessions(timeline) == {"D": f"session {session} open, 2 topology_guards"}
    until(timeline, in_state("write_both_read_new"))
    press(timeline, "apply D")
    assert _sessions(timeline) == {"D": f"session {session} closed, 1 topology_guard"}
    refusal = timeline.model.refusal(timeline.state, act.AnswerBarrier("D"))
    assert refusal is not None
    assert refusal.reason == "work from a closed session is still running here"
    late = until(starting("join D", late=1), lambda s: s.attempted.streaming)
    press(late, "leave behind")
    until(late, in_state("write_both_read_new"))
    press(press(late, "apply D"), "late D")
    assert _sessions(late) == {}


@pytest.mark.spec("D-025")
@pytest.mark.parametrize("edition", ["documents", "server"])
def test_reads_of_the_version_before_end_first(edition: str) -> None:
    """What began by write_both_read_old on B is counted there until it ends; so long B does not
    answer, and the operation does not leave write_both_read_new.
    """
    timeline = until(
        starting("join D", edition=edition, clients=1),
        lambda s: in_state("write_both_read_old")(s) and s.attempted.streaming,
    )
    until(press(timeline, "begin B"), in_state("write_both_read_new"))
    while timeline.forward() is not None:
        pass
    assert in_state("write_both_read_new")(timeline.state)
    lines = seen(timeline)["Barrier by node"]
    assert "  barrier_and_drain: 3 of 4 have answered" in lines
    waits = "a request at an older version still runs here"
    assert f"  B: version 3, 1 request at version 2; {waits}" in lines
    refusals = {
        timeline.model.verb(a): str(why) for a, why in timeline.model.waiting(timeline.state)
    }
    assert "barrier comes next" in refusals["decide"]
    assert "a request at an older version still runs here" in refusals["answer B"]
    press(timeline, "serve B")
    assert "  B: version 3; not yet" in seen(timeline)["Barrier by node"]
    until(timeline, lambda state: state.topology.nodes[3].state == "normal")


def _sessions(timeline: Timeline) -> dict[str, str]:
    """What stands of sessions with guards in the barrier's lines, by node."""
    lines = [line.strip() for line in seen(timeline)["Barrier by node"] if "guard" in line]
    return {line[0]: line.partition(", ")[2].partition(";")[0] for line in lines}


@pytest.mark.spec("F-007")
def test_a_barrier_empties_the_list_of_sessions() -> None:
    """Once the state is left, each node still has the session until it answers the barrier."""
    timeline = until(starting("join D", edition="server"), in_state("write_both_read_new"))
    open_at = [line for line in seen(timeline)["Barrier by node"] if "open" in line]
    assert len(open_at) == 3
    until(timeline, lambda s: s.topology.transition != "write_both_read_new")
    assert not any("open" in line for line in seen(timeline)["Barrier by node"])


@pytest.mark.spec("F-004")
def test_vnode_operations_have_one_session_for_all() -> None:
    """It is a static column: one value, whatever the node."""
    timeline = until(starting("join D", edition="server"), lambda s: s.attempted.streaming)
    sessions = [x for x in seen(timeline)["system.topology"] if "session" in x]
    assert len(sessions) == 1
    assert sessions[0].strip(" *").startswith("static.session = ")
