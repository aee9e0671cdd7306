"""What consistency levels ask of ranges, and whose loss takes a quorum, as columns slot by slot.

Groups are (k, n) here: a row a slot, a column a range, padded with -1. CEP-21, "Data Range".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

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


class Level(Struct, frozen=True, dict=True):
    """What a consistency level asks of each of n ranges.

    ``answering`` marks the ``slots`` whose replica counts and can answer: (k, n). ``spare`` is how
    many more of them there are than the level needs, (n,): below 0, it has no quorum.
    """

    name: str
    slots: Codes
    answering: Mask
    spare: Counts

    @cached_property
    def alive(self) -> Codes:
        """The codes of the replicas that can answer, slot by slot: (k, n), else -1."""
        return np.asarray(np.where(self.answering, self.slots, -1), np.int32)

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
        nodes, at = picked(self.slots[:, narrow], self.answering[:, narrow])
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
    present = slots >= 0
    size = _counted(present)
    needs = [
        ("ONE", present, size, np.minimum(size, 1)),
        ("QUORUM", present, size, majorities(size)),
    ]
    places = _places(slots, local, len(dead))
    for number, dc in enumerate(local):
        here = places == number
        there = _counted(here)
        needs.append((f"LOCAL_QUORUM {dc}", here, there, majorities(there)))
    up = ~dead[slots] if dead.any() else None
    for name, members, count, needed in needs:
        answering = members if up is None else members & up
        able = count if up is None else _counted(answering)
        yield Level(name, slots, answering, able - needed)


def _places(slots: Codes, local: Mapping[str, Mask], nodes: int) -> NDArray[np.int16]:
    """The number of the datacenter in each slot, -1 where there is none: (k, n)."""
    of = np.full(nodes + 1, -1, np.int16)  # the last one is for the slots without a node
    for number, mask in enumerate(local.values()):
        of[:-1][mask] = number
    return np.asarray(of[slots], np.int16)


def _counted(members: Mask) -> Counts:
    """How many slots of each range are marked: (k, n) gives (n,)."""
    narrow = np.int8 if len(members) < 128 else np.int32  # many ranges: bytes are added at once
    counts: NDArray[np.integer] = np.zeros(members.shape[1], narrow)
    for slot in members:  # each is looked at in a row, however they lie in memory
        np.add(counts, slot, out=counts)
    return counts.astype(np.int32)


def majorities(counts: Counts) -> Counts:
    """A majority of each group, and nobody of an empty one."""
    most = int(counts.max(initial=0))
    needed = np.array([0, *(majority(count) for count in range(1, most + 1))], np.int32)
    return np.asarray(needed[counts], np.int32)


def sizes(slots: Codes) -> Counts:
    """How many members each group has, from columns slot by slot: (k, n) gives (n,)."""
    return _counted(slots >= 0)
