"""What a student sees of a range under the coordinator, and a run of it as tables of data."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.flows import as_timeuuid, flows
from kit.model.scenario import file_named, open_file
from kit.protocols.storage import facts
from kit.protocols.storage.panels.groups import STATUS
from kit.protocols.storage.storage import Fetch, Land, LandLate, Serve
from kit.spark.traces import as_tables
from kit.views.panel import scene_of
from tests.protocols.vnodes.test_side_by_side import after, opened
from tests.views.frames import part


@pytest.mark.spec("D-044")
def test_a_replica_that_fences_a_request_off_names_its_own_and_the_requests_version() -> None:
    """It answers with a refusal, also to a repeated request that it has stored."""
    timeline = opened("fence-refuses")
    made, before = after(timeline, Serve)
    assert made.say == (
        "B, at version 11, does not admit a request planned at version 10: it answers with an "
        "error."
    )
    kinds = [flow.kind for flow in flows(timeline.model, before.state, made.action, made.state)]
    assert kinds == ["request", "refusal"]
    again, _ = after(opened("fence-asked-again"), Serve)
    assert again.say.startswith("B, at version 11, has stored write 1, but now does not admit")


@pytest.mark.spec("D-024", "D-025", "D-045")
def test_a_step_that_waits_for_the_barrier_names_the_nodes_that_lag() -> None:
    """Streaming and the step out of write_both_read_old wait for version 11."""
    timeline = opened("rollback-keeps-writes")
    moment = next(m for m in timeline.moments if m.say.startswith("Version 11"))
    waits = {
        timeline.model.verb(action): refusal
        for action, refusal in timeline.model.waiting(moment.state)
    }
    for verb in ("copy D to X", "commit write_both_read_new"):
        assert waits[verb].reason.endswith("must have applied version 11 (so far: 0)"), verb
        assert waits[verb].missing == ("B", "C", "D", "X"), verb


@pytest.mark.spec("F-001", "F-005")
def test_every_copy_names_its_session_and_the_badge_the_open_one() -> None:
    """The badge identifies the open session by its UUID."""
    timeline = opened("late-stream-turned-away")
    permits, tags, opens = [], [], set[int]()
    for moment in timeline.moments:
        if isinstance(moment.action, Fetch | Land | LandLate):
            before = timeline.moments[moment.parent].state
            [flow] = flows(timeline.model, before, moment.action, moment.state)
            permits.append(flow.text.rpartition(", ")[2])
            tags.append(flow.label.rpartition(", ")[2])
            badge = part(STATUS.draw(scene_of(timeline, moment.id)), "badge:session")
            opens |= {n for n in (1, 2) if badge and badge.get("title") == as_timeuuid(n)}
    assert permits == [f"frozen_topology_guard of session {number}" for number in (1, 2, 2, 1)]
    assert tags == [f"session {number}" for number in (1, 2, 2, 1)]
    assert opens == {1, 2}


def test_the_rows_of_a_vnodes_run_agree_with_its_facts() -> None:
    """Each version has one row of its read and write groups."""
    timeline = open_file(file_named("vnodes/late-stream-turned-away"))
    timeline.goto(timeline.tip)
    model: Any = timeline.model
    tables = as_tables(timeline, "one")
    states = [timeline.moments[moment].state for moment in timeline.path()]
    events = tables["events"].to_pylist()
    assert [row["epoch"] for row in events] == [model.newest_epoch(s) for s in states]
    assert "late copy of session 1, B to C" in [row["verb"] for row in events]
    assert [
        (row["step"], row["request"], row["phase"], row["result"])
        for row in tables["requests"].to_pylist()
    ] == [
        (step, 1 + row.number, row.phase, row.result)
        for step, s in enumerate(states)
        for row in facts.requests(model, s)
    ]
    placements = [
        (row["epoch"], row["left"], row["right"], row["reads"], row["writes"])
        for row in tables["placements"].to_pylist()
    ]
    assert [row[0] for row in placements] == [10, 11, 12, 13, 14]
    assert placements[1][1:] == (100, 200, ["B"], ["B", "C"])
    assert {row["node"] for row in tables["epochs"].to_pylist()} == {"B", "C"}
