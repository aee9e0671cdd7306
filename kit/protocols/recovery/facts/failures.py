"""One state of failures as people ask of it: nodes, quorum, data, the documents' tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from msgspec import Struct

from kit.protocols.group0.rules.voters import majority, nodes_in
from kit.protocols.recovery.failures import Failures, FailuresState, columns
from kit.protocols.recovery.rules.availability import Standing, answers
from kit.protocols.recovery.rules.failure_tables import FAILURES, PER_DATACENTER, RF, FailureRow
from kit.protocols.recovery.rules.placing import placed_ranges
from kit.protocols.storage.rules.levels import Level

LEVELS: tuple[Level, ...] = ("ONE", "LOCAL_QUORUM", "QUORUM", "EACH_QUORUM", "ALL")


class FailingNode(Struct, frozen=True):
    """A node: where it stands, what it does, whether it votes, which columns it knows."""

    name: str
    datacenter: str
    rack: str
    standing: str
    votes: bool
    schema: str
    is_apart: bool


class SideLine(Struct, frozen=True):
    """Nodes that reach each other: how many voters are among them, and how many it takes.

    ``needed`` is 0 where the safeguard is off that asks for a majority.
    """

    nodes: tuple[str, ...]
    reached: int
    voters: int
    needed: int

    @property
    def can_commit(self) -> bool:
        """Whether they can change the schema."""
        return self.reached >= self.needed


class LevelLine(Struct, frozen=True):
    """Data at a level, asked for in ``datacenter``: for how many of all ranges it is met."""

    level: Level
    datacenter: str
    met: int
    ranges: int

    @property
    def name(self) -> str:
        """``QUORUM``, ``LOCAL_QUORUM in dc1``."""
        return f"{self.level} in {self.datacenter}" if self.level == "LOCAL_QUORUM" else self.level

    @property
    def standing(self) -> Standing:
        """Of every range, of some, of none."""
        if self.met == self.ranges:
            return "available"
        return "of some ranges" if self.met else "unavailable"


class RangeLine(Struct, frozen=True):
    """A range: its replicas, and those that a side can ask."""

    label: str
    replicas: tuple[str, ...]
    live: tuple[str, ...]


class MetFailure(Struct, frozen=True):
    """A row of the documents' tables; ``state`` is the last one of the run that it means."""

    row: FailureRow
    state: FailuresState | None


Verdict = Literal["possible", "impossible"]


def nodes(m: Failures, s: FailuresState) -> tuple[FailingNode, ...]:
    """Every node."""
    return tuple(
        FailingNode(
            name,
            *m.places[at],
            s.standing(at),
            bool(s.voters >> at & 1),
            columns(s.schemas[at]),
            bool(s.apart >> at & 1),
        )
        for at, name in enumerate(m.names)
    )


def side_lines(m: Failures, s: FailuresState) -> tuple[SideLine, ...]:
    """Both sides of a cut, or all nodes."""
    size = s.voters.bit_count()
    needed = majority(size) if m.majority else 0
    return tuple(
        SideLine(m.named(side), (side & s.voters).bit_count(), size, needed) for side in s.sides()
    )


def schema_changes(s: FailuresState) -> Verdict:
    """Whether some side can change the schema."""
    able = s.has_majority
    return "possible" if able else "impossible"


def voters_missing(s: FailuresState) -> int:
    """How many voters have to come back, to the side that has most of them."""
    most = max((side & s.voters).bit_count() for side in s.sides())
    return max(0, majority(s.voters.bit_count()) - most)


def range_lines(m: Failures, s: FailuresState, side: int) -> tuple[RangeLine, ...]:
    """Every range, with the replicas that serve on a side (a mask of nodes)."""
    names = set(m.named(side & s.serving))
    return tuple(
        RangeLine(label, held, tuple(name for name in held if name in names))
        for label, held in placed_ranges(m.names, m.places, m.rf)
    )


def level_lines(m: Failures, s: FailuresState, side: int) -> tuple[LevelLine, ...]:
    """How many ranges meet each level, for clients of the nodes that serve on a side."""
    ranges = range_lines(m, s, side)
    homes = [dc for dc in m.dcs if m.members(dc) & side & s.serving]
    alone = len(m.dcs) == 1
    levels = [level for level in LEVELS if not (alone and level in ("LOCAL_QUORUM", "EACH_QUORUM"))]
    return tuple(
        LevelLine(level, home, sum(_meets(m, level, each, home) for each in ranges), len(ranges))
        for level in levels
        for home in (homes if level == "LOCAL_QUORUM" else homes[:1] or ("",))
    )


def _meets(m: Failures, level: Level, line: RangeLine, home: str) -> bool:
    homes = [m.places[m.number(name)][0] for name in line.live]
    counts = {dc: (m.rf, homes.count(dc)) for dc in m.dcs}
    return answers(level, counts, home)


def documented(m: Failures) -> tuple[FailureRow, ...]:
    """The documents' rows for a cluster of this shape; none where they have no table."""
    if m.rf != RF or set(m.datacenters) != {PER_DATACENTER}:
        return ()
    return tuple(row for row in FAILURES if row.datacenters == len(m.datacenters))


def met_failures(m: Failures, states: Iterable[FailuresState]) -> Iterator[MetFailure]:
    """The documents' rows, each with the last state of a run that it means, if there is one."""
    whole = [s for s in states if not s.apart]
    for row in documented(m):
        met = next((s for s in reversed(whole) if row.covers(m.everybody & ~s.up)), None)
        yield MetFailure(row, met)


def down(m: Failures, s: FailuresState) -> tuple[str, ...]:
    """The nodes that are down."""
    return tuple(m.names[at] for at in nodes_in(m.everybody & ~s.up))
