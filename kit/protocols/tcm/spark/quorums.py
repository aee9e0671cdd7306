"""Whether every read majority meets every write majority, for each part and pair of epochs.

The barrier keeps coordinators within adjacent epochs, so these are the pairs that count: the same
epoch, and each epoch with the next one, both ways round. Source: CEP-21, "Consistency Guarantees",
"Test Plan".
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from msgspec import Struct

from kit.protocols.tcm.rules.quorums import majorities_meet
from kit.protocols.tcm.spark.histories import History
from kit.protocols.tcm.spark.parts import Cut, Part, cut_of, ends_in, placements
from kit.protocols.tcm.spark.tables import QUORUMS
from kit.ring.placements import Table


class StepPair(Struct, frozen=True):
    """The steps ``first`` and ``second`` = ``first + 1`` (or both 0), for each way round."""

    first: int
    second: int

    @property
    def ways(self) -> tuple[tuple[int, int], ...]:
        """(reader's step, writer's step); each step with itself belongs to one pair only."""
        if self.first == self.second:
            return ((self.first, self.first),)
        both = (self.first, self.second), (self.second, self.first)
        return (*both, (self.second, self.second))


def pairs(history: History) -> tuple[StepPair, ...]:
    """Every pair of adjacent epochs; the first holds the start with itself."""
    steps = range(1, len(history.stages))
    return (StepPair(0, 0), *(StepPair(step - 1, step) for step in steps))


def verdicts(history: History, part: Part, pair: StepPair) -> Iterator[pa.RecordBatch]:
    """One row of the schema ``quorums`` for each group and way round."""
    for group in range(len(history.groups)):
        cut = cut_of(history, group, part)
        steps = list(placements(history, group, cut, pair.second))
        for reader, writer in pair.ways:
            dead = history.stages[max(reader, writer)].dead
            counts = _judged(steps[reader].reads, steps[writer].writes, part, cut, dead)
            columns = [group, reader, writer, part.number, *counts]
            yield pa.RecordBatch.from_pylist(
                [dict(zip(QUORUMS.arrow.names, columns, strict=True))], schema=QUORUMS.arrow
            )


def _judged(
    reads: Table, writes: Table, part: Part, cut: Cut, dead: frozenset[int]
) -> tuple[int, int, int | None, int | None, list[int], list[int]]:
    """Ranges, how many are missed, and the first of those with its groups.

    Ranges are cut where either table cuts; each belongs to the part in which it ends. Those that
    nobody reaches have one group for both, any two majorities of which meet.
    """
    alike = np.array_equal(reads.rights, writes.rights)
    rights = reads.rights if alike else np.union1d(reads.rights, writes.rights)
    rights = rights[ends_in(rights, part, cut)]
    count = len(rights) + len(cut.still)
    at_reads = np.searchsorted(reads.rights, rights)
    at_writes = np.searchsorted(writes.rights, rights)
    meet = majorities_meet(reads.groups[at_reads], writes.groups[at_writes], dead)
    missed = np.flatnonzero(~meet)
    if not len(missed):
        return count, 0, None, None, [], []
    row = int(missed[0])
    left = max(int(reads.lefts[at_reads[row]]), int(writes.lefts[at_writes[row]]))
    groups = reads.codes(int(at_reads[row])), writes.codes(int(at_writes[row]))
    return count, len(missed), left, int(rights[row]), list(groups[0]), list(groups[1])
