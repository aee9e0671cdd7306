"""Rows over many seeds: drawn on Spark in tasks, or here when there is no Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from kit.engine.fuzz import MOST_SEEDS
from kit.errors import BadInput
from kit.spark.schemas import Schema
from kit.spark.workers import by_number

Batches = Callable[[Iterable[int]], Iterator[pa.RecordBatch]]


def seeded(
    spark: Any, seeds: Sequence[int], batches: Batches, schema: Schema, tasks: int | None
) -> Any:
    """A Spark frame of ``batches`` over the seeds, made when it is used, in so many tasks.

    Without Spark (None) it is an Arrow table, made here and now.

    Raises:
        BadInput: for what is no range of seeds from 0 on, no number of tasks, no Spark session.
    """
    if tasks is not None and (type(tasks) is not int or not 0 < tasks <= MOST_SEEDS):
        raise BadInput("tasks", tasks, f"a whole number from 1 to {MOST_SEEDS}, or None")
    if not isinstance(seeds, range) or len(seeds) > MOST_SEEDS or min(seeds, default=0) < 0:
        allowed = f"a range of at most {MOST_SEEDS} whole numbers from 0 on"
        raise BadInput("seeds", str(seeds), allowed)
    if not (spark is None or callable(getattr(spark, "range", None))):
        raise BadInput("spark", spark, "a Spark session, or None")
    if spark is None:
        return pa.Table.from_batches(batches(seeds), schema.arrow)
    numbers = spark.range(seeds.start, seeds.stop, seeds.step, tasks)
    return numbers.mapInArrow(by_number(batches), schema.ddl)
