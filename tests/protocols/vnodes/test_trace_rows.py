"""A run of this family as tables of data: versions, groups and requests, as its facts say them."""

from __future__ import annotations

from typing import Any

from kit.model.scenario import file_named, open_file
from kit.protocols.storage import facts
from kit.spark.traces import as_tables


def test_a_run_is_told_by_its_own_facts() -> None:
    """Each row says what the facts say of that step; a version has one row of its groups."""
    timeline = open_file(file_named("vnodes/late-stream-turned-away"))
    timeline.goto(timeline.tip)
    model: Any = timeline.model
    tables = as_tables(timeline, "one")
    states = [timeline.moments[moment].state for moment in timeline.path()]
    events = tables["events"].to_pylist()
    assert [row["epoch"] for row in events] == [facts.epoch(model, s) for s in states]
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
