"""Runs read and added up: by Spark for a folder of many, by pandas for what fits a small case."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from kit.edge.arguments import checked
from kit.edge.paths import whole_path
from kit.engine.trace import loads
from kit.errors import BadInput, KitError
from kit.spark.given import Spark
from kit.spark.rows import columns_of
from kit.spark.schemas import Schema
from kit.spark.trace_tables import BARRIERS, EPOCHS, OPERATIONS, REQUESTS, RUNS
from kit.spark.traces import Tables, as_tables, drawn, schemas, stored
from kit.spark.workers import keep_worker_quick

TASKS = 8
Batches = Iterator[pa.RecordBatch]
LAG = ["node"]
TIME = ["operation", "state"]
WAIT = ["operation", "keyspace", "epoch", "left", "right"]
ASKED = ["title", "level"]
PHASES = ("open", "done", "failed")
ENDINGS = (
    "count(*) AS runs",
    "avg(CASE WHEN done > 0 THEN 1 ELSE 0 END) AS done",
    "avg(CASE WHEN failed > 0 THEN 1 ELSE 0 END) AS failed",
    "avg(open) AS mean",
    "max(open) AS most",
)
BEHIND = "CASE WHEN newest > applied THEN 1 ELSE 0 END"


class Reports(ABC):
    """What runs say, added up over all of them."""

    engine: str

    @abstractmethod
    def table(self, name: str) -> Any:
        """One of the tables, of all runs: a Spark frame, or one of pandas without Spark."""

    @abstractmethod
    def lag(self) -> pd.DataFrame:
        """How many epochs each node is behind: runs, mean, most, and the share of steps behind."""

    @abstractmethod
    def time_in_steps(self) -> pd.DataFrame:
        """How many steps of a run an operation stays in each state: runs, mean and most."""

    @abstractmethod
    def barrier_waits(self) -> pd.DataFrame:
        """How many steps each barrier was in the way: runs, mean and most."""

    @abstractmethod
    def requests(self) -> pd.DataFrame:
        """How requests end: runs, shares done and failed, steps open in mean and at most."""


class Traces(Reports):
    """A folder of traces (see ``kit.spark.traces.store``) on a Spark session."""

    engine = "Spark"

    @checked
    def __init__(self, spark: Spark, folder: str | Path) -> None:
        """Nothing is read before it is asked for.

        Raises:
            BadInput: when the folder holds no traces.
        """
        self.spark = spark
        self.folder = _folder_of_traces(folder)

    def table(self, name: str) -> Any:
        """One of the tables as a Spark frame, of all runs, under its fixed schema.

        Raises:
            BadInput: for a name that no table has.
        """
        schema = _schema(name)
        return self.spark.read.schema(schema.ddl).parquet(str(self.folder / name))

    def lag(self) -> pd.DataFrame:
        """The report, added up by Spark."""
        return _pandas(lag_of(self.table(EPOCHS.name)), LAG)

    def time_in_steps(self) -> pd.DataFrame:
        """The report, added up by Spark."""
        per_run = self.table(OPERATIONS.name).groupBy("run", *TIME).count()
        return _pandas(_spread(per_run, TIME), TIME)

    def barrier_waits(self) -> pd.DataFrame:
        """The report, added up by Spark."""
        rows = self.table(BARRIERS.name).selectExpr("run", *WAIT, "int(NOT met) AS waiting")
        per_run = rows.groupBy("run", *WAIT).sum("waiting").toDF("run", *WAIT, "count")
        return _pandas(_spread(per_run, WAIT), WAIT)

    def requests(self) -> pd.DataFrame:
        """The report, added up by Spark."""
        rows = self.table(REQUESTS.name).groupBy("run", "request", *ASKED)
        counts = [
            f"sum(CASE WHEN phase = '{phase}' THEN 1 ELSE 0 END) AS {phase}" for phase in PHASES
        ]
        per_run = rows.agg(*_expressions(*counts))
        report = per_run.groupBy(*ASKED).agg(*_expressions(*ENDINGS))
        return _pandas(report, ASKED)


def _folder_of_traces(folder: str | Path) -> Path:
    place = whole_path(folder, "folder", "a folder of traces")
    for name in schemas():
        if not os.path.isdir(place / name):  # noqa: PTH112  # pathlib's raises when it may not look
            allowed = f"a folder of traces, as store() writes it; there is no {name} in it"
            raise BadInput("folder", str(place), allowed)
    return place


def _schema(name: str) -> Schema:
    if name not in schemas():
        raise BadInput("table", name, "one of " + ", ".join(schemas()))
    return schemas()[name]


def lag_of(epochs: Any) -> Any:
    """The lag report as a Spark frame; of a stream too."""
    return epochs.groupBy(*LAG).agg(
        *_expressions(
            "bigint(size(collect_set(run))) AS runs",
            "avg(newest - applied) AS mean",
            "max(newest - applied) AS most",
            f"avg({BEHIND}) AS behind",
        )
    )


def _spread(per_run: Any, keys: list[str]) -> Any:
    return per_run.groupBy(*keys).agg(
        *_expressions("count(*) AS runs", "avg(count) AS mean", "max(count) AS most")
    )


def _expressions(*texts: str) -> list[Any]:
    # Loaded here, so that the reports of this process work where there is no Spark.
    expr = import_module("pyspark.sql.functions").expr
    return [expr(text) for text in texts]


def _pandas(rows: Any, keys: list[str]) -> pd.DataFrame:
    return rows.toArrow().to_pandas().sort_values(keys, ignore_index=True)


class PlainTraces(Reports):
    """The same reports on the tables of some runs in this process, without Spark."""

    engine = "plain engine"

    @checked
    def __init__(self, *runs: Tables) -> None:
        """The runs, as ``kit.spark.traces.as_tables`` gives them."""
        self._runs = runs

    @classmethod
    def stored(cls, folder: str | Path) -> PlainTraces:
        """All runs of a folder of traces.

        Raises:
            BadInput: when the folder holds no traces, or a file of it cannot be read.
        """
        place = _folder_of_traces(folder)
        return cls({name: stored(place / name, schema) for name, schema in schemas().items()})

    def table(self, name: str) -> pd.DataFrame:
        """One of the tables, of all runs.

        Raises:
            BadInput: for a name that no table has; BadType: where a run has no such table.
        """
        schema, runs = _schema(name), enumerate(self._runs)
        tables = [columns_of(f"runs[{at}][{name}]", run.get(name), schema) for at, run in runs]
        return pa.concat_tables([schema.arrow.empty_table(), *tables]).to_pandas()

    def lag(self) -> pd.DataFrame:
        """The report."""
        rows = self.table(EPOCHS.name)
        rows["lag"] = rows["newest"] - rows["applied"]
        rows["late"] = (rows["lag"] > 0).astype("float64")
        return rows.groupby(LAG, as_index=False).agg(
            runs=("run", "nunique"),
            mean=("lag", "mean"),
            most=("lag", "max"),
            behind=("late", "mean"),
        )

    def time_in_steps(self) -> pd.DataFrame:
        """The report."""
        rows = self.table(OPERATIONS.name)
        return _spread_of(rows.groupby(["run", *TIME], as_index=False).size(), TIME)

    def barrier_waits(self) -> pd.DataFrame:
        """The report."""
        rows = self.table(BARRIERS.name)
        rows["size"] = (~rows["met"]).astype("int64")
        return _spread_of(rows.groupby(["run", *WAIT], as_index=False)["size"].sum(), WAIT)

    def requests(self) -> pd.DataFrame:
        """The report."""
        rows = self.table(REQUESTS.name)
        for name in PHASES:
            rows[name] = (rows["phase"] == name).astype("int64")
        per_run = rows.groupby(["run", "request", *ASKED], as_index=False)[list(PHASES)].sum()
        per_run["mean"] = per_run["most"] = per_run["open"]
        for name in ("done", "failed"):
            per_run[name] = (per_run[name] > 0).astype("float64")
        return per_run.groupby(ASKED, as_index=False).agg(
            runs=("run", "size"),
            done=("done", "mean"),
            failed=("failed", "mean"),
            mean=("mean", "mean"),
            most=("most", "max"),
        )


def read_traces(spark: Spark | None, folder: str | Path) -> Reports:
    """The reports on a folder of traces: on a session, or with None in this process.

    Raises:
        BadInput: when the folder holds no traces.
    """
    return PlainTraces.stored(folder) if spark is None else Traces(spark, folder)


def _spread_of(per_run: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    return per_run.groupby(keys, as_index=False).agg(
        runs=("size", "size"), mean=("size", "mean"), most=("size", "max")
    )


def replayed(spark: Spark, folder: str | Path, name: str) -> Any:
    """One table of every trace file (``*.json``) in a folder, replayed by Spark's workers.

    A file that does not replay has a row in the table ``runs`` only, which says why.
    """
    pattern = str(whole_path(folder, "folder", "a folder of trace files") / "*.json")
    files = spark.read.format("binaryFile").load(pattern).select("path", "content")
    return files.repartition(TASKS).mapInArrow(partial(_replay, name), schemas()[name].ddl)


def _replay(name: str, given: Iterable[pa.RecordBatch]) -> Batches:
    keep_worker_quick()
    for batch in given:
        for file in batch.to_pylist():
            run = Path(file["path"]).stem
            try:
                tables = as_tables(loads(file["content"], run), run)
            except KitError as error:
                row = {"run": run, "off": [], "steps": 0, "problem": str(error)}
                if name == RUNS.name:
                    yield pa.RecordBatch.from_pylist([row], schema=schemas()[name].arrow)
                continue
            yield from tables[name].to_batches()


def drawn_on(spark: Spark, seeds: int, name: str, **parameters: Any) -> Any:
    """One table of as many drawn runs, each walked by one of Spark's workers (seeds from 0)."""
    walk: Callable[[Iterable[pa.RecordBatch]], Batches] = partial(_walk, name, parameters)
    return spark.range(0, seeds, 1, min(seeds, TASKS)).mapInArrow(walk, schemas()[name].ddl)


def _walk(name: str, parameters: dict[str, Any], given: Iterable[pa.RecordBatch]) -> Batches:
    keep_worker_quick()
    for batch in given:
        for seed in batch.column("id").to_pylist():
            timeline = drawn(seed, **parameters)
            yield from as_tables(timeline, f"seed-{seed}")[name].to_batches()
