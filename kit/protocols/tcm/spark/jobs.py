"""The work of one task: numbers come in, batches of a schema go out; on Spark and without."""

import pickle
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
from msgspec import Struct

from kit.protocols.tcm.rules.quorums import majorities_meet
from kit.protocols.tcm.spark import parts as summing
from kit.protocols.tcm.spark.histories import History
from kit.protocols.tcm.spark.measures import Tally
from kit.protocols.tcm.spark.tables import MEASURES, QUORUMS, RANGES, REPLICAS, SUMS, TOKENS
from kit.ring.placements import Table
from kit.spark.schemas import Schema
from kit.spark.workers import Batches, StoredPiece, by_number

Ways = tuple[tuple[int, int], ...]
"""(reader's step, writer's step) of two adjacent epochs; the later one with itself is last."""


def pairs(history: History) -> tuple[Ways, ...]:
    """Every pair of adjacent epochs, each way round; the first is the start with itself."""
    steps = range(1, len(history.stages))
    return (((0, 0),), *(((step - 1, step), (step, step - 1), (step, step)) for step in steps))


def _judged(
    reads: Table, writes: Table, part: summing.Part, cut: summing.Cut, dead: frozenset[int]
) -> tuple[int, int, int | None, int | None, list[int], list[int]]:
    """Ranges, how many are missed, and the first of those with its groups.

    Ranges are cut where either table cuts; each belongs to the part in which it ends. Those that
    nobody reaches have one group for both, any two majorities of which meet.
    """
    alike = np.array_equal(reads.rights, writes.rights)
    rights = reads.rights if alike else np.union1d(reads.rights, writes.rights)
    rights = rights[summing.ends_in(rights, part, cut)]
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


TALLY_ROWS = 32_768  # so many at a time stay in a core's cache


class JobInput(Struct, frozen=True):
    """The subject of a job: a history, and the parts of the line that its tasks work on."""

    history: History
    parts: tuple[summing.Part, ...]


Task = Callable[[JobInput, Iterable[int]], Batches]


class Job(Struct, frozen=True):
    """A table that is made from numbers, each a piece of the work; ``pieces`` says how many.

    ``adds_up``: what a task gives for many pieces is hardly more than for one, so that as few tasks
    as keep all cores busy do best; else a task has one piece.
    """

    schema: Schema
    task: Task
    pieces: Callable[[JobInput], int]
    adds_up: bool = False


def _each(piece: Callable[[JobInput, int], Batches]) -> Task:
    def run(case: JobInput, numbers: Iterable[int]) -> Batches:
        for number in numbers:
            yield from piece(case, number)

    return run


def _parts(case: JobInput) -> int:
    return len(case.parts)


def _tokens(case: JobInput, number: int) -> Batches:
    ring, part = case.history.ring, case.parts[number]
    first = int(np.searchsorted(ring.tokens, part.left, side="right")) if number else 0
    at = slice(first, int(np.searchsorted(ring.tokens, part.right, side="right")))
    yield TOKENS.batch_of((ring.tokens[at], ring.owners[at]))


def _ranges(case: JobInput, number: int) -> Batches:
    ring, part = case.history.ring, case.parts[number]
    at = summing.rows_in(ring.rights, part)
    yield RANGES.batch_of((ring.row_lefts(at), ring.rights[at], ring.owners[ring.row_starts(at)]))


def _replicas(case: JobInput, number: int) -> Batches:
    for rows in summing.rows_of(case.history, case.parts[number]):
        yield from summing.batches(rows)


def _counted(case: JobInput, numbers: Iterable[int]) -> Tally:
    history = case.history
    tally = Tally(history)
    for number, group in product(numbers, range(len(history.groups))):
        part = case.parts[number]
        cut = summing.cut_of(history, group, part)
        for first in range(0, len(cut.still), TALLY_ROWS):
            at = cut.still[first : first + TALLY_ROWS]
            tally.add(summing.still_rows(history, group, at), still=True)
        for rows in summing.reached_rows(history, group, part, cut):
            tally.add(rows)
    return tally


def _quorums(case: JobInput, number: int) -> Batches:
    """One row of the schema ``quorums`` for each group and way round."""
    history, step_pairs = case.history, pairs(case.history)
    at, pair = divmod(number, len(step_pairs))
    part, ways = case.parts[at], step_pairs[pair]
    for group in range(len(history.groups)):
        cut = summing.cut_of(history, group, part)
        steps = list(summing.placements(history, group, cut, ways[-1][0]))
        for reader, writer in ways:
            dead = history.stages[max(reader, writer)].dead
            counts = _judged(steps[reader].reads, steps[writer].writes, part, cut, dead)
            yield QUORUMS.batch([(group, reader, writer, part.number, *counts)])


JOBS = {
    "tokens": Job(TOKENS, _each(_tokens), _parts),
    "ranges": Job(RANGES, _each(_ranges), _parts),
    "replicas": Job(REPLICAS, _each(_replicas), _parts),
    "measures": Job(MEASURES, lambda *work: _counted(*work).batches(), _parts, adds_up=True),
    "sums": Job(SUMS, lambda *work: _counted(*work).sums(), _parts, adds_up=True),
    "quorums": Job(
        QUORUMS, _each(_quorums), lambda case: len(case.parts) * len(pairs(case.history))
    ),
}


class SharedValue:
    """A value that travels inside each task, not broadcast; a worker unpacks equal ones once."""

    def __init__(self, value: Any) -> None:
        self.packed = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)

    @property
    def value(self) -> Any:
        """The value again."""
        return _unpacked(self.packed)


_unpacked = lru_cache(maxsize=2)(pickle.loads)
Work = Callable[[Iterable[pa.RecordBatch]], Batches]
"""What a Spark task runs over the numbers of its pieces."""


def numbered(name: str, held: Any) -> Work:
    """The task of a job; ``held`` is a broadcast case, or ``SharedValue`` of one."""
    return by_number(lambda numbers: JOBS[name].task(held.value, numbers))


def counting(held: Any, pieces: tuple[StoredPiece, ...]) -> Work:
    """The task that adds up the measures of replicas, as they were written, by piece."""

    def work(numbers: Iterable[int]) -> Batches:
        tally = Tally(held.value.history)
        for number in numbers:
            for batch in pieces[number].batches():
                for rows in summing.tables(batch):
                    tally.add(rows)
        yield from tally.sums()

    return by_number(work)
