"""Rows as Arrow batches and back, and exact widths."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kit.protocols.tcm.spark.parts import Rows
from kit.protocols.tcm.spark.tables import REPLICAS
from kit.ring.topology import Codes, Tokens
from kit.spark.machine import BATCH_ROWS

Words = NDArray[np.int64]


def widths(lefts: Tokens, rights: Tokens) -> tuple[Words, Words]:
    """How many tokens each range holds, as ``high * 2**32 + low``; up to 2**64 - 1."""
    width = rights.astype(np.uint64) - lefts.astype(np.uint64)  # modulo 2**64, hence right
    high = (width >> np.uint64(32)).astype(np.int64)
    return high, (width & np.uint64(2**32 - 1)).astype(np.int64)


def batches(rows: Rows) -> Iterator[pa.RecordBatch]:
    """The rows as batches of the schema ``replicas``."""
    for first in range(0, len(rows.rights), BATCH_ROWS):
        at = slice(first, first + BATCH_ROWS)
        count = len(rows.rights[at])
        columns = [
            pa.array(np.full(count, rows.group, np.int32)),
            pa.array(np.full(count, rows.step, np.int32)),
            pa.array(rows.lefts[at]),
            pa.array(rows.rights[at]),
            as_lists(rows.reads[at]),
            as_lists(rows.writes[at]),
            pa.array(rows.changed[at]),
            pa.array(rows.locked[at]),
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=REPLICAS.arrow)


def as_lists(groups: Codes) -> pa.ListArray:
    """A matrix of codes, padded with -1, as a list per row."""
    used = groups >= 0
    ends = np.zeros(len(groups) + 1, np.int32)
    np.cumsum(used.sum(axis=1), out=ends[1:])
    return pa.ListArray.from_arrays(pa.array(ends), pa.array(groups[used]))


def as_groups(lists: pa.ListArray) -> Codes:
    """Lists of codes as a matrix, padded with -1 on the right."""
    counts = lists.value_lengths().to_numpy(zero_copy_only=False)
    groups = np.full((len(lists), int(counts.max(initial=0))), -1, np.int32)
    groups[np.arange(groups.shape[1]) < counts[:, None]] = lists.flatten().to_numpy()
    return groups


def tables(batch: pa.RecordBatch) -> Iterator[Rows]:
    """A batch of the schema ``replicas`` as rows: one value for each group and step in it."""
    group, step = (batch.column(name).to_numpy() for name in ("group", "step"))
    breaks = np.flatnonzero((np.diff(group) != 0) | (np.diff(step) != 0)) + 1
    edges = [0, *breaks.tolist(), len(group)] if len(group) else [0]
    for first, end in pairwise(edges):
        part = batch.slice(first, end - first)
        yield Rows(
            int(group[first]),
            int(step[first]),
            part.column("left").to_numpy(),
            part.column("right").to_numpy(),
            as_groups(part.column("reads")),
            as_groups(part.column("writes")),
            part.column("changed").to_numpy(zero_copy_only=False),
            part.column("locked").to_numpy(zero_copy_only=False),
        )
