"""Runs as data: events, epochs, barriers, placements and requests under one fixed schema.

A run is a timeline, or the trace of one; its rows are what the model's own facts say at each step
of one branch. Many runs are many files of the same tables. A run of a cluster (tcm) has no
requests; a run of one data range (dataplane) tells no operations and barriers.
"""

from __future__ import annotations

import os
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from kit.edge.arguments import checked, text, whole_number
from kit.edge.paths import whole_path
from kit.engine.family import families
from kit.engine.registry import build
from kit.engine.timeline import Timeline
from kit.engine.trace import Trace, loads
from kit.engine.walking import MOST_STEPS
from kit.errors import BadInput, KitError, one_line
from kit.spark.rows import columns_of
from kit.spark.schemas import (
    BARRIERS,
    EPOCHS,
    OPERATIONS,
    REQUESTS,
    RUNS,
    TRACE_TABLES,
    Makers,
    Moments,
    Row,
    Schema,
)
from kit.spark.sessions import Spark
from kit.spark.storing import whole_file
from kit.spark.workers import keep_worker_quick

Tables = dict[str, pa.Table]


def as_tables(source: Timeline | Trace, run: str = "run") -> Tables:
    """The tables of one run, by name: what happened on the branch that is looked at, to its tip.

    Raises:
        BadInput: when the trace does not replay, or is not of a cluster.
    """
    timeline = Timeline.load(source) if isinstance(source, Trace) else source
    model = timeline.model
    makers = _makers(model.name)
    if makers is None:
        known = " or ".join(name for family in families() for name in family.trace_tables)
        raise BadInput("model", model.name, f"{known}: a run of a cluster")
    moments = [timeline.moments[moment] for moment in timeline.path()]
    makers = {RUNS: _runs, **makers}
    return {
        schema.name: _filled(schema, makers.get(schema, _nothing)(run, model, moments))
        for schema in schemas().values()
    }


def _nothing(_run: str, _model: Any, _moments: Moments) -> Iterator[Row]:
    return iter(())


def _filled(schema: Schema, rows: Iterator[Row]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema.columns)
    arrays = [pa.array(c, field.type) for c, field in zip(columns, schema.arrow, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema.arrow)


def _runs(run: str, m: Any, moments: Moments) -> Iterator[Row]:
    parameters = msgspec.json.encode(m.parameters).decode()
    yield run, m.name, parameters, list(m.off), len(moments) - 1, None


def _makers(model: str) -> Makers | None:
    """The makers of rows that a model's family declares; None where it declares none."""
    for family in families():
        if model in family.trace_tables:
            makers: Makers = family.load(family.trace_tables[model])
            return makers
    return None


@cache
def schemas() -> dict[str, Schema]:
    """Every table of runs, by name: the fixed ones, then those that families add."""
    known = {schema.name: schema for schema in TRACE_TABLES}
    for family in families():
        for place in family.trace_tables.values():
            known |= {schema.name: schema for schema in family.load(place)}
    return known


def _other_tables() -> dict[str, Schema]:
    """The tables of the families' pipelines."""
    declared = [family.load(place) for family in families() for place in family.pipeline_tables]
    return {schema.name: schema for tables in declared for schema in tables}


def schema(name: str) -> Schema:
    """A table's schema by its name, of placements or of runs; printed, it explains itself.

    Raises:
        BadInput: for a name that no table has.
    """
    known = {**_other_tables(), **schemas()}
    if name not in known:
        raise BadInput("table", name, "one of " + ", ".join(known))
    return known[name]


def store(folder: str | Path, *runs: Tables) -> Path:
    """Add runs to a folder of traces: a Parquet file a run in the folder of each table.

    A run is what ``as_tables`` makes of it.

    The files of a run come into their places when all are written, each whole: a stream that reads
    the folder sees all of a file or nothing, and a full disk leaves no part of a run.

    Raises:
        BadInput: for what are no tables of a run, when a run of that name is there already, or the
            folder cannot be written.
    """
    whole = [_whole(f"runs[{place}]", tables) for place, tables in enumerate(runs)]
    for name, tables in whole:
        with ExitStack() as places:
            for schema, rows in tables.items():
                path = Path(folder) / schema / f"{name}.parquet"
                pq.write_table(rows, places.enter_context(whole_file(path)))
    return Path(folder)


def _whole(field: str, tables: Tables) -> tuple[str, Tables]:
    """A run's name, which names its files, and its tables, each under its schema."""
    known = schemas()
    if RUNS.name not in tables or not tables.keys() <= known.keys():
        named = ", ".join(map(str, tables)) or "no table"
        raise BadInput(field, named, f"the tables of a run, {RUNS.name} among them")
    cast = {n: columns_of(f"{field}[{n}]", rows, known[n]) for n, rows in tables.items()}
    names = cast[RUNS.name].column("run").to_pylist()
    name = text(f"{field}: run", names[0] if len(names) == 1 else None)
    if Path(name).name != name or name[:1] in ("", ".", "_"):
        raise BadInput(f"{field}: run", name, "the name of a file that is not hidden (by . or _)")
    return name, cast


def stored(path: Path, schema: Schema) -> pa.Table:
    """The rows of a table's file, or of all files in its folder.

    Raises:
        BadInput: when one of them cannot be read, or holds another table.
    """
    try:
        return pq.read_table(path, schema=schema.arrow)
    except (pa.ArrowException, OSError) as error:
        allowed = f"files as store() writes them ({one_line(str(error))})"
        raise BadInput(f"table {schema.name}", str(path), allowed) from None


def drawn(
    seed: int,
    *,
    model: str | None = None,
    most: int = 500,
    off: tuple[str, ...] = (),
    **parameters: Any,
) -> Timeline:
    """A run of a model with every choice drawn by a seed, to its end or ``most`` steps.

    Without a model it is the first that has rows for these tables.

    The same seed and parameters give the same run on every machine; in which order a model lists
    its actions is of no account.

    Raises:
        BadInput: for more steps than any walk may take, or less than none.
    """
    whole_number("most", most, most=MOST_STEPS)
    chance = random.Random(seed)
    first = next(name for family in families() for name in family.trace_tables)
    timeline = Timeline(build(model or first, parameters, off))
    for _ in range(most):
        actions = sorted(timeline.model.actions(timeline.state), key=timeline.model.verb)
        if not actions:
            break
        timeline.do(chance.choice(actions))
    return timeline


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
