"""Which neighbouring ranges the merge of an operation joins, and which stay apart and why.

Source: CEP-21, "Decommission" (equal neighbours are merged; leaving that out is harmless).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from msgspec import Struct

from kit.protocols.tcm.cluster import TcmCluster
from kit.protocols.tcm.facts.moment import OperationRow, RangeRow, rows


class Neighbours(Struct, frozen=True):
    """Two ranges side by side, ``left`` before ``right``; ``apart`` says why they are not merged.

    ``apart`` is empty where the merge joins them.
    """

    left: RangeRow
    right: RangeRow
    apart: str


def neighbours(
    m: TcmCluster, s: Any, operation: OperationRow, keyspace: str | None = None
) -> tuple[Neighbours, ...]:
    """Every pair of neighbours that the operation has locked, as the merge would treat it now.

    Empty when the operation has no merge. ``merges`` of the plan are the bounds that it gives up.
    """
    sequence = m.tcm.sequence(s.tcm, operation.node)
    group = m.snapshot(s).metadata.group_of(keyspace or m.tcm.cluster.keyspaces[0].name)
    if sequence is None or group is None:
        return ()
    given_up = {
        bound
        for step in sequence.steps
        if step.name == "merge"
        for bound in step.deltas[group].merges
    }
    held = [row for row in rows(m, s, keyspace) if row.locked_by == operation.title]
    pairs = [(row, next_) for row, next_ in pairwise(held) if row.right == next_.left]
    if not given_up:
        return ()
    return tuple(Neighbours(row, other, _apart(row, other, given_up)) for row, other in pairs)


def _apart(row: RangeRow, other: RangeRow, given_up: set[int]) -> str:
    if (row.reads, row.writes) != (other.reads, other.writes):
        return "their replicas differ"
    return "" if row.right in given_up else "a token lies between them"
