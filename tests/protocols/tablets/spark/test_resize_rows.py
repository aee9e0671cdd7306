"""Runs of a resize as data: sizes and decisions by the model's own facts, added up by Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from kit.model.timeline import Timeline
from kit.protocols.tablets.facts.resize import line
from kit.protocols.tablets.rules.resize import TARGET_SIZE
from kit.protocols.tablets.spark.resize_rows import size_spread
from kit.spark.traces import PlainTraces, Traces, as_tables, drawn, schema, store


def run_of(seed: int) -> Timeline:
    """A table that grows and shrinks by chance."""
    return drawn(seed, model="resize", most=120, tablets=("A B", "B C"), grows=2, shrinks=1)


def test_a_run_is_told_by_its_own_facts() -> None:
    """Each replica of each tablet has its part of a copy; decisions are those of the line."""
    timeline = run_of(3)
    model: Any = timeline.model
    states = [timeline.moments[moment].state for moment in timeline.path()]
    tables = {name: found.to_pylist() for name, found in as_tables(timeline).items()}
    assert len({s.map.count for s in states}) > 1
    assert {(r["step"], r["tablet"], r["node"], r["bytes"]) for r in tables["tablet_sizes"]} == {
        (step, number, replica.host, TARGET_SIZE * s.size // 100 // s.map.count)
        for step, s in enumerate(states)
        for number, tablet in enumerate(s.map.tablets)
        for replica in tablet.replicas
    }
    decided = [(r["asks"], r["decided"], r["waits"]) for r in tables["resize_decisions"]]
    said = [line(model, s) for s in states]
    assert decided == [(now.asks, now.decided, now.waits) for now in said]
    assert {"split", "none"} <= {now.decided for now in said}
    assert [r["epoch"] for r in tables["events"]] == [now.number for now in said]


@pytest.mark.spec("H-018", "H-020")
def test_spark_adds_up_the_sizes_of_many_runs(spark: Any, tmp_path: Path) -> None:
    """Written, read under the fixed schema and added up: the same on both engines."""
    runs = [as_tables(run_of(seed), f"seed-{seed}") for seed in range(6)]
    ours, theirs = Traces(spark, store(tmp_path / "runs", *runs)), PlainTraces(*runs)
    mine, other = size_spread(ours), size_spread(theirs)
    pd.testing.assert_frame_equal(mine, other, check_exact=True)
    assert len(mine) > 1
    of_one = [row["bytes"] for run in runs for row in run["tablet_sizes"].to_pylist()]
    assert (mine["least"].min(), mine["most"].max()) == (min(of_one), max(of_one))
    for name in ("tablet_sizes", "resize_decisions"):
        frame = ours.table(name)
        assert frame.columns == [column.name for column in schema(name).columns]
        assert frame.count() == len(theirs.table(name)) > 0
    assert "bytes    bigint  the size of the replica" in str(schema("tablet_sizes"))
