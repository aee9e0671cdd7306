"""The placement pipeline: nodes, tokens, ranges, replicas for every step, and what they say.

Two engines do the same job through the same functions: Spark, task by task on workers, and this
process alone. Big tables stay where they are made; reports are small pandas frames, with names
instead of codes; a share is a part of the whole token line, 0 to 1.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from kit.errors import BadInput, KitError, check_among
from kit.protocols.tcm.spark import tables
from kit.protocols.tcm.spark.histories import History
from kit.protocols.tcm.spark.jobs import JOBS, JobInput, SharedValue, counting, numbered
from kit.protocols.tcm.spark.measures import KINDS, Tally
from kit.protocols.tcm.spark.parts import Part, cut_at, cut_evenly
from kit.spark.schemas import Schema
from kit.spark.sessions import Spark, arrow_of, is_remote
from kit.spark.storing import for_spark, temporary_room, whole_folder, write_rows
from kit.spark.workers import stored_pieces

MEMBERS_A_PART = 1_200_000  # of all groups of a part, at one step


def _width(rows: pd.DataFrame) -> pd.Series:
    return rows["high"].astype("float64") * 2.0**32 + rows["low"].astype("float64")


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

    @abstractmethod
    def table(self, name: str) -> Any:
        """A big table by name: a Spark frame, or an Arrow table without Spark."""

    @abstractmethod
    def measured(self) -> pd.DataFrame:
        """The sums over all parts, one row for each group, step, measure and unit."""

    def fetched(self, name: str) -> pa.Table:
        """A table as Arrow has it; small ones need not go to Spark and back."""
        table: Any = self.small[name] if name in self.small else self.table(name)
        return table if isinstance(table, pa.Table) else arrow_of(table)

    def write(self, folder: str | Path) -> Path:
        """Write every table as Parquet below a new folder, all or nothing, or BadInput."""
        with whole_folder(folder) as place:
            for name in (schema.name for schema in tables.PLACEMENT_TABLES):
                table = self.small[name] if name in self.small else self.table(name)
                write_rows(table, place / name)
        return Path(folder)

    @cached_property
    def measures(self) -> pd.DataFrame:
        """The result of ``measured``, worked out once."""
        keys = ["group", "step", "measure", "unit"]
        return self.measured().sort_values(keys, ignore_index=True)

    def steps(self) -> pd.DataFrame:
        """The steps: number, epoch, name, operation, text."""
        return self.small["steps"].to_pandas()

    def ownership(self, step: int | None = None, group: int = 0) -> pd.DataFrame:
        """Each node's share at a step (None: the last): ranges, and its part of the line."""
        last = len(self.history.stages) - 1
        at = last if step is None else step
        if at not in range(last + 1):
            raise BadInput("step", step, f"a number from 0 to {last}")
        rows = self._of_group(group)
        rows = rows[rows["step"] == at]
        packed = self.history.ring.packed
        table = pd.DataFrame(packed.places, columns=["dc", "rack"])
        table.insert(0, "node", packed.names)
        for side in ("reads", "writes"):
            columns = [f"{side}_ranges", f"{side}_share"]
            table[columns[0]], table[columns[1]] = self._sums(rows, side, "unit", table.index)
        return table

    def affected(self, group: int = 0) -> pd.DataFrame:
        """A row per step: ranges, and how many are changed, locked, moving, over-replicated."""
        rows = self._of_group(group)
        steps = [(stage.step, stage.epoch, stage.name) for stage in self.history.stages]
        table = pd.DataFrame(steps, columns=["step", "epoch", "name"])
        for name in ("all", "changed", "locked", "moving", "extra"):
            counts, share = self._sums(rows, name, "step", table["step"])
            table["ranges" if name == "all" else name] = counts
        table["extra_share"] = share  # of the last of them
        return table

    def availability(self, group: int = 0) -> pd.DataFrame:
        """The cost of losing a node, rack or datacenter, a row per step and level.

        ``units`` is how many such units there are, ``harmful`` how many of them cost a quorum
        somewhere, ``worst`` the one that costs most, ``ranges`` and ``share`` what that one costs.
        Kind ``none`` is what has no quorum as it is.
        """
        rows = self._of_group(group)
        written = dict(iter(rows[rows["measure"] == "writes"].groupby("step")["unit"]))
        rows = rows[rows["measure"].str.startswith("lost ")]
        totals = {
            (stage.step, kind): self._units(stage.ring, kind, written.get(stage.step, ()))
            for stage in self.history.stages
            for kind in KINDS
        }
        known = dict(iter(rows.groupby(["step", "measure"])))
        worst_losses = []
        for stage in self.history.stages:
            for measure in self._losses():
                _, side, *level, kind = measure.split(" ")
                part = known.get((stage.step, measure))
                names = totals.get((stage.step, kind), {})
                worst, ranges, share = "", 0, 0.0
                if part is not None:
                    width = _width(part)
                    at = int(np.lexsort((part["unit"], -part["ranges"], -width))[0])
                    worst = names.get(int(part["unit"].iloc[at]), "")
                    ranges = int(part["ranges"].iloc[at])
                    share = float(width.iloc[at]) / self._line
                of = stage.step, stage.name, side, " ".join(level), kind, len(names)
                harmful = 0 if part is None else len(part)
                worst_losses.append((*of, harmful, worst, ranges, share))
        columns = "step name side level loss units harmful worst ranges share".split()
        return pd.DataFrame(worst_losses, columns=columns)

    def streams(self) -> pd.DataFrame:
        """The streams (of all groups) before reads switch, the largest first."""
        rows = self.small["streams"].to_pandas()
        keys = ["operation", "source", "target"]
        if rows.empty:
            return pd.DataFrame(columns=[*keys, "ranges", "bytes"])
        stages, names = self.history.stages, self.history.ring.names
        table = pd.DataFrame(
            {
                "operation": [stages[step].operation for step in rows["step"]],
                "source": [names[code] for code in rows["source"]],
                "target": [names[code] for code in rows["target"]],
                "bytes": rows["bytes"].astype("Int64"),
            }
        )
        total = table.groupby(keys, as_index=False, sort=True).agg(
            ranges=("bytes", "size"), bytes=("bytes", lambda b: b.sum(min_count=1))
        )
        order = ["bytes", "ranges"]
        return total.sort_values(order, ascending=False, kind="stable", ignore_index=True)

    def quorums(self) -> pd.DataFrame:
        """For each pair of adjacent epochs: ranges, majorities that miss, the first witness."""
        rows = self.fetched("quorums").to_pandas()
        keys = ["group", "reader", "writer"]
        total = rows.groupby(keys, as_index=False).agg(
            tasks=("part", "size"), ranges=("ranges", "sum"), missed=("missed", "sum")
        )
        epochs = {stage.step: stage.epoch for stage in self.history.stages}
        names = [
            ", ".join(n for n, at in self.history.keyspaces if at == g) for g in total["group"]
        ]
        total.insert(1, "keyspaces", names)
        total["reader_epoch"] = [epochs[step] for step in total["reader"]]
        total["writer_epoch"] = [epochs[step] for step in total["writer"]]
        bad = rows[rows["missed"] > 0].sort_values([*keys, "part"]).drop_duplicates(keys)
        witness = {tuple(row[key] for key in keys): self._witness(row) for _, row in bad.iterrows()}
        of_rows = total[keys].itertuples(index=False, name=None)
        total["witness"] = [witness.get(key, "") for key in of_rows]
        return total.drop(columns=["group"])

    @property
    def _line(self) -> float:
        return float(self.history.ring.space.high - self.history.ring.space.low)

    def _sums(self, rows: pd.DataFrame, measure: str, key: str, index: Any) -> tuple[Any, Any]:
        # The ranges of a measure and their share of the line.
        part = rows[rows["measure"] == measure].set_index(key)
        share = (_width(part) / self._line).reindex(index, fill_value=0.0)
        return part["ranges"].reindex(index, fill_value=0).to_numpy(), share.to_numpy()

    def _of_group(self, group: int) -> pd.DataFrame:
        if group not in range(len(self.history.groups)):
            raise BadInput("group", group, f"a number from 0 to {len(self.history.groups) - 1}")
        return self.measures[self.measures["group"] == group]

    def _losses(self) -> list[str]:
        dcs = dict.fromkeys(dc for ring in self.history.rings for dc in ring.geography.dcs)
        levels = ("ONE", "QUORUM", *(f"LOCAL_QUORUM {dc}" for dc in dcs))
        sides, kinds = ("read", "write"), ("none", *KINDS)
        return [f"lost {s} {lv} {k}" for lv, s, k in product(levels, sides, kinds)]

    def _units(self, ring: int, kind: str, written: Iterable[int]) -> dict[int, str]:
        places = self.history.rings[ring].geography
        nodes = np.union1d(np.flatnonzero(places.in_ring), np.array([*written], np.intp))
        if kind == "node":
            return {code: self.history.rings[ring].names[code] for code in nodes.tolist()}
        names = {code: f"{dc}/{rack}" for (dc, rack), code in places.racks.items()}
        if kind == "dc":
            names = {code: dc for dc, code in places.dcs.items()}
        codes = places.dc_of if kind == "dc" else places.rack_of
        return {code: names[code] for code in np.unique(codes[nodes]).tolist()}

    def _witness(self, row: pd.Series) -> str:
        names, label = self.history.ring.names, self.history.ring.space.label
        reads, writes = (", ".join(names[code] for code in row[s]) for s in ("reads", "writes"))
        where = f"({label(int(row['left']))}, {label(int(row['right']))}]"
        return f"{where}: reads {{{reads}}}, writes {{{writes}}}"


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
        """The ring travels to the workers once, as columns, through a temporary file."""
        super().__init__(history, parts, sizes)
        self.spark = spark
        with temporary_room():
            # Over Connect there are no broadcast variables.
            remote = is_remote(spark)
            self._held = (SharedValue if remote else spark.sparkContext.broadcast)(self.case)
        self._stored: Path | None = None

    def table(self, name: str) -> Any:
        """A table as Spark has it: read from where it was written, else made when it is used."""
        if self._stored is not None and name in {schema.name for schema in tables.PLACEMENT_TABLES}:
            return self.spark.read.parquet(for_spark(self._stored / name))
        if name in self.small:
            return self.spark.createDataFrame(self.small[name])
        return self.made(name)

    def made(self, name: str, tasks: int | None = None) -> Any:
        """A big table, to be made again in so many tasks; ``measures`` and ``sums`` in parts."""
        job = JOBS[name]
        count = job.pieces(self.case)
        numbers = self.spark.range(0, count, 1, tasks or (None if job.adds_up else count))
        return numbers.mapInArrow(numbered(name, self._held), job.schema.ddl)

    def measured(self, tasks: int | None = None) -> pd.DataFrame:
        """The sums over all parts, by tasks, added up here; from written replicas, if there are."""
        if self._stored is None:
            sums = self.made("sums", tasks)
        else:
            pieces = stored_pieces(self._stored / tables.REPLICAS.name)
            numbers = self.spark.range(0, len(pieces), 1, tasks)
            sums = numbers.mapInArrow(counting(self._held, pieces), tables.SUMS.ddl)
        tally = Tally(self.history)
        tally.include(arrow_of(sums))
        return pa.Table.from_batches(tally.batches(), tables.MEASURES.arrow).to_pandas()

    def write(self, folder: str | Path) -> Path:
        """Write every table; reports are then made from what was written."""
        written = super().write(folder)
        self._stored = written.resolve()
        self.__dict__.pop("measures", None)
        return written


def pipeline(
    spark: Spark | None,
    history: History,
    *,
    parts: int | Sequence[int] | None = None,
    sizes: Mapping[str, int] | None = None,
) -> Pipeline:
    """The pipeline on a session, or with None in this process; BadInput as of its parts."""
    if spark is None:
        return PlainPipeline(history, parts, sizes)
    return OnSpark(spark, history, parts, sizes)


def _parts(history: History, given: int | Sequence[int] | None) -> tuple[Part, ...]:
    ring = history.ring
    if given is None:
        widest = max(history.wanted(group, 0) for group in range(len(history.groups)))
        given = max(2, len(ring.rights) * widest // MEMBERS_A_PART)
    return cut_evenly(ring, given) if isinstance(given, int) else cut_at(ring, given)


def small_tables(history: History, sizes: Mapping[str, int]) -> dict[str, pa.Table]:
    """Small tables by name; ``sizes`` are the bytes of one copy of a keyspace, else BadInput."""
    names = [name for name, _ in history.keyspaces]
    for name, size in sizes.items():
        check_among("sizes", name, names)
        if type(size) is not int or not 0 <= size < 2**63:
            raise BadInput(f"sizes[{name}]", size, "a whole number of bytes")
    packed, groups = history.ring.packed, history.groups
    nodes = zip(packed.names, packed.places, packed.counts, strict=True)
    # Every node of any step: a newcomer owns no token before.
    rows: dict[Schema, Iterable[Sequence[Any]]] = {
        tables.NODES: [
            (code, name, *place, count) for code, (name, place, count) in enumerate(nodes)
        ],
        tables.KEYSPACES: [(name, group, groups[group].label) for name, group in history.keyspaces],
        tables.STEPS: [(s.step, s.epoch, s.name, s.operation, s.text) for s in history.stages],
        tables.STREAMS: _streams(history, sizes),
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
    """One line that says how much was compared, when all of it is equal; else KitError says what.

    ``other`` is the plain engine on the same history, unless given. Every table is fetched.
    """
    engine = other or PlainPipeline(job.history)
    rows = 0
    for schema in tables.PLACEMENT_TABLES:
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
    names = [f.name for f in table.schema if not pa.types.is_list(f.type)]
    return table.sort_by([(name, "ascending") for name in names]).combine_chunks()
