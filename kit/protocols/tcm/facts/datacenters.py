"""The datacenters that a keyspace replicates to, each with a number of replicas of its own."""

from __future__ import annotations

from kit.protocols.tcm.cluster import TcmCluster
from kit.ring.replication import NetworkTopologyStrategy


def datacenters(m: TcmCluster, keyspace: str) -> tuple[str, ...]:
    """The datacenters whose replicas the keyspace counts one by one; none where it does not."""
    space = next(space for space in m.tcm.cluster.keyspaces if space.name == keyspace)
    if not isinstance(space.replication, NetworkTopologyStrategy):
        return ()
    return tuple(dc for dc, factor in space.replication.factors if factor)


def members(m: TcmCluster, dc: str) -> frozenset[str]:
    """The names of a datacenter's nodes, those that are still to join too."""
    return frozenset(node.name for node in m.tcm.cluster.ring.nodes if node.dc == dc)
