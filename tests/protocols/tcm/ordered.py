"""The plain model of the simulators, with the order of every group kept beside its sets.

Reads stand in the order of the readable reference's walk. Writes stand as they came: those of
before first, then the new ones; where they are the same nodes as the reads, in the same order.
"""

from __future__ import annotations

from kit.protocols.tcm.rules.metadata import Event
from kit.protocols.tcm.simulators.columns import followed
from kit.protocols.tcm.simulators.plain import Factors, Line, PlainCluster, stable_cluster
from kit.ring.reference import replicas_reference
from kit.ring.replication import (
    Keyspace,
    LocalStrategy,
    NetworkTopologyStrategy,
    Replication,
    SimpleStrategy,
)
from kit.ring.tokens import TokenSpace
from kit.ring.topology import Node

Groups = dict[int, tuple[list[str], list[str]]]
EVERYBODY = 10**9  # replicas, more than there are nodes


def factors(replication: Replication) -> Factors:
    """How the plain model counts the replicas of a strategy."""
    match replication:
        case SimpleStrategy(replication_factor=factor):
            return {"": factor}
        case NetworkTopologyStrategy(factors=by_datacenter):
            return dict(by_datacenter)
        case _:
            return {"": EVERYBODY}


class OrderedPlain:
    """The cluster's placements, changed event by event."""

    def __init__(
        self,
        nodes: tuple[Node, ...],
        keyspaces: tuple[Keyspace, ...],
        space: TokenSpace,
        edition: str,
    ) -> None:
        self.space = space
        self.replications = {
            k.name: k.replication for k in keyspaces if not isinstance(k.replication, LocalStrategy)
        }
        self.plain: PlainCluster = stable_cluster(
            tuple((token, node.name) for node in nodes for token in node.tokens),
            {node.name: (node.dc, node.rack) for node in nodes},
            {name: factors(replication) for name, replication in self.replications.items()},
            (space.low, space.high),
            edition,
        )
        self.groups: dict[str, Groups] = {name: {} for name in self.replications}
        self._put_in_order()

    def follow(self, event: Event) -> None:
        """What was committed happens here, too."""
        plain = followed(self.plain, event)
        assert isinstance(plain, PlainCluster), plain
        self.plain = plain
        self._put_in_order()

    @property
    def under_way(self) -> set[str]:
        """The nodes that have an operation under way."""
        return set(self.plain.flights)

    def _owners(self) -> list[Node]:
        """The ring whose walks give the order of reads: whose reads have switched is in it."""
        owners = dict(self.plain.line)
        for flight in self.plain.flights.values():
            if flight.switched and not flight.undoing:
                before, after = dict(flight.before), dict(flight.after)
                for token in before.keys() - after.keys():
                    owners.pop(token, None)
                owners.update({t: n for t, n in after.items() if before.get(t) != n})
        line: Line = tuple(sorted(owners.items()))
        return [
            Node(name, tuple(token for token, owner in line if owner == name), *place)
            for name, place in self.plain.places.items()
        ]

    def _put_in_order(self) -> None:
        owners = self._owners()
        for keyspace, rows in self.plain.tables.items():
            former, found = self.groups[keyspace], {}
            for right, (reads, writes) in rows.items():
                walk = replicas_reference(owners, self.replications[keyspace], right, self.space)
                assert set(walk) == reads, (keyspace, right, walk, reads)
                row = min((bound for bound in former if bound >= right), default=None)
                known = former[row][1] if row is not None else []
                stay = [name for name in known if name in writes]
                arrived = [*stay, *sorted(writes - set(stay))]
                found[right] = (list(walk), list(walk) if writes == reads else arrived)
            self.groups[keyspace] = found

    def rows(self, keyspace: str) -> list[tuple[int, int, list[str], list[str]]]:
        """The table as rows."""
        table = self.groups[keyspace]
        rights = sorted(table)
        lefts = [self.space.low, *rights[:-1]]
        return [(a, b, *table[b]) for a, b in zip(lefts, rights, strict=True)]
