"""What programs hear from the nodes of one tablet while it is in transition.

Its table has this one tablet, so every key is in it. Source: Topology over Raft, "Tablet
transitions"; "Sharding with tablets".
"""

from kit.console.drill import DrillMoment
from kit.console.server import NOT_MODELLED, KnownRing
from kit.errors import Refused
from kit.protocols.storage.clients import KEYSPACE, StorageServers
from kit.ring.replication import Keyspace, NetworkTopologyStrategy
from kit.ring.tokens import MURMUR3, TokenSpace


class TabletServers(StorageServers):
    """Nodes with a replica of the tablet, or without, and the coordinators of requests."""

    def space(self, now: DrillMoment) -> TokenSpace:
        """Tokens are hashes of keys."""
        return MURMUR3

    def keyspaces(self, now: DrillMoment) -> tuple[Keyspace, ...]:
        """The one keyspace, in the one datacenter."""
        (datacenter,) = set(now.model.history.dcs)
        return (Keyspace(KEYSPACE, NetworkTopologyStrategy(((datacenter, now.model.rf),))),)

    def known_ring(self, now: DrillMoment, at: int) -> KnownRing:
        """A token a node: with tablets, tokens do not say who holds a row. Refused where the tablet
        moves between shards of one node.
        """
        if now.model.history.sharded:
            why = "programs connect to nodes, and here a tablet moves between shards of one node"
            raise Refused(f"{NOT_MODELLED}{why}")
        nodes = now.model.replicas
        apart = (MURMUR3.high - MURMUR3.low) // nodes
        return KnownRing(MURMUR3, {n: (MURMUR3.low + (n + 1) * apart,) for n in range(nodes)})

    def is_member(self, now: DrillMoment, at: int) -> bool:
        """Coordinators have no tokens, so tools do not tell of them."""
        return at < int(now.model.replicas)

    def tokens(self, now: DrillMoment, at: int) -> str:
        """One."""
        return "1"

    def key(self, now: DrillMoment) -> int:
        """Any key."""
        return 1


SERVERS = TabletServers()
