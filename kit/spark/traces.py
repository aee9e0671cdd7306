"""Runs as data: events, epochs, barriers, placements and requests under one fixed schema.

A run is a timeline, or the trace of one; its rows are what the model's own facts say at each step
of one branch. Many runs are many files of the same tables. A run of a cluster (tcm) has no
requests; a run of one data range (dataplane) tells no operations and barriers.
"""

from __future__ import annotations

import os
import random
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from kit.edge.arguments import checked, text, whole_number
from kit.edge.paths import whole_path
from kit.errors import BadInput, KitError, check_among, one_line
from kit.model.family import families
from kit.model.model import Model
from kit.model.registry import build, registered
from kit.model.timeline import Timeline
from kit.model.trace import Trace, loads
from kit.search.fuzz import MOST_SEEDS, MOST_STEPS
from kit.spark import schemas as fixed
from kit.spark.rows import columns_of
from kit.spark.schemas import EPOCHS, EVENTS, RUNS, Makers, Moments, Row, Schema, events
from kit.spark.sessions import Spark, arrow_of
from kit.spark.storing import for_spark, whole_file
from kit.spark.workers import Batches, by_number, keep_worker_quick

Tables = dict[str, pa.Table]


def as_tables(source: Timeline | Trace, run: str = "run") -> Tables:
    """The tables of one run, by name, on the branch that is looked at.

    Of a model whose family adds no tables, such as one of your own, ``runs`` and ``events`` have
    rows. Raises BadInput for a ``run`` that cannot be printed.
    """
    text("run", run)
    timeline = Timeline.load(source) if isinstance(source, Trace) else source
    model = timeline.model
    makers = _makers(model)
    moments = [timeline.moments[moment] for moment in timeline.path()]
    return {
        schema.name: pa.Table.from_batches(
            [schema.batch(makers[schema](run, model, moments) if schema in makers else ())]
        )
        for schema in schemas().values()
    }


def _makers(model: Model[Any, Any]) -> Makers:
    known = {name: family for family in families() for name in family.trace_tables}
    makers: Makers = {RUNS: _runs, EVENTS: events}
    if model.name in known and registered(model):
        makers |= known[model.name].load(known[model.name].trace_tables[model.name])
    return makers


def _runs(run: str, m: Any, moments: Moments) -> Iterator[Row]:
    parameters = msgspec.json.encode(m.parameters).decode()
    yield run, m.name, parameters, list(m.off), len(moments) - 1, None


@cache
def schemas() -> dict[str, Schema]:
    """Every table of runs, by name: the fixed ones, then those that families add."""
    known = {schema.name: schema for schema in fixed.TRACE_TABLES}
    for family in families():
        for place in family.trace_tables.values():
            known |= {schema.name: schema for schema in family.load(place)}
    return known


def schema(name: str) -> Schema:
    """A table's schema by its name; printed, it explains itself. BadInput for another name."""
    declared = [family.load(place) for family in families() for place in family.pipeline_tables]
    known: dict[str, Schema] = {each.name: each for tables in declared for each in tables}
    known |= schemas()
    check_among("table", name, known)
    return known[name]


def store(folder: str | Path, *runs: Tables) -> Path:
    """Add runs (``as_tables``) to a folder of traces: a Parquet file a run in each table's folder.

    The files of a run come into their places when all are written, each whole: a stream that reads
    the folder sees all of a file or nothing. BadInput for what is no run, or one that is there
    already, and for a folder that cannot be written.
    """
    whole = [_whole(f"runs[{place}]", tables) for place, tables in enumerate(runs)]
    for_spark(Path(folder).absolute())
    for name, tables in whole:
        with ExitStack() as places:
            for schema, rows in tables.items():
                path = Path(folder) / schema / f"{name}.parquet"
                pq.write_table(rows, places.enter_context(whole_file(path)))
    return Path(folder)


def _whole(field: str, tables: Tables) -> tuple[str, Tables]:
    known = schemas()
    if RUNS.name not in tables or not tables.keys() <= known.keys():
        named = ", ".join(map(str, tables)) or "no table"
        raise BadInput(field, named, f"the tables of a run, {RUNS.name} among them")
    cast = {n: columns_of(f"{field}[{n}]", rows, known[n]) for n, rows in tables.items()}
    names = cast[RUNS.name].column("run").to_pylist()
    name = text(f"{field}: run", names[0] if len(names) == 1 else None)
    plain = Path(name).name == name and name[:1] not in ("", ".", "_") and ":" not in name
    if not plain or len(name.encode()) > LONGEST_NAME:
        allowed = "the name of a file that Spark reads: not hidden (by . or _), without a colon"
        raise BadInput(f"{field}: run", name, allowed)
    return name, cast


def stored(path: Path, schema: Schema) -> pa.Table:
    """The rows of a table's file, or of all files in its folder; BadInput for other files."""
    try:
        return pq.read_table(path, schema=schema.arrow)
    except (pa.ArrowException, OSError) as error:
        allowed = f"files written by store() ({one_line(str(error))})"
        raise BadInput(f"table {schema.name}", str(path), allowed) from None


def drawn(
    seed: int,
    *,
    model: str | None = None,
    most: int = 500,
    off: tuple[str, ...] = (),
    **parameters: Any,
) -> Timeline:
    """A run of a model drawn by a seed, the same on every machine, of ``most`` steps or fewer."""
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
LONGEST_NAME = 240  # bytes, of a run: a file's name has 255, with what comes after it
LAG = ["node"]
TIME = ["operation", "state"]
WAIT = ["operation", "keyspace", "epoch", "left", "right"]
ASKED = ["title", "level"]
PHASES = ("open", "done", "failed")
SQL = {
    "count": "count({})",
    "max": "max({})",
    "mean": "avg({})",
    "min": "min({})",
    "nunique": "bigint(size(collect_set({})))",  # a stream counts nothing distinct
    "sum": "sum({})",
}
"""What pandas' ways to add up are called in Spark."""


def grouped(rows: Any, keys: list[str], **sums: tuple[str, str]) -> Any:
    """Rows of Spark (of a stream, too) or of pandas by keys; ``sums`` are a column, and how."""
    if isinstance(rows, pd.DataFrame):
        return rows.groupby(keys, as_index=False).agg(**sums)
    # Loaded here, so that the reports of this process work where there is no Spark.
    expr = import_module("pyspark.sql.functions").expr
    named = (f"{SQL[how].format(column)} AS {name}" for name, (column, how) in sums.items())
    return rows.groupBy(*keys).agg(*map(expr, named))


def with_numbers(rows: Any, **numbers: str) -> Any:
    """The rows with more columns, whole numbers by what both engines read; true is 1."""
    if isinstance(rows, pd.DataFrame):
        return rows.assign(**{n: rows.eval(text).astype("int64") for n, text in numbers.items()})
    return rows.selectExpr("*", *(f"bigint({text}) AS {n}" for n, text in numbers.items()))


def report_of(rows: Any, keys: list[str]) -> pd.DataFrame:
    """The sums, in the order of their keys."""
    frame: pd.DataFrame = rows if isinstance(rows, pd.DataFrame) else arrow_of(rows).to_pandas()
    return frame.sort_values(keys, ignore_index=True)


def lag_of(epochs: Any) -> Any:
    """The lag report, to be made; of a stream too."""
    rows = with_numbers(epochs, lag="newest - applied", late="newest > applied")
    spread = {"mean": ("lag", "mean"), "most": ("lag", "max"), "behind": ("late", "mean")}
    return grouped(rows, LAG, runs=("run", "nunique"), **spread)


class Reports(ABC):
    """The reports of runs, added up over all of them: by Spark, or by pandas in this process."""

    engine: str

    @abstractmethod
    def table(self, name: str) -> Any:
        """Give one of the tables, over all runs: a Spark frame, or a pandas frame without Spark."""

    def lag(self) -> pd.DataFrame:
        """How many epochs each node is behind: runs, mean, most, and the share of steps behind."""
        return report_of(lag_of(self.table(EPOCHS.name)), LAG)

    def time_in_steps(self) -> pd.DataFrame:
        """How many steps of a run an operation stays in each state: runs, mean and most."""
        return _spread(self.table(fixed.OPERATIONS.name), TIME, ("step", "count"))

    def barrier_waits(self) -> pd.DataFrame:
        """How many steps each barrier was in the way: runs, mean and most."""
        rows = with_numbers(self.table(fixed.BARRIERS.name), waiting="not met")
        return _spread(rows, WAIT, ("waiting", "sum"))

    def requests(self) -> pd.DataFrame:
        """How requests end: runs, shares done and failed, steps open in mean and at most."""
        ends = {phase: f"phase == '{phase}'" for phase in PHASES}
        rows = with_numbers(self.table(fixed.REQUESTS.name), **ends)
        steps = grouped(rows, ["run", "request", *ASKED], **{p: (p, "sum") for p in PHASES})
        ended = with_numbers(steps, was_done="done > 0", has_failed="failed > 0")
        shares = {"done": ("was_done", "mean"), "failed": ("has_failed", "mean")}
        spread = {"mean": ("open", "mean"), "most": ("open", "max")}
        return report_of(grouped(ended, ASKED, runs=("run", "count"), **shares, **spread), ASKED)


def _spread(rows: Any, keys: list[str], steps: tuple[str, str]) -> pd.DataFrame:
    per_run = grouped(rows, ["run", *keys], steps=steps)
    spread = {"runs": ("run", "count"), "mean": ("steps", "mean"), "most": ("steps", "max")}
    return report_of(grouped(per_run, keys, **spread), keys)


class Traces(Reports):
    """A folder of traces (see ``kit.spark.traces.store``) on a Spark session."""

    engine = "Spark"

    @checked
    def __init__(self, spark: Spark, folder: str | Path) -> None:
        """Nothing is read until you ask for it. Raises BadInput for a folder without traces."""
        self.spark = spark
        self.folder = _folder_of_traces(folder)
        self._path = for_spark(self.folder)

    def table(self, name: str) -> Any:
        """One of the tables as a Spark frame, of all runs, under its fixed schema; or BadInput."""
        schema = _schema(name)
        return self.spark.read.schema(schema.ddl).parquet(f"{self._path}/{name}")


def _folder_of_traces(folder: str | Path) -> Path:
    place = whole_path(folder, "folder", "a folder of traces")
    for name in schemas():
        if not os.path.isdir(place / name):  # noqa: PTH112  # pathlib's raises when it may not look
            allowed = f"a folder of traces written by store(); there is no {name} in it"
            raise BadInput("folder", str(place), allowed)
    return place


def _schema(name: str) -> Schema:
    check_among("table", name, schemas())
    return schemas()[name]


class PlainTraces(Reports):
    """The same reports on the tables of some runs in this process, without Spark."""

    engine = "plain engine"

    @checked
    def __init__(self, *runs: Tables) -> None:
        """The runs, as ``kit.spark.traces.as_tables`` gives them."""
        self._runs = runs

    @classmethod
    def stored(cls, folder: str | Path) -> PlainTraces:
        """All runs of a folder of traces; BadInput for one that holds none, or other files."""
        place = _folder_of_traces(folder)
        return cls({name: stored(place / name, schema) for name, schema in schemas().items()})

    def table(self, name: str) -> pd.DataFrame:
        """One of the tables, of all runs; BadInput for its name, BadType where a run lacks it."""
        schema, runs = _schema(name), enumerate(self._runs)
        tables = [columns_of(f"runs[{at}][{name}]", run.get(name), schema) for at, run in runs]
        return pa.concat_tables([schema.arrow.empty_table(), *tables]).to_pandas()


def read_traces(spark: Spark | None, folder: str | Path) -> Reports:
    """The reports on a folder of traces: on a session, or with None in this process."""
    return PlainTraces.stored(folder) if spark is None else Traces(spark, folder)


def replayed(spark: Spark, folder: str | Path, name: str) -> Any:
    """A table of every trace file (``*.json``) in a folder, replayed by Spark's workers.

    BadInput for another table, or a folder without such files.
    """
    schema = _schema(name)
    place = whole_path(folder, "folder", "a folder of trace files")
    paths = [for_spark(path) for path in sorted(place.glob("*.json"))]
    if not paths:
        raise BadInput("folder", str(place), "a folder with trace files (*.json)")
    files = spark.read.format("binaryFile").load(paths).select("path", "content")

    def replay(given: Iterable[pa.RecordBatch]) -> Batches:
        keep_worker_quick()
        for file in (row for batch in given for row in batch.to_pylist()):
            run = Path(file["path"]).stem
            try:
                yield from as_tables(loads(file["content"], run), run)[name].to_batches()
            except KitError as error:
                if name == RUNS.name:
                    yield RUNS.batch([(run, None, None, [], 0, str(error))])

    return files.repartition(TASKS).mapInArrow(replay, schema.ddl)


def drawn_on(spark: Spark, seeds: int, name: str, **parameters: Any) -> Any:
    """One table of as many drawn runs, each walked by one of Spark's workers (seeds from 0).

    BadInput for another table, and for what ``drawn`` and ``as_tables`` refuse.
    """
    schema = _schema(name)
    whole_number("seeds", seeds, most=MOST_SEEDS)
    whole_number("most", parameters.get("most", 0), most=MOST_STEPS)
    model = drawn(0, **{**parameters, "most": 0}).model
    if len(makers := _makers(model)) == len((RUNS, EVENTS)) and schema not in makers:
        allowed = f"a run of a cluster, or {RUNS.name} and {EVENTS.name} alone"
        raise BadInput("model", model.name, allowed)

    def walk(given: Iterable[int]) -> Batches:
        for seed in given:
            tables = as_tables(drawn(seed, **parameters), f"seed-{seed}")
            yield from tables[name].to_batches()

    numbers = spark.range(0, seeds, 1, min(seeds, TASKS))
    return numbers.mapInArrow(by_number(walk), schema.ddl)
