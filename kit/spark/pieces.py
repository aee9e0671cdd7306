"""Parquet that is read by workers as columns, a row group at a time.

Spark would make rows of columns on their way to Python, at several times the cost of adding them
up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct

from kit.spark.machine import BATCH_ROWS


class StoredPiece(Struct, frozen=True):
    """A row group of a Parquet file."""

    path: str
    row_group: int

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Its rows, of so many columns (all by default)."""
        with pq.ParquetFile(self.path) as file:
            yield from file.iter_batches(
                BATCH_ROWS, [self.row_group], columns=columns, use_threads=False
            )


def stored_pieces(folder: Path) -> tuple[StoredPiece, ...]:
    """The row groups of all files of a table."""
    return tuple(
        StoredPiece(str(path), group)
        for path in sorted(folder.glob("*.parquet"))
        for group in range(pq.read_metadata(path).num_row_groups)
    )
