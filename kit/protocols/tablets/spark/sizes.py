"""Average tablet sizes and resize decisions of many tables, and what the loss of nodes costs.

Spark adds up replicas in its own columns; the decision on each table is the engine's, by the same
rule as in a model. Without Spark the same is done here. Sources: Topology over Raft, "Tablet
resize", "Co-located tables".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import groupby, pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Meta, Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from kit.edge.arguments import whole_number
from kit.errors import BadInput, counted
from kit.model.registry import bounds_of
from kit.protocols.storage.rules.levels import majority
from kit.protocols.tablets.rules import resize
from kit.protocols.tablets.rules.balance.cluster import UNKNOWN, Bytes, Codes
from kit.protocols.tablets.rules.balance.reasons import bytes_said
from kit.protocols.tablets.rules.maps import ResizeType
from kit.protocols.topology.rules.machines import Edition
from kit.spark.rows import columns_of
from kit.spark.schemas import table
from kit.spark.sessions import Spark, arrow_of
from kit.spark.storing import for_spark
from kit.spark.sweeping import stored
from kit.spark.workers import Batches, StoredPiece, by_number, stored_pieces
from kit.views.chart import Chart, canvas, chart
from kit.views.palette import BESIDE, LIGHT, SHADES

TABLE = "table int: the table"
TABLETS = table(
    "tablets",
    "a tablet of a table, with its replicas",
    TABLE,
    "tablet int: its number in the table",
    "nodes array<int>: the nodes that hold its replicas",
    "shards array<int>: the shard of each replica on its node",
    "bytes array<bigint>: the size of each replica, -1 where unknown",
)
RESIZES = table(
    "resizes",
    "a table, or a group of co-located tables, and its resize decision from now on",
    "table int: the table; for a group, its base table",
    "tables int: how many tables are in the group",
    "tablets int: how many tablets it has",
    "replicas int: the replication factor",
    "bytes bigint: the size of all replicas of the group, null where some are unknown",
    "average bigint: the average size of a replica of a tablet, null where unknown",
    "before string: what was decided until now: none, split or merge",
    "decision string: what is decided from now on",
    "resize_seq_number int: the number of the decision",
    "reason string: the name of the reason",
)
AVERAGES = table(
    "averages",
    "tables that share a bucket of average tablet sizes and a decision",
    "bucket int: the number of the bucket, from 0, null where sizes are unknown",
    "least bigint: the smallest average in it, null where unknown",
    "below bigint: where the next bucket begins, null in the last bucket and where unknown",
    "decision string: what is decided from now on",
    "tables bigint: how many tables, counting each one in a group",
)
LOSSES = table(
    "losses",
    "a loss of one or two nodes that costs tablets their quorum when no smaller loss does",
    "first int: a node",
    "second int: the other node, null where the first alone is enough",
    "tablets bigint: how many tablets then have no quorum",
)
BALANCING = table(
    "balancing",
    "a plan that the balancer made for a random cluster",
    "seed bigint: the seed of the random cluster",
    "edition string: the edition that balances it",
    "nodes int: how many nodes there are",
    "shards int: how many shards there are",
    "replicas int: how many replicas all tablets have in total",
    "plan int: the number of the plan, 0 before the first",
    "moves int: how many replicas it moves",
    "bytes bigint: how many bytes it copies",
    "least double: the load of the least loaded shard after it, divided by the mean",
    "most double: the load of the most loaded shard after it, divided by the mean",
    "needed int: the fewest moves after it that give every shard the mean number of replicas",
)
TABLET_TABLES = (TABLETS, RESIZES, AVERAGES, LOSSES, BALANCING)


CHUNK = 2**16
"""So many tablets of a table are drawn from one seed, so that tasks may cut tables anywhere."""
Count = Annotated[int, Meta(ge=1, le=1_000_000)]


class TabletsSize(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How large a cluster is drawn; ``tablets`` are those of each table.

    ``empty`` nodes, the last ones, hold nothing at first. Of a hundred tables ``colocated`` share
    the tablets of the one before, and ``unknown`` have a replica whose size is not known.
    """

    nodes: Count = 3000
    racks: Annotated[int, Meta(ge=1, le=1000)] = 3
    shards: Annotated[int, Meta(ge=1, le=1024)] = 16
    tables: Annotated[int, Meta(ge=1, le=10_000)] = 50
    tablets: Count = 100_000
    replicas: Annotated[int, Meta(ge=1, le=9)] = 3
    empty: Annotated[int, Meta(ge=0)] = 0
    colocated: Annotated[int, Meta(ge=0, le=100)] = 10
    unknown: Annotated[int, Meta(ge=0, le=100)] = 4
    target_size: Annotated[int, Meta(ge=1, le=2**50)] = resize.TARGET_SIZE
    seed: Annotated[int, Meta(ge=0, le=2**32)] = 1


class DrawnTable(Struct, frozen=True):
    """The table as the cluster knows it beside its tablets; ``base`` is itself unless co-located.

    ``mean`` is the size around which its replicas' sizes lie, ``unknown`` the tablet whose first
    replica's size is not known; None: all are.
    """

    number: int
    base: int
    mean: int
    unknown: int | None
    resize_type: ResizeType
    resize_seq_number: int
    initial: int
    growing: bool


def size_of(given: Mapping[str, Any]) -> TabletsSize:
    """The size from plain values. BadInput for one out of its limits, or too few racks or nodes."""
    size = bounds_of(TabletsSize, "size", given, "whole numbers for the parts of a cluster")
    if size.racks < size.replicas:
        raise BadInput("racks", size.racks, f"at least {size.replicas}, one for each replica")
    if size.nodes - size.empty < size.racks:
        allowed = f"at least {size.racks} non-empty nodes, one in each rack"
        raise BadInput("nodes", size.nodes, allowed)
    return size


def drawn_tables(size: TabletsSize) -> tuple[DrawnTable, ...]:
    """The tables of a cluster."""
    chance = np.random.default_rng((size.seed, 0))
    kinds: tuple[ResizeType, ...] = ("none", "none", "split", "merge")
    tables: list[DrawnTable] = []
    for number in range(size.tables):
        shares = bool(tables) and bool(chance.integers(100) < size.colocated)
        initial = size.tablets >> int(chance.integers(3))
        drawn = DrawnTable(
            number,
            tables[-1].base if shares else number,
            int(size.target_size * 2.0 ** chance.uniform(-3, 3)),
            int(chance.integers(size.tablets)) if chance.integers(100) < size.unknown else None,
            kinds[int(chance.integers(len(kinds)))],
            int(chance.integers(9)),
            initial,
            resize.is_growing(size.tablets, initial),
        )
        tables.append(drawn)
    return tuple(tables)


def drawn_chunk(size: TabletsSize, table: DrawnTable, chunk: int) -> tuple[Codes, Codes, Bytes]:
    """The tablets from ``chunk * CHUNK`` on of a table: nodes, shards and bytes of replicas, (n, k)
    each. Those that are co-located lie together.
    """
    first = chunk * CHUNK
    count = min(CHUNK, size.tablets - first)
    placed = placed_at_random(np.random.default_rng((size.seed, 1, table.base, chunk)), size, count)
    chance = np.random.default_rng((size.seed, 2, table.number, chunk))
    tablet = table.mean * chance.uniform(0.5, 1.5, (count, 1))
    sizes = (tablet * chance.uniform(0.98, 1.02, (count, size.replicas))).astype(np.int64)
    if table.unknown is not None and first <= table.unknown < first + count:
        sizes[table.unknown - first, 0] = UNKNOWN
    return *placed, sizes


def placed_at_random(
    chance: np.random.Generator, size: TabletsSize, count: int
) -> tuple[Codes, NDArray[np.int32]]:
    """Nodes and shards of the replicas of so many tablets: (count, replicas) each."""
    holding = size.nodes - size.empty
    rack = (chance.integers(size.racks, size=(count, 1)) + np.arange(size.replicas)) % size.racks
    members = (holding - rack + size.racks - 1) // size.racks  # the nodes of a rack
    nodes = rack + size.racks * (chance.random(rack.shape) * members).astype(np.int64)
    shards = chance.integers(size.shards, size=rack.shape, dtype=np.int32)
    return nodes.astype(np.int32), shards


SUMS = table(
    "table_sums",
    "the replicas of a table, or of a part of it, added up",
    TABLE,
    "replicas bigint: how many replicas there are",
    "bytes bigint: their bytes",
    "least bigint: the bytes of the smallest, -1 where some are unknown",
)


class TableSum(Struct, frozen=True):
    """The replicas of a table that are known of, and their bytes; None where some have no size."""

    replicas: int
    bytes: int | None


def summed(batches: Iterable[pa.RecordBatch]) -> Batches:
    """The sums over some rows of ``tablets`` (of these ``table`` and ``bytes``), as one batch."""
    if parts := [_of_part(batch) for batch in batches]:
        yield from _together(pa.concat_tables(parts)).combine_chunks().to_batches()


def added_by_spark(tablets: Any) -> pa.Table:
    """The sums over rows of ``tablets``, by Spark's own aggregates, as rows of ``SUMS``."""
    sizes = tablets.selectExpr("table", "explode(bytes) as bytes")
    columns = sizes.selectExpr("table", "bytes as replicas", "bytes", "bytes as least")
    sums = columns.groupBy("table").agg({"replicas": "count", "bytes": "sum", "least": "min"})
    return arrow_of(sums.toDF(*SUMS.arrow.names))


def table_sums(parts: pa.Table) -> dict[int, TableSum]:
    """The sums over parts of tables (rows of ``SUMS``), by table."""
    return {
        row["table"]: TableSum(row["replicas"], None if row["least"] == UNKNOWN else row["bytes"])
        for row in _together(parts).to_pylist()
    }


def _of_part(batch: pa.RecordBatch) -> pa.Table:
    lists, tables = batch.column("bytes"), batch.column("table").to_numpy(zero_copy_only=False)
    lengths = lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    sizes = lists.flatten().fill_null(UNKNOWN).to_numpy()
    firsts = np.append(0, np.cumsum(lengths, dtype=np.int64))
    runs = np.flatnonzero(np.append(True, tables[1:] != tables[:-1]))[: len(tables)]
    counts = np.diff(firsts[np.append(runs, len(tables))])
    # Of a run without replicas there is nothing to add up.
    runs, counts = runs[counts > 0], counts[counts > 0]
    begins = firsts[runs]
    sums = np.add.reduceat(sizes, begins), np.minimum.reduceat(sizes, begins)
    return pa.table([tables[runs], counts, *sums], SUMS.arrow)


def _together(parts: pa.Table) -> pa.Table:
    sums = parts.group_by("table", False)
    total = sums.aggregate([("replicas", "sum"), ("bytes", "sum"), ("least", "min")])
    return total.rename_columns(SUMS.arrow.names).cast(SUMS.arrow)


PARTS = tuple(map(Fraction, "1/8 3/16 1/4 3/8 1/2 3/4 1 3/2 2 3 4 6 8".split()))
"""Where buckets meet, as multiples of the target size; one that equals an edge is above it."""
BUCKET, DECISION, TABLES = "bucket", "decision", "tables"


def in_buckets(resizes: pa.Table, target: int) -> pa.Table:
    """The tables of ``resizes`` by bucket and decision, as rows of ``averages`` in their order,
    none for an empty bucket. Co-located tables share one average and count each.
    """
    borders = tuple(int(target * part) for part in PARTS)
    known = resizes["average"].is_valid().to_numpy()
    averages = resizes["average"].fill_null(0).to_numpy()
    buckets = pa.array(np.searchsorted(borders, averages, side="right"), mask=~known)
    groups = resizes.append_column(BUCKET, buckets).group_by([BUCKET, DECISION])
    counts = groups.aggregate([(TABLES, "sum")]).select([BUCKET, DECISION, f"{TABLES}_sum"])
    bounds = [*pairwise((0, *borders)), (borders[-1], None)]
    sums = (tuple(row.values()) for row in counts.to_pylist())
    order = sorted(sums, key=lambda row: (len(bounds) if row[0] is None else row[0], row[1]))
    rows = ((at, *((None, None) if at is None else bounds[at]), *rest) for at, *rest in order)
    return pa.Table.from_batches([AVERAGES.batch(rows)])


DATACENTER = "dc1"  # of a drawn cluster
WIDEST = 9  # replicas of a tablet


class TabletCluster:
    """A drawn cluster as tables: its tablets on Spark, or as an Arrow table without it."""

    def __init__(self, spark: Any, size: TabletsSize) -> None:
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
            return self.spark.read.parquet(for_spark(self._stored))
        drawing = by_number(partial(_drawn, self.size))
        return self.spark.range(0, self._pieces, 1).mapInArrow(drawing, TABLETS.ddl)

    def write(self, folder: str | Path) -> Path:
        """Write the tablets as Parquet into a new folder, all or nothing; Spark reads them then.
        BadInput when the folder exists, or has no place or room.
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
        return table_sums(arrow_of(numbers.mapInArrow(by_number(adding), SUMS.ddl)))

    def resizes(self, tablets: Any = None, edition: Edition = "documents") -> pa.Table:
        """What the engine decides on each table, or group of co-located ones, as rows of
        ``resizes``, from these rows or its own.

        Edition ``server`` goes by the target counts of all tables together, as a dump's tables do:
        all share the goal for the shards of a rack, and nodes are dealt to racks in turn. Tables
        grow in ``documents`` alone; in ``server`` their initial count is one rule of several.
        """
        size, sums, limits = self.size, self.sums(tablets), self.thresholds(edition)
        groups: dict[int, list[DrawnTable]] = {}
        for each in self.tables:
            groups.setdefault(each.base, []).append(each)
        sizes: dict[str, resize.TableSize] = {}
        for base, *others in groups.values():
            added = [sums.get(each.number) for each in (base, *others)]
            known = resize.group_bytes(
                each.bytes if each and each.replicas == size.tablets * size.replicas else None
                for each in added
            )
            sizes[str(base.number)] = resize.TableSize(
                *(str(base.number), size.tablets, size.replicas, known),
                *(base.resize_type, base.resize_seq_number, base.initial),
                base.growing and edition == "documents",
                1 + len(others),
            )
        targets: Mapping[str, resize.TargetCount] = {}
        if edition == "server":
            options = {str(t.number): resize.CountOptions(initial=t.initial) for t in self.tables}
            factors = {name: {DATACENTER: size.replicas} for name in sizes}
            nodes = {f"r{n}": len(range(n, size.nodes, size.racks)) for n in range(size.racks)}
            shards = {rack: size.shards * count for rack, count in nodes.items()}
            targets = resize.target_counts(sizes, options, factors, {DATACENTER: shards}, limits)
        rows = []
        for name, judged in sizes.items():
            decision = resize.decide_by_count(judged, limits, targets.get(name))
            row = (
                *(int(name), judged.tables, judged.count, judged.replicas, judged.bytes),
                *(judged.average_tablet, judged.resize_type, decision.resize_type),
                *(decision.resize_seq_number, type(decision.reason).__name__),
            )
            rows.append(row)
        return pa.Table.from_batches([RESIZES.batch(rows)])

    def thresholds(self, edition: Edition = "documents") -> resize.Thresholds:
        """When an average asks for a resize, by the cluster's own target size."""
        return replace(resize.THRESHOLDS[edition], target=self.size.target_size)

    def histogram(self, tablets: Any = None, edition: Edition = "documents") -> pa.Table:
        """How many tables have which average and decision, as rows of ``averages``."""
        return in_buckets(self.resizes(tablets, edition), self.size.target_size)

    def losses(self, tablets: Any = None) -> Any:
        """A row for each loss of one or two nodes that costs a quorum, if no smaller one does."""
        rows = self.tablets if tablets is None else tablets
        return _lost(rows) if self.spark is None else _lost_on_spark(rows)


def tablets(spark: Spark | None, **sizes: Any) -> TabletCluster:
    """A drawn cluster with tablets, as tables on a session, or with None in this process. ``sizes``
    are the fields of ``kit.protocols.tablets.spark.sizes.TabletsSize``. BadInput for a size that is
    unknown, out of its limits, or does not fit the others.
    """
    return TabletCluster(spark, size_of(sizes))


def _drawn(size: TabletsSize, numbers: Iterable[int]) -> Batches:
    tables, chunks = drawn_tables(size), -(-size.tablets // CHUNK)
    for number in numbers:
        table, chunk = tables[number // chunks], number % chunks
        columns = drawn_chunk(size, table, chunk)
        count = len(columns[0])
        ends = pa.array(np.arange(count + 1, dtype=np.int32) * size.replicas)
        lists = (pa.ListArray.from_arrays(ends, pa.array(column.ravel())) for column in columns)
        first = chunk * CHUNK
        yield TABLETS.batch_of(
            [np.full(count, table.number), np.arange(first, first + count), *lists]
        )


def _sums_of_drawn(size: TabletsSize, numbers: Iterable[int]) -> Batches:
    yield from summed(_drawn(size, numbers))


def _sums_of_stored(pieces: Sequence[StoredPiece], numbers: Iterable[int]) -> Batches:
    read = (batch for at in numbers for batch in pieces[at].batches(("table", "bytes")))
    yield from summed(read)


SPARES = [n - majority((1 << n) - 1) for n in range(WIDEST + 1)]
"""How many of n replicas may be gone while a majority is left, for n from 0 on."""


def _lost_on_spark(tablets: Any) -> Any:
    spare = f"element_at(array({', '.join(map(str, SPARES))}), size(nodes) + 1) as spare"
    sets = tablets.selectExpr("nodes", spare).where("spare in (0, 1)")
    firsts = sets.selectExpr("explode(nodes) as first", "nodes", "spare")
    # Where one is enough there is no second.
    seconds = "explode(if(spare = 0, array(cast(null as int)), nodes)) as second"
    pairs = firsts.selectExpr("first", seconds).where("second is null or first < second")
    return pairs.groupBy("first", "second").count().toDF(*LOSSES.arrow.names)


def _lost(tablets: pa.Table) -> pa.Table:
    costs: dict[tuple[int, int | None], int] = {}
    for nodes in tablets["nodes"].to_pylist():
        for first in nodes:
            others = {0: [None], 1: [n for n in nodes if n > first]}.get(SPARES[len(nodes)], [])
            for second in others:
                costs[first, second] = costs.get((first, second), 0) + 1
    return pa.Table.from_batches([LOSSES.batch((*loss, count) for loss, count in costs.items())])


class Availability(Struct, frozen=True):
    """The cost of losing one node and two nodes, over all of them.

    ``singles`` of ``nodes`` nodes, and ``doubles`` of ``pairs`` pairs, take some tablet's quorum.
    ``worst`` is the row of ``losses`` with the most tablets: nodes, and how many.
    """

    nodes: int
    singles: int
    pairs: int
    doubles: int
    worst: tuple[tuple[int, ...], int]


def availability(losses: Any, nodes: int) -> Availability:
    """Every loss of one or two of so many nodes, from the rows of ``losses``. BadInput for another
    table, or fewer nodes than it names.
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


# -- the chart, with the same facts in words -------------------------------------------------------

FILLS = {
    "merge": (SHADES["removed"], "\\\\"),
    "none": (SHADES["plain"], ""),
    "split": (SHADES["added"], "//"),
}
"""Fill and hatch of each decision, from the bottom of a bar to its top."""
PLACES = range(1, len(PARTS) + 1)
"""Where the edges of buckets stand on the axis: all bars are as wide as each other."""
Rows = Sequence[dict[str, Any]]  # those of ``averages``


def size_histogram(
    cluster: TabletCluster, tablets: Any = None, edition: Edition = "documents", *, ax: Any = None
) -> Chart:
    """How many tables have which average tablet size, and what is decided on them.

    The horizontal axis is the average as a multiple of the target size; a bar of each bucket is cut
    by decision, and both thresholds of the edition are marked. ``tablets`` are rows other than the
    cluster's own. In edition ``server`` more rules than the thresholds decide.
    """
    rows = cluster.histogram(tablets, edition).to_pylist()
    limits = cluster.thresholds(edition)
    with canvas(ax, 6.8, 3.2) as axes:
        _bars(axes, rows)
        below, above = map(bytes_said, (limits.merge_below, limits.split_above))
        names = f"merge below {below}", f"split above {above}"
        percents = limits.merge_percent, limits.split_percent
        for percent, wide, name in zip(percents, (1.4, 3), names, strict=True):
            place = np.interp(percent / 100, [float(part) for part in PARTS], PLACES)
            axes.axvline(place, color=LIGHT["ink"], linewidth=wide, label=name)
        axes.set_xticks(PLACES, [str(part) for part in PARTS])
        axes.set_xlim(0, len(PARTS) + 1)
        axes.yaxis.get_major_locator().set_params(integer=True)
        axes.set_xlabel(f"average tablet (1 = the target, {bytes_said(limits.target)})")
        axes.set_ylabel("tables")
        axes.set_title("Average tablet sizes")
        axes.legend(**BESIDE)
    tables = counted(sum(row["tables"] for row in rows), "table")
    head = f"Average tablet sizes of {tables} (edition {edition})"
    return chart(axes, "\n".join([head, f"Thresholds: {', '.join(names)}", *_lines(rows)]))


def _bars(axes: Any, rows: Rows) -> None:
    floor = np.zeros(len(PARTS) + 1, np.int64)
    for decision, (fill, hatch) in FILLS.items():
        heights = np.zeros_like(floor)
        for row in rows:
            if row["bucket"] is not None and row["decision"] == decision:
                heights[row["bucket"]] = row["tables"]
        look = {"color": fill, "hatch": hatch, "label": decision}
        axes.bar(range(len(floor)), heights, 1.0, floor, align="edge", **look)
        floor += heights


def _lines(rows: Rows) -> Iterator[str]:
    for (least, below), of_bucket in groupby(rows, lambda row: (row["least"], row["below"])):
        bucket = "not known" if least is None else f"from {bytes_said(least, 2)}"
        if below is not None:
            bucket = f"{bytes_said(least, 2)} to {bytes_said(below, 2)}"
        counts = ", ".join(f"{row['tables']} {row['decision']}" for row in of_bucket)
        yield f"{bucket}: {counts}"
