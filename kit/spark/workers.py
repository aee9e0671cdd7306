"""What Spark's Python workers need between two tasks."""

import gc
import sys
import zipimport
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct

from kit.edge.limits import MOST_TASKS
from kit.errors import BadInput
from kit.search.fuzz import MOST_SEEDS
from kit.spark.machine import BATCH_ROWS
from kit.spark.schemas import Schema
from kit.spark.sessions import living

Batches = Iterator[pa.RecordBatch]
MOST = 2**63 - 1


def keep_worker_quick() -> None:
    """Let a worker's next task begin at once.

    After each task Spark's worker collects garbage among all that was ever imported, 0.07 s, and
    Python 3.11 then reads each archive on the path again, 0.1 s; the archives never change.
    """
    gc.freeze()
    if sys.version_info < (3, 12):
        patched: Any = zipimport.zipimporter
        patched.invalidate_caches = lambda _: None


def by_number(
    work: Callable[[Iterable[int]], Batches],
) -> Callable[[Iterable[pa.RecordBatch]], Batches]:
    """The function that a Spark task runs over the numbers it is given (column ``id``)."""

    def run(given: Iterable[pa.RecordBatch]) -> Batches:
        keep_worker_quick()
        yield from work(number for batch in given for number in batch.column("id").to_pylist())

    return run


class StoredPiece(Struct, frozen=True):
    """A row group of a Parquet file."""

    path: str
    row_group: int

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Its rows, of so many columns (all by default)."""
        with pq.ParquetFile(self.path) as file:
            options = {"columns": columns, "use_threads": False}
            yield from file.iter_batches(BATCH_ROWS, [self.row_group], **options)


def stored_pieces(folder: Path) -> tuple[StoredPiece, ...]:
    """The row groups of all files of a table."""
    return tuple(
        StoredPiece(str(path), group)
        for path in sorted(folder.glob("*.parquet"))
        for group in range(pq.read_metadata(path).num_row_groups)
    )


def seeded(
    spark: Any,
    seeds: Sequence[int],
    batches: Callable[[Iterable[int]], Batches],
    schema: Schema,
    tasks: int | None,
) -> Any:
    """A Spark frame of ``batches`` over the seeds, made when it is used, in so many tasks.

    Without Spark (None) it is an Arrow table, made here and now. BadInput for other seeds or tasks,
    KitError for a session that has ended.
    """
    if tasks is not None and (type(tasks) is not int or not 0 < tasks <= MOST_TASKS):
        raise BadInput("tasks", tasks, f"a whole number from 1 to {MOST_TASKS}, or None")
    if not (isinstance(seeds, range) and _countable(seeds)):
        allowed = f"a range of at most {MOST_SEEDS} whole numbers from 0 to {MOST - 1}"
        raise BadInput("seeds", str(seeds), allowed)
    if not (spark is None or callable(getattr(spark, "range", None))):
        raise BadInput("spark", spark, "a Spark session, or None")
    if spark is None:
        return pa.Table.from_batches(batches(seeds), schema.arrow)
    numbers = living(spark).range(seeds.start, seeds.stop, seeds.step, tasks)
    return numbers.mapInArrow(by_number(batches), schema.ddl)


def _countable(seeds: range) -> bool:
    few = len(seeds[: MOST_SEEDS + 1]) <= MOST_SEEDS  # Python cannot say how long a long one is
    small = max(map(abs, (seeds.start, seeds.stop, seeds.step))) <= MOST
    return few and small and min(seeds, default=0) >= 0
