"""Versions, fences and sessions on one node: who is served, who drains, whose work is let in.

Source: Topology over Raft, "Topology guards", "Topology state persistence table"; read by Q-21 and
Q-46.
"""

from __future__ import annotations

from msgspec import Struct

from kit.protocols.topology.rules.cluster import ClusterTopology
from kit.protocols.topology.rules.safeguards import TopologySafeguards


class LocalView(Struct, frozen=True, cache_hash=True):
    """What of an applied topology steers requests and streams on a node."""

    version: int
    fence_version: int
    session: int


def local_view(topology: ClusterTopology) -> LocalView:
    """The view of a node that has applied this topology."""
    return LocalView(topology.version, topology.fence_version, topology.session)


def is_served(version: int, replica: LocalView, safeguards: TopologySafeguards) -> bool:
    """Whether a replica serves a request of a version: none below the fence that it has applied."""
    return version >= replica.fence_version or not safeguards.fencing


def is_drained(version: int, view: LocalView, safeguards: TopologySafeguards) -> bool:
    """Whether a node's own request of a version may still run when it answers a barrier."""
    return version >= view.version or not safeguards.barrier_drains


def is_open(session: int, view: LocalView, safeguards: TopologySafeguards) -> bool:
    """Whether work with the permit of a session is let in, and may run on, at a node."""
    return session == view.session or not safeguards.sessions
