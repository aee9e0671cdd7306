"""What the documents say of failures in clusters of 3, 6 and 9 nodes, judged by what is computed.

The tables of the manual on Raft, "Handling Failures", lost their titles; their shapes are read as
one, two and three datacenters of three nodes (Q-15). They call data available in cases where a
keyspace of RF 3 is not at every level (Q-16), so both are given: the documents' word and the
computed truth.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Literal

from msgspec import Struct

from kit.protocols.recovery.rules.availability import LevelStanding, Standing, standings
from kit.protocols.recovery.rules.layout import ClusterLayout
from kit.protocols.recovery.rules.quorum import Place, after_deaths, orders_of_deaths

PER_DATACENTER = RF = 3
Outcome = Literal["always", "sometimes", "never"]
"""Of the failures that a row means: in all of them, in some, in none."""


class FailureRow(Struct, frozen=True):
    """A row: ``least`` to ``most`` nodes, or whole datacenters, of ``datacenters`` are down.

    ``schema`` and ``data`` are the documents' words on schema changes and on data. ``back`` is how
    many nodes the documents want back for a quorum: 0 where there is one.
    """

    datacenters: int
    failure: Literal["nodes", "datacenters"]
    least: int
    most: int
    schema: bool
    back: int
    advice: str
    data: bool = True

    @property
    def places(self) -> tuple[Place, ...]:
        """The nodes of the cluster: three in each datacenter, in a rack each."""
        return ClusterLayout((PER_DATACENTER,) * self.datacenters, PER_DATACENTER).places

    @property
    def units(self) -> tuple[int, ...]:
        """What fails as one: the nodes, or the datacenters (masks)."""
        size = 1 if self.failure == "nodes" else PER_DATACENTER
        return tuple((1 << size) - 1 << at for at in range(0, len(self.places), size))

    @property
    def words(self) -> str:
        """How much fails: ``1 to 2 nodes``."""
        many = f"{self.least}" if self.least == self.most else f"{self.least} to {self.most}"
        return f"{many} {self.failure[:-1] if self.most == 1 else self.failure}"

    def failures(self) -> Iterator[int]:
        """Every set of dead nodes (a mask) that the row means."""
        for count in range(self.least, self.most + 1):
            yield from map(sum, combinations(self.units, count))

    def covers(self, dead: int) -> bool:
        """Whether the row means this set of dead nodes (a mask)."""
        units = [unit for unit in self.units if unit & dead == unit]
        return sum(units) == dead and self.least <= len(units) <= self.most


REPLACE = "restart them; replace what is dead"
ONE_OF_TWO = "restart 1 of the 2 at least for a quorum; else recover by hand"
ONE_OF_THREE = "restart 1 of the 3 for a quorum; else recover by hand"
IF_BACK = "restart its nodes when it is back; else recover by hand"
NEW_REGION = "restart its nodes when it is back, or add 3 in a new region"
BOTH_BACK = "restart the nodes when both are back; recover by hand if one stays lost"
FAILURES = (
    FailureRow(1, "nodes", 1, 1, True, 0, "restart it; replace it if it is dead"),
    FailureRow(1, "nodes", 2, 2, False, 1, ONE_OF_TWO),
    FailureRow(2, "nodes", 1, 2, True, 0, REPLACE),
    FailureRow(2, "nodes", 3, 3, False, 1, ONE_OF_THREE),
    FailureRow(2, "datacenters", 1, 1, False, 3, IF_BACK),
    FailureRow(3, "nodes", 1, 4, True, 0, REPLACE),
    FailureRow(3, "datacenters", 1, 1, True, 0, NEW_REGION),
    FailureRow(3, "datacenters", 2, 2, False, 6, BOTH_BACK),
)
"""The manual on Raft, "Handling Failures": its three tables, row by row."""


class JudgedFailure(Struct, frozen=True):
    """A row beside what is computed over all failures that it means.

    ``schema`` is edition ``documents``'s; ``at_once`` and ``in_turn`` are edition ``server``'s,
    where all of them die at once or one after another, in any order. ``back`` is the most nodes
    that have to come back for a quorum.
    """

    row: FailureRow
    schema: Outcome
    at_once: Outcome
    in_turn: Outcome
    back: int
    data: tuple[LevelStanding, ...]

    @property
    def differs(self) -> tuple[str, ...]:
        """What the documents say otherwise: ``schema``, ``back``, and levels of data."""
        said = "always" if self.row.schema else "never"
        data = tuple(
            " ".join(filter(None, (each.level, each.datacenter)))
            for each in self.data
            if (each.standing == "available") is not self.row.data
        )
        wrong = (("schema", self.schema != said), ("back", self.back != self.row.back))
        return (*(name for name, differs in wrong if differs), *data)


def judged(row: FailureRow, factor: int = RF) -> JudgedFailure:
    """What is true of a row, with ``factor`` replicas in each datacenter."""
    failures = list(row.failures())
    places = row.places
    orders = list(map(orders_of_deaths(places), failures))
    quorums = [after_deaths("documents", places, [dead]) for dead in failures]
    factors = dict.fromkeys((dc for dc, _ in places), factor)
    tables = [standings(places, dead, factors) for dead in failures]
    return JudgedFailure(
        row,
        outcome(quorum.holds for quorum in quorums),
        outcome(after_deaths("server", places, [dead]).holds for dead in failures),
        outcome(holds for both in orders for holds in both),
        max(quorum.missing for quorum in quorums),
        tuple(_worst(cells) for cells in zip(*tables, strict=True)),
    )


def outcome(holds: Iterable[bool]) -> Outcome:
    """What several failures have in common."""
    seen = set(holds)
    if len(seen) == 2:
        return "sometimes"
    return "always" if True in seen else "never"


def _worst(cells: tuple[LevelStanding, ...]) -> LevelStanding:
    """One level over all failures: available if it is in each, unavailable if it is in none."""
    seen: set[Standing] = {cell.standing for cell in cells}
    standing: Standing = seen.pop() if len(seen) == 1 else "of some ranges"
    return LevelStanding(cells[0].level, cells[0].datacenter, standing)
