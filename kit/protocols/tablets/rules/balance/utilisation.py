"""Edition ``server``: even utilisation of storage, node by node, then shard by shard within nodes.

One plan fills one node of a datacenter, the least utilised one, from those that are utilised most;
which tablet goes is a question of badness. Source: the published tablet allocator.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from kit.protocols.tablets.rules.balance.badness import TableSpread
from kit.protocols.tablets.rules.balance.candidates import candidates
from kit.protocols.tablets.rules.balance.loads import Loads, TabletMove
from kit.protocols.tablets.rules.balance.reasons import EvensOut

THRESHOLD = 0.01
"""Loads are even where they differ by less than this part of the largest one."""


def is_even(most: float, least: float) -> bool:
    """Whether the most and the least loaded place are near enough."""
    return most == 0 or (most - least) / most < THRESHOLD


def even_utilisation(loads: Loads, datacenter: int) -> Iterator[TabletMove]:
    """Moves to the least utilised node of a datacenter (by its code), then those within nodes.

    Where a table names the racks of its replicas, to that of each rack.
    """
    for scope in loads.scopes(datacenter):
        inside = loads.takes & scope
        if inside.any():
            spread = TableSpread(loads, inside)
            yield from _between_nodes(loads, spread, inside)
            yield from _within_nodes(loads, spread, inside)


def _between_nodes(
    loads: Loads, spread: TableSpread, inside: NDArray[np.bool_]
) -> Iterator[TabletMove]:
    load = np.where(inside, loads.node_load, -np.inf)
    target = int(np.where(inside, load, np.inf).argmin())
    closed = np.zeros(len(load), np.bool_)
    closed[target] = True
    while not closed.all():
        now = loads.node_load
        source = int(np.where(inside & ~closed, now, -np.inf).argmax())
        most, least = float(now[source]), float(now[target])
        if not inside[source] or closed[source] or most <= least or is_even(most, least):
            return
        move = _best(loads, spread, loads.by_load(source)[::-1], loads.by_load(target))
        if move is None:
            closed[source] = True
        else:
            yield move


def _within_nodes(
    loads: Loads, spread: TableSpread, inside: NDArray[np.bool_]
) -> Iterator[TabletMove]:
    load, starts = loads.shard_load, loads.first[:-1]
    most, least = np.maximum.reduceat(load, starts), np.minimum.reduceat(load, starts)
    uneven = inside & (most > 0) & (most - least >= THRESHOLD * most)
    for node in np.flatnonzero(uneven).tolist():
        while True:
            shards = loads.by_load(node)
            ends = (shards[-1], shards[0])
            if is_even(*(float(loads.held[shard] / loads.room[shard]) for shard in ends)):
                break
            move = _best(loads, spread, ends[:1], shards[:-1])
            if move is None:
                break
            yield move


def _best(
    loads: Loads, spread: TableSpread, sources: Iterable[int], targets: Iterable[int]
) -> TabletMove | None:
    """The least bad move off the first shard that has one, to the first one that takes a stream."""
    limit = loads.given.streams_write
    target = next((shard for shard in targets if loads.writes[shard] < limit), None)
    if target is None:
        return None
    for source in sources:
        fit = candidates(loads, source, target)
        fit = fit[_worth_it(loads, fit, source, target)]
        if len(fit):
            bad = spread.of(fit, source, target)
            row, column = (int(place) for place in fit[np.lexsort(bad)[0]])
            reason = EvensOut(*loads.compared(row, column, target))
            spread.moved(row, column, target)
            return loads.apply(row, column, target, reason)
    return None


def _worth_it(
    loads: Loads, places: NDArray[np.int32], source: int, target: int
) -> NDArray[np.bool_]:
    """Which replicas would leave the target less full than the source is now.

    So the fullest place gets emptier with each move, and plans come to an end (published
    ``check_convergence``, ``check_intranode_convergence``).
    """
    giver, taker, held, room = loads.judged(source, target)
    weights = loads.weight[places[:, 0], places[:, 1]]
    worth: NDArray[np.bool_] = (held[taker] + weights) / room[taker] < held[giver] / room[giver]
    return worth
