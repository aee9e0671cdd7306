"""Runs as data: what their tables hold, what Spark adds up, and a folder that grows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from kit.errors import BadInput
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.model.trace import write
from kit.protocols.tablets.spark.sizes import TabletCluster, TabletsSize
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.spark.histories import history, sample
from kit.protocols.tcm.spark.pipelines import pipeline
from kit.protocols.tcm.spark.trace_rows import ROWS
from kit.spark.streaming import Watch
from kit.spark.streaming import watch as watch_folder
from kit.spark.traces import (
    PlainTraces,
    Tables,
    Traces,
    as_tables,
    drawn,
    drawn_on,
    read_traces,
    replayed,
    schemas,
    store,
)
from tests.saying import like
from tests.toy.slots import Slots
from tests.waiting import PATIENCE

RING = {"nodes": 5, "rf": 3}
REQUESTS = {"rf": 3, "requests": ["K1 write QUORUM", "K2 read ONE", "K2 read QUORUM"]}


@pytest.fixture(scope="module")
def runs() -> list[Tables]:
    """Four drawn runs of one join."""
    return [as_tables(drawn(seed, **RING), f"seed-{seed}") for seed in range(4)]


@pytest.fixture(scope="module")
def asked() -> list[Tables]:
    """Three drawn runs of a range that is written and read while a node joins."""
    return [
        as_tables(drawn(seed, model="dataplane", timeouts=True, **REQUESTS), f"asked-{seed}")
        for seed in range(3)
    ]


def same(ours: pd.DataFrame, theirs: pd.DataFrame) -> None:
    """Two reports are equal, to the type, and not empty."""
    pd.testing.assert_frame_equal(ours, theirs, check_exact=True)
    assert len(ours)


@pytest.mark.parametrize("most", [-1, 100_001, 10**30])
def test_a_drawn_run_has_as_many_steps_as_a_walk_at_most(most: int) -> None:
    """A model that never ends would be run for ever."""
    with pytest.raises(BadInput, match="a number from 0 to 100000"):
        drawn(1, model="failures", most=most)


@pytest.mark.spec("H-018")
def test_a_run_is_told_by_its_own_facts() -> None:
    """Each table of a run says, step by step, what the model's facts say of its states."""
    timeline = drawn(3, **RING)
    tables = as_tables(timeline, "one")
    model: Any = timeline.model
    states = [timeline.moments[moment].state for moment in timeline.path()]
    assert set(tables) == set(schemas())
    own = {"runs", "events", *(schema.name for schema in ROWS)}
    for name, table in tables.items():
        assert table.schema.equals(schemas()[name].arrow)
        assert set(table.column("run").to_pylist()) == ({"one"} if name in own else set())
    events = tables["events"].to_pylist()
    assert [row["epoch"] for row in events] == [model.newest_epoch(s) for s in states]
    assert [row["verb"] for row in events[1:]] == [step.verb for step in timeline.save().steps]
    lags = {
        (r["step"], r["node"]): r["newest"] - r["applied"] for r in tables["epochs"].to_pylist()
    }
    assert lags == {
        (step, row.node): model.newest_epoch(s) - row.epoch
        for step, s in enumerate(states)
        for row in facts.applied(model, s)
    }
    last = [row for row in tables["placements"].to_pylist() if row["epoch"] == events[-1]["epoch"]]
    assert [(r["left"], r["right"], tuple(r["reads"]), tuple(r["writes"])) for r in last] == [
        (r.left, r.right, r.reads, r.writes) for r in facts.rows(model, states[-1])
    ]


@pytest.mark.spec("H-018")
@pytest.mark.parametrize("model", [build("twophase"), Slots()], ids=["twophase", "own"])
def test_a_run_of_any_model_has_its_events(model: Any) -> None:
    """Where no family adds tables, there are the run and its steps, and nothing of epochs."""
    timeline = Timeline(model)
    assert timeline.forward()
    tables = as_tables(timeline, "one")
    assert set(tables) == set(schemas())
    assert {name for name, table in tables.items() if table.num_rows} == {"runs", "events"}
    rows = tables["events"].to_pylist()
    assert [row["say"] for row in rows] == [moment.say for moment in timeline.moments]
    assert {row["epoch"] for row in rows} == {None}
    assert PlainTraces(tables, as_tables(drawn(0, **RING), "two")).table("events")["run"].nunique()


@pytest.mark.spec("H-018")
def test_a_trace_and_its_timeline_are_the_same_data() -> None:
    """A saved trace gives the tables of the timeline it was saved from."""
    timeline = drawn(1, **RING)
    ours, theirs = as_tables(timeline), as_tables(timeline.save())
    assert all(ours[name].equals(theirs[name]) for name in schemas())


@pytest.mark.spec("H-018", "H-020")
def test_spark_adds_up_many_runs(
    spark: Any, runs: list[Tables], asked: list[Tables], tmp_path: Path
) -> None:
    """Written to Parquet and read by Spark under the fixed schema, epoch lag, time in each step,
    barrier waits and how requests end are those of the plain engine, for one run and for many.
    """
    for count, name in ((1, "one"), (4, "many")):
        some = (*runs[:count], *asked[:count])
        folder = store(tmp_path / name, *some)
        ours, theirs = Traces(spark, folder), PlainTraces(*some)
        for table, shape in schemas().items():
            kinds = [(column.name, column.type) for column in shape.columns]
            assert ours.table(table).dtypes == kinds
        same(ours.lag(), theirs.lag())
        same(ours.time_in_steps(), theirs.time_in_steps())
        same(ours.barrier_waits(), theirs.barrier_waits())
        same(ours.requests(), theirs.requests())


@pytest.mark.parametrize("name", ["tr[1]", "t{r,x}?*", "t[\\", "t:r %#"])
def test_a_folder_is_read_by_its_own_name(
    spark: Any, runs: list[Tables], tmp_path: Path, name: str
) -> None:
    """Whatever is in it: Spark takes no name for a pattern, nor another folder for this one."""
    store(tmp_path / "tr1", *runs[1:])
    folder = store(tmp_path / name, runs[0])
    same(Traces(spark, folder).lag(), PlainTraces(runs[0]).lag())
    write(drawn(0, **RING).save(), folder / "seed-0.json")
    assert replayed(spark, folder, "events").toArrow().num_rows == runs[0]["events"].num_rows
    watch = Watch(spark, folder)
    try:
        same(watch.follow(1, seconds=PATIENCE), PlainTraces(runs[0]).lag())
    finally:
        watch.stop()
    tablets = TabletCluster(spark, TabletsSize(tables=1, tablets=2))
    tablets.write(folder / "tablets")
    assert tablets.tablets.count() == 2
    cluster = sample(3, 1, dcs=1)
    job = pipeline(spark, history(cluster.ring, cluster.keyspaces))
    job.write(folder / "cluster")
    assert job.table("replicas").count() == job.fetched("replicas").num_rows > 0


def test_a_folder_that_spark_cannot_read_is_refused(
    spark: Any, runs: list[Tables], tmp_path: Path
) -> None:
    """Hadoop has no name for a place with a colon and a sign of its patterns; None reads it."""
    folder = tmp_path / "t:r" / "tr[1]"
    for writing in (
        lambda: store(folder, runs[0]),
        lambda: TabletCluster(None, TabletsSize(tables=1, tablets=2)).write(folder),
    ):
        with pytest.raises(BadInput, match=like("folder | a path that Spark can read")):
            writing()
    with pytest.raises(BadInput, match=like("folder | a path that Spark can read")):
        Watch(spark, folder)
    assert not folder.parent.exists()
    folder.parent.mkdir()
    store(tmp_path / "tr1", runs[0]).rename(folder)
    same(read_traces(None, folder).lag(), PlainTraces(runs[0]).lag())
    for reading in (Traces, Watch):
        with pytest.raises(BadInput, match=like("folder | a path that Spark can read")):
            reading(spark, folder)


@pytest.mark.spec("H-018")
def test_the_reports_count_steps(runs: list[Tables]) -> None:
    """Lag, time and waits are counts of steps that a loop over the rows counts too."""
    report = PlainTraces(runs[2])
    late: Counter[str] = Counter()
    steps: Counter[str] = Counter()
    for row in runs[2]["epochs"].to_pylist():
        steps[row["node"]] += 1
        late[row["node"]] += row["newest"] > row["applied"]
    found = {row.node: row.behind for row in report.lag().itertuples()}
    assert found == {node: late[node] / steps[node] for node in steps}
    states = Counter(row["state"] for row in runs[2]["operations"].to_pylist())
    assert {row.state: row.mean for row in report.time_in_steps().itertuples()} == states
    waits: Counter[tuple[int, int]] = Counter()
    for row in runs[2]["barriers"].to_pylist():
        waits[row["epoch"], row["right"]] += not row["met"]
    assert {(r.epoch, r.right): r.mean for r in report.barrier_waits().itertuples()} == waits


@pytest.mark.spec("H-018")
def test_a_growing_folder_updates_a_live_table(
    spark: Any, runs: list[Tables], tmp_path: Path
) -> None:
    """A stream over the folder sees each run that is added, and ends with the table of all.

    Each further run is added when the table shows the one before.
    """
    folder = store(tmp_path, runs[0])
    watch = Watch(spark, folder)
    further = list(runs[1:])
    shown: list[int] = []

    def look_and_add(table: Any) -> None:
        shown.append(int(table["runs"].max()))
        if further:
            store(folder, further.pop(0))

    try:
        same(watch.follow(1, seconds=PATIENCE), PlainTraces(runs[0]).lag())
        last = watch.follow(4, seconds=PATIENCE, show=look_and_add)
        same(last, PlainTraces(*runs).lag())
        assert shown == [1, 2, 3, 4]
        assert watch.runs == 4
    finally:
        watch.stop()


@pytest.mark.spec("H-018", "H-020")
def test_without_spark_the_same_cells_report(runs: list[Tables], tmp_path: Path) -> None:
    """None in place of a session: a folder of traces is reported on and watched all the same."""
    watch = watch_folder(None, tmp_path)
    assert watch.runs == 0
    folder = store(tmp_path, *runs)
    truth, found = PlainTraces(*runs), read_traces(None, folder)
    same(found.lag(), truth.lag())
    same(found.time_in_steps(), truth.time_in_steps())
    same(found.barrier_waits(), truth.barrier_waits())
    assert found.requests().empty
    same(watch.follow(4), truth.lag())
    watch.stop()
    with pytest.raises(BadInput, match=like("table | 'request'")):
        found.table("request")
    with pytest.raises(BadInput, match="a folder of traces"):
        read_traces(None, tmp_path / "nothing")


def test_trace_files_are_replayed_by_workers(spark: Any, tmp_path: Path) -> None:
    """Workers replay files of traces; one that does not replay is named with its reason."""
    timelines = {f"r{seed}": drawn(seed, **RING) for seed in range(2)}
    for name, timeline in timelines.items():
        write(timeline.save(), tmp_path / f"{name}.json")
    (tmp_path / "torn.json").write_text('{"format": 1, "ki', encoding="utf-8")
    rows = replayed(spark, tmp_path, "runs").toArrow().to_pylist()
    assert sorted((r["run"], r["steps"]) for r in rows if r["problem"] is None) == [
        (name, len(timeline.path()) - 1) for name, timeline in timelines.items()
    ]
    [bad] = [row for row in rows if row["problem"] is not None]
    assert bad["run"] == "torn"
    assert "a trace in JSON" in bad["problem"]


def test_workers_draw_the_same_runs(spark: Any, runs: list[Tables]) -> None:
    """A run drawn by a worker is, for its seed, the run drawn here."""
    rows = drawn_on(spark, 3, "events", **RING).toArrow().to_pylist()
    here = [row for run in runs[:3] for row in run["events"].to_pylist()]
    assert sorted(rows, key=lambda r: (r["run"], r["step"])) == here


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"name": "nope"}, "table | 'nope' | epochs"),
        ({"seeds": -1}, "seeds | -1"),
        ({"seeds": 2**63}, "seeds |"),
        ({"nodez": 5}, "parameter | 'nodez' | nodes"),
        ({"most": -1}, "most | -1"),
        ({"model": "twophase"}, "model | 'twophase' | a run of a cluster"),
    ],
)
def test_what_workers_could_not_draw_is_refused_here(
    spark: Any, given: dict[str, Any], said: str
) -> None:
    """Before a worker is asked, by the field."""
    with pytest.raises(BadInput, match=like(said)):
        drawn_on(spark, **{"seeds": 2, "name": "epochs", **given})


def test_a_folder_without_trace_files_is_refused(spark: Any, tmp_path: Path) -> None:
    """So are a folder that is not there, and a table that nobody knows."""
    for folder in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(BadInput, match=like("folder | a folder with trace files")):
            replayed(spark, folder, "events")
    with pytest.raises(BadInput, match=like("table | 'nope' | epochs")):
        replayed(spark, tmp_path, "nope")


def test_what_is_no_run_of_a_cluster_is_refused(tmp_path: Path, runs: list[Tables]) -> None:
    """A folder without traces, a run that is there already: each is named."""
    with pytest.raises(BadInput, match="a folder of traces"):
        read_traces(None, tmp_path)
    store(tmp_path, runs[0])
    with pytest.raises(BadInput, match="a file that does not exist yet"):
        store(tmp_path, runs[0])
    with pytest.raises(BadInput, match=like("table | 'request'")):
        read_traces(None, tmp_path).table("request")


def test_tables_of_no_run_are_not_stored(tmp_path: Path, runs: list[Tables]) -> None:
    """Nor is anything outside the folder, or what readers of folders would take for hidden."""
    good = runs[0]

    def named(name: str | None) -> Tables:
        return {**good, "runs": good["runs"].set_column(0, "run", pa.array([name], pa.string()))}

    for bad, said in (
        ({**good, "../x": good["runs"]}, "runs[0] | the tables of a run"),
        ({**good, "events": pa.table({"seed": [1]})}, "runs[0][events] | a table of events"),
        ({**good, "runs": good["runs"].slice(0, 0)}, "runs[0]: run | None | a string"),
        (named(None), "runs[0]: run | None | a string"),
        (named("../x"), "runs[0]: run | '../x' | the name of a file"),
        (named("_x"), "runs[0]: run | '_x' | not hidden"),
        (named("a:b"), "runs[0]: run | 'a:b' | without a colon"),
        (named("é" * 121), "runs[0]: run | the name of a file"),
        (named(""), "runs[0]: run | '' | the name of a file"),
    ):
        with pytest.raises(BadInput, match=like(said)):
            store(tmp_path / "folder", bad)
    assert not (tmp_path / "folder").exists()


def test_a_spoiled_folder_of_traces_is_named(tmp_path: Path, runs: list[Tables]) -> None:
    """A table that is missing, as where nothing is stored yet, or a file that is none."""
    watch_folder(None, tmp_path)
    with pytest.raises(BadInput, match=like("folder | a folder of traces | no runs in it")):
        read_traces(None, tmp_path)
    store(tmp_path, runs[0])
    (tmp_path / "epochs" / "other.parquet").write_text("x", encoding="utf-8")
    with pytest.raises(BadInput, match=like("table epochs | files written by store()")):
        read_traces(None, tmp_path)
    with pytest.raises(BadInput, match=like("table epochs | files written by store()")):
        watch_folder(None, tmp_path).lag()
    with pytest.raises(BadInput, match=like("runs[1][epochs] | None | a table of epochs")):
        PlainTraces(runs[0], {}).lag()
