"""Which nodes may get tablets, which have to lose theirs, and the transitions for that.

Sources: Topology over Raft, "Load balancing", "Node replace with tablets"; published balancer, its
node sets.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.tablets.rules.replica_sets import Replicas, TabletReplica
from kit.protocols.tablets.rules.stages import TransitionKind
from kit.protocols.tablets.tracks.actions import BeginTransition
from kit.protocols.tablets.tracks.state import TabletRow, TracksState
from kit.protocols.topology.rules.cluster import ClusterTopology, mask_of

if TYPE_CHECKING:
    from kit.protocols.tablets.tracks.model import Tracks


def replica_of(text: str) -> TabletReplica:
    """The replica that ``A:0`` names."""
    host, _, shard = text.partition(":")
    return TabletReplica(host, int(shard or 0))


def replaced(row: TabletRow, source: str, target: str) -> Replicas:
    """The row's replicas with the target in the source's place, where these are given."""
    if not source:
        return (*row.replicas, replica_of(target)) if target else row.replicas
    leaving = replica_of(source)
    come = (replica_of(target),) if target else ()
    place = row.replicas.index(leaving)
    return (*row.replicas[:place], *come, *row.replicas[place + 1 :])


def leaving_nodes(topology: ClusterTopology, *, paused: bool) -> int:
    """The nodes whose tablets are to move to others (a mask).

    ``paused``: requests to leave are drained before they begin (edition ``server``).
    """
    states = ("decommissioning", "removing") if topology.transition == "tablet_draining" else ()
    return sum(
        1 << i
        for i, entry in enumerate(topology.nodes)
        if entry.state in (*states, "left") or (paused and entry.request in ("leave", "remove"))
    )


def removed_nodes(topology: ClusterTopology) -> int:
    """The nodes that will not come back: what they hold is made again from others (a mask)."""
    leaving = sum(1 << i for i, entry in enumerate(topology.nodes) if entry.request == "remove")
    return leaving | mask_of(topology, "removing", "left")


def excluded_nodes(topology: ClusterTopology) -> int:
    """The nodes that barriers and work of tablets pass over (a mask)."""
    return topology.ignored | removed_nodes(topology)


def targets(s: TracksState) -> int:
    """The nodes that may get a replica (a mask): normal, to stay, and heard."""
    topology = s.control.topology
    going = sum(
        1 << i for i, entry in enumerate(topology.nodes) if entry.request in ("leave", "remove")
    )
    dry = sum(1 << i for i, entry in enumerate(topology.nodes) if entry.zero_token)
    return mask_of(topology, "normal") & s.control.reachable & ~(going | dry | topology.ignored)


def free(model: Tracks, row: TabletRow) -> bool:
    """Whether the tablet may begin a transition (S-25)."""
    return not row.transitions or (not model.one_transition and len(row.transitions) < 2)


def to_hosts(
    model: Tracks, s: TracksState, row: TabletRow, source: TabletReplica
) -> Iterator[TabletReplica]:
    """The places on other hosts for a replica: no second one on a host, and in the same rack."""
    taken = {each.host for each in row.replicas}
    rack = model.rack(source.host)
    for node in nodes_in(targets(s)):
        host = model.names[node]
        if host not in taken and model.rack(host) == rack:
            for shard in range(model.shards(host)):
                yield TabletReplica(host, shard)


def drains(model: Tracks, s: TracksState) -> Iterator[tuple[int, TabletReplica]]:
    """The replicas that have to go elsewhere, tablet by tablet."""
    leaving = leaving_nodes(s.control.topology, paused=model.paused)
    if not leaving or not model.drains_first:
        return
    for tablet, row in enumerate(s.tablets):
        if free(model, row):
            for replica in row.replicas:
                if leaving >> model.number[replica.host] & 1:
                    yield tablet, replica


def drain_moves(model: Tracks, s: TracksState) -> Iterator[BeginTransition]:
    """The transitions that empty the nodes that are to leave, or that have left."""
    if model.planner is not None:
        yield from model.planner.plan(s).drains
        return
    removed = removed_nodes(s.control.topology)
    for tablet, source in drains(model, s):
        kind: TransitionKind = "migration"
        if removed >> model.number[source.host] & 1:
            kind = model.parameters.rebuild
        for target in _drain_targets(model, s, tablet, source):
            yield BeginTransition(tablet, kind, str(source), str(target))


def _drain_targets(
    model: Tracks, s: TracksState, tablet: int, source: TabletReplica
) -> Iterator[TabletReplica]:
    """The places for a replica that has to go; none where its node should send it and is dead."""
    topology, node = s.control.topology, model.number[source.host]
    if topology.ignored >> node & 1 and not removed_nodes(topology) >> node & 1:
        return iter(())
    return to_hosts(model, s, s.tablets[tablet], source)


def without_target(model: Tracks, s: TracksState) -> tuple[TabletReplica, ...]:
    """The replicas that cannot be drained: there is no place for them."""
    if model.planner is not None:
        return model.planner.plan(s).stuck
    return tuple(
        source
        for tablet, source in drains(model, s)
        if next(_drain_targets(model, s, tablet, source), None) is None
    )
