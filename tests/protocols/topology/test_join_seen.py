"""What a student sees of the join handshake, and of what a barrier waits for."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.registry import build
from kit.model.timeline import Timeline, played_out
from kit.protocols.topology import topology as act
from kit.protocols.topology.handshake import FEATURE, REASONS
from kit.protocols.topology.join import joiner, tables
from kit.spark.traces import as_tables
from kit.views.panel import scene_at
from kit.views.spacetime import MESSAGES
from tests.protocols.topology.joins import PLACED, asked, played, refused, shown
from tests.protocols.topology.test_seen import in_state, press, seen, starting, until
from tests.views.frames import go_on


def travelled(timeline: Timeline) -> str:
    """What the arrows of the last step say."""
    return "; ".join(flow.text for flow in scene_at(timeline, timeline.at).flows())


@pytest.mark.spec("D-060")
def test_a_node_that_discovers_a_group_begins_with_the_join_query() -> None:
    """Of two new nodes A founds a group and B is in it; N's first message is the query."""
    found = Timeline(build("discovery", {"seeds": ("A", "A")}))
    played_out(found)
    assert "it founds group 0" in " ".join(moment.say for moment in found.moments)
    assert [peers.group for peers in found.state.nodes] == ["A", "A"]
    assert "N1's JOIN_NODE_QUERY" in played(PLACED[0]).now.say


@pytest.mark.spec("D-050")
@pytest.mark.parametrize("contact", ["A", "B", "C"])
def test_any_member_answers_how_to_join_and_takes_the_request(contact: str) -> None:
    """The arrows show both, and the joiner gets in."""
    given = {"nodes": "ABC".index(contact) + 1}
    timeline = played(*asked(contact), **given)
    said = [moment.say for moment in timeline.moments[1:]]
    assert "join by raft" in said[0]
    assert "sends N1's JOIN_NODE_REQUEST" in said[1]
    drawn = MESSAGES.text(scene_at(timeline, timeline.at))
    assert f"{contact} receives from N: N1's JOIN_NODE_REQUEST (start 1, cluster prod" in drawn
    assert joiner(played(**given).state).status == "normal"


@pytest.mark.spec("D-052")
@pytest.mark.parametrize(
    ("reason", "verbs", "given"),
    [
        ("unfinished", ("start-again", *asked("B", 2), "place B"), {"restarts": 1}),
        (
            "member",
            (
                *("deliver B>N placed 1", "take", "add", "respond"),
                *("deliver A>N response N1 accepted", "deliver N>A handled N1"),
                *("conclude", "learn", PLACED[2], "place B"),
            ),
            {"copies": 1},
        ),
        ("removed", (), {"removed": True, "edition": "documents"}),
    ],
    ids=["asked-before", "member", "removed"],
)
def test_the_receiver_rejects_a_host_id_that_group_0_knows(
    reason: str, verbs: tuple[str, ...], given: dict[str, Any]
) -> None:
    """One that has asked before, that is a member, or that was removed."""
    copy = ["duplicate " + PLACED[2].removeprefix("deliver ")] if "copies" in given else []
    timeline = played(*PLACED[:2], *copy, *PLACED[2:], *verbs, **given)
    assert timeline.now.say == f"B rejects the request: {REASONS[reason]}."


@pytest.mark.spec("D-062")
@pytest.mark.parametrize(
    ("features", "lacks", "given"),
    [
        ("f", "all enabled features", {}),
        ("-", "it lacks f", {"supports": False}),
        ("-", "all enabled features", {"supports": False, "enabled": False}),
        ("f", "all enabled features", {"enabled": False}),
        ("f", "all enabled features", {"nodes": 3}),
    ],
)
def test_a_member_verifies_and_stores_a_join_before_the_coordinators_verdict(
    features: str, lacks: str, given: dict[str, Any]
) -> None:
    """Cluster name, snitch and features are in the row; then the coordinator accepts or rejects."""
    contact = "C" if "nodes" in given else "B"
    asks = [verb.replace(" f -", f" {features} -") for verb in asked(contact)]
    timeline = played(*asks, f"place {contact}", edition="documents", **given)
    stored = f"cluster prod, snitch simple, {lacks}"
    assert timeline.now.say.endswith(f"and tells it to wait. It has verified and stored: {stored}.")
    row = shown(timeline, "hosts", "host:N1")
    assert row == f"N1 none – {'–' if features == '-' else features}"
    assert shown(timeline, "hosts", "asked:N1") == f"N1 1 {stored} –"
    assert refused(timeline, "respond") == "no verdict is due"
    go_on(timeline, f"deliver {contact}>N placed 1", "take")
    turned = "left" if lacks.startswith("it lacks") else "bootstrapping"
    assert shown(timeline, "hosts", "host:N1").startswith(f"N1 {turned}")


@pytest.mark.spec("D-057")
def test_a_rejected_joiner_is_left_in_its_row_before_the_response_arrives() -> None:
    """The joiner waits until the response arrives, then stops."""
    without = tuple(verb.replace(" f -", " - -") for verb in PLACED)
    timeline = played(*without, "deliver B>N placed 1", supports=False)
    assert refused(timeline, "respond") == "no verdict is due"
    go_on(timeline, "take")
    assert shown(timeline, "hosts", "host:N1").startswith("N1 left –")
    assert timeline.state.network.in_flight == ()
    assert joiner(timeline.state).status == "waiting"
    go_on(timeline, "respond", "deliver A>N response N1 features")
    assert joiner(timeline.state).status == "stopped"
    assert "A → N: JOIN_NODE_RESPONSE for N1 (rejected, feature" in travelled(timeline)
    assert REASONS["features"] in shown(timeline, "processes", "process:N")


@pytest.mark.spec("D-053", "D-054")
def test_a_response_that_overtakes_the_answer_is_held_until_the_answer() -> None:
    """The group 0 server of the joiner does not start before the answer either."""
    timeline = played(*PLACED, "take", "add", "respond", "deliver A>N response N1 accepted")
    assert "no group 0 server; a response is held" in shown(timeline, "processes", "process:N")
    go_on(timeline, "deliver B>N placed 1")
    words = shown(timeline, "processes", "process:N")
    assert "accepted" in words
    assert "group 0 server runs" in words


@pytest.mark.spec("D-053")
def test_a_response_to_an_old_attempt_is_dropped() -> None:
    """N has started again: B's answer to the second request is a refusal, and ends the wait."""
    timeline = played(
        *(*PLACED, "start-again", "deliver B>N placed 1", *asked("B", 2)),
        *("take", "add", "respond", "deliver A>N response N1 accepted"),
        edition="server",
        restarts=1,
    )
    assert "no group 0 server; a response is held" in shown(timeline, "processes", "process:N")
    assert joiner(timeline.state).parked
    go_on(timeline, "place B", "deliver B>N rejected 2 unfinished")
    words = shown(timeline, "processes", "process:N")
    assert "stopped; features f; no group 0 server; its last attempt did not finish" in words
    assert "response" not in words
    assert joiner(timeline.state).parked == ()


@pytest.mark.spec("D-056")
def test_a_joiner_is_accepted_only_after_it_is_in_group_0() -> None:
    """Before, no verdict is due."""
    timeline = played(*PLACED, "take")
    assert refused(timeline, "respond") == "no verdict is due"
    timeline = played(*PLACED, "take", "add", "respond")
    assert "bootstrapping member" in shown(timeline, "hosts", "host:N1")
    go_on(timeline, "deliver B>N placed 1", "deliver A>N response N1 accepted")
    assert "A → N: JOIN_NODE_RESPONSE for N1 (accepted)" in travelled(timeline)


@pytest.mark.spec("D-063")
def test_a_feature_is_not_enabled_during_a_join_or_without_every_nodes_support() -> None:
    """Enabled first, it turns the joiner away."""
    given = {"enabled": False, "supports": False}
    without = tuple(verb.replace(" f -", " - -") for verb in PLACED)
    timeline = played(*without, "take", **given)
    assert "a join is under way" in refused(timeline, "enable")
    timeline = played(*without, "enable", "take", **given)
    assert shown(timeline, "hosts", "host:N1").startswith("N1 left –")
    timeline = played(**given)
    assert shown(timeline, "hosts", "host:N1").startswith("N1 normal member")
    assert refused(timeline, "enable") == "N1 does not support f"
    timeline = played(enabled=False)
    go_on(timeline, "enable")
    assert tables(timeline.state).enabled == (FEATURE,)
    assert "Every normal node supports" in timeline.now.say


@pytest.mark.spec("D-059")
def test_the_panel_counts_each_call_of_the_handshake() -> None:
    """A lost response is sent again, and counted again."""
    verbs = (*PLACED, "deliver B>N placed 1", "take", "add", "respond")
    lost = "drop A>N response N1 accepted"
    timeline = played(*verbs, edition="documents", losses=1)
    assert shown(timeline, "processes", "tried").endswith("REQUEST 1, JOIN_NODE_RESPONSE 1.")
    go_on(timeline, lost, "call-fails", "respond")
    assert shown(timeline, "processes", "tried").endswith("REQUEST 1, JOIN_NODE_RESPONSE 2.")
    copied = played("duplicate N>B query N1 1", copies=1)
    assert shown(copied, "processes", "tried").startswith("Calls so far: JOIN_NODE_QUERY 1,")
    again = played("start-again", restarts=1)
    assert shown(again, "processes", "tried").startswith("Calls so far: JOIN_NODE_QUERY 2,")


def test_the_tables_of_a_join_have_the_models_facts() -> None:
    """Host ids step by step, and how often each call was made."""
    timeline = played()
    tables = as_tables(timeline, "one")
    states = [timeline.moments[moment].state for moment in timeline.path()]
    hosts = [(r["step"], r["host"], r["node_state"]) for r in tables["host_ids"].to_pylist()]
    assert hosts == [
        (at, row.host, row.state) for at, s in enumerate(states) for row in s.nodes[0].rows
    ]
    calls = tables["join_calls"].to_pylist()
    assert [r["step"] for r in calls] == list(range(len(states)))
    assert (calls[0]["queries"], calls[-1]["requests"], calls[-1]["responses"]) == (1, 1, 1)
    assert [r["epoch"] for r in tables["events"].to_pylist()] == [1] * len(states)


@pytest.mark.spec("G-037")
def test_a_removed_node_is_told_that_it_is_banned() -> None:
    """Z's old write travels to A, and Z learns that it was removed."""
    timeline = played("wake-up", "deliver Z>A write Z", zombie=True)
    [flow] = scene_at(timeline, timeline.at).flows()
    assert (flow.label, flow.text) == ("old write", "Z → A: an old write")
    assert shown(timeline, "processes", "process:A") == "A coordinator; bans Z"
    go_on(timeline, "deliver A>Z banned Z")
    assert "knows that it was removed" in shown(timeline, "processes", "process:Z")


@pytest.mark.spec("F-006", "F-007")
def test_topology_guards_are_counted_per_session_and_node() -> None:
    """A late part of a stream gets one only while its session is open, and holds the barrier."""
    timeline = until(starting("join D", late=1), lambda s: s.attempted.streaming)
    session = timeline.state.topology.session
    assert _sessions(timeline) == {"D": f"{session} open, 1 topology_guard"}
    press(press(timeline, "leave behind"), "late D")
    assert _sessions(timeline) == {"D": f"{session} open, 2 topology_guards"}
    until(timeline, in_state("write_both_read_new"))
    press(timeline, "apply D")
    assert _sessions(timeline) == {"D": f"{session} closed, 1 topology_guard"}
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
def test_a_barrier_waits_for_requests_of_the_version_before(edition: str) -> None:
    """B is counted with its request, so write_both_read_new is not left until that ends."""
    timeline = until(
        starting("join D", edition=edition, clients=1),
        lambda s: in_state("write_both_read_old")(s) and s.attempted.streaming,
    )
    until(press(timeline, "begin B"), in_state("write_both_read_new"))
    played_out(timeline)
    assert in_state("write_both_read_new")(timeline.state)
    lines = seen(timeline)["Barrier by node"]
    assert "  barrier_and_drain: 3 of 4 have answered" in lines
    waits = "a request at an older version still runs here"
    assert any("B  version 3  1 request at version 2" in line and waits in line for line in lines)
    refusals = {
        timeline.model.verb(a): str(why) for a, why in timeline.model.waiting(timeline.state)
    }
    assert "barrier comes next" in refusals["decide"]
    assert "a request at an older version still runs here" in refusals["answer B"]
    press(timeline, "serve B")
    assert "  B  version 3  –  –  … not yet" in seen(timeline)["Barrier by node"]
    until(timeline, lambda state: state.topology.nodes[3].state == "normal")


def _sessions(timeline: Timeline) -> dict[str, str]:
    """What stands of sessions with guards in the barrier's lines, by node."""
    lines = [line.strip() for line in seen(timeline)["Barrier by node"] if "guard" in line]
    return {line[0]: line.split("  ")[3] for line in lines}


@pytest.mark.spec("F-007")
def test_sessions_are_shown_only_until_their_state_is_left() -> None:
    """Three nodes have the session open in write_both_read_new, and none afterwards."""
    timeline = until(starting("join D", edition="server"), in_state("write_both_read_new"))
    open_at = [line for line in seen(timeline)["Barrier by node"] if "open" in line]
    assert len(open_at) == 3
    until(timeline, lambda s: s.topology.transition != "write_both_read_new")
    assert not any("open" in line for line in seen(timeline)["Barrier by node"])


@pytest.mark.spec("F-004")
def test_a_vnode_operation_has_a_single_session_in_a_static_column() -> None:
    """The table has a single row of it, whatever the node."""
    timeline = until(starting("join D", edition="server"), lambda s: s.attempted.streaming)
    sessions = [x for x in seen(timeline)["system.topology"] if "session" in x]
    assert len(sessions) == 1
    assert sessions[0].strip(" *").startswith("static.session = ")
