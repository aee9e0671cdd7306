"""What consistency levels ask of ranges, and whose loss takes a quorum, as columns slot by slot.

Groups are (k, n) here: a row a slot, a column a range, padded with -1. CEP-21, "Data Range".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from kit.protocols.tcm.rules.barrier import majority
from kit.ring.topology import Codes

Mask = NDArray[np.bool_]
Counts = NDArray[np.int32]


class Sharing(Struct, frozen=True):
    """Who is lost together: ``units`` are the units of the members, slot by slot (k, n).

    ``together`` (k, n) is how many members of the range the unit in this slot has, at the first
    slot of each unit, and 0 elsewhere; ``most`` is the largest of these.
    """

    units: Codes
    together: Counts
    most: int


def sharing(slots: Codes, unit_of: Codes, *, alone: bool = False) -> Sharing:
    """The units of groups slot by slot: (k, n), padded with -1.

    ``unit_of`` gives each node's unit by code: itself, its rack, its datacenter; ``alone`` says
    that no two nodes share one.
    """
    units = np.append(unit_of, np.int32(-1))[slots]  # the last one is for the slots without a node
    together = (units >= 0).astype(np.int32)
    if alone:
        return Sharing(units, together, 1)
    for slot in range(1, len(units)):
        for other in range(slot):
            same = (units[slot] == units[other]) & (together[slot] > 0)
            # What is counted at an earlier slot is not counted here.
            together[other] += same
            together[slot] -= same
    return Sharing(units, together, int(together.max(initial=0)))


class Level(Struct, frozen=True):
    """What a consistency level asks of each of n ranges.

    ``alive`` holds codes of the replicas that can answer, slot by slot: (k, n), else -1. ``spare``
    is how many more of them there are than the level needs, (n,): below 0, it has no quorum.
    """

    name: str
    alive: Codes
    spare: Counts

    def lost(self, shared: Sharing) -> tuple[Codes, NDArray[np.intp]]:
        """(unit, range) for every unit whose loss takes a quorum from a range that has one.

        ``shared`` are the units of the replicas that can answer; of a datacenter's level those of
        all levels will do, for no unit lies in two datacenters.
        """
        narrow = (self.spare >= 0) & (self.spare < shared.most)
        if not narrow.any():
            return np.empty(0, np.int32), np.empty(0, np.intp)
        return picked(shared.units, (shared.together > self.spare) & (self.alive >= 0) & narrow)

    def lost_with_one(self) -> tuple[Codes, NDArray[np.intp]]:
        """(node, range) for every node whose death takes a quorum from a range that has one."""
        narrow = np.flatnonzero(self.spare == 0)
        members = self.alive[:, narrow]
        nodes, at = picked(members, members >= 0)
        return nodes, narrow[at]


def picked(slots: Codes, wanted: Mask) -> tuple[Codes, NDArray[np.intp]]:
    """(value, range) for the wanted values of columns slot by slot: (k, n)."""
    if not len(slots):
        return np.empty(0, np.int32), np.empty(0, np.intp)
    rows = [np.flatnonzero(mask) for mask in wanted]
    values = [slot[at] for slot, at in zip(slots, rows, strict=True)]
    return np.concatenate(values), np.concatenate(rows)


def levels(slots: Codes, local: Mapping[str, Mask], dead: Mask) -> Iterator[Level]:
    """ONE, QUORUM and, from each datacenter, LOCAL_QUORUM, for groups slot by slot: (k, n).

    ``local`` masks the nodes (by code) of each datacenter, by its name; ``dead`` those that answer
    nobody, though they count as replicas.
    """
    size = sizes(slots)
    needs = [("ONE", slots, size, np.minimum(size, 1)), ("QUORUM", slots, size, majorities(size))]
    for dc, mask in local.items():
        here = np.where(np.append(mask, np.False_)[slots], slots, -1)  # no node is in none
        there = sizes(here)
        needs.append((f"LOCAL_QUORUM {dc}", here, there, majorities(there)))
    some_dead = bool(dead.any())
    for name, members, count, needed in needs:
        alive = np.where(dead[members], -1, members) if some_dead else members
        yield Level(name, alive, (sizes(alive) if some_dead else count) - needed)


def majorities(counts: Counts) -> Counts:
    """A majority of each group, and nobody of an empty one."""
    most = int(counts.max(initial=0))
    needed = np.array([0, *(majority(count) for count in range(1, most + 1))], np.int32)
    return np.asarray(needed[counts], np.int32)


def sizes(slots: Codes) -> Counts:
    """How many members each group has, from columns slot by slot: (k, n) gives (n,)."""
    counts = np.zeros(slots.shape[1], np.int32)
    for slot in slots:
        counts += slot >= 0
    return counts
