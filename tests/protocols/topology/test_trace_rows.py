"""Runs of the topology as data: each table says what the model's own facts say of its states."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from kit.model.timeline import Timeline
from kit.protocols.topology import topology as act
from kit.protocols.topology.control import view_of
from kit.protocols.topology.rules.work import under_way
from kit.spark.traces import PlainTraces, Tables, Traces, as_tables, drawn, store

FAULTY = {"operations": ("join D", "leave C"), "failures": 1, "changes": 1, "crashes": 1}


def run_of(seed: int) -> Timeline:
    """A drawn run with faults."""
    return drawn(seed, model="topology", most=120, **FAULTY)


def rows(tables: Tables, name: str) -> list[dict[str, Any]]:
    """The rows of a table."""
    return tables[name].to_pylist()


@pytest.mark.parametrize("seed", range(3))
def test_a_run_is_told_by_its_own_facts(seed: int) -> None:
    """Versions, operations, the static cells, commands: step by step as the states have them."""
    timeline = run_of(seed)
    tables, model = as_tables(timeline, "one"), timeline.model
    states: list[Any] = [timeline.moments[moment].state for moment in timeline.path()]
    assert [(r["epoch"], r["step"]) for r in rows(tables, "events")] == [
        (s.topology.version, step) for step, s in enumerate(states)
    ]
    assert {(r["step"], r["node"], r["applied"], r["newest"]) for r in rows(tables, "epochs")} == {
        (step, model.names[i], view_of(s, i).version, s.topology.version)
        for step, s in enumerate(states)
        for i in range(len(model.names))
        if s.topology.members >> i & 1 and s.topology.nodes[i].state
    }
    assert [(r["step"], r["state"]) for r in rows(tables, "operations")] == [
        (step, under.state)
        for step, s in enumerate(states)
        if (under := under_way(s.topology)) is not None
    ]
    assert [
        (r["transition_state"], r["fence_version"], r["state_id"])
        for r in rows(tables, "transitions")
    ] == [(s.topology.transition or None, s.topology.fence_version, s.state_id) for s in states]


def test_commands_without_effect_are_told_as_such() -> None:
    """A command has a state id where it took effect, and a row where it did not."""
    told = [run_of(seed) for seed in range(8)]
    no_ops = 0
    for timeline in told:
        moments = [timeline.moments[at] for at in timeline.path()]
        commits = {
            step: now.state.state_id if now.state.state_id != before.state.state_id else None
            for step, (before, now) in enumerate(pairwise(moments), start=1)
            if isinstance(now.action, act.CommitDecision | act.CommitDeposed | act.MakeRequest)
        }
        commands = rows(as_tables(timeline), "commands")
        assert {r["step"]: r["state_id"] for r in commands} == commits
        no_ops += None in commits.values()
    assert no_ops


@pytest.mark.spec("H-018", "H-020")
def test_spark_adds_up_what_one_process_does(spark: Any, tmp_path: Path) -> None:
    """Lag, and how many steps an operation stays in each state, are the same on both engines."""
    runs = [as_tables(run_of(seed), f"seed-{seed}") for seed in range(3)]
    ours, theirs = Traces(spark, store(tmp_path / "runs", *runs)), PlainTraces(*runs)
    for report in ("lag", "time_in_steps"):
        mine, other = getattr(ours, report)(), getattr(theirs, report)()
        pd.testing.assert_frame_equal(mine, other, check_exact=True)
        assert len(mine)
    for name in ("transitions", "request_queue", "global_barriers", "commands"):
        assert ours.table(name).count() == len(theirs.table(name)) > 0
