"""Average tablet sizes and resize decisions of many tables, and what the loss of nodes costs.

Spark adds up replicas in its own columns; the decision on each table is the engine's, by the same
rule as in a model. Without Spark the same is done here. Sources: Topology over Raft, "Tablet
resize", "Co-located tables".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from msgspec.structs import replace

from kit.edge.arguments import whole_number
from kit.protocols.storage.rules.levels import majority
from kit.protocols.tablets.rules.resize import (
    THRESHOLDS,
    CountOptions,
    ResizeDecision,
    TableSize,
    TargetCount,
    Thresholds,
    decide_by_count,
    group_bytes,
    target_counts,
)
from kit.protocols.tablets.spark.drawing import (
    CHUNK,
    DrawnTable,
    TabletsSize,
    drawn_chunk,
    drawn_tables,
    size_of,
)
from kit.protocols.tablets.spark.histogram import counted
from kit.protocols.tablets.spark.sums import SUMS, TableSum, added_by_spark, summed, table_sums
from kit.protocols.tablets.spark.tables import LOSSES, RESIZES, TABLETS
from kit.protocols.topology.rules.machines import Edition
from kit.spark.rows import columns_of
from kit.spark.sessions import Spark
from kit.spark.sweeping import stored
from kit.spark.workers import Batches, StoredPiece, by_number, stored_pieces

DATACENTER = "dc1"  # of a drawn cluster
WIDEST = 9  # replicas of a tablet


class TabletCluster:
    """A drawn cluster as tables: its tablets on Spark, or as an Arrow table without it."""

    def __init__(self, spark: Any, size: TabletsSize) -> None:
        """Nothing is drawn yet but what is known of each table."""
        self.spark = spark
        self.size = size
        self.tables = drawn_tables(size)
        self._pieces = size.tables * -(-size.tablets // CHUNK)
        self._stored: Path | None = None

    @property
    def tablets(self) -> Any:
        """A row for each tablet: read from where it was written, else made when it is used."""
        if self.spark is None:
            return pa.Table.from_batches(_drawn(self.size, range(self._pieces)), TABLETS.arrow)
        if self._stored is not None:
            return self.spark.read.parquet(str(self._stored))
        drawing = by_number(partial(_drawn, self.size))
        return self.spark.range(0, self._pieces, 1).mapInArrow(drawing, TABLETS.ddl)

    def write(self, folder: str | Path) -> Path:
        """Write the tablets as Parquet into a new folder, all or nothing; Spark reads them then.

        Raises:
            BadInput: when the folder exists, or has no place or room.
        """
        stored(self.tablets, folder)
        self._stored = Path(folder).resolve()
        return Path(folder)

    def sums(self, tablets: Any = None) -> dict[int, TableSum]:
        """The replicas of each table and their bytes, over these rows or its own.

        On Spark tasks add up what they draw or read themselves, as columns; of rows that are given
        Spark does it, for it would make rows of columns on their way to Python.
        """
        if self.spark is None:
            rows = self.tablets if tablets is None else tablets
            return table_sums(pa.Table.from_batches(summed(rows.to_batches()), SUMS.arrow))
        if tablets is not None:
            return table_sums(added_by_spark(tablets))
        pieces = () if self._stored is None else stored_pieces(self._stored)
        adding = partial(_sums_of_stored, pieces) if pieces else partial(_sums_of_drawn, self.size)
        numbers = self.spark.range(0, len(pieces) or self._pieces, 1)
        return table_sums(numbers.mapInArrow(by_number(adding), SUMS.ddl).toArrow())

    def resizes(self, tablets: Any = None, edition: Edition = "server") -> pa.Table:
        """The decision on each table, or group of co-located ones, from these rows or its own."""
        limits = self.thresholds(edition)
        return decisions(self.tables, self.size, self.sums(tablets), limits, edition)

    def thresholds(self, edition: Edition = "server") -> Thresholds:
        """When an average asks for a resize, by the cluster's own target size."""
        return replace(THRESHOLDS[edition], target=self.size.target_size)

    def histogram(self, tablets: Any = None, edition: Edition = "server") -> pa.Table:
        """How many tables have which average and decision, as rows of ``averages``."""
        return counted(self.spark, self.resizes(tablets, edition), self.size.target_size)

    def losses(self, tablets: Any = None) -> Any:
        """A row for each loss of one or two nodes that costs a quorum, if no smaller one does."""
        rows = self.tablets if tablets is None else tablets
        return _lost(rows) if self.spark is None else _lost_on_spark(rows)


def tablets(spark: Spark | None, **sizes: Any) -> TabletCluster:
    """A drawn cluster with tablets, as tables on a session, or with None in this process.

    ``sizes`` are the fields of ``kit.protocols.tablets.spark.drawing.TabletsSize``.

    Raises:
        BadInput: for a size that is unknown, out of its limits, or does not fit the others.
    """
    return TabletCluster(spark, size_of(sizes))


def decisions(
    tables: Iterable[DrawnTable],
    size: TabletsSize,
    sums: Mapping[int, TableSum],
    limits: Thresholds,
    edition: Edition = "server",
) -> pa.Table:
    """What the engine decides on each group, as rows of ``resizes``.

    Edition ``server`` goes by the target counts of all tables together, as a dump's tables do.
    """
    groups: dict[int, list[DrawnTable]] = {}
    for table in tables:
        groups.setdefault(table.base, []).append(table)
    sizes: dict[int, TableSize] = {}
    for base, members in groups.items():
        known = group_bytes(
            sums[each.number].bytes
            if each.number in sums and sums[each.number].replicas == size.tablets * size.replicas
            else None
            for each in members
        )
        sizes[base] = table_size(members, size, known, edition)
    targets = _targets(sizes, tables, size, limits) if edition == "server" else {}
    rows = [
        _row(base, judged, decide_by_count(judged, limits, targets.get(judged.table)))
        for base, judged in sizes.items()
    ]
    return pa.Table.from_pylist(
        [dict(zip(RESIZES.arrow.names, row, strict=True)) for row in rows], RESIZES.arrow
    )


def _targets(
    sizes: Mapping[int, TableSize],
    tables: Iterable[DrawnTable],
    size: TabletsSize,
    limits: Thresholds,
) -> dict[str, TargetCount]:
    """What the rules ask for of each group; all share the goal for the shards of a rack."""
    names = {judged.table: judged for judged in sizes.values()}
    initial = {str(each.number): CountOptions(initial=each.initial) for each in tables}
    factors = {name: {DATACENTER: size.replicas} for name in names}
    return target_counts(names, initial, factors, {DATACENTER: rack_shards(size)}, limits)


def rack_shards(size: TabletsSize) -> dict[str, int]:
    """The shards of each rack: nodes are dealt to racks in turn."""
    return {
        f"r{rack}": size.shards * len(range(rack, size.nodes, size.racks))
        for rack in range(size.racks)
    }


def table_size(
    members: Sequence[DrawnTable], size: TabletsSize, known: int | None, edition: Edition
) -> TableSize:
    """What the engine judges: a base table with the bytes of its group.

    Tables grow in ``documents`` alone; in ``server`` their initial count is one rule of several.
    """
    base = members[0]
    return TableSize(
        str(base.number),
        size.tablets,
        size.replicas,
        known,
        base.resize_type,
        base.resize_seq_number,
        base.initial,
        base.growing and edition == "documents",
        len(members),
    )


def _row(base: int, judged: TableSize, decision: ResizeDecision) -> tuple[Any, ...]:
    return (
        base,
        judged.tables,
        judged.count,
        judged.replicas,
        judged.bytes,
        judged.average_tablet,
        judged.resize_type,
        decision.resize_type,
        decision.resize_seq_number,
        type(decision.reason).__name__,
    )


def _drawn(size: TabletsSize, numbers: Iterable[int]) -> Batches:
    """The tablets of some pieces, each a stretch of a table."""
    tables, chunks = drawn_tables(size), -(-size.tablets // CHUNK)
    for number in numbers:
        table, chunk = tables[number // chunks], number % chunks
        placed = drawn_chunk(size, table, chunk)
        count = len(placed.nodes)
        ends = pa.array(np.arange(count + 1, dtype=np.int32) * size.replicas)
        columns = [
            pa.array(np.full(count, table.number, np.int32)),
            pa.array(np.arange(count, dtype=np.int32) + np.int32(chunk * CHUNK)),
            *(
                pa.ListArray.from_arrays(ends, pa.array(column.ravel()))
                for column in (placed.nodes, placed.shards, placed.bytes)
            ),
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=TABLETS.arrow)


def _sums_of_drawn(size: TabletsSize, numbers: Iterable[int]) -> Batches:
    yield from summed(_drawn(size, numbers))


def _sums_of_stored(pieces: Sequence[StoredPiece], numbers: Iterable[int]) -> Batches:
    read = (batch for at in numbers for batch in pieces[at].batches(("table", "bytes")))
    yield from summed(read)


def spares(widest: int = WIDEST) -> list[int]:
    """How many of n replicas may be gone while a majority is left, for n from 0 on."""
    return [n - majority((1 << n) - 1) for n in range(widest + 1)]


def _lost_on_spark(tablets: Any) -> Any:
    """Rows of ``losses``, in Spark's own columns: every pair of replicas of a tablet."""
    spare = f"element_at(array({', '.join(map(str, spares()))}), size(nodes) + 1) as spare"
    sets = tablets.selectExpr("nodes", spare).where("spare in (0, 1)")
    firsts = sets.selectExpr("explode(nodes) as first", "nodes", "spare")
    # Where one is enough there is no second.
    seconds = "explode(if(spare = 0, array(cast(null as int)), nodes)) as second"
    pairs = firsts.selectExpr("first", seconds).where("second is null or first < second")
    return pairs.groupBy("first", "second").count().toDF(*LOSSES.arrow.names)


def _lost(tablets: pa.Table) -> pa.Table:
    """Rows of ``losses``, tablet by tablet."""
    costs: dict[tuple[int, int | None], int] = {}
    spare = spares()
    for nodes in tablets["nodes"].to_pylist():
        for first in nodes:
            others = {0: [None], 1: [n for n in nodes if n > first]}.get(spare[len(nodes)], [])
            for second in others:
                costs[first, second] = costs.get((first, second), 0) + 1
    rows = [(*loss, count) for loss, count in costs.items()]
    columns = list(zip(*rows, strict=True)) or [()] * len(LOSSES.columns)
    arrays = [pa.array(c, f.type) for c, f in zip(columns, LOSSES.arrow, strict=True)]
    return pa.Table.from_arrays(arrays, schema=LOSSES.arrow)


class Availability(Struct, frozen=True):
    """What losses of one and of two nodes cost, over all of them.

    ``singles`` of ``nodes`` nodes, and ``doubles`` of ``pairs`` pairs, take some tablet's quorum.
    ``worst`` is the row of ``losses`` with the most tablets: nodes, and how many.
    """

    nodes: int
    singles: int
    pairs: int
    doubles: int
    worst: tuple[tuple[int, ...], int]


def availability(losses: Any, nodes: int) -> Availability:
    """Every loss of one or two of so many nodes, from the rows of ``losses``.

    Raises:
        BadInput: for another table, or fewer nodes than it names.
    """
    table = columns_of("losses", losses, LOSSES)
    largest = pc.max(
        pa.chunked_array([*table["first"].chunks, *table["second"].chunks], pa.int32())
    )
    whole_number("nodes", nodes, (largest.as_py() or 0) + 1)
    single = table["second"].is_null().to_numpy(zero_copy_only=False)
    first, tablets = table["first"].to_numpy(), table["tablets"].to_numpy()
    second = table["second"].fill_null(-1).to_numpy()
    harmful = np.unique(first[single])
    apart = ~(single | np.isin(first, harmful) | np.isin(second, harmful))
    safe = nodes - len(harmful)
    pairs = nodes * (nodes - 1) // 2
    doubles = pairs - safe * (safe - 1) // 2 + int(apart.sum())
    order = np.lexsort((second, first, -tablets))
    worst = [int(n) for n in (first[order[0]], second[order[0]]) if n >= 0] if len(order) else []
    most = int(tablets[order[0]]) if len(order) else 0
    return Availability(nodes, len(harmful), pairs, doubles, (tuple(worst), most))
