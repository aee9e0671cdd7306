"""What tools and programs are answered while a node operation moves a range."""

from kit.console.drill import DrillMoment
from kit.console.server import KnownRing
from kit.protocols.storage.clients import KEYSPACE, StorageServers
from kit.ring.replication import Keyspace, SimpleStrategy
from kit.ring.tokens import TokenSpace
from kit.ring.topology import Ring


class VnodesServers(StorageServers):
    """Replicas of one range, nodes without a replica of it, and the coordinators of requests."""

    def space(self, now: DrillMoment) -> TokenSpace:
        """The line of tokens of the ring."""
        space: TokenSpace = now.model.rings[0].space
        return space

    def keyspaces(self, now: DrillMoment) -> tuple[Keyspace, ...]:
        """The one keyspace."""
        return (Keyspace(KEYSPACE, SimpleStrategy(now.model.rf)),)

    def ring(self, now: DrillMoment, at: int) -> Ring:
        """The ring as a node knows it: a node is in it, or out, once its operation has ended."""
        views = now.model.views(now.state)[: self.known(now, at) + 1]
        ended = [view.reads for view in views if view.reads == view.writes]
        before, after = now.model.rings
        ring: Ring = before if ended[-1] == ended[0] else after
        return ring

    def known_ring(self, now: DrillMoment, at: int) -> KnownRing:
        """Its tokens."""
        names = now.model.names
        nodes = self.ring(now, at).nodes
        return KnownRing(self.space(now), {names.index(each.name): each.tokens for each in nodes})

    def is_member(self, now: DrillMoment, at: int) -> bool:
        """Whether the node that is asked has it in its ring."""
        return bool(self.known_ring(now, now.here).tokens.get(at))

    def tokens(self, now: DrillMoment, at: int) -> str:
        """Those of its ring."""
        return str(len(self.known_ring(now, now.here).tokens[at]))


SERVERS = VnodesServers()
