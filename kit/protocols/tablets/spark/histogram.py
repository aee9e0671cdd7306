"""How many tables have which average tablet size: counted by Spark, or here without it.

Buckets are parts of the target size, so that both thresholds of a resize lie between two of them.
Sources: Topology over Raft, "Tablet resize"; ``kit.protocols.tablets.rules.resize`` for the
thresholds.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from kit.protocols.tablets.spark.tables import AVERAGES

PARTS = tuple(map(Fraction, "1/8 3/16 1/4 3/8 1/2 3/4 1 3/2 2 3 4 6 8".split()))
"""Where buckets meet, as multiples of the target size."""
BUCKET, DECISION, TABLES = "bucket", "decision", "tables"


def edges(target: int) -> tuple[int, ...]:
    """Where buckets meet, in bytes: a size that equals an edge is in the bucket above it."""
    return tuple(int(target * part) for part in PARTS)


def counted(spark: Any, resizes: pa.Table, target: int) -> pa.Table:
    """The tables of ``resizes`` by bucket and decision, as rows of ``averages`` in their order.

    Co-located tables share one average and count each. A bucket without tables has no row.
    """
    borders = edges(target)
    given = resizes.select(["average", DECISION, TABLES])
    if spark is None:
        counts = _counted_here(given, borders)
    else:
        counts = _counted_on_spark(spark.createDataFrame(given), borders)
    bounds = [*pairwise((0, *borders)), (borders[-1], None)]
    rows = [
        (at, *((None, None) if at is None else bounds[at]), decision, tables)
        for at, decision, tables in sorted(
            ((row[BUCKET], row[DECISION], row[TABLES]) for row in counts.to_pylist()),
            key=lambda row: (len(bounds) if row[0] is None else row[0], row[1]),
        )
    ]
    return pa.Table.from_pylist(
        [dict(zip(AVERAGES.arrow.names, row, strict=True)) for row in rows], AVERAGES.arrow
    )


def _counted_on_spark(resizes: Any, borders: Sequence[int]) -> pa.Table:
    """The sums by bucket and decision, in Spark's own columns; an unknown size has none."""
    array = ", ".join(f"cast({border} as bigint)" for border in borders)
    below = f"size(filter(array({array}), border -> border <= average))"
    bucket = f"case when average is not null then {below} end as {BUCKET}"
    sums = resizes.selectExpr(bucket, DECISION, TABLES).groupBy(BUCKET, DECISION)
    return sums.agg({TABLES: "sum"}).toDF(BUCKET, DECISION, TABLES).toArrow()


def _counted_here(resizes: pa.Table, borders: Sequence[int]) -> pa.Table:
    """The same in this process."""
    known = resizes["average"].is_valid().to_numpy()
    averages = resizes["average"].fill_null(0).to_numpy()
    buckets = pa.array(np.searchsorted(borders, averages, side="right"), mask=~known)
    sums = resizes.append_column(BUCKET, buckets).group_by([BUCKET, DECISION])
    return sums.aggregate([(TABLES, "sum")]).rename_columns([BUCKET, DECISION, TABLES])
