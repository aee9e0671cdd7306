"""The quorum-intersection simulator: every read and every write quorum that can be in use at once.

A plan is carried out in all its ways; at every moment it is asked which epochs live nodes may still
be working by. A quorum at an older epoch is in use as long as all its members may know nothing
newer: whoever knows an epoch tells it, and the coordinator validates its plan again. The barriers
of the plan say how many must know, and so whom such a quorum can still consist of. For every such
pair of epochs each read quorum must share a replica with each write quorum. Nothing is sampled.

Quorums are enumerated as the smallest sets that are enough; a larger one holds a smaller one.
Source: CEP-21, "Consistency Guarantees", "Test Plan".
"""

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import combinations
from typing import Any

from msgspec import Struct

from kit.errors import BadInput, counted
from kit.masks import members
from kit.model.registry import check_one_of
from kit.protocols.dataplane.projection import project
from kit.protocols.storage.rules import levels as rules
from kit.protocols.storage.rules.conditions import MajorityKnows
from kit.protocols.storage.rules.history import RangeHistory, Trail, trails
from kit.protocols.storage.rules.view import Acknowledgement
from kit.protocols.tcm.tcm import Tcm
from kit.ring.columns import np
from kit.views.static import BROKEN, HOLDS, Sheet

MOST_REPLICAS = 24  # of a range, old and new: there are so many subsets to go through
SHOWN = 24
PAIRS: tuple[tuple[rules.Level, rules.Level], ...] = (
    ("QUORUM", "QUORUM"),
    ("LOCAL_QUORUM", "LOCAL_QUORUM"),
    ("EACH_QUORUM", "LOCAL_QUORUM"),
)
"""(write, read) levels that promise to meet, the local ones within one datacenter."""


class Crossing(Struct, frozen=True):
    """One pair of epochs on one range: how many quorums of each side, how many pairs miss.

    ``reads`` and ``writes`` count the quorums in use, of ``of_reads`` and ``of_writes`` that the
    placements give; ``where`` is the datacenter that a local level counts in. ``first`` is the
    first pair without a common replica: who is read from, who was written to.
    """

    range: str
    write: rules.Level
    read: rules.Level
    where: str
    read_epoch: int
    write_epoch: int
    reads: int
    of_reads: int
    writes: int
    of_writes: int
    missed: int
    first: tuple[tuple[str, ...], tuple[str, ...]] | None = None

    @property
    def pairs(self) -> int:
        """How many pairs of quorums were compared."""
        return self.reads * self.writes

    @property
    def apart(self) -> int:
        """How many epochs lie between the two."""
        return abs(self.read_epoch - self.write_epoch)


class Crossings(Struct, frozen=True):
    """All pairs of epochs of the ranges asked for; ``acknowledgement``: how pending ones count."""

    acknowledgement: Acknowledgement
    rows: tuple[Crossing, ...]

    @property
    def pairs(self) -> int:
        """The pairs of quorums that were compared."""
        return sum(row.pairs for row in self.rows)

    @property
    def missed(self) -> tuple[Crossing, ...]:
        """The rows in which some read quorum misses some write quorum."""
        return tuple(row for row in self.rows if row.missed)

    @property
    def ok(self) -> bool:
        """Whether all quorums in use meet."""
        return not self.missed

    @property
    def first(self) -> Crossing | None:
        """The first counterexample, the epochs that are nearest to one another before others."""
        return min(self.missed, key=lambda row: row.apart, default=None)

    def epochs_apart(self) -> tuple[int, ...]:
        """How far apart the epochs are that are in use at once, each distance once."""
        return tuple(sorted({row.apart for row in self.rows if row.pairs}))

    def table(self, most: int = SHOWN) -> Sheet:
        """A row for each pair of epochs: those that miss one another first, then all in use."""
        rows = sorted(self.rows, key=lambda row: (not row.missed, not row.pairs))
        notes = [self.summary()]
        if len(rows) > most:
            notes.append(f"Shown: {most} of {len(rows)} pairs of epochs.")
        return Sheet(
            f"Quorums (pending replicas: {self.acknowledgement})",
            tuple(COLUMNS),
            tuple(tuple(cell(row) for cell in COLUMNS.values()) for row in rows[:most]),
            tuple(notes),
        )

    def summary(self) -> str:
        """The count, and the first counterexample."""
        ranges = len({row.range for row in self.rows})
        text = f"{self.pairs:,} pairs of quorums in {counted(ranges, 'range')}: "
        if self.first is None:
            return text + "every read quorum meets every write quorum."
        missed = sum(row.missed for row in self.rows)
        return text + f"{missed:,} miss one another. First: {miss_text(self.first)}."

    def __repr__(self) -> str:
        return self.table().text()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        return self.table()._repr_mimebundle_(**options)


COLUMNS: dict[str, Callable[[Crossing], str]] = {
    "range": lambda row: row.range,
    "write at": lambda row: str(row.write_epoch),
    "read at": lambda row: str(row.read_epoch),
    "levels": lambda row: (
        (row.write if row.write == row.read else f"{row.write}, {row.read}")
        + f" in {row.where}" * bool(row.where)
    ),
    "write quorums in use": lambda row: f"{row.writes} of {row.of_writes}",
    "read quorums in use": lambda row: f"{row.reads} of {row.of_reads}",
    "pairs": lambda row: f"{row.pairs:,}",
    "all meet": lambda row: (
        f"{BROKEN} {row.missed:,} miss"
        if row.missed
        else HOLDS
        if row.pairs
        else "never in use together"
    ),
}


def miss_text(row: Crossing) -> str:
    """A counterexample in words."""
    assert row.first is not None
    reads, writes = (", ".join(side) for side in row.first)
    return (
        f"{row.range}: a read at epoch {row.read_epoch} from {reads} misses a write at epoch "
        f"{row.write_epoch} to {writes}"
    )


def quorums(
    model: Any,
    *,
    acknowledgement: Acknowledgement = "union",
    levels: Iterable[tuple[rules.Level, rules.Level]] | None = None,
) -> Crossings:
    """Every pair of epochs that may be in use at once, on every range that a plan changes.

    ``model`` is a model of a cluster (or of one range of it); its first keyspace counts. ``levels``
    are pairs (write, read); None for QUORUM and, where there are several datacenters, the local
    ones too. BadInput for a model without such a plan, or a range with too many replicas.
    """
    check_one_of("acknowledgement", acknowledgement, rules.ACKNOWLEDGEMENTS)
    tcm = model if isinstance(model, Tcm) else getattr(model, "tcm", None)
    if not isinstance(tcm, Tcm):
        raise BadInput("model", getattr(model, "name", model), "tcm or dataplane")
    rows: list[Crossing] = []
    for history in histories(tcm):
        usual = PAIRS if len(set(history.dcs)) > 1 else PAIRS[:1]
        pairs = usual if levels is None else tuple(levels)
        for write, read in pairs:
            for level in (write, read):
                check_one_of("levels", level, rules.LEVELS)
            rows += crossings(history, write, read, acknowledgement)
    return Crossings(acknowledgement, tuple(rows))


def histories(tcm: Tcm) -> tuple[RangeHistory, ...]:
    """Every range whose replicas some operation changes, through all its futures."""
    tokens: set[int] = set()
    for _, after in tcm.successors(tcm.start()):
        for sequence in tcm.snapshot(after.events).metadata.sequences:
            tokens |= {stream.range.right for stream in sequence.plan.movements[0].streams}
    projected = [project(tcm, token) for token in sorted(tokens)]
    return tuple({history.label: history for history in projected}.values())


def crossings(
    history: RangeHistory, write: rules.Level, read: rules.Level, acknowledgement: Acknowledgement
) -> Iterator[Crossing]:
    """Every pair of epochs of one range, in the order in which the newer one is committed."""
    if len(history.replicas) > MOST_REPLICAS:
        allowed = f"a range with at most {MOST_REPLICAS} old and new replicas"
        raise BadInput("replicas", len(history.replicas), allowed)
    seen: set[Crossing] = set()
    ways = trails(history)
    passed = _passed(ways)
    for newest, trail in enumerate(ways):
        last, reads = len(trail.views) - 1, trail.newest.view.reads
        # Each datacenter that has replicas counts; if no level is local, their rows are the same.
        homes = [dc for dc, mask in history.datacenters.items() if mask & reads]
        for older in range(last, -1, -1):
            pairs = dict.fromkeys(((older, last), (last, older)))
            for dc in homes:
                for reader, writer in pairs:
                    levels = write, read, acknowledgement
                    row = _crossing(history, trail, levels, dc, reader, writer, passed[newest])
                    if row not in seen:
                        seen.add(row)
                        yield row


class PassedBarrier(Struct, frozen=True):
    """``needed`` of ``replicas`` (a mask) know the epoch at ``index``."""

    replicas: int
    needed: int
    index: int


def _passed(ways: tuple[Trail, ...]) -> list[tuple[PassedBarrier, ...]]:
    passed: list[tuple[PassedBarrier, ...]] = [()] * len(ways)
    for at, trail in enumerate(ways):
        newest = len(trail.nodes) - 1
        for edge, to in zip(trail.newest.edges, trail.leads, strict=True):
            passed[to] = passed[at] + tuple(
                PassedBarrier(condition.replicas, condition.needed, newest - condition.age)
                for condition in edge.conditions
                if isinstance(condition, MajorityKnows)
            )
    return passed


def _crossing(
    history: RangeHistory,
    trail: Trail,
    levels: tuple[rules.Level, rules.Level, Acknowledgement],
    dc: str,
    reader: int,
    writer: int,
    told_by: tuple[PassedBarrier, ...],
) -> Crossing:
    write, read, acknowledgement = levels
    views, live, older = trail.views, ~trail.newest.dead, min(reader, writer)
    masks, home = tuple(history.datacenters.values()), [*history.datacenters].index(dc)
    all_reads = smallest(rules.read_quotas(read, views[reader], masks, home), live)
    all_writes = smallest(
        rules.write_quotas(write, views[writer], masks, home, acknowledgement), live
    )
    reads = in_use(all_reads, told_by, older) if reader == older else all_reads
    writes = in_use(all_writes, told_by, older) if writer == older else all_writes
    missed, first = apart(reads, writes)
    where = dc if "LOCAL_QUORUM" in (write, read) else ""
    epochs = trail.numbers[reader], trail.numbers[writer]
    counts = len(reads), len(all_reads), len(writes), len(all_writes), missed
    names = first and (history.names(first[0]), history.names(first[1]))
    return Crossing(history.label, write, read, where, *epochs, *counts, names)


@lru_cache(4096)
def smallest(quotas: tuple[rules.AnswerQuota, ...], live: int) -> tuple[int, ...]:
    """Every smallest set of live replicas (masks) that meets all quotas, also by the same ones."""
    fewest = {0}
    for quota in quotas:
        able = members(quota.replicas & live)
        picks = [sum(1 << i for i in pick) for pick in combinations(able, quota.needed)]
        fewest = _fewest(quorum | pick for quorum in fewest for pick in picks)
    return tuple(sorted(fewest))


def _fewest(sets: Iterable[int]) -> set[int]:
    kept: list[int] = []
    for mask in sorted(set(sets), key=int.bit_count):
        if not any(other & ~mask == 0 for other in kept):
            kept.append(mask)
    return set(kept)


def in_use(
    quorums: tuple[int, ...], told_by: tuple[PassedBarrier, ...], index: int
) -> tuple[int, ...]:
    """The quorums whose members may all know nothing that came after the epoch at ``index``.

    A condition that held says that so many replicas know an epoch; where that is a later one,
    enough of them must be outside the quorum.
    """
    newer = [write for write in told_by if write.index > index]
    return tuple(
        quorum
        for quorum in quorums
        if all((write.replicas & ~quorum).bit_count() >= write.needed for write in newer)
    )


def apart(reads: tuple[int, ...], writes: tuple[int, ...]) -> tuple[int, tuple[int, int] | None]:
    """How many pairs have no replica in common, and the first of them."""
    reading, writing = np.array(reads, np.int64), np.array(writes, np.int64)
    missed = (reading[:, None] & writing[None, :]) == 0
    count = int(missed.sum())
    if not count:
        return 0, None
    row, column = (int(i) for i in np.argwhere(missed)[0])
    return count, (reads[row], writes[column])
