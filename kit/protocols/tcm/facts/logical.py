"""A range as a record of logical replicas: one that moves is written as both its nodes.

Source: CEP-21, "Future Work" (a range as start, end, read owners and write owners, where one
logical write replica may list several nodes that must all answer).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct

from kit.protocols.tcm.cluster import TcmCluster
from kit.protocols.tcm.facts.large import length, rows_of
from kit.protocols.tcm.facts.memo import memo
from kit.protocols.tcm.facts.moment import RangeRow, rows


class LogicalRow(Struct, frozen=True):
    """A range with logical replicas: each read replica is one node, a write replica one or two.

    A write replica of two nodes is under way from the first to the second; both must answer.
    """

    row: RangeRow
    reads: tuple[str, ...]
    writes: tuple[tuple[str, ...], ...]


def logical(
    m: TcmCluster, s: Any, keyspace: str, most: int | None = None
) -> tuple[LogicalRow, ...]:
    """The rows of a keyspace as logical replicas; of a table with more than ``most`` rows only
    those in which something moves, and of these so many.

    Raises:
        BadInput: for an unknown keyspace.
    """
    key = ("logical", s.tcm.events, keyspace, most)
    return memo(m, key, lambda: _logical(m, s, keyspace, most))


def _logical(m: TcmCluster, s: Any, keyspace: str, most: int | None) -> tuple[LogicalRow, ...]:
    snapshot = m.snapshot(s)
    group = snapshot.metadata.group_of(keyspace)
    moves = [
        (transfer.range, m.names[transfer.displaced], m.names[transfer.target])
        for sequence in snapshot.metadata.sequences
        for transfer in sequence.plan.transfers
        if transfer.group == group and transfer.displaced is not None
    ]
    logical_rows = []
    size = None if most is None else length(m, s, keyspace)
    if most is None or size is None or size <= most:
        known = rows(m, s, keyspace)
    else:
        known = rows_of(m, s, keyspace, (held.right for held, _, _ in moves), most)
    lefts = np.array([held.left for held, _, _ in moves], np.int64)
    rights = np.array([held.right for held, _, _ in moves], np.int64)
    for row in known:
        there = np.flatnonzero((lefts < row.right) & (rights > row.left))
        pairs = {
            old: new
            for _, old, new in map(moves.__getitem__, there.tolist())
            if old in row.writes and new in row.writes
        }
        writes = tuple(
            (name, pairs[name]) if name in pairs else (name,)
            for name in row.writes
            if name not in pairs.values()
        )
        logical_rows.append(LogicalRow(row, row.reads, writes))
    return tuple(logical_rows)
