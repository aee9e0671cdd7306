"""What an edge of a machine does to the tables, beside the transition state.

Source: Topology over Raft, "Topology state persistence table"; blog post on 6.0 (a node tracks
whether it needs cleanup). Published coordinator, its updates of each state. The tablet track is
one piece of work: below stands what its end and its failure leave in the tables.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.topology.rules.cluster import (
    NOBODY,
    ClusterTopology,
    mask_of,
    owners,
    with_node,
    with_request,
)
from kit.protocols.topology.rules.machines import BOUNDARY, EdgeRow
from kit.protocols.topology.rules.replication import with_replication

Effect = Callable[[ClusterTopology, int], ClusterTopology]


def taken(topology: ClusterTopology, edge: EdgeRow, node: int, state_id: int) -> ClusterTopology:
    """The topology after an edge of the operation on ``node`` (``NOBODY``: on the whole cluster).

    ``state_id`` is the id of the command that commits it: a session that it opens is named so.
    """
    if edge.becomes:
        topology = with_node(topology, node, state=edge.becomes, request="")
    for effect in edge.effects:
        topology = EFFECTS[effect](topology, node)
    if edge.becomes == "left":
        topology = replace(topology, ignored=topology.ignored & ~(1 << node))
    # From its end an operation leads back to the tablets, if it went before them.
    back = "tablet_migration" if topology.tablets == "moving" else ""
    return replace(
        topology,
        transition=back if edge.target == BOUNDARY else edge.target,
        version=topology.version + edge.version,
        session={"opens": state_id, "closes": 0}.get(edge.session, topology.session),
    )


def _replaced_left(topology: ClusterTopology, node: int) -> ClusterTopology:
    """The replaced node has left in the same command in which the other one is done."""
    replaced = topology.nodes[node].replaced
    ignored = topology.ignored & ~(1 << replaced)
    return replace(with_node(topology, replaced, state="left", tokens=False), ignored=ignored)


def _generation(topology: ClusterTopology, node: int) -> ClusterTopology:
    """One more CDC generation is committed; publishing it is another's work."""
    count, unpublished = topology.generations + 1, topology.unpublished + 1
    return replace(topology, generations=count, unpublished=unpublished)


def _cleanup(topology: ClusterTopology, node: int) -> ClusterTopology:
    """The other owners of tokens may hold data of ranges that they lost, or did not gain."""
    return _with_cleanup(topology, owners(topology) & ~(1 << node), "needed")


def _starts_cleanup(topology: ClusterTopology, node: int) -> ClusterTopology:
    """Whoever needs cleanup is told to begin."""
    dirty = sum(1 << i for i, entry in enumerate(topology.nodes) if entry.cleanup == "needed")
    return _with_cleanup(topology, dirty & mask_of(topology, "normal"), "running")


def _with_cleanup(topology: ClusterTopology, which: int, status: str) -> ClusterTopology:
    nodes = list(topology.nodes)
    for i in nodes_in(which):
        nodes[i] = replace(nodes[i], cleanup=status)
    return replace(topology, nodes=tuple(nodes))


def _plans_tablets(topology: ClusterTopology, node: int) -> ClusterTopology:
    return replace(topology, tablets="moving")


def _drains_tablets(topology: ClusterTopology, node: int) -> ClusterTopology:
    """The node's tablets, if it has any, are in transition to others."""
    return _plans_tablets(topology, node) if topology.tablets_on >> node & 1 else topology


def number_of(topology: ClusterTopology, node: int) -> int:
    """The number of the request that an operation carries out; 0 when it has none."""
    return topology.running if node == NOBODY else topology.nodes[node].request_id


def finished(topology: ClusterTopology, node: int) -> ClusterTopology:
    """The request is done, with or without the error that it has."""
    number = number_of(topology, node)
    if number:
        topology = with_request(topology, number, done=True)
    return replace(topology, running=0) if node == NOBODY else topology


def _error(topology: ClusterTopology, node: int) -> ClusterTopology:
    number = number_of(topology, node)
    return with_request(topology, number, error=True) if number else topology


EFFECTS: dict[str, Effect] = {
    "assigns_tokens": lambda topology, node: with_node(topology, node, tokens=True),
    "copies_tokens": lambda topology, node: with_node(topology, node, tokens=True),
    "drops_tokens": lambda topology, node: with_node(topology, node, tokens=False),
    "replaced_left": _replaced_left,
    "cleanup": _cleanup,
    "generation": _generation,
    "starts_cleanup": _starts_cleanup,
    "plans_tablets": _plans_tablets,
    # The schema of the keyspace that the request under way names.
    "sets_replication": lambda topology, node: with_replication(
        topology, topology.requests[number_of(topology, node) - 1]
    ),
    "drains_tablets": _drains_tablets,
    "done": finished,
    "error": _error,
}
"""The effects that edges name, each on the tables and the operation's node."""


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
