"""What an operator does and sees on the way into Raft, step by step."""

from __future__ import annotations

from typing import Any

import pytest

from kit.protocols.upgrade.raft_upgrade import LOG
from tests.protocols.upgrade.runs import (
    FINISHED,
    ROLLING,
    STARTED,
    SWITCHING,
    buttons,
    each,
    offered,
    raft,
    refused,
    to_the_end,
)
from tests.views.frames import go_on, last_flows, panel_text

POST = "use_post_raft_procedures"


def states(timeline: Any) -> list[str]:
    """The state that each node runs in."""
    return [node.state for node in timeline.state.nodes]


@pytest.mark.spec("G-003")
def test_the_upgrade_starts_at_the_last_restart_with_the_option() -> None:
    """Before it no node may join group 0 and no log has a line; after it all may join."""
    timeline = raft({}, ROLLING[:-1])
    assert not any(verb.startswith("join-group") for verb in offered(timeline))
    assert panel_text(timeline, "log").strip() == "No node has written a line yet."
    go_on(timeline, "restart C")
    moment = timeline.moments[timeline.at]
    assert moment.milestone == "the Raft upgrade starts"
    assert "the Raft upgrade starts on its own" in moment.say
    assert {"join-group A", "join-group B", "join-group C"} <= offered(timeline)


@pytest.mark.spec("G-004")
def test_the_option_can_be_turned_off_only_before_the_upgrade_starts() -> None:
    """Afterwards a node without it refuses to start, and its restart button says why."""
    timeline = raft({"turns": 1}, [*ROLLING[:-1], "turn-off A", "restart A"])
    assert not timeline.state.nodes[0].enabled
    timeline = raft({"turns": 1, "crashes": 1}, [*ROLLING, "turn-off A", "crash A"])
    said = "A refuses to start: consistent_cluster_management must stay on"
    assert refused(timeline, "restart A") == said
    assert f"restart A is not possible now: {said}." in buttons(timeline)
    go_on(timeline, "configure A", "restart A")
    assert timeline.state.nodes[0].is_up


def test_an_older_version_does_not_know_the_option() -> None:
    """The newer version comes first; version and option take effect at one restart."""
    timeline = raft({"beginning": "older version"})
    assert refused(timeline, "configure A") == "the installed version does not know the option"
    go_on(timeline, "install A", "configure A")
    assert "A · 5.1 · option off" in panel_text(timeline, "nodes")
    assert "–  version 5.2, option on" in panel_text(timeline, "phases")
    go_on(timeline, "restart A")
    assert "A · 5.2 · option on" in panel_text(timeline, "nodes")


@pytest.mark.spec("G-006")
@pytest.mark.parametrize("releases", ["5.1 to 5.2", "2022.x to 2023.1"])
def test_the_raft_upgrade_starts_with_the_last_upgraded_node(releases: str) -> None:
    """A new cluster has the upgrade's last state at once, and no log of an upgrade."""
    rolling = each("install configure restart")
    timeline = raft({"beginning": "older version", "releases": releases}, rolling[:-1])
    older, newer = releases.split(" to ")
    text = panel_text(timeline, "nodes")
    assert (f"B · {newer} " in text, f"C · {older} " in text) == (True, True)
    go_on(timeline, rolling[-1])
    assert f"C · {newer} " in panel_text(timeline, "nodes")
    assert timeline.moments[timeline.at].milestone == "the Raft upgrade starts"
    new = raft({"beginning": "new cluster", "changes": 1})
    assert panel_text(new, "query").count(POST) == 3
    assert refused(new, "alter A") == ""
    assert not LOG.lines(new.model, new.state, ())[0]


@pytest.mark.spec("G-007")
def test_the_upgrade_needs_every_node_and_a_finished_cluster_a_majority() -> None:
    """C down before the end: no node goes on. After it, two of three nodes change the schema."""
    timeline = raft({"crashes": 1}, [*STARTED, "crash C"])
    assert not any(verb.startswith(("compare", "finish")) for verb in offered(timeline))
    assert "! no" not in panel_text(timeline, "badges")
    timeline = raft({"crashes": 2, "changes": 2}, [*FINISHED, "crash C", "alter A"])
    assert (
        "Group 0 (id 1) commits the schema change. It is applied by A, B."
        in timeline.moments[timeline.at].say
    )
    go_on(timeline, "crash B")
    assert refused(timeline, "alter A") == "A cannot reach a majority of group 0"


@pytest.mark.spec("G-009")
def test_a_node_waits_for_all_peers_before_its_next_phase() -> None:
    """The bar of A fills phase by phase, through five phases."""
    bars = {
        0: "–  –  –  –  –  ",
        1: "✓  …  –  –  –  ",
        2: "✓  ✓  …  –  –  ",
        3: "✓  ✓  ✓  …  –  ",
        4: "✓  ✓  ✓  ✓  …  ",
        5: "✓  ✓  ✓  ✓  ✓  ",
    }
    verbs = ["join-group A", "compare A", "synchronize A", "compare A", "finish A"]
    others = {1: each("join-group", "BC"), 3: each("compare synchronize", "BC")}
    timeline = raft({}, ROLLING)
    for phase, verb in enumerate(verbs):
        assert f"A  {bars[phase]}" in panel_text(timeline, "phases")
        for waited in others.get(phase, []):
            assert refused(timeline, verb)
            go_on(timeline, waited)
        go_on(timeline, verb)
    assert f"A  {bars[5]}" in panel_text(timeline, "phases")
    assert states(timeline) == [POST, "synchronize", "synchronize"]


@pytest.mark.spec("G-010")
def test_a_node_in_synchronize_refuses_a_schema_change() -> None:
    """In the server's words, in its cell and on its button; before and after, it is offered."""
    timeline = raft({"changes": 1}, STARTED)
    assert "ALTER at A  gossip spreads it" in panel_text(timeline, "changes")
    go_on(timeline, "compare A", "synchronize A")
    said = (
        "Cannot perform schema or topology changes during this time; the cluster is currently "
        "upgrading to use Raft for schema operations."
    )
    assert refused(timeline, "alter A") == said
    assert f"ALTER at A  {said}" in panel_text(timeline, "changes")
    assert {f"ALTER at A is not possible now: {said}", "ALTER at B"} <= set(buttons(timeline))
    to_the_end(timeline)
    assert "ALTER at A  group 0 commits it" in panel_text(timeline, "changes")


@pytest.mark.spec("G-018")
def test_a_restarted_node_serves_only_after_catching_up() -> None:
    """C missed a command: it refuses changes until A has sent it the newest schema."""
    given = {"beginning": "new cluster", "crashes": 1, "changes": 2}
    timeline = raft(given, ["crash C", "alter A", "restart C"])
    catching = "C · 5.2 · option on, use_post_raft_procedures, group 0 id 1 · catching up"
    assert catching in panel_text(timeline, "nodes")
    assert refused(timeline, "alter C") == "C is catching up"
    go_on(timeline, "catch-up C")
    assert [flow.text for flow in last_flows(timeline)] == ["A → C: newest schema"]
    assert "group 0 id 1 · serving" in panel_text(timeline, "nodes").splitlines()[2]
    assert len({(node.schema, node.applied) for node in timeline.state.nodes}) == 1


def test_a_crash_loses_the_comparison_and_keeps_what_was_persisted() -> None:
    """Group 0 and ``synchronize`` stay, and the upgrade ends."""
    timeline = raft({"crashes": 2}, [*STARTED, "compare A", "crash A", "restart A"])
    assert timeline.state.nodes[0].position == 1
    go_on(timeline, "compare A", "synchronize A", "crash A", "restart A")
    assert timeline.state.nodes[0].position == 3
    to_the_end(timeline)
    assert states(timeline) == [POST] * 3


def test_a_schema_change_during_the_upgrade_is_merged_before_the_end() -> None:
    """A waits in ``synchronize`` until it has pulled C's change; all schemas end up equal."""
    verbs = [*STARTED, "compare A", "synchronize A", "compare B", "synchronize B", "compare C"]
    timeline = raft({"changes": 1}, [*verbs, "alter C", "synchronize C"])
    assert refused(timeline, "compare A") == "schema versions differ"
    go_on(timeline, "pull A C")
    assert [flow.text for flow in last_flows(timeline)] == ["C → A: schema"]
    to_the_end(timeline)
    assert len({node.schema for node in timeline.state.nodes}) == 1
    assert states(timeline) == [POST] * 3


def test_without_synchronization_different_schemas_show_the_same_version() -> None:
    """S-52 off: A has a column that B lacks, and no mismatch is listed."""
    two = [f"{word} {name}" for name in "AB" for word in ("configure", "restart")]
    phases = each("join-group", "AB") + each("compare synchronize", "AB")
    ends = each("compare finish", "AB")
    given = {"nodes": 2, "changes": 2}
    verbs = ["alter A", *two, *phases, *ends]
    timeline = raft(given, verbs, "schema-synchronization")
    assert panel_text(timeline, "versions").count("  !  ") == 1
    go_on(timeline, "alter B")
    assert panel_text(timeline, "versions").splitlines()[2:] == [
        "  A  command 1  ✓  group 0  c1, g1",
        "  B  command 1  ✓  group 0  g1",
        "  schema mismatches: {}",
    ]


@pytest.mark.spec("G-002")
def test_an_unknown_value_written_by_hand_means_recovery_at_the_next_restart() -> None:
    """The node runs on before that; the query has a diagnosis of each value."""
    timeline = raft({"edits": 1})
    assert "A  (0 rows)  no row: the Raft upgrade has not finished here" in panel_text(
        timeline, "query"
    )
    timeline = raft({"edits": 1}, SWITCHING)
    assert "A  synchronize  the Raft upgrade is in progress" in panel_text(timeline, "query")
    go_on(timeline, "update A use_raft")
    assert "A  use_raft  unknown value" in panel_text(timeline, "query")
    assert states(timeline)[0] == "synchronize"
    go_on(timeline, "restart A")
    assert states(timeline)[0] == "recovery"
    assert ("does not recognize use_raft, so it starts in recovery") in timeline.moments[
        timeline.at
    ].say
    assert "RECOVERY mode. Not attempting upgrade" in panel_text(timeline, "log")


@pytest.mark.spec("G-001")
def test_the_query_shows_the_upgrade_state_of_each_node() -> None:
    """One cell per node; three of its values come up here."""
    timeline = raft({"edits": 1}, [*STARTED, "compare A", "synchronize A"])
    text = panel_text(timeline, "query")
    assert "SELECT * FROM system.scylla_local WHERE key = 'group0_upgrade_state'" in text
    assert "A  synchronize  " in text
    assert "B  use_pre_raft_procedures  " in text
    timeline = raft({"edits": 1}, [*SWITCHING, "compare A", "finish A", "update B recovery"])
    text = panel_text(timeline, "query")
    assert f"A  {POST}  " in text
    assert "B  recovery  manual recovery is in progress" in text


@pytest.mark.spec("C-046")
def test_a_schema_change_in_recovery_mode_brings_the_hash_back() -> None:
    """Before it, the schema version of A is group 0's; B's stays so."""
    given = {"beginning": "new cluster", "changes": 2, "edits": 1}
    timeline = raft(given, ["alter A", "update A recovery", "restart A"])
    assert panel_text(timeline, "versions").count("A  command 1  ✓  group 0  g1") == 1
    go_on(timeline, "alter A")
    said = timeline.moments[timeline.at].say
    assert "tombstone for group0_schema_version and committed_by_group0 = false" in said
    lines = panel_text(timeline, "versions").splitlines()
    assert "hash  c2, g1" in lines[2]
    assert "command 1  ✓  group 0  g1" in lines[3]
