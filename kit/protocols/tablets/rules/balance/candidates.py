"""What may go from a shard to another one, asked of many tablets at once.

The same rules as ``Loads.refusal``, as columns: a test compares both.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kit.protocols.tablets.rules.balance.cluster import NOBODY, Codes
from kit.protocols.tablets.rules.balance.loads import Loads, Shards

FIRST_FEW = 8  # tablets of a shard that are looked at for many shards at once


def candidates(loads: Loads, source: int, target: int) -> NDArray[np.int32]:
    """The replicas on a shard that nothing forbids to move to another one: rows and columns.

    ``refusal`` of all replicas at once.
    """
    slots = loads.slots[loads.starts[source] : loads.starts[source + 1]]
    rows, columns = slots // loads.width, slots % loads.width
    together = loads.given.rows.together[rows, columns]
    fit = ~loads.busy[rows] & _have_room(loads, rows, source, target)
    fit &= loads.given.nodes[int(loads.node_of[source])].role != "excluded"
    pairs = np.flatnonzero(together == 2)
    odd = rows[pairs] + 1
    fit[pairs] &= ~loads.busy[odd] & _have_room(loads, odd, source, target)
    for streams, limit in (
        (loads.reads[source], loads.given.streams_read),
        (loads.writes[target], loads.given.streams_write),
    ):
        if streams:
            fit &= streams + together <= limit
    return np.column_stack((rows[fit], columns[fit]))


def first_fits(
    loads: Loads, sources: Shards, targets: Shards
) -> tuple[Shards, Shards, NDArray[np.bool_]]:
    """For pairs of shards of one datacenter, in turn: the first tablet that may go and that no
    pair before has, and whether it is known: one of the first few, not two siblings.
    """
    rows_of = loads.given.rows
    at = loads.starts[sources][:, None] + np.arange(FIRST_FEW)
    inside = at < loads.starts[sources + 1][:, None]
    slots = loads.slots[np.minimum(at, len(loads.slots) - 1)]
    rows, columns = slots // loads.width, slots % loads.width
    giver, taker = loads.node_of[sources][:, None], loads.node_of[targets][:, None]
    nodes = rows_of.nodes[rows]
    fit = inside & ~loads.busy[rows]
    fit &= (giver == taker) | (nodes != taker[:, :, None]).all(2)
    other_rack = loads.rack[giver] != loads.rack[taker]
    if other_rack.any():
        held, most = _held_in_racks(loads, nodes.reshape(-1, loads.width), int(giver[0, 0]))
        racks = np.repeat(loads.rack[taker[:, 0]], FIRST_FEW)[:, None]
        room = ((held == racks).sum(1) < most).reshape(fit.shape)
        named = loads.named[rows_of.table[rows], giver]
        fit &= ~other_rack | room & ~named
    siblings = inside & (rows_of.together[rows, columns] == 2)
    left = fit | siblings
    pick = np.arange(len(rows)), _first_of_its_own(rows, left)
    return rows[pick], columns[pick], left[pick] & ~siblings[pick]


def _first_of_its_own(rows: Shards, fit: NDArray[np.bool_]) -> Shards:
    """For each line the place of the first row that fits and that no line before has taken.

    What is taken before does not fit afterwards.
    """
    lines = np.arange(len(rows))
    while True:
        first: Shards = fit.argmax(1)
        known = np.flatnonzero(fit[lines, first])
        taken = np.ones(len(known), np.bool_)
        taken[np.unique(rows[known, first[known]], return_index=True)[1]] = False
        again = known[taken]
        if not len(again):
            return first
        fit[again, first[again]] = False


def _have_room(loads: Loads, rows: Codes, source: int, target: int) -> NDArray[np.bool_]:
    """Which tablets a shard may take from another one: ``misplaced`` of many."""
    giver, taker = loads.node_of[source], loads.node_of[target]
    open_to = loads.takes[taker] and loads.dc[giver] == loads.dc[taker] and source != target
    fit = np.full(len(rows), open_to, np.bool_)
    if giver != taker:
        nodes = loads.given.rows.nodes[rows]
        fit &= (nodes != taker).all(1)
        if loads.rack[giver] != loads.rack[taker]:
            held, most = _held_in_racks(loads, nodes, giver)
            fit &= (held == loads.rack[taker]).sum(1) < most
            fit &= ~loads.named[loads.given.rows.table[rows], giver]
    return fit


def _held_in_racks(loads: Loads, nodes: Codes, giver: int) -> tuple[Codes, Codes]:
    """For rows of nodes: the rack of each in the giver's datacenter, and the most in one."""
    local = (nodes != NOBODY) & (loads.dc[nodes] == loads.dc[giver])
    racks = np.where(local, loads.rack[nodes], NOBODY)
    alike = (racks[:, :, None] == racks[:, None, :]).sum(2) * local
    return racks, alike.max(1)
