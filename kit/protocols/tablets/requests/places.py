"""Whom coordinators ask and where data lie: the nodes of a tablet, and the shards of one of them.

While a tablet moves within a node, that node is asked at every stage, and says by the stage that it
knows which of its shards read and write. Source: Topology over Raft, "Sharding with tablets".
"""

from __future__ import annotations

from collections.abc import Iterator

from kit.protocols.storage.rules.history import ShardedReplica
from kit.protocols.storage.rules.masks import mask_of
from kit.protocols.storage.rules.view import ShardChoice
from kit.protocols.tablets.requests.moves import WITHIN_NODE, TransitionPlan
from kit.protocols.tablets.rules.maps import Tablet
from kit.protocols.tablets.rules.replica_sets import Replicas, ReplicaSets, TabletReplica
from kit.protocols.tablets.rules.sharder import shard_for_reads, shard_for_writes
from kit.protocols.topology.rules.machines import StateRow


class TabletPlaces:
    """The names of a history's replicas, their numbers, and masks of them."""

    def __init__(self, replicas: Replicas, plans: tuple[TransitionPlan, ...]) -> None:
        """The places of a tablet with these replicas while these plans are carried out."""
        targets = (plan.target for plan in plans if plan.kind != "repair")
        every = (*replicas, *targets)
        self.split = next((p.target.host for p in plans if p.kind == WITHIN_NODE), "")
        self.names = tuple(self._names(every))
        self.code = {name: i for i, name in enumerate(self.names)}
        self.shards = mask_of(self.code[str(r)] for r in every if r.host == self.split)

    def _names(self, every: Replicas) -> Iterator[str]:
        """The nodes, and behind the one that has shards these."""
        for host in dict.fromkeys(each.host for each in every):
            yield host
            if host == self.split:
                yield from dict.fromkeys(str(each) for each in every if each.host == host)

    @property
    def sharded(self) -> ShardedReplica | None:
        """The node that has the tablet on more than one shard."""
        return ShardedReplica(self.code[self.split], self.shards) if self.split else None

    @property
    def everywhere(self) -> int:
        """All of them."""
        return (1 << len(self.names)) - 1

    def knowing(self, places: int) -> int:
        """The nodes on which some places are: shards know what their node knows."""
        if not places & self.shards:
            return places
        return places & ~self.shards | 1 << self.code[self.split]

    def node(self, host: str) -> int:
        """A node with its shards; nothing for who is no replica."""
        if host not in self.code:
            return 0
        return 1 << self.code[host] | (self.shards if host == self.split else 0)

    def nodes_of(self, replicas: Replicas) -> int:
        """The nodes, which coordinators ask."""
        return mask_of(self.code[each.host] for each in replicas)

    def at(self, replicas: Replicas) -> int:
        """Where data of these replicas lie: of the node that has shards, on these."""
        return mask_of(self.number(each) for each in replicas)

    def number(self, replica: TabletReplica) -> int:
        """Where data of one replica lie."""
        return self.code[str(replica) if replica.host == self.split else replica.host]

    def choice(self, sets: ReplicaSets, row: StateRow) -> ShardChoice | None:
        """What the node that has shards makes of requests in a stage: its sharder's answers."""
        host = self.split
        if not host:
            return None
        node = 1 << self.code[host]
        if all(each.host != host for each in sets.both):
            return ShardChoice(node, 0, 0)
        tablet = Tablet(0, sets.old, sets.new)
        reads = TabletReplica(host, shard_for_reads(tablet, host, row.reads))
        writes = (TabletReplica(host, n) for n in shard_for_writes(tablet, host, row.writes))
        return ShardChoice(node, self.at((reads,)), self.at(tuple(writes)))
