"""What a student sees of the old procedure: modes, tables, checklist with harms, logs, lamps."""

from __future__ import annotations

import pytest

from kit.model.timeline import Timeline
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
)
from tests.views.frames import panel_text


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


@pytest.mark.spec("G-025")
def test_data_dip_while_one_more_node_restarts() -> None:
    """One of three is dead, RF 3, QUORUM: none is left while A is down; it is back with A."""
    given = {"commit_indexes": (1, 1, 1), "dead": "C", "stuck": True, "rf": 3}
    assert "✓ data at QUORUM" in panel_text(after(given, "set A"), "badges")
    timeline = after(given, "set A", "stop A")
    assert "! QUORUM in 0 of 3 ranges" in panel_text(timeline, "badges")
    assert "A, B, C  B  ✓  !  !" in panel_text(timeline, "ranges")
    assert "✓ data at QUORUM" in panel_text(after(given, "set A", *RESTART_A), "badges")


@pytest.mark.spec("C-046")
def test_a_change_in_recovery_mode_brings_the_hash_back() -> None:
    """A tombstone, committed_by_group0 false, source hash; a change by group 0 ends that."""
    timeline = after(FOUR, *ENTER, "pull A B")
    assert "v2 of group 0  true" in row(timeline, "A")
    timeline = after(FOUR, *ENTER, "pull A B", "alter A")
    assert "hash of columns 1+2+3" in row(timeline, "A")
    assert "  false" in row(timeline, "A")
    assert " of group 0  " in row(timeline, "B")
    rest = ("logs", "pull B A", "removenode C", "removenode D", *TRUNCATE, *LEAVE, *UPGRADE)
    timeline = after(FOUR, *ENTER, "pull A B", "alter A", *rest)
    assert "hash of columns" in row(timeline, "B")
    timeline = after(FOUR, *ENTER, "pull A B", "alter A", *rest, "alter B")
    assert "v4 of group 0" in row(timeline, "A")


def row(timeline: Timeline, name: str) -> str:
    """A node's line in the table."""
    [line] = [
        one for one in panel_text(timeline, "others").splitlines() if one.startswith(f"  {name}  ")
    ]
    return line
