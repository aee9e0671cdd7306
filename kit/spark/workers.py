"""What Spark's Python workers need between two tasks."""

from __future__ import annotations

import gc
import sys
import zipimport
from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa

Batches = Iterator[pa.RecordBatch]


def keep_worker_quick() -> None:
    """Let a worker's next task begin at once.

    After each task Spark's worker collects garbage among all that was ever imported, 0.07 s a task:
    what lives when a task begins is set aside. Before each task it drops import caches, and Python
    3.11 then reads each archive on the path again, 0.1 s a task (3.12 waits until it is asked for a
    module); the archives never change.
    """
    gc.freeze()
    if sys.version_info < (3, 12):
        setattr(zipimport.zipimporter, "invalidate_caches", _nothing)  # noqa: B010  # a patch


def by_number(
    work: Callable[[Iterable[int]], Batches],
) -> Callable[[Iterable[pa.RecordBatch]], Batches]:
    """The function that a Spark task runs over the numbers it is given (column ``id``)."""

    def run(given: Iterable[pa.RecordBatch]) -> Batches:
        keep_worker_quick()
        yield from work(number for batch in given for number in batch.column("id").to_pylist())

    return run


def _nothing(_: zipimport.zipimporter) -> None:
    pass
