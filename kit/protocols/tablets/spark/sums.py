"""The bytes of all replicas of each table, added up as columns: of parts, then of all together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from msgspec import Struct

from kit.protocols.tablets.rules.balance.cluster import UNKNOWN
from kit.protocols.tablets.spark.tables import TABLE
from kit.spark.schemas import table
from kit.spark.workers import Batches

SUMS = table(
    "table_sums",
    "the replicas of a table, or of a part of it, added up",
    TABLE,
    "replicas bigint: how many replicas there are",
    "bytes bigint: their bytes",
    "least bigint: the bytes of the smallest, -1 where some are not known",
)


class TableSum(Struct, frozen=True):
    """The replicas of a table that are known of, and their bytes; None where some have no size."""

    replicas: int
    bytes: int | None


def summed(batches: Iterable[pa.RecordBatch]) -> Batches:
    """The sums over some rows of ``tablets`` (of these ``table`` and ``bytes``), as one batch."""
    parts = [_of_part(batch) for batch in batches]
    if parts:
        yield from _together(pa.concat_tables(parts)).combine_chunks().to_batches()


def added_by_spark(tablets: Any) -> pa.Table:
    """The sums over rows of ``tablets``, by Spark's own aggregates, as rows of ``SUMS``."""
    sizes = tablets.selectExpr("table", "explode(bytes) as bytes")
    columns = sizes.selectExpr("table", "bytes as replicas", "bytes", "bytes as least")
    sums = columns.groupBy("table").agg({"replicas": "count", "bytes": "sum", "least": "min"})
    return sums.toDF(*SUMS.arrow.names).toArrow()


def table_sums(parts: pa.Table) -> dict[int, TableSum]:
    """What parts of tables (rows of ``SUMS``) are together, by table."""
    return {
        row["table"]: TableSum(row["replicas"], None if row["least"] == UNKNOWN else row["bytes"])
        for row in _together(parts).to_pylist()
    }


def _of_part(batch: pa.RecordBatch) -> pa.Table:
    """The sums of each run of rows of one table: a table's tablets lie together, where written."""
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
