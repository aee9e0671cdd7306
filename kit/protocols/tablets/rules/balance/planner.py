"""The plan: what the balancer would begin now, and why for any tablet and any target.

A plan is an increment: as much as streams allow. The balancer keeps nothing; it is asked again once
tablets have moved on. First nodes are drained, then loads evened out, and only where there is
nothing else to do siblings are brought together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct

from kit.protocols.tablets.rules.balance.cluster import BalancerInput
from kit.protocols.tablets.rules.balance.colocation import brought_together
from kit.protocols.tablets.rules.balance.counting import even_counts
from kit.protocols.tablets.rules.balance.draining import DrainFailure, drained
from kit.protocols.tablets.rules.balance.loads import Loads, TabletMove
from kit.protocols.tablets.rules.balance.utilisation import even_utilisation
from kit.protocols.topology.rules.machines import Edition

EVEN: dict[Edition, Callable[[Loads], Iterator[TabletMove]]] = {
    "seed": even_counts,
    "code": even_utilisation,
}


class BalancePlan(Struct, frozen=True):
    """What to begin, and which replicas on nodes to drain can go nowhere."""

    moves: tuple[TabletMove, ...]
    failures: tuple[DrainFailure, ...] = ()

    @property
    def bytes(self) -> int:
        """How much is copied."""
        return sum(move.bytes for move in self.moves)


def plan(given: BalancerInput, edition: Edition = "code") -> BalancePlan:
    """The next moves of a cluster; none: it is balanced, or all streams are taken."""
    return planned(Loads(given, edition))


def planned(loads: Loads) -> BalancePlan:
    """The plan, with which ``loads`` then counts."""
    moves: list[TabletMove] = []
    failures: list[DrainFailure] = []
    for step in drained(loads):
        if isinstance(step, TabletMove):
            moves.append(step)
        else:
            failures.append(step)
    if loads.given.enabled:
        if not moves:
            moves += EVEN[loads.edition](loads)
        if not moves:
            moves += brought_together(loads)
    return BalancePlan(tuple(moves), tuple(failures))
