"""The tablet track as one piece of work: what its end and its failure leave in the tables."""

from __future__ import annotations

from msgspec.structs import replace

from kit.protocols.topology.rules.cluster import ClusterTopology, with_node, with_request


def drained(topology: ClusterTopology) -> int:
    """The nodes that have no tablet once all tablet transitions are over (a mask).

    A draining that failed only ends what it had begun (``tablet_migration`` after a rollback).
    """
    states = ("decommissioning", "removing") if topology.transition == "tablet_draining" else ()
    return sum(
        1 << i
        for i, entry in enumerate(topology.nodes)
        if entry.request in ("leave", "remove") or entry.state in states
    )


def tablets_moved(topology: ClusterTopology) -> ClusterTopology:
    """The tables once all tablet transitions are over: who is to leave has no tablet any more."""
    left = topology.tablets_on & ~drained(topology)
    return replace(topology, tablets="even", tablets_on=left)


def tablets_placed(topology: ClusterTopology, on: int, *, more: bool) -> ClusterTopology:
    """The tables once transitions ended with tablets on these nodes (a mask); ``more`` go on."""
    return replace(topology, tablets="moving" if more else "even", tablets_on=on)


def tablets_failed(topology: ClusterTopology, paused: tuple[int, ...]) -> ClusterTopology:
    """The tables once the transitions failed and were taken back.

    ``paused`` are the requests (by number) that waited for them: nobody can drain their nodes, so
    they end with an error (published coordinator).
    """
    for number in paused:
        node = topology.requests[number - 1].node
        topology = with_request(topology, number, done=True, error=True)
        topology = with_node(topology, node, request="")
    return replace(topology, tablets="even")
