"""The plan: what the balancer would begin now, and why for any tablet and any target.

A plan is an increment: as much as streams allow. The balancer keeps nothing; it is asked again once
tablets have moved on. In each datacenter nodes are drained first, then loads evened out, and only
where there is nothing else to do siblings are brought together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct

from kit.protocols.tablets.rules.balance.cluster import BalancerInput
from kit.protocols.tablets.rules.balance.colocation import brought_together
from kit.protocols.tablets.rules.balance.counting import even_counts
from kit.protocols.tablets.rules.balance.draining import DrainFailure, drained, to_drain
from kit.protocols.tablets.rules.balance.loads import Loads, TabletMove
from kit.protocols.tablets.rules.balance.utilisation import even_utilisation
from kit.protocols.topology.rules.machines import Edition

EVEN: dict[Edition, Callable[[Loads, int], Iterator[TabletMove]]] = {
    "documents": even_counts,
    "server": even_utilisation,
}


class BalancePlan(Struct, frozen=True):
    """What to begin, and which replicas on nodes to drain can go nowhere."""

    moves: tuple[TabletMove, ...]
    failures: tuple[DrainFailure, ...] = ()

    @property
    def bytes(self) -> int:
        """How much is copied."""
        return sum(move.bytes for move in self.moves)


def plan(given: BalancerInput, edition: Edition = "server") -> BalancePlan:
    """The next moves of a cluster; none: it is balanced, or all streams are taken."""
    return planned(Loads(given, edition))


def planned(loads: Loads) -> BalancePlan:
    """The plan, with which ``loads`` then counts.

    Each datacenter is looked at for itself: while one has a node to drain, nothing else moves
    there, even if that cannot go on.
    """
    moves: list[TabletMove] = []
    failures: list[DrainFailure] = []
    for step in drained(loads):
        if isinstance(step, TabletMove):
            moves.append(step)
        else:
            failures.append(step)
    if loads.given.enabled:
        for datacenter in dict.fromkeys(loads.dc.tolist()):
            if not to_drain(loads, datacenter):
                moves += _balanced(loads, datacenter)
    return BalancePlan(tuple(moves), tuple(failures))


def _balanced(loads: Loads, datacenter: int) -> list[TabletMove]:
    """Moves that even out a datacenter; where there are none, those that join siblings."""
    return list(EVEN[loads.edition](loads, datacenter)) or list(brought_together(loads, datacenter))
