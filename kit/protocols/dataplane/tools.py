"""What ``nodetool``, ``cqlsh`` and programs hear while a plan of CEP-21 moves a range."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from kit.console.cassandra import ListedNode, Logged, MetadataServers, ServiceView, rendered
from kit.console.drill import DrillMoment
from kit.console.server import NOT_MODELLED
from kit.errors import Refused
from kit.model.flows import ServerHost
from kit.protocols.storage.clients import StorageServers
from kit.protocols.tcm.facts.tools import TcmServers, directory, kind_of
from kit.protocols.tcm.tcm import TcmState
from kit.ring.replication import Keyspace
from kit.ring.tokens import TokenSpace

GOSSIPED = f"{NOT_MODELLED}there is no log where nodes only gossip"


class DataplaneServers(StorageServers, MetadataServers):
    """Replicas of one range, nodes without a replica of it, and the coordinators of requests."""

    lacks: Mapping[str, str] = {
        **TcmServers.lacks,
        "nodetool decommission": "each event of a plan is a step of the model",
    }

    def hosts(self, now: DrillMoment) -> list[ServerHost]:
        """The hosts of the ring, each in its place."""
        ring = {node.name: node for node in now.model.tcm.cluster.ring.nodes}
        return [
            replace(host, dc=ring[name].dc, rack=ring[name].rack) if name in ring else host
            for name, host in zip(now.model.names, super().hosts(now), strict=True)
        ]

    def is_up(self, now: DrillMoment, at: int) -> bool:
        """Whether its server runs: of nodes without a replica the metadata tells."""
        name = now.model.names[at]
        return super().is_up(now, at) and name not in self.metadata(now, at).down

    def space(self, now: DrillMoment) -> TokenSpace:
        """The line of tokens of the ring."""
        space: TokenSpace = now.model.tcm.cluster.ring.space
        return space

    def keyspaces(self, now: DrillMoment) -> tuple[Keyspace, ...]:
        """Those of the ring."""
        keyspaces: tuple[Keyspace, ...] = now.model.tcm.cluster.keyspaces
        return keyspaces

    def metadata(self, now: DrillMoment, at: int) -> TcmState:
        """The metadata as a node knows them."""
        trail = now.model.trails[now.state.trail]
        known: TcmState = now.model.metadata[trail.nodes[self.known(now, at)]]
        return known

    def service(self, now: DrillMoment, at: int) -> ServiceView:
        """How far a node is. Raises Refused where nodes only gossip."""
        if now.model.mode == "gossip":
            raise Refused(GOSSIPED)
        return ServiceView(now.model.epoch(now.state, self.known(now, at)), ())

    def listed(self, now: DrillMoment, at: int) -> Mapping[int, ListedNode]:
        """The ring, by what a node has applied."""
        m = now.model
        metadata = m.tcm.snapshot(self.metadata(now, at).events).metadata
        listed: dict[str, Any] = directory(m.tcm.cluster, metadata)
        return {m.names.index(name): node for name, node in listed.items()}

    def entries(self, now: DrillMoment) -> Iterator[Logged]:
        """All that is committed, as far back as somebody may still know."""
        m, trail = now.model, now.model.trails[now.state.trail]
        self.service(now, now.here)
        for epoch, node in [*zip(trail.numbers, trail.nodes, strict=True)][1:]:
            each = m.tcm.committed(m.metadata[node].events)
            done = each.operation
            kind, said = kind_of(done.kind, each.step), f"{each.text} ({done.title})"
            yield epoch, kind, rendered(kind, said, m.names.index(done.node)), epoch


SERVERS = DataplaneServers()
