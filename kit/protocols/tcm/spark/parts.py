"""Parts of the token line, and the placements of one part at every stage.

A part is a span of tokens, whatever ranges there are: it has the rows that *end* in it. To compute
those it looks at every stable row that reaches into the part, and at neighbours that are merged
with them; so a boundary may lie inside any range.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from kit.errors import BadInput
from kit.protocols.tcm.spark.histories import EpochStage, History
from kit.ring.applying import Spans, apply, settle
from kit.ring.placements import Placement, same_sets, stable_placement
from kit.ring.topology import Codes, Ring, Tokens

Mask = NDArray[np.bool_]


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
    """Parts with equally many ranges each; fewer parts where there are not so many ranges.

    Raises:
        BadInput: for a count below one.
    """
    if type(count) is not int or count < 1:
        raise BadInput("parts", count, "a number from 1")
    rows = len(ring.rights)
    places = np.unique(np.arange(1, count) * rows // count)
    return cut_at(ring, ring.rights[places[places > 0] - 1].tolist())


def cut_at(ring: Ring, bounds: Sequence[int]) -> tuple[Part, ...]:
    """The parts between these tokens; a bound may lie inside a range.

    Raises:
        BadInput: for a bound that is no token of the ring's space, or one of its ends.
    """
    low, high = ring.space.low, ring.space.high
    for bound in bounds:
        if type(bound) is not int or not low < bound < high:
            raise BadInput("parts", bound, f"tokens between {low} and {high}")
    edges = [low, *sorted(set(bounds)), high]
    return tuple(Part(i, left, right) for i, (left, right) in enumerate(pairwise(edges)))


def placements(
    history: History, group: int, part: Part, last: int | None = None
) -> Iterator[Placement]:
    """The placements at each stage (up to ``last``) of all rows that reach into a part."""
    ring, replication = history.ring, history.groups[group]
    placement = stable_placement(ring, replication, _rows_around(history, group, part))
    yield placement
    for stage in history.stages[1 : None if last is None else last + 1]:
        placement = settle(
            apply(placement, stage.deltas[group]),
            history.rings[stage.ring],
            replication,
            stage.areas[group],
        )
        yield placement


def _rows_around(history: History, group: int, part: Part) -> slice:
    """The stable rows that reach into a part, and those that are ever merged with them."""
    rights = history.ring.rights
    merged = {bound for stage in history.stages for bound in stage.deltas[group].merges}
    first = int(np.searchsorted(rights, part.left, side="right"))
    last = int(np.searchsorted(rights, part.right, side="left"))
    while first > 0 and int(rights[first - 1]) in merged:
        first -= 1
    while int(rights[last]) in merged:
        last += 1
    return slice(first, last + 1)


def rows_of(history: History, part: Part) -> Iterator[Rows]:
    """Every row that ends in the part: group by group, step by step, in order."""
    for group in range(len(history.groups)):
        former: Placement | None = None
        for stage, placement in zip(history.stages, placements(history, group, part), strict=True):
            yield _rows(stage, group, part, placement, former)
            former = placement


def _rows(
    stage: EpochStage, group: int, part: Part, placement: Placement, former: Placement | None
) -> Rows:
    reads, writes = placement.reads, placement.writes
    # Only switched-off safeguards give reads and writes different ranges, and here all are on.
    assert np.array_equal(reads.rights, writes.rights)
    inside = span_of(reads.rights, part)
    lefts, rights = reads.lefts[inside], reads.rights[inside]
    return Rows(
        group,
        stage.step,
        lefts,
        rights,
        reads.groups[inside],
        writes.groups[inside],
        _changed(placement, former)[inside],
        within(lefts, rights, stage.locked[group]),
    )


def span_of(rights: Tokens, part: Part) -> slice:
    """Where the rows that end in a part stand."""
    first = int(np.searchsorted(rights, part.left, side="right"))
    return slice(first, int(np.searchsorted(rights, part.right, side="right")))


def _changed(placement: Placement, former: Placement | None) -> Mask:
    """Which rows were not there, or had other groups, one stage before."""
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
