"""Runs of group 0 as data: each table says what the model's own facts say of its states."""

from __future__ import annotations

from typing import Any

from kit.model.scenario import file_named, open_file
from kit.model.timeline import Timeline
from kit.protocols.group0 import facts
from kit.spark.rows import timeline as timeline_of
from kit.spark.sweeping import sweep
from kit.spark.traces import as_tables, drawn


def race() -> Timeline:
    """Two nodes create one table; one command has no effect."""
    return open_file(file_named("group0/race"))


def test_a_run_is_told_by_its_own_facts() -> None:
    """Who has stored, committed and applied how much; what clients were told."""
    timeline = race()
    model: Any = timeline.model
    tables = {name: table.to_pylist() for name, table in as_tables(timeline, "one").items()}
    states = [timeline.moments[moment].state for moment in timeline.path()]
    assert [row["epoch"] for row in tables["events"]] == [len(s.log) for s in states]
    assert [
        (r["step"], r["node"], r["stored"], r["committed"], r["applied"], r["votes"])
        for r in tables["members"]
    ] == [
        (step, row.name, row.stored, row.commit, row.applied, row.votes)
        for step, s in enumerate(states)
        for row in facts.nodes(model, s)
    ]
    assert [r["applied"] for r in tables["members"]] == [r["applied"] for r in tables["epochs"]]
    last = [row["answer"] for row in tables["answers"]][-2:]
    assert sorted(last) == ["error", "success"]


def test_a_command_without_effect_has_no_state_id() -> None:
    """In the race both commands are rows, and one of them made a state."""
    commands = as_tables(race())["commands"].to_pylist()
    assert [row["creator"] for row in commands] in (["A", "B"], ["B", "A"])
    assert [row["state_id"] is None for row in commands] == [False, True]
    assert {row["description"] for row in commands} == {"create table ks.t"}


def test_a_drawn_run_and_a_row_of_a_sweep_lead_to_tables() -> None:
    """From a seed, and from a row to its run: the same tables either way."""
    assert as_tables(drawn(2, model="group0", most=60))["events"].num_rows > 10
    (row,) = sweep(None, "group0", range(1), steps=60).to_pylist()
    run = timeline_of(row)
    tables = as_tables(run)
    assert tables["events"].num_rows == row["steps"] + 1
    assert tables["commands"].num_rows == len(run.state.log) - len(run.moments[0].state.log)
