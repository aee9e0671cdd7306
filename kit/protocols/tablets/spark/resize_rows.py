"""The rows of a run in which a table is resized: tablet sizes, decisions; and their sums."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from kit.protocols.storage.trace_rows import range_rows
from kit.protocols.tablets.facts.resize import blocked, in_bytes
from kit.protocols.tablets.resize import Resize
from kit.spark.schemas import Makers, Row, of_states, of_steps
from kit.spark.traces import Reports, grouped, report_of

REQUESTS = range_rows(lambda _: "ks")
"""The rows of requests on one tablet, which is that of a keyspace of its own."""
TABLE = "table string: the table, with its keyspace"
TABLETS = "tablets int: how many tablets it has"
TABLET_SIZES = of_steps(
    "tablet_sizes",
    "a replica of a tablet after a step, with its size",
    TABLE,
    TABLETS,
    "tablet int: its number in the table",
    "node string: the node that holds the replica",
    "shard int: its shard there",
    "bytes bigint: the size of the replica",
)
DECISIONS = of_steps(
    "resize_decisions",
    "what is decided for a table after a step, and what its sizes ask for",
    TABLE,
    TABLETS,
    "average bigint: the average size of a replica of a tablet",
    "asks string: none, split or merge, by the sizes",
    "decided string: what is stored: none, split or merge",
    "resize_seq_number int: the number of what is stored",
    "waits string: why it cannot take effect yet; empty where it can, or where nothing is decided",
)
BY = ["tablets"]
SPREAD = {"least": "min", "mean": "mean", "most": "max"}


def _sizes(m: Resize, s: Any) -> Iterator[Row]:
    size = in_bytes(s.size) // s.map.count
    for number, tablet in enumerate(s.map.tablets):
        for place in tablet.replicas:
            yield s.map.table, s.map.count, number, place.host, place.shard, size


def _decisions(m: Resize, s: Any) -> Iterator[Row]:
    waits, stored = blocked(m, s), (s.map.resize_type, s.map.resize_seq_number)
    due, why = m.decision(s).resize_type, waits.reason if waits else ""
    yield s.map.table, s.map.count, in_bytes(s.average), due, *stored, why


ROWS: Makers = {TABLET_SIZES: of_states(_sizes), DECISIONS: of_states(_decisions)}


def size_spread(traces: Reports) -> pd.DataFrame:
    """The bytes of a replica by how many tablets its table has: runs, least, mean, most; added up
    by Spark where the traces are on a session.
    """
    rows = traces.table(TABLET_SIZES.name)
    spread = {how: ("bytes", way) for how, way in SPREAD.items()}
    return report_of(grouped(rows, BY, runs=("run", "nunique"), **spread), BY)
