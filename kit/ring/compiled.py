"""Natural replicas of a whole ring in one sweep, compiled where the extra `fast` is installed.

The sweep goes along the line against the clock and keeps, for each walk, what it would take if it
began here. From one place to the one before it that changes by little: the node met there comes to
the front, and the one that was the first of its rack until now joins the repetitions. So a row
costs as many steps as it has replicas, however far its walk goes. But each row needs the one after
it, which numpy's columns cannot say; so `kit.ring.natural` walks, and is what runs without the
extra. Both give the same nodes in the same order.

numba compiles the sweep. It is never required, and not loaded before so many rows were placed
without it that loading pays.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int32]
Counts = NDArray[np.int64]
Sweep = Callable[[Codes, Codes, Codes, Counts, Counts, int, Codes], bool]

FIRST_SPAN = 1024  # places, in which most walks end
WIDEST = 64  # replicas a row; beyond, the steps of a row are no longer few
LOAD_AFTER = 500_000  # rows: two whole placements of 1,000 nodes x 256 tokens


def sweep(
    owners: Codes,
    walk_of: Codes,
    rack_of: Codes,
    wanted: Counts,
    racks: Counts,
    span: int,
    found: Codes,
) -> bool:
    """Fill `found` (slots, m) with the node codes of the walks from each place of the line.

    `owners` (m,) is walked. By node code, `walk_of` is the walk that the node counts for (-1: none)
    and `rack_of` its rack; by walk, `wanted` is the number of replicas and `racks` how many of them
    open a rack. The sweep begins `span` places beyond the end of the line, in its second round;
    False says that not every walk ends within these, and `found` is to be ignored.

    For each walk the first `racks` entries are nodes that open a rack, the others repeat one, both
    as they are met; listed are the two as one, by the place where each was met.
    """
    size, slots, walks, widest = len(owners), len(found), len(wanted), wanted.max()
    nobody, nowhere = len(rack_of) - 1, 2 * size
    codes = np.full((walks, widest), nobody, np.int32)
    places = np.full((walks, widest), nowhere, np.int64)
    opened, repeated = np.zeros(walks, np.int64), np.zeros(walks, np.int64)
    in_step = walks == 1 and (racks[0] == 1 or racks[0] == wanted[0])
    for place in range(size + span - 1, -1, -1):
        here = place if place < size else place - size
        new, walk = owners[here], walk_of[owners[here]]
        if walk >= 0:
            code, at, rack = codes[walk], places[walk], rack_of[new]
            first, last = racks[walk], wanted[walk] - 1
            i = 0
            while i < first - 1 and rack_of[code[i]] != rack:
                i += 1
            old, was_at = code[i], at[i]
            for j in range(i, 0, -1):
                code[j], at[j] = code[j - 1], at[j - 1]
            code[0], at[0] = new, place
            if first <= last and old != new and was_at < nowhere:
                i = first
                while i < last and code[i] != new:
                    i += 1
                if code[i] == new or at[i] > was_at:
                    while i > first and at[i - 1] > was_at:
                        code[i], at[i] = code[i - 1], at[i - 1]
                        i -= 1
                    code[i], at[i] = old, was_at
        if place == size:
            for walk in range(walks):
                if max(places[walk, racks[walk] - 1], places[walk, wanted[walk] - 1]) == nowhere:
                    return False
        if place < size and in_step:
            for slot in range(slots):
                found[slot, here] = codes[0, slot]
        elif place < size:
            opened[:] = 0
            repeated[:] = racks
            for slot in range(slots):
                nearest, chosen, opens = nowhere, 0, True
                for walk in range(walks):
                    i, j = opened[walk], repeated[walk]
                    if i < racks[walk] and places[walk, i] < nearest:
                        nearest, chosen, opens = places[walk, i], walk, True
                    if j < wanted[walk] and places[walk, j] < nearest:
                        nearest, chosen, opens = places[walk, j], walk, False
                i = opened[chosen] if opens else repeated[chosen]
                found[slot, here] = codes[chosen, i]
                if opens:
                    opened[chosen] += 1
                else:
                    repeated[chosen] += 1
    return True


class Readiness:
    """Whether to sweep: only whole rings with few replicas a row, and only once loading pays."""

    def __init__(self, load_after: int) -> None:
        """Ready after so many rows were placed without; none is ready at once."""
        self.load_after = load_after
        self.rows = 0

    def sweep(self, rows: int, line: int, slots: int) -> Sweep | None:
        """The compiled sweep for a placement of `rows` rows on a line of that many places."""
        if rows < line // 2 or slots > WIDEST:
            return None
        if self.rows < self.load_after:
            self.rows += rows
            return None
        return load()


READINESS = Readiness(LOAD_AFTER)


@cache
def load() -> Sweep | None:
    """The compiled sweep, or None where the extra is not installed or does not load.

    The first time on a machine it is compiled, which takes some seconds, and kept beside this file
    or in the user's cache; where neither can be written, it is compiled once a process.
    """
    try:
        import numba

        codes = numba.types.Array(numba.int32, 1, "C", readonly=True)
        counts = numba.types.Array(numba.int64, 1, "C", readonly=True)
        found = numba.int32[:, ::1]
        signature = numba.boolean(codes, codes, codes, counts, counts, numba.int64, found)
        try:
            return numba.njit(signature, cache=True)(sweep)
        except RuntimeError:
            return numba.njit(signature)(sweep)
    except Exception:  # not installed, or at odds with this numpy or machine: numpy does it all
        return None
