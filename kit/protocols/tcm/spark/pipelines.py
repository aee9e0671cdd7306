"""The placement pipeline: nodes, tokens, ranges, replicas for every step, and what they say.

Two engines do the same job through the same functions: Spark, task by task on workers, and this
process alone. Big tables stay where they are made; reports are small pandas frames.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from kit.errors import BadInput, KitError
from kit.protocols.tcm.spark import reports
from kit.protocols.tcm.spark.histories import History
from kit.protocols.tcm.spark.jobs import JOBS, JobInput, SharedValue, counting, numbered
from kit.protocols.tcm.spark.measures import Tally
from kit.protocols.tcm.spark.parts import Part, cut_at, cut_evenly
from kit.protocols.tcm.spark.tables import (
    KEYSPACES,
    MEASURES,
    NODES,
    PLACEMENT_TABLES,
    REPLICAS,
    STEPS,
    STREAMS,
    SUMS,
)
from kit.spark.schemas import Schema
from kit.spark.sessions import Spark, ended_with_us, is_remote
from kit.spark.storing import temporary_room, whole_folder, write_rows
from kit.spark.workers import stored_pieces

MEMBERS_A_PART = 1_200_000  # of all groups of a part, at one step


class Pipeline(ABC):
    """A history of a ring as tables.

    ``parts`` is how many parts the line has, or the tokens at which it is cut.
    """

    engine: str

    def __init__(
        self,
        history: History,
        parts: int | Sequence[int] | None = None,
        sizes: Mapping[str, int] | None = None,
    ) -> None:
        """``sizes`` are the bytes of one copy of each keyspace, spread evenly over the line."""
        self.history = history
        self.case = JobInput(history, _parts(history, parts))
        self.small = small_tables(history, sizes or {})
        self._measures: pd.DataFrame | None = None

    @abstractmethod
    def table(self, name: str) -> Any:
        """A big table by name: a Spark frame, or an Arrow table without Spark."""

    @abstractmethod
    def measured(self) -> pd.DataFrame:
        """The sums over all parts, one row for each group, step, measure and unit."""

    def judged(self) -> pd.DataFrame:
        """The verdicts on quorums, one row for each part and pair of epochs."""
        return self.fetched("quorums").to_pandas()

    def fetched(self, name: str) -> pa.Table:
        """A table as Arrow has it; small ones need not go to Spark and back."""
        table: Any = self.small[name] if name in self.small else self.table(name)
        return table if isinstance(table, pa.Table) else table.toArrow()

    @abstractmethod
    def streamed(self) -> pd.DataFrame:
        """The streams added up: step, group, source, target, ranges, bytes."""

    @abstractmethod
    def write(self, folder: str | Path) -> Path:
        """Write every table as Parquet below a new folder, all or nothing.

        Raises:
            BadInput: when the folder exists, or has no place or room.
        """

    @property
    def measures(self) -> pd.DataFrame:
        """What ``measured`` gives, worked out once."""
        if self._measures is None:
            keys = ["group", "step", "measure", "unit"]
            self._measures = self.measured().sort_values(keys, ignore_index=True)
        return self._measures

    def steps(self) -> pd.DataFrame:
        """The steps: number, epoch, name, operation, text."""
        return self.small["steps"].to_pandas()

    def ownership(self, step: int | None = None, group: int = 0) -> pd.DataFrame:
        """What each node serves at a step (None: the last): ranges, and its share of the line."""
        return reports.ownership(self.history, self.measures, step, group)

    def affected(self, group: int = 0) -> pd.DataFrame:
        """A row per step: ranges, and how many are changed, locked, moving, over-replicated."""
        return reports.affected(self.history, self.measures, group)

    def availability(self, group: int = 0) -> pd.DataFrame:
        """What the loss of a node, rack or datacenter would cost, a row per step and level."""
        return reports.availability(self.history, self.measures, group)

    def streams(self) -> pd.DataFrame:
        """Who sends how much to whom before reads switch, the largest first."""
        return reports.streams(self.history, self.streamed())

    def quorums(self) -> pd.DataFrame:
        """For every pair of adjacent epochs: tasks, ranges looked at, and majorities that miss."""
        return reports.quorums(self.history, self.judged())


class PlainPipeline(Pipeline):
    """The job in this process, without Spark: for small rings, and to compare with."""

    engine = "plain engine"

    def table(self, name: str) -> pa.Table:
        """A table as Arrow has it."""
        if name in self.small:
            return self.small[name]
        job = JOBS[name]
        batches = job.task(self.case, range(job.pieces(self.case)))
        return pa.Table.from_batches(batches, job.schema.arrow)

    def measured(self) -> pd.DataFrame:
        """The sums over all parts."""
        rows = self.table("measures").to_pandas()
        return rows.groupby(["group", "step", "measure", "unit"], as_index=False).sum()

    def streamed(self) -> pd.DataFrame:
        """The streams added up."""
        rows = self.small["streams"].to_pandas()
        keys = rows.groupby(["step", "group", "source", "target"], as_index=False)
        return keys.agg(ranges=("left", "size"), bytes=("bytes", lambda b: b.sum(min_count=1)))

    def write(self, folder: str | Path) -> Path:
        """Write every table, each as one file in a folder of its own."""
        with whole_folder(folder) as place:
            for schema in PLACEMENT_TABLES:
                _write_one(self.table(schema.name), place / schema.name)
        return Path(folder)


class OnSpark(Pipeline):
    """The job on Spark: tables have a task for each part of the line (and pair of epochs)."""

    engine = "Spark"

    def __init__(
        self,
        spark: Spark,
        history: History,
        parts: int | Sequence[int] | None = None,
        sizes: Mapping[str, int] | None = None,
    ) -> None:
        """The ring travels to the workers once, as columns, through a temporary file.

        Raises:
            BadInput: when that file cannot be written.
        """
        super().__init__(history, parts, sizes)
        self.spark = spark
        with temporary_room():
            # Over Connect there are no broadcast variables.
            remote = is_remote(spark)
            self._held = (SharedValue if remote else spark.sparkContext.broadcast)(self.case)
        self._stored: Path | None = None

    def table(self, name: str) -> Any:
        """A table as Spark has it: read from where it was written, else made when it is used."""
        if self._stored is not None and name in {schema.name for schema in PLACEMENT_TABLES}:
            return self.spark.read.parquet(str(self._stored / name))
        if name in self.small:
            return self.spark.createDataFrame(self.small[name])
        return self.made(name)

    def made(self, name: str, tasks: int | None = None) -> Any:
        """A big table, to be made again; in so many tasks, if a number is given.

        ``measures`` and ``sums`` have rows of every task then, still to be added up.
        """
        job = JOBS[name]
        count = job.pieces(self.case)
        numbers = self.spark.range(0, count, 1, tasks or (None if job.adds_up else count))
        return numbers.mapInArrow(numbered(name, self._held), job.schema.ddl)

    def measured(self, tasks: int | None = None) -> pd.DataFrame:
        """The sums over all parts, by tasks; from the written replicas, if there are.

        What tasks give is few rows of whole columns, which are added up here: Spark would make a
        row of each number.
        """
        if self._stored is None:
            sums = self.made("sums", tasks)
        else:
            pieces = stored_pieces(self._stored / REPLICAS.name)
            numbers = self.spark.range(0, len(pieces), 1, tasks)
            sums = numbers.mapInArrow(counting(self._held, pieces), SUMS.ddl)
        tally = Tally(self.history)
        tally.include(sums.toArrow())
        return pa.Table.from_batches(tally.batches(), MEASURES.arrow).to_pandas()

    def streamed(self) -> pd.DataFrame:
        """The streams added up by Spark."""
        keys = self.table("streams").groupBy("step", "group", "source", "target")
        total = keys.agg({"left": "count", "bytes": "sum"})
        names = ("step", "group", "source", "target", "ranges", "bytes")
        return total.toDF(*names).toArrow().to_pandas()

    def write(self, folder: str | Path) -> Path:
        """Write every table; reports are then made from what was written."""
        with whole_folder(folder) as place, ended_with_us(self.spark):
            for schema in PLACEMENT_TABLES:
                if schema.name in self.small:
                    _write_one(self.small[schema.name], place / schema.name)
                else:
                    write_rows(self.table(schema.name), place / schema.name)
        self._stored = Path(folder).resolve()
        self._measures = None
        return Path(folder)


def pipeline(
    spark: Spark | None,
    history: History,
    *,
    parts: int | Sequence[int] | None = None,
    sizes: Mapping[str, int] | None = None,
) -> Pipeline:
    """The pipeline on a session, or with None in this process.

    Raises:
        BadInput: for a bound of a part that is no token, or a size of an unknown keyspace.
    """
    if spark is None:
        return PlainPipeline(history, parts, sizes)
    return OnSpark(spark, history, parts, sizes)


def _write_one(table: pa.Table, folder: Path) -> None:
    """A table as the only file of a folder."""
    folder.mkdir()
    pq.write_table(table, folder / "part-0.parquet")


def _parts(history: History, given: int | Sequence[int] | None) -> tuple[Part, ...]:
    ring = history.ring
    if given is None:
        widest = max(history.wanted(group, 0) for group in range(len(history.groups)))
        given = max(2, len(ring.rights) * widest // MEMBERS_A_PART)
    return cut_evenly(ring, given) if isinstance(given, int) else cut_at(ring, given)


def small_tables(history: History, sizes: Mapping[str, int]) -> dict[str, pa.Table]:
    """These tables by name; ``sizes`` are the bytes of one copy of a keyspace.

    Raises:
        BadInput: for an unknown keyspace, or a size that is no whole number of bytes.
    """
    names = [name for name, _ in history.keyspaces]
    for name, size in sizes.items():
        if name not in names:
            raise BadInput("sizes", name, "one of " + ", ".join(names))
        if type(size) is not int or not 0 <= size < 2**63:
            raise BadInput(f"sizes[{name}]", size, "a whole number of bytes")
    packed, groups = history.ring.packed, history.groups
    nodes = zip(packed.names, packed.places, packed.counts, strict=True)
    # Every node of any step: a newcomer owns no token before.
    rows: dict[Schema, Iterable[Sequence[Any]]] = {
        NODES: [(code, name, *place, count) for code, (name, place, count) in enumerate(nodes)],
        KEYSPACES: [(name, group, groups[group].label) for name, group in history.keyspaces],
        STEPS: [(s.step, s.epoch, s.name, s.operation, s.text) for s in history.stages],
        STREAMS: _streams(history, sizes),
    }
    return {s.name: pa.Table.from_batches([s.batch(given)]) for s, given in rows.items()}


def _streams(history: History, sizes: Mapping[str, int]) -> Iterator[tuple[Any, ...]]:
    """A row for each source; bytes are rounded, and known where those of all keyspaces are."""
    line = history.ring.space.high - history.ring.space.low
    groups = dict(history.keyspaces)
    whole = {g for g in groups.values() if all(n in sizes for n in groups if groups[n] == g)}
    held = {g: sum(sizes[n] for n in groups if groups[n] == g) for g in whole}
    for s in history.streams:
        left, right = s.range.left, s.range.right
        known = s.group in held
        share = (2 * held[s.group] * (right - left) + line) // (2 * line) if known else None
        yield from ((s.step, s.group, left, right, source, s.target, share) for source in s.sources)


REPORTS = ("steps", "ownership", "affected", "availability", "streams", "quorums")


def same_as_engine(job: Pipeline, other: Pipeline | None = None) -> str:
    """One line that says how much was compared, when all of it is equal.

    ``other`` is the plain engine on the same history, unless given. For small rings: every table
    is fetched.

    Raises:
        KitError: naming the first table or report that differs.
    """
    engine = other or PlainPipeline(job.history)
    rows = 0
    for schema in PLACEMENT_TABLES:
        ours, theirs = (_sorted(run.fetched(schema.name)) for run in (job, engine))
        if not ours.equals(theirs):
            raise KitError(f"{schema.name}: {job.engine} and {engine.engine} differ")
        rows += ours.num_rows
    for name in REPORTS:
        reports = (getattr(run, name)() for run in (job, engine))
        # How many tasks there were is no result.
        mine, other_one = (each.drop(columns="tasks", errors="ignore") for each in reports)
        if not mine.equals(other_one):
            raise KitError(f"{name}: {job.engine} and {engine.engine} differ")
    return f"same as the {engine.engine}: {rows:,} rows, {len(REPORTS)} reports"


def _sorted(table: pa.Table) -> pa.Table:
    """The rows in an order that does not depend on tasks; types as the first engine has them."""
    names = [f.name for f in table.schema if not pa.types.is_list(f.type)]
    return table.sort_by([(name, "ascending") for name in names]).combine_chunks()
