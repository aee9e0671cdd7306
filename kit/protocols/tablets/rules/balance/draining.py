"""Emptying nodes that leave or are removed: each of their replicas goes to the least loaded place.

Whether loads get even does not matter here, and balancing may be switched off. A tablet that no
node may take is a failure of the drain, which is reported; the published coordinator then cancels
the request.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from kit.protocols.tablets.rules.balance.cluster import NOBODY
from kit.protocols.tablets.rules.balance.loads import Loads, TabletMove
from kit.protocols.tablets.rules.balance.places import DRAINED
from kit.protocols.tablets.rules.balance.reasons import Drains
from kit.protocols.tablets.rules.replica_sets import TabletReplica


class DrainFailure(Struct, frozen=True):
    """A replica on a node that is to be empty, and that no node may take."""

    table: str
    tablets: tuple[int, ...]
    source: TabletReplica


def drained(loads: Loads, only: str = "") -> Iterator[TabletMove | DrainFailure]:
    """Moves off the nodes to drain, as far as streams allow, and what cannot be moved.

    Off all of them, or off ``only`` one host, while others that are to be drained stay as they are.
    """
    rows = loads.given.rows
    for node, entry in enumerate(loads.given.nodes):
        if entry.role not in DRAINED or only not in ("", entry.host):
            continue
        for shard in loads.shards_of(node):
            for row, column in loads.rows_on(shard):
                if loads.under_way(row, column):
                    continue
                nodes = fit_nodes(loads, loads.moving(row, column), node)
                if not nodes.any():
                    number = int(rows.number[row])
                    tablets = tuple(range(number, number + len(loads.moving(row, column))))
                    table = loads.given.tables[int(rows.table[row])]
                    yield DrainFailure(table, tablets, loads.replica(shard))
                    continue
                target = _least_loaded(loads, row, column, nodes)
                if target is not None:
                    reason = Drains(entry.role, float(loads.shard_load[target]))
                    yield loads.apply(row, column, target, reason)


def to_drain(loads: Loads, datacenter: int) -> list[int]:
    """The nodes of a datacenter (by its code) that are to be empty and are not."""
    nodes, held = loads.given.nodes, loads.given.rows.nodes
    left = np.isin(np.arange(len(nodes)), held[held != NOBODY])
    left &= loads.dc == datacenter
    return [node for node in np.flatnonzero(left).tolist() if nodes[node].role in DRAINED]


def fit_nodes(loads: Loads, rows: Sequence[int], giver: int) -> NDArray[np.bool_]:
    """The nodes that replicas on another node may go to, as ``Loads.misplaced`` has it."""
    return loads.places.fit(loads.given.rows, rows, giver)


def _least_loaded(loads: Loads, row: int, column: int, nodes: NDArray[np.bool_]) -> int | None:
    """The least loaded shard of the least loaded of these nodes; None while streams are full."""
    order = np.flatnonzero(nodes)
    order = order[np.argsort(loads.node_load[order], kind="stable")]
    for node in order.tolist():
        for shard in loads.by_load(node):
            full = loads.full(row, column, shard)
            if full is None:
                return shard
            if full.reads:
                return None
    return None
