"""The keys of the parts between which things travel: nodes, replicas, group 0, the network."""

from __future__ import annotations

LOG, NETWORK = "host:group0", "host:network"


def host_spot(name: str) -> str:
    """The key of a node's row."""
    return f"host:{name}"


def replica_spot(key: str) -> str:
    """The key of the chip of a replica."""
    return f"tablet:{key}"
