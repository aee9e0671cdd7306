"""What a table of replicas says, as sums over its ranges that can be added up part by part.

Each sum is a number of ranges and their width, for a measure and a unit (a node, rack or
datacenter):

- ``all``: every range; ``changed``, ``locked``, ``moving`` (read and written by different groups);
- ``extra``: copies beyond the replicas that the ring can give, a range counted once for each;
- ``reads``, ``writes``: the ranges that a node serves;
- ``lost read QUORUM rack``: the ranges that have no majority left when a whole rack is lost, and so
  on for reads and writes, ``ONE``, ``QUORUM`` and ``LOCAL_QUORUM dc1`` (a coordinator in dc1), and
  the loss of a node, a rack or a datacenter, or none: those that have no quorum as it is.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from itertools import product

import numpy as np
import pyarrow as pa
from msgspec import Struct
from numpy.typing import NDArray

from kit.protocols.tcm.rules.quorums import Level, levels, pending, sharing, sizes
from kit.protocols.tcm.spark.histories import History
from kit.protocols.tcm.spark.parts import Rows, Words, widths
from kit.protocols.tcm.spark.tables import MEASURES, SUMS
from kit.ring.natural import sorted_columns
from kit.ring.replication import by_datacenter
from kit.ring.topology import Codes, Mask

PLAIN = ("all", "changed", "locked", "moving", "extra")
SIDES = ("reads", "writes")
KINDS = ("node", "rack", "dc")
EXACT = 2**20
WIDEST = 10  # slots of a group whose racks are compared with those of others
Index = NDArray[np.intp]
Width = tuple[Words, Words]
Sums = NDArray[np.int64]
"""Ranges, high and low words of their width; shape (3, units)."""


class Frame(Struct, frozen=True, eq=False):
    """The frame that the ranges of some steps are measured against.

    ``units`` are the nodes' unit codes by kind of loss, ``wanted`` the replicas a range can have,
    ``local`` masks of the nodes (by code) of each datacenter that has replicas, by its name;
    ``dead`` is the mask of the nodes that an operation takes to be dead, ``factors`` are what the
    keyspaces ask for.
    """

    units: dict[str, Codes]
    wanted: int
    local: dict[str, Mask]
    dead: Mask
    factors: dict[str, int]

    @property
    def key(self) -> Hashable:
        """Frames against which ranges measure the same have equal ones."""
        columns = {**self.units, **self.local, "dead ": self.dead}
        contents = ((name, column.tobytes()) for name, column in columns.items())
        return self.wanted, frozenset(self.factors.items()), frozenset(contents)


def frame(history: History, group: int, step: int) -> Frame:
    """The frame of a group at a step."""
    ring = history.rings[history.stages[step].ring]
    places = ring.geography
    nodes = np.arange(len(places.dc_of), dtype=np.int32)
    local = {dc: places.dc_of == code for dc, code in places.dcs.items()}
    kept = {dc: mask for dc, mask in local.items() if (mask & places.in_ring).any()}
    units = {"node": nodes, "rack": places.rack_of, "dc": places.dc_of}
    # A node is dead before the operation that removes it begins.
    dead = frozenset[int]().union(*(stage.dead for stage in history.stages[: step + 2]))
    factors = by_datacenter(history.groups[group], ring)
    return Frame(units, history.wanted(group, step), kept, np.isin(nodes, sorted(dead)), factors)


def alike(history: History, group: int) -> list[tuple[Frame, list[int]]]:
    """All steps, those together at which ranges measure the same, and against what."""
    kinds: dict[Hashable, tuple[Frame, list[int]]] = {}
    for step in range(len(history.stages)):
        made = frame(history, group, step)
        kinds.setdefault(made.key, (made, []))[1].append(step)
    return list(kinds.values())


class Tally:
    """Adds up the measures of any rows of one history."""

    def __init__(self, history: History) -> None:
        self._alike = [alike(history, group) for group in range(len(history.groups))]
        self._sums: dict[tuple[int, tuple[int, ...]], dict[str, Sums]] = {}

    def add(self, rows: Rows, *, still: bool = False) -> None:
        """Count some rows of one group: at their step, or at every one where they are ``still``."""
        for given, steps in self._alike[rows.group]:
            if still or rows.step in steps:
                at = tuple(steps) if still else (rows.step,)
                known = self._sums.setdefault((rows.group, at), {})
                for name, sums in measures(rows, given):
                    _include(known, name, sums)

    def sums(self) -> Iterator[pa.RecordBatch]:
        """The counts as one batch of the schema ``sums``: few rows, of whole columns."""
        rows = [
            (group, steps, name, units, *sums[:, units])
            for (group, steps), known in self._sums.items()
            for name, sums in known.items()
            if len(units := np.flatnonzero(sums[0]))
        ]
        if rows:
            yield SUMS.batch(rows)

    def include(self, sums: pa.Table) -> None:
        """Count what other tallies of the history did, as they gave it (``sums``)."""
        nodes = max(len(given.dead) for kinds in self._alike for given, _ in kinds)
        for group, steps, name, *columns in zip(*sums.itercolumns(), strict=True):
            units, *counts = (column.values.to_numpy() for column in columns)
            whole = np.zeros((3, nodes), np.int64)
            whole[:, units] = counts
            known = self._sums.setdefault((group.as_py(), tuple(steps.as_py())), {})
            _include(known, name.as_py(), whole)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The sums as one batch of the schema ``measures``; sums of nothing are left out."""
        total: dict[tuple[int, int], dict[str, Sums]] = {}
        for (group, steps), known in self._sums.items():
            for step, (name, sums) in product(steps, known.items()):
                _include(total.setdefault((group, step), {}), name, sums)
        batches = []
        for (group, step), known in total.items():
            for name, sums in known.items():
                units = np.flatnonzero(sums[0])
                # A sum over all ranges has no unit: that is -1.
                whole = name in PLAIN or name.endswith(" none")
                typed = zip((group, step, name), MEASURES.arrow.types, strict=False)
                same = (pa.repeat(pa.scalar(*each), len(units)) for each in typed)
                columns = (*same, units - whole, *sums[:, units])
                batches += [MEASURES.batch_of(columns)] if len(units) else []
        if batches:
            whole = pa.Table.from_batches(batches).combine_chunks()
            yield from whole.to_batches()


def _include(known: dict[str, Sums], name: str, sums: Sums) -> None:
    known[name] = known[name] + sums if name in known else sums


def measures(rows: Rows, given: Frame) -> Iterator[tuple[str, Sums]]:
    """Every measure of some rows; what is said of reads is said of writes where they are equal."""
    width = widths(rows.lefts, rows.rights)
    reads = _slots(rows.reads)
    writes = reads if rows.writes is rows.reads else _slots(rows.writes)
    copies = sizes(reads)
    moving = np.zeros(len(copies), np.bool_)
    if writes is not reads:
        copies = copies + sizes(writes) - _shared(reads, writes)
        moving = copies > np.minimum(sizes(reads), sizes(writes))
    times = {
        "all": np.ones(len(moving), np.int64),
        "changed": rows.changed.astype(np.int64),
        "locked": rows.locked.astype(np.int64),
        "moving": moving.astype(np.int64),
        "extra": np.maximum(copies - given.wanted, 0),
    }
    for name, factor in times.items():
        if factor.any():
            in_all = (factor.sum(), *((factor * word).sum() for word in width))
            yield name, np.array(in_all, np.int64)[:, None]
    settled, apart = np.flatnonzero(~moving), np.flatnonzero(moving)
    for name, sums in _of_side(reads, settled, width, given):
        for side in SIDES:
            yield _spoken(name, side), sums
    late = pending(rows.writes[apart], rows.reads[apart])
    for side, groups, beyond in zip(SIDES, (reads, writes), (None, late), strict=True):
        for name, sums in _of_side(groups, apart, width, given, beyond):
            yield _spoken(name, side), sums


def _spoken(name: str, side: str) -> str:
    return name.format(side=side, verb=side.removesuffix("s"))


def _of_side(
    groups: Codes, at: Index, width: Width, given: Frame, late: Mask | None = None
) -> Iterator[tuple[str, Sums]]:
    """The measures of one side, for some of the rows: who serves, and what a loss would cost.

    ``late`` marks the pending replicas of these rows.
    What the loss of a rack or a datacenter costs is worked out once for all rows on the same racks.
    Only where one replica more is too many does it matter which nodes hold them.
    """
    if not len(at):
        return
    whole = len(at) == groups.shape[1]
    members = groups if whole else groups[:, at]
    part = width if whole else (width[0][at], width[1][at])
    yield "{side}", _served(members, part, len(given.dead))

    def judged(rows: Index) -> tuple[Level, ...]:
        beyond = None if late is None else late[:, rows]
        return tuple(levels(members[:, rows], given.local, given.dead, given.factors, beyond))

    first, pattern = _patterns(members, given, late)
    counts = _by_unit(pattern, part, len(first))
    by_level = judged(first)
    for level in by_level:
        missing = level.spare < 0
        if missing.any():
            yield f"lost {{verb}} {level.name} none", counts[:, missing].sum(axis=1, keepdims=True)
    for kind in ("rack", "dc"):
        yield from _losses(by_level, counts, given, kind)
    narrow = np.any([level.spare == 0 for level in by_level], axis=0)
    rows = np.flatnonzero(narrow[pattern])
    if len(rows):
        counts = np.stack([np.ones(len(rows), np.int64), *(word[rows] for word in part)])
        yield from _losses(judged(rows), counts, given, "node")


def _losses(
    by_level: tuple[Level, ...], counts: Sums, given: Frame, kind: str
) -> Iterator[tuple[str, Sums]]:
    codes = given.units[kind]
    shared = sharing(by_level[0].alive, codes, alone=kind == "node")
    for level in by_level:
        units, lost = level.lost(shared)
        if len(units):
            sums = np.zeros((3, int(codes.max()) + 1), np.int64)
            for total, column in zip(sums, counts, strict=True):
                np.add.at(total, units, column[lost])
            yield f"lost {{verb}} {level.name} {kind}", sums


def _patterns(members: Codes, given: Frame, late: Mask | None) -> tuple[Index, Index]:
    width, count = members.shape
    own = given.units["rack"] * 2 + given.dead
    base = int(own.max(initial=0)) + 2
    signs = np.append(own, base - 1).astype(np.int32)[members]
    if late is not None:
        base, signs = 2 * base, 2 * signs + late
    if width > WIDEST or base**width >= 2**62:
        return np.arange(count), np.arange(count)
    racks = sorted_columns(list(signs))
    if all((column == column[0]).all() for column in racks):
        return np.zeros(1, np.intp), np.zeros(count, np.intp)
    packed = np.zeros(count, np.int64)
    for column in racks:
        packed = packed * base + column
    _, first, pattern = np.unique(packed, return_index=True, return_inverse=True)
    return first, pattern


def _served(members: Codes, width: Width, count: int) -> Sums:
    sums = np.zeros((3, count), np.int64)
    for slot in members:
        at = np.flatnonzero(slot >= 0)
        whole = len(at) == len(slot)
        part = width if whole else (width[0][at], width[1][at])
        nodes = slot if whole else slot[at]
        sums += _by_unit(nodes, part, count)
    return sums


def _by_unit(units: Codes | Index, width: Width, count: int) -> Sums:
    """How many rows each unit has, and their widths; each row has one unit.

    Sums of less than 2**21 words below 2**32 are exact in floating point too, and faster so.
    """
    sums = np.zeros((3, count), np.int64)
    for first in range(0, len(units), EXACT):
        part = slice(first, first + EXACT)
        sums[0] += np.bincount(units[part], minlength=count)
        for at, word in enumerate(width, 1):
            sums[at] += np.bincount(units[part], word[part], count).astype(np.int64)
    return sums


def _slots(groups: Codes) -> Codes:
    """The groups slot by slot, (k, n): so every step below is one pass over whole columns."""
    return np.ascontiguousarray(groups.T)


def _shared(reads: Codes, writes: Codes) -> Words:
    both = np.zeros(reads.shape[1], np.int64)
    for slot in reads:
        for other in writes:
            both += (slot == other) & (slot >= 0)
    return both
