"""Edition ``documents``: from the fullest to the emptiest shard, by tablet count (Q-26).

In the end each shard has the mean, rounded up or down. A shard above that gives first, one below it
takes first; only when there is none does one at the mean give or take. So no tablet moves that need
not: the moves are as many as must leave overfull shards, or come to those that lack some. Where
racks bind, each rack has a mean of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from kit.protocols.tablets.rules.balance.candidates import first_fits
from kit.protocols.tablets.rules.balance.cluster import NOBODY
from kit.protocols.tablets.rules.balance.loads import Loads, TabletMove
from kit.protocols.tablets.rules.balance.reasons import EvensOut, StreamsFull

Places = NDArray[np.intp]
"""Numbers of shards within the scope."""

AT_ONCE = 256  # pairs of shards; what comes after one that does not fit is looked at again
LEAST_GAP = 2  # tablets: to move one between closer shards would only swap them


def even_counts(loads: Loads, datacenter: int) -> Iterator[TabletMove]:
    """Moves that even out tablet counts: within a datacenter (by its code), else in its racks."""
    inside = loads.dc == datacenter
    moves = []
    if _may_cross(loads, inside):
        moves = list(_Evening(loads, inside).moves())
    if moves:
        yield from moves
        return
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
        self.giving, self.taking = held.copy(), held.copy()
        self._look_again(np.arange(len(held)))
        self.over, self.under = int((held > self.high).sum()), int((held < self.low).sum())

    def moves(self) -> Iterator[TabletMove]:
        """Moves until counts are even, or streams are full.

        From all the fullest shards in turn to the emptiest ones: each pair has the same counts.
        """
        while len(self.shards):
            most, least = float(self.giving.max()), float(self.taking.min())
            if not most - least >= LEAST_GAP:
                return
            waits_for_streams = (most <= self.high and self.over) or (
                least >= self.low and self.under
            )
            if waits_for_streams:
                return
            sources = np.flatnonzero(self.giving == most)
            targets = np.flatnonzero(self.taking == least)
            pairs = min(len(sources), len(targets), AT_ONCE)
            yield from self._between(sources[:pairs], targets[:pairs])

    def _between(self, sources: Places, targets: Places) -> Iterator[TabletMove]:
        """Moves of the first pairs whose first tablets fit, or of one pair that is looked at."""
        loads = self.loads
        rows, columns, fit = first_fits(loads, self.shards[sources], self.shards[targets])
        in_turn = int(np.append(fit, False).argmin())
        if not in_turn:
            move = self._first_fit(int(sources[0]), int(targets[0]))
            if move is not None:
                yield move
            return
        sources, targets = sources[:in_turn], targets[:in_turn]
        most, least = float(self.giving[sources[0]]), float(self.taking[targets[0]])
        reason = EvensOut(most, least, most - 1, least + 1)
        places = np.column_stack((rows, columns))[:in_turn].astype(np.int32)
        yield from loads.apply_all(places, self.shards[targets], reason)
        self._count(reason, in_turn)
        self._look_again(np.concatenate((sources, targets)))

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
        self._count(reason, 1)
        self._look_again(np.array([source, target]))
        return move

    def _count(self, reason: EvensOut, moves: int) -> None:
        """How many shards are no longer above the mean, or below it."""
        self.over -= moves * (reason.source > self.high >= reason.source_after)
        self.under -= moves * (reason.target < self.low <= reason.target_after)

    def _look_again(self, places: Places) -> None:
        """Counts as they are now; a shard whose streams are full is out of the question."""
        shards, given = self.shards[places], self.loads.given
        held = self.loads.held[shards]
        reads, writes = self.loads.reads[shards], self.loads.writes[shards]
        self.giving[places] = np.where(reads < given.streams_read, held, -np.inf)
        self.taking[places] = np.where(writes < given.streams_write, held, np.inf)
