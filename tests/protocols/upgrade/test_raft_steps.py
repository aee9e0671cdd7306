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
def test_the_last_restart_fires_the_upgrade() -> None:
    """Before it no node can join group 0; after it all can, and nobody else did anything."""
    timeline = raft({}, ROLLING[:-1])
    assert not any(verb.startswith("join-group") for verb in offered(timeline))
    assert panel_text(timeline, "log").strip() == "No node has written a line yet."
    go_on(timeline, "restart C")
    moment = timeline.moments[timeline.at]
    assert moment.milestone == "the Raft upgrade starts"
    assert "the Raft upgrade starts on its own" in moment.say
    assert {"join-group A", "join-group B", "join-group C"} <= offered(timeline)


@pytest.mark.spec("G-004")
def test_the_option_can_be_turned_off_until_then() -> None:
    """Before the last restart a node without it starts; afterwards its restart button says why
    not, and with the option back it starts.
    """
    timeline = raft({"turns": 1}, [*ROLLING[:-1], "turn-off A", "restart A"])
    assert not timeline.state.nodes[0].enabled
    timeline = raft({"turns": 1, "crashes": 1}, [*ROLLING, "turn-off A", "crash A"])
    said = "A refuses to start: consistent_cluster_management must stay on"
    assert refused(timeline, "restart A") == said
    assert f"restart A is not possible now: {said}." in buttons(timeline)
    go_on(timeline, "configure A", "restart A")
    assert timeline.state.nodes[0].is_up


def test_an_older_version_does_not_know_the_option() -> None:
    """The newer one is installed first; both take effect at one restart."""
    timeline = raft({"beginning": "older version"})
    assert refused(timeline, "configure A") == "the installed version does not know the option"
    go_on(timeline, "install A", "configure A")
    assert "A · 5.1 · option off" in panel_text(timeline, "nodes")
    assert "–  version 5.2, option on" in panel_text(timeline, "phases")
    go_on(timeline, "restart A")
    assert "A · 5.2 · option on" in panel_text(timeline, "nodes")


@pytest.mark.spec("G-006")
@pytest.mark.parametrize("releases", ["5.1 to 5.2", "2022.x to 2023.1"])
def test_a_rolling_upgrade_and_a_new_cluster(releases: str) -> None:
    """Versions stand beside each node; the last upgraded node starts the procedure. A new cluster
    shows ``use_post_raft_procedures`` at once, and no line of an upgrade.
    """
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
def test_all_have_to_live_until_it_is_done() -> None:
    """C goes down before: nobody ends. C goes down afterwards: two of three still change the
    schema; when B goes, too, A cannot.
    """
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
def test_five_phases_one_after_another() -> None:
    """The bar of A fills phase by phase; each waits for all peers to be through the one before."""
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
def test_no_schema_change_in_synchronize() -> None:
    """The DDL cell of A has the error; before and after it the change is taken."""
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
def test_who_comes_back_catches_up_before_it_serves() -> None:
    """C misses a command, is *catching up* after its restart and refuses, then serves with it."""
    given = {"beginning": "new cluster", "crashes": 1, "changes": 2}
    timeline = raft(given, ["crash C", "alter A", "restart C"])
    catching = "C · 5.2 · option on, use_post_raft_procedures, group 0 id 1 · catching up"
    assert catching in panel_text(timeline, "nodes")
    assert refused(timeline, "alter C") == "C is catching up"
    go_on(timeline, "catch-up C")
    assert [flow.text for flow in last_flows(timeline)] == ["A → C: newest schema"]
    assert "group 0 id 1 · serving" in panel_text(timeline, "nodes").splitlines()[2]
    assert len({(node.schema, node.applied) for node in timeline.state.nodes}) == 1


def test_a_crash_takes_what_was_not_persisted() -> None:
    """The comparison is gone; group 0 and ``synchronize`` stay, and the upgrade goes on."""
    timeline = raft({"crashes": 2}, [*STARTED, "compare A", "crash A", "restart A"])
    assert timeline.state.nodes[0].position == 1
    go_on(timeline, "compare A", "synchronize A", "crash A", "restart A")
    assert timeline.state.nodes[0].position == 3
    to_the_end(timeline)
    assert states(timeline) == [POST] * 3


def test_a_change_made_meanwhile_is_merged_before_the_end() -> None:
    """C changes its schema while A is in ``synchronize``: A waits, pulls it, and all are equal."""
    verbs = [*STARTED, "compare A", "synchronize A", "compare B", "synchronize B", "compare C"]
    timeline = raft({"changes": 1}, [*verbs, "alter C", "synchronize C"])
    assert refused(timeline, "compare A") == "schema versions differ"
    go_on(timeline, "pull A C")
    assert [flow.text for flow in last_flows(timeline)] == ["C → A: schema"]
    to_the_end(timeline)
    assert len({node.schema for node in timeline.state.nodes}) == 1
    assert states(timeline) == [POST] * 3


def test_equal_versions_of_different_definitions() -> None:
    """Without S-52: A has a column that B lacks, and both show the version of the same command."""
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
def test_values_by_hand() -> None:
    """Each value has its diagnosis under the query; a slip is taken for ``recovery`` at the next
    restart, and until then the node runs on.
    """
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
def test_the_row_of_each_node() -> None:
    """The query shows all four values, one cell per node."""
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
def test_in_recovery_mode_a_change_brings_the_hash_back() -> None:
    """The version of A comes from group 0; after a change in RECOVERY mode it is a hash again."""
    given = {"beginning": "new cluster", "changes": 2, "edits": 1}
    timeline = raft(given, ["alter A", "update A recovery", "restart A"])
    assert panel_text(timeline, "versions").count("A  command 1  ✓  group 0  g1") == 1
    go_on(timeline, "alter A")
    said = timeline.moments[timeline.at].say
    assert "tombstone for group0_schema_version and committed_by_group0 = false" in said
    lines = panel_text(timeline, "versions").splitlines()
    assert "hash  c2, g1" in lines[2]
    assert "command 1  ✓  group 0  g1" in lines[3]
