"""Edition ``seed``: from the fullest to the emptiest shard, by tablet count (Q-26).

In the end each shard has the mean, rounded up or down. A shard above that gives first, one below it
takes first; only when there is none does one at the mean give or take. So no tablet moves that need
not: the moves are as many as must leave overfull shards, or come to those that lack some. Where
racks bind, each rack has a mean of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from kit.protocols.tablets.rules.balance.cluster import NOBODY
from kit.protocols.tablets.rules.balance.loads import Loads, TabletMove
from kit.protocols.tablets.rules.balance.reasons import EvensOut, StreamsFull

LEAST_GAP = 2  # tablets: to move one between closer shards would only swap them


def even_counts(loads: Loads) -> Iterator[TabletMove]:
    """Moves that even out tablet counts: within datacenters, else within their racks."""
    for datacenter in dict.fromkeys(loads.dc.tolist()):
        inside = loads.dc == datacenter
        moves = []
        if _may_cross(loads, inside):
            moves = list(_Evening(loads, inside).moves())
        if moves:
            yield from moves
            continue
        for rack in dict.fromkeys(loads.rack[inside].tolist()):
            yield from _Evening(loads, loads.rack == rack).moves()


def _may_cross(loads: Loads, inside: NDArray[np.bool_]) -> bool:
    """Whether any tablet has a replica there that another rack could take."""
    racks = len(set(loads.rack[inside].tolist()))
    nodes = loads.given.rows.nodes
    if racks == 1:
        return True
    if not nodes.size:
        return False
    here = (nodes != NOBODY) & inside[nodes]
    rack = np.where(here, loads.rack[nodes], NOBODY)
    alike = (rack[:, :, None] == rack[:, None, :]).sum(2) * here
    most = alike.max(1)
    full = (alike == most[:, None]).sum(1, where=here) // np.maximum(most, 1)
    return bool(((most > 0) & (full < racks)).any())


class _Evening:
    """Shards of one datacenter or rack whose counts are evened out."""

    def __init__(self, loads: Loads, nodes: NDArray[np.bool_]) -> None:
        self.loads = loads
        self.shards = np.flatnonzero((nodes & loads.takes)[loads.node_of])
        held = loads.held[self.shards]
        mean = held.mean() if len(held) else 0.0
        self.low, self.high = float(np.floor(mean)), float(np.ceil(mean))
        self.giving = np.where(loads.reads[self.shards] < loads.given.streams_read, held, -np.inf)
        self.taking = np.where(loads.writes[self.shards] < loads.given.streams_write, held, np.inf)
        self.over, self.under = int((held > self.high).sum()), int((held < self.low).sum())

    def moves(self) -> Iterator[TabletMove]:
        """Moves until counts are even, or streams are full."""
        while len(self.shards):
            source, target = int(self.giving.argmax()), int(self.taking.argmin())
            most, least = float(self.giving[source]), float(self.taking[target])
            if not most - least >= LEAST_GAP:
                return
            waits_for_streams = (most <= self.high and self.over) or (
                least >= self.low and self.under
            )
            if waits_for_streams:
                return
            move = self._first_fit(source, target)
            if move is not None:
                yield move

    def _first_fit(self, source: int, target: int) -> TabletMove | None:
        """The first tablet of a shard that may go to the emptiest shard, or to the next one."""
        held = list(self.loads.rows_on(int(self.shards[source])))
        waits = False
        for place in self._targets(source, target):
            for row, column in held:
                refusal = self.loads.refusal(row, column, int(self.shards[place]))
                if refusal is None and not self._inverts(row, column, place):
                    return self._moved(source, place, row, column)
                waits = waits or isinstance(refusal, StreamsFull)
        if not waits and self.giving[source] > self.high:
            self.over -= 1
        self.giving[source] = -np.inf
        return None

    def _inverts(self, row: int, column: int, target: int) -> bool:
        """Whether the target would have more than the source: two siblings count twice."""
        *_, left, right = self.loads.compared(row, column, int(self.shards[target]))
        return left < right

    def _targets(self, source: int, target: int) -> Iterator[int]:
        """The emptiest shard, then one of each other node, ascending, while it is worth a move."""
        yield target
        tried = {int(self.loads.node_of[self.shards[target]])}
        worth = self.giving[source] - LEAST_GAP
        for place in np.argsort(self.taking, kind="stable").tolist():
            if self.taking[place] > worth:
                return
            node = int(self.loads.node_of[self.shards[place]])
            if node not in tried:
                tried.add(node)
                yield place

    def _moved(self, source: int, target: int, row: int, column: int) -> TabletMove:
        loads = self.loads
        taker = int(self.shards[target])
        reason = EvensOut(*loads.compared(row, column, taker))
        move = loads.apply(row, column, taker, reason)
        self.over -= reason.source > self.high >= reason.source_after
        self.under -= reason.target < self.low <= reason.target_after
        for place in (source, target):
            self._look_again(place)
        return move

    def _look_again(self, place: int) -> None:
        """A shard's count as it is now; a shard whose streams are full is out of the question."""
        shard, given = int(self.shards[place]), self.loads.given
        held = self.loads.held[shard]
        reads, writes = self.loads.reads[shard], self.loads.writes[shard]
        self.giving[place] = -np.inf if reads >= given.streams_read else held
        self.taking[place] = np.inf if writes >= given.streams_write else held
