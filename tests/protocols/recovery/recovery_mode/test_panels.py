"""What a student sees of the old procedure: modes, tables, checklist with harms, logs, lamps."""

from __future__ import annotations

import pytest

from kit.model.flows import flows
from kit.model.registry import entries
from kit.model.scenario import files, open_file
from kit.model.timeline import Timeline
from kit.protocols.recovery import facts
from tests.fixtures import rows
from tests.protocols.recovery.recovery_mode.runs import (
    ENTER,
    FOUR,
    LEAVE,
    REMOVE,
    RESTART_A,
    TRUNCATE,
    UPGRADE,
    after,
    model_of,
)
from tests.views.frames import check_frame, panel_text, scenes, walk

SCENARIOS = [f"recovery_mode/{one.name}" for one in entries()["recovery_mode"].scenarios]


@pytest.mark.parametrize(
    ("verbs", "modes"),
    [
        ((), ["group 0", "group 0", "dead", "dead"]),
        (ENTER, ["RECOVERY mode", "RECOVERY mode", "dead", "dead"]),
    ],
)
def test_a_node_has_the_mode_that_it_runs_by(verbs: tuple[str, ...], modes: list[str]) -> None:
    """Who is dead has none."""
    timeline = after(FOUR, *verbs)
    assert [row.mode for row in facts.rows(model_of(timeline), timeline.state)] == modes


@pytest.mark.parametrize(
    ("verbs", "progress"),
    [
        ((), []),
        (("isolate",), ["done"]),
        (("isolate", "set A"), ["done", "begun"]),
        (ENTER, ["done", "done", "done"]),
        (ENTER[1:], ["left out", "done", "done"]),
    ],
)
def test_how_far_the_documented_steps_are(verbs: tuple[str, ...], progress: list[str]) -> None:
    """What is before a step that has begun was left out, what is behind it is to do. It does harm
    to leave one out, and none to go on as documented.
    """
    timeline = after(FOUR, *verbs)
    way = timeline.passed(timeline.tip)
    listed = facts.checklist(model_of(timeline), timeline.state, way)
    left = ["to do"] * (len(listed) - len(progress))
    assert [row[1] for row in listed] == [*progress, *left]
    assert [row[1] for row in listed if row[2]] == [each for each in progress if each == "left out"]


@pytest.mark.parametrize(
    ("verbs", "progress"),
    [
        (("logs", "removenode C", "removenode D"), "done"),
        (("die B", "logs", "removenode C", "removenode D"), "begun"),
        (("die B", "logs", "removenode C", "removenode D", "removenode B"), "done"),
        (("die B", "logs", "removenode B"), "begun"),
    ],
)
def test_who_dies_meanwhile_is_removed_too(verbs: tuple[str, ...], progress: str) -> None:
    """The step has ended once all of the dead are removed; of a dead node nothing else is asked."""
    timeline = after({**FOUR, "deaths": 1}, *ENTER, *verbs)
    way = timeline.passed(timeline.tip)
    listed = facts.checklist(model_of(timeline), timeline.state, way)
    assert [row[1] for row in listed if row[0] == "remove"] == [progress]


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_step_is_drawn_whole(name: str) -> None:
    """Keys are unique and each panel has words and a label."""
    for scene in scenes(walk(name)):
        check_frame(scene)


@pytest.mark.spec("G-023")
def test_the_checklist_follows_the_documented_steps() -> None:
    """Each is to do, begun or done; nothing is wrong while they are taken in their order."""
    timeline = after(FOUR, *ENTER[:4])
    lines = panel_text(timeline, "checklist").splitlines()
    assert lines[:4] == [
        "  isolate: done",
        "  enter: done",
        "  restart: begun",
        "  check mode: to do",
    ]
    timeline = after(FOUR, *ENTER, *REMOVE, *TRUNCATE, *LEAVE, *UPGRADE)
    assert all(line.endswith(": done") for line in panel_text(timeline, "checklist").splitlines())


@pytest.mark.spec("G-023")
def test_the_harm_stands_at_the_step_that_was_left_out() -> None:
    """Found by a search: both wait for dead nodes that were not removed."""
    timeline = after(FOUR, *ENTER, "logs", "discovery A")
    [line] = [one for one in panel_text(timeline, "checklist").splitlines() if "  remove:" in one]
    assert "left out (ends" in line
    assert "the upgrade waits until every peer answers (C, D)" in line
    assert panel_text(timeline, "checklist").count("(ends") == 1


@pytest.mark.spec("G-024")
def test_the_log_of_a_node_says_recovery_mode() -> None:
    """In the server's own words and of its own components; the upgrade's are there at the end."""
    timeline = after(FOUR, *ENTER[:3], *RESTART_A)
    assert panel_text(timeline, "log").splitlines()[-3:] == [
        f"  A {component} - {text}" for _, component, text in rows("LOG", "recovery")
    ]
    assert "  B " not in panel_text(timeline, "log")
    timeline = after(FOUR, *ENTER, *REMOVE, *TRUNCATE, *LEAVE, *UPGRADE)
    assert (
        panel_text(timeline, "log").splitlines()[-1]
        == "  B raft_group0_upgrade - Raft upgrade finished"
    )


def test_the_value_of_each_node_is_shown_with_what_it_means() -> None:
    """No row is an upgrade under way; an unknown value is recovery from the next start on."""
    timeline = after({**FOUR, "mistypes": 1}, *ENTER, "unset A", "mistype B")
    a, b = panel_text(timeline, "rows").splitlines()[:2]
    assert "group0_upgrade_state no row" in a
    assert "(no row: the Raft upgrade runs, or begins at the next start)" in a
    assert "group0_upgrade_state unknown" in b
    assert "(an unknown value, which counts as recovery at the next start)" in b


@pytest.mark.spec("G-025")
def test_data_dip_while_one_more_node_restarts() -> None:
    """One of three is dead, RF 3, QUORUM: none is left while A is down; it is back with A."""
    given = {"commit_indexes": (1, 1, 1), "dead": "C", "stuck": True, "rf": 3}
    assert "✓ data at QUORUM" in panel_text(after(given, "set A"), "badges")
    timeline = after(given, "set A", "stop A")
    assert "! QUORUM in 0 of 3 ranges" in panel_text(timeline, "badges")
    assert "replicas A, B, C; up B; available at ONE" in panel_text(timeline, "ranges")
    assert "✓ data at QUORUM" in panel_text(after(given, "set A", *RESTART_A), "badges")


@pytest.mark.spec("C-046")
def test_a_change_in_recovery_mode_brings_the_hash_back() -> None:
    """A tombstone, committed_by_group0 false, source hash; a change by group 0 ends that."""
    timeline = after(FOUR, *ENTER, "pull A B")
    assert "schema version v2 of group 0, committed_by_group0 true" in row(timeline, "A")
    timeline = after(FOUR, *ENTER, "pull A B", "alter A")
    assert "schema version hash of columns 1+2+3" in row(timeline, "A")
    assert "committed_by_group0 false" in row(timeline, "A")
    assert " of group 0, committed" in row(timeline, "B")
    rest = ("logs", "pull B A", "removenode C", "removenode D", *TRUNCATE, *LEAVE, *UPGRADE)
    timeline = after(FOUR, *ENTER, "pull A B", "alter A", *rest)
    assert "schema version hash" in row(timeline, "B")
    timeline = after(FOUR, *ENTER, "pull A B", "alter A", *rest, "alter B")
    assert "schema version v4 of group 0" in row(timeline, "A")


def row(timeline: Timeline, name: str) -> str:
    """A node's line in the table."""
    [line] = [
        one for one in panel_text(timeline, "others").splitlines() if one.startswith(f"  {name}:")
    ]
    return line


def test_what_travels() -> None:
    """A pull, the snapshot of who joins, an entry; who creates a group has asked the others."""
    before = (*ENTER, *REMOVE, *TRUNCATE, *LEAVE)
    assert last(after(FOUR, *ENTER, "pull A B")) == [("n:B", "n:A", "schema")]
    asked = [("n:A", "n:B", "group?"), ("n:B", "n:A", "none")]
    assert last(after(FOUR, *before, "enter A")) == asked
    assert last(after(FOUR, *before, "enter A", "enter B")) == [("n:A", "n:B", "snapshot")]
    assert last(after(FOUR, *before, *UPGRADE, "alter B")) == [("n:B", "n:A", "column 3")]
    assert last(after(FOUR, *ENTER, "alter A")) == []


def last(timeline: Timeline) -> list[tuple[str, str, str]]:
    """What travels in the last step: from where, to where, its label."""
    moment = timeline.moments[timeline.at]
    before = timeline.moments[moment.parent].state
    found = flows(timeline.model, before, moment.action, moment.state)
    return [(flow.from_key, flow.to_key, flow.label) for flow in found]


def test_the_story_of_the_history_that_was_kept() -> None:
    """The file ends where the promise is broken, and the checklist names the step."""
    timeline = open_file(files()["recovery/history-kept"])
    while timeline.forward() is not None:
        pass
    line = panel_text(timeline, "checklist")
    assert "truncate history: left out (one-schema: A and B run in group 2" in line
