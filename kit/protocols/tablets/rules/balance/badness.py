"""How bad a move is for the spread of its own table (published ``migration_badness``).

A table is spread ideally where its bytes take the same part of every capacity. What moves the
source below that or the target above it is bad, by how far, in parts of the table.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from kit.protocols.tablets.rules.balance.cluster import Codes
from kit.protocols.tablets.rules.balance.loads import Loads, Numbers


class TableSpread:
    """How much of each table the shards and nodes hold that a plan looks at.

    What is ideal is so among the nodes ``inside``, those whose loads are to be even: elsewhere a
    table may have other replicas, and disks may be larger.
    """

    def __init__(self, loads: Loads, inside: NDArray[np.bool_]) -> None:
        self.loads = loads
        self._shards: dict[int, dict[int, float]] = {}
        self._nodes: dict[int, dict[int, float]] = {}
        rows = loads.given.rows
        here = loads.present & inside[rows.nodes]
        held = np.bincount(rows.table, (loads.weight * here).sum(1), len(loads.given.tables))
        self._ideal = held / loads.node_room[inside].sum()

    def of(self, places: NDArray[np.int32], source: int, target: int) -> tuple[Numbers, Numbers]:
        """How bad it is to move replicas on one shard to another: for shards, and for nodes.

        Nodes count first, as far as they are bad at all; within a node they do not count.
        """
        loads = self.loads
        rows = places[:, 0]
        tables = loads.given.rows.table[rows]
        weights = loads.weight[rows, places[:, 1]]
        ideal = self._ideal[tables]
        giver, taker = int(loads.node_of[source]), int(loads.node_of[target])
        shard = _badness(
            ideal,
            (_held(self._on_shard(source), tables) - weights) / loads.room[source],
            (_held(self._on_shard(target), tables) + weights) / loads.room[target],
        )
        if giver == taker:
            return shard, np.zeros(len(shard))
        node = _badness(
            ideal,
            (_held(self._on_node(giver), tables) - weights) / loads.node_room[giver],
            (_held(self._on_node(taker), tables) + weights) / loads.node_room[taker],
        )
        return shard, np.maximum(node, 0)

    def moved(self, row: int, column: int, target: int) -> None:
        """Count a move; asked before the loads count it."""
        loads = self.loads
        table, weight = int(loads.given.rows.table[row]), float(loads.weight[row, column])
        source = int(loads.place[row, column])
        giver, taker = int(loads.node_of[source]), int(loads.node_of[target])
        changed = [(self._on_shard(source), -weight), (self._on_shard(target), weight)]
        if giver != taker:
            changed += [(self._on_node(giver), -weight), (self._on_node(taker), weight)]
        for held, change in changed:
            held[table] = held.get(table, 0.0) + change

    def _on_shard(self, shard: int) -> dict[int, float]:
        """What a shard holds of each table that it has; counted up when it is asked for first."""
        if shard not in self._shards:
            self._shards[shard] = self._counted((shard,))
        return self._shards[shard]

    def _on_node(self, node: int) -> dict[int, float]:
        """What a node holds of each table."""
        if node not in self._nodes:
            self._nodes[node] = self._counted(self.loads.shards_of(node))
        return self._nodes[node]

    def _counted(self, shards: Iterable[int]) -> dict[int, float]:
        held: dict[int, float] = {}
        tables, weights = self.loads.given.rows.table, self.loads.weight
        for shard in shards:
            for row, column in self.loads.rows_on(shard):
                table = int(tables[row])
                held[table] = held.get(table, 0.0) + float(weights[row, column])
        return held


def _held(held: dict[int, float], tables: Codes) -> Numbers:
    return np.array([held.get(table, 0.0) for table in tables.tolist()])


def _badness(ideal: Numbers, source_after: Numbers, target_after: Numbers) -> Numbers:
    """By how much the source would have too little or the target too much; ideal loads are 1."""
    worst: Numbers = np.maximum(ideal - source_after, target_after - ideal) / ideal
    return worst
