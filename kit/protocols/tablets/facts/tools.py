"""What ``nodetool`` and ``cqlsh`` answer of a cluster with tablets: of its nodes."""

from kit.protocols.topology.facts import ClusterServers

SERVERS = ClusterServers()
