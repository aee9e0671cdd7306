"""Parts of the token line, and the placements of one part at every stage.

A part is a span of tokens, whatever ranges there are: it has the rows that *end* in it. To compute
those it looks at every stable row that reaches into the part, and at neighbours that are merged
with them; so a boundary may lie inside any range.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
from msgspec import Struct
from numpy.typing import NDArray

from kit.edge.arguments import MOST_VALUES, finite
from kit.errors import BadInput
from kit.protocols.tcm.spark.histories import NOWHERE, EpochStage, History
from kit.protocols.tcm.spark.tables import REPLICAS
from kit.ring.applying import Spans, apply, settle
from kit.ring.placements import Placement, Table, padded, same_sets, stable_placement
from kit.ring.topology import Codes, Mask, Ring, Tokens
from kit.spark.machine import BATCH_ROWS

Index = NDArray[np.intp]


class Part(Struct, frozen=True):
    """The tokens ``left < token <= right``; ``number`` counts from the low end."""

    number: int
    left: int
    right: int


class Rows(Struct, frozen=True):
    """Rows of one group at one step, as columns: bounds int64 (n,), groups int32 (n, k).

    ``changed``: the row or its groups are new with this step. ``locked``: an operation holds it.
    """

    group: int
    step: int
    lefts: Tokens
    rights: Tokens
    reads: Codes
    writes: Codes
    changed: Mask
    locked: Mask


def cut_evenly(ring: Ring, count: int) -> tuple[Part, ...]:
    """At most ``count`` parts, with equally many ranges each; BadInput for a count below one."""
    if type(count) is not int or count < 1:
        raise BadInput("parts", count, "a number from 1")
    rows = len(ring.rights)
    count = min(count, rows)
    places = np.unique(np.arange(1, count) * rows // count)
    return cut_at(ring, ring.rights[places[places > 0] - 1].tolist())


def cut_at(ring: Ring, bounds: Sequence[int]) -> tuple[Part, ...]:
    """The parts between these tokens, which may lie inside a range; BadInput for other bounds."""
    low, high = ring.space.low, ring.space.high
    bounds = finite("parts", bounds, MOST_VALUES)
    for bound in bounds:
        if type(bound) is not int or not low < bound < high:
            raise BadInput("parts", bound, f"tokens between {low} and {high}")
    edges = [low, *sorted(set(bounds)), high]
    return tuple(Part(i, left, right) for i, (left, right) in enumerate(pairwise(edges)))


class Cut(Struct, frozen=True):
    """The stable rows of one group that a part has, by index: those that some stage reaches, and
    the others, which are the same at every stage. ``gaps`` are the right bounds of the stretches
    between the first.
    """

    reached: Index
    still: Index
    gaps: Tokens


def cut_of(history: History, group: int, part: Part) -> Cut:
    """Which rows of a part operations reach."""
    ring = history.ring
    around = _rows_around(history, group, part)
    rights = ring.rights[around]
    hit = within(ring.row_lefts(around), rights, reach(history, group))
    reached = around[hit]
    gaps = ring.rights[reached[1:][np.diff(reached) > 1] - 1]
    return Cut(reached, around[~hit & _inside(rights, part)], gaps)


def reach(history: History, group: int) -> Spans:
    """Sorted disjoint spans outside of which no stage changes, locks or reorders a group."""
    lefts, rights = [NOWHERE[0]], [NOWHERE[1]]
    for stage in history.stages:
        delta = stage.deltas[group]
        edits = (*delta.reads.adds, *delta.reads.drops, *delta.writes.adds, *delta.writes.drops)
        bounds = np.array((*delta.cuts, *delta.merges), np.int64)
        for spans in (stage.areas[group], stage.locked[group], (bounds - 1, bounds + 1)):
            lefts.append(spans[0])
            rights.append(spans[1])
        lefts.append(np.array([edit.left for edit in edits], np.int64))
        rights.append(np.array([edit.right for edit in edits], np.int64))
    return joined(np.concatenate(lefts), np.concatenate(rights))


def joined(lefts: Tokens, rights: Tokens) -> Spans:
    """The same tokens as sorted disjoint spans."""
    order = np.argsort(lefts)
    lefts, rights = lefts[order], np.maximum.accumulate(rights[order])
    first, last = (np.ones(len(lefts), np.bool_) for _ in range(2))
    first[1:] = last[:-1] = lefts[1:] > rights[:-1]
    return lefts[first], rights[last]


def placements(
    history: History, group: int, cut: Cut, last: int | None = None
) -> Iterator[Placement]:
    """The placements at each stage (up to ``last``) of the rows that stages reach.

    Where other rows lie between two of them there is one row without replicas, so that the table
    has no holes: those that end at ``cut.gaps``.
    """
    replication = history.groups[group]
    placement = _with_gaps(stable_placement(history.ring, replication, cut.reached), cut.gaps)
    yield placement
    for stage in history.stages[1 : None if last is None else last + 1]:
        ring, area = history.rings[stage.ring], stage.areas[group]
        placement = settle(apply(placement, stage.deltas[group]), ring, replication, area)
        yield placement


def _with_gaps(placement: Placement, gaps: Tokens) -> Placement:
    table = placement.reads
    at = np.flatnonzero(table.lefts[1:] != table.rights[:-1]) + 1
    lefts = np.insert(table.lefts, at, table.rights[at - 1])
    rights = np.insert(table.rights, at, gaps)
    table = Table(lefts, rights, np.insert(table.groups, at, np.int32(-1), axis=0))
    return Placement(table, table)


def _rows_around(history: History, group: int, part: Part) -> Index:
    rights = history.ring.rights
    merged = {bound for stage in history.stages for bound in stage.deltas[group].merges}
    first = int(np.searchsorted(rights, part.left, side="right"))
    last = int(np.searchsorted(rights, part.right, side="left"))
    while first > 0 and int(rights[first - 1]) in merged:
        first -= 1
    while int(rights[last]) in merged:
        last += 1
    return np.arange(first, last + 1)


def rows_of(history: History, part: Part) -> Iterator[Rows]:
    """Every row that ends in the part: group by group, step by step, in order."""
    for group in range(len(history.groups)):
        cut = cut_of(history, group, part)
        still = still_rows(history, group, cut.still)
        for rows in reached_rows(history, group, part, cut):
            yield _together(rows, still)


def still_rows(history: History, group: int, at: Index) -> Rows:
    """Some rows that no stage reaches, as they are at every step."""
    table = stable_placement(history.ring, history.groups[group], at).reads
    no = np.zeros(len(table), np.bool_)
    return Rows(group, 0, table.lefts, table.rights, table.groups, table.groups, no, no)


def reached_rows(history: History, group: int, part: Part, cut: Cut) -> Iterator[Rows]:
    """The rows that stages reach and that end in the part, step by step."""
    former: Placement | None = None
    for stage, placement in zip(history.stages, placements(history, group, cut), strict=True):
        yield _rows(stage, group, ends_in(placement.reads.rights, part, cut), placement, former)
        former = placement


def _rows(
    stage: EpochStage, group: int, inside: Mask, placement: Placement, former: Placement | None
) -> Rows:
    reads, writes = placement.reads, placement.writes
    # Only switched-off safeguards give reads and writes different ranges, and here all are on.
    assert np.array_equal(reads.rights, writes.rights)
    bounds, served = (reads.lefts[inside], reads.rights[inside]), reads.groups[inside]
    changed, locked = _changed(placement, former)[inside], within(*bounds, stage.locked[group])
    return Rows(group, stage.step, *bounds, served, writes.groups[inside], changed, locked)


def _together(rows: Rows, still: Rows) -> Rows:
    order = np.argsort(np.append(rows.rights, still.rights), kind="stable")
    width = max(rows.reads.shape[1], rows.writes.shape[1], still.reads.shape[1])
    reads, writes = (
        np.concatenate([padded(side, width) for side in sides])[order]
        for sides in ((rows.reads, still.reads), (rows.writes, still.writes))
    )
    lefts, rights, changed, locked = (
        np.append(getattr(rows, name), getattr(still, name))[order]
        for name in ("lefts", "rights", "changed", "locked")
    )
    return Rows(rows.group, rows.step, lefts, rights, reads, writes, changed, locked)


def rows_in(rights: Tokens, part: Part) -> Index:
    """The rows that end in a part."""
    first, last = np.searchsorted(rights, (part.left, part.right), side="right")
    return np.arange(first, last)


def ends_in(rights: Tokens, part: Part, cut: Cut) -> Mask:
    """Which bounds of reached rows, gaps left out, lie in a part."""
    return np.asarray(_inside(rights, part) & ~np.isin(rights, cut.gaps), np.bool_)


def _inside(rights: Tokens, part: Part) -> Mask:
    return np.asarray((rights > part.left) & (rights <= part.right), np.bool_)


def _changed(placement: Placement, former: Placement | None) -> Mask:
    reads, writes = placement.reads, placement.writes
    if former is None or placement is former:
        return np.zeros(len(reads), np.bool_)
    at = np.searchsorted(former.reads.rights, reads.rights)
    same = (former.reads.rights[at] == reads.rights) & (former.reads.lefts[at] == reads.lefts)
    for now, then in ((reads, former.reads), (writes, former.writes)):
        same &= same_sets(now.groups, then.groups[at])
    return np.asarray(~same, np.bool_)


def within(lefts: Tokens, rights: Tokens, spans: Spans) -> Mask:
    """Which rows share a token with one of some sorted disjoint spans."""
    first = np.searchsorted(spans[1], lefts, side="right")
    return np.asarray(first < np.searchsorted(spans[0], rights, side="left"), np.bool_)


Words = NDArray[np.int64]


def widths(lefts: Tokens, rights: Tokens) -> tuple[Words, Words]:
    """How many tokens each range holds, as ``high * 2**32 + low``; up to 2**64 - 1."""
    width = rights.astype(np.uint64) - lefts.astype(np.uint64)  # modulo 2**64, hence right
    high = (width >> np.uint64(32)).astype(np.int64)
    return high, (width & np.uint64(2**32 - 1)).astype(np.int64)


def batches(rows: Rows) -> Iterator[pa.RecordBatch]:
    """The rows as batches of the schema ``replicas``."""
    for first in range(0, len(rows.rights), BATCH_ROWS):
        at = slice(first, first + BATCH_ROWS)
        count = len(rows.rights[at])
        group, step = (np.full(count, number, np.int32) for number in (rows.group, rows.step))
        bounds, groups = (rows.lefts[at], rows.rights[at]), (rows.reads[at], rows.writes[at])
        signs = rows.changed[at], rows.locked[at]
        yield REPLICAS.batch_of((group, step, *bounds, *map(as_lists, groups), *signs))


def as_lists(groups: Codes) -> pa.ListArray:
    """A matrix of codes, padded with -1, as a list per row."""
    used = groups >= 0
    ends = np.zeros(len(groups) + 1, np.int32)
    np.cumsum(used.sum(axis=1), out=ends[1:])
    return pa.ListArray.from_arrays(pa.array(ends), pa.array(groups[used]))


def as_groups(lists: pa.ListArray) -> Codes:
    """Lists of codes as a matrix, padded with -1 on the right."""
    counts = lists.value_lengths().to_numpy(zero_copy_only=False)
    groups = np.full((len(lists), int(counts.max(initial=0))), -1, np.int32)
    groups[np.arange(groups.shape[1]) < counts[:, None]] = lists.flatten().to_numpy()
    return groups


def tables(batch: pa.RecordBatch) -> Iterator[Rows]:
    """A batch of the schema ``replicas`` as rows: one value for each group and step in it."""
    group, step = (batch.column(name).to_numpy() for name in ("group", "step"))
    breaks = np.flatnonzero((np.diff(group) != 0) | (np.diff(step) != 0)) + 1
    edges = [0, *breaks.tolist(), len(group)] if len(group) else [0]
    for first, end in pairwise(edges):
        part = batch.slice(first, end - first)
        bounds = (part.column(name).to_numpy() for name in ("left", "right"))
        groups = (as_groups(part.column(name)) for name in ("reads", "writes"))
        signs = (part.column(n).to_numpy(zero_copy_only=False) for n in ("changed", "locked"))
        yield Rows(int(group[first]), int(step[first]), *bounds, *groups, *signs)
