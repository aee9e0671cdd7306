"""How tablets come to the replicas that their keyspace is to have: one replica each at a time.

The request's own command begins a transition of every tablet of the keyspace. A tablet whose
transition went back, or that needs more than one step, begins another one; the documents say
nothing of that. Sources: Topology over Raft, ``keyspace_rf_change``; published coordinator, its
handler of that request.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.tablets.rules.replica_sets import TabletReplica
from kit.protocols.tablets.rules.rf_change import ReplicaChange, RfPlanner, Steps, steps
from kit.protocols.tablets.tracks.actions import BeginTransition
from kit.protocols.tablets.tracks.planning import free, targets
from kit.protocols.tablets.tracks.state import TabletRow, TabletTransition, TracksState
from kit.protocols.topology.rules.cluster import Replication, RequestEntry
from kit.protocols.topology.rules.racks import place_of
from kit.protocols.topology.rules.replication import altered

if TYPE_CHECKING:
    from kit.protocols.tablets.tracks.model import Tracks


def completions(model: Tracks, s: TracksState) -> Iterator[BeginTransition]:
    """The transitions that bring a tablet nearer to its keyspace's replicas."""
    able, kind = targets(s), model.parameters.rebuild
    for keyspace, wanted in s.control.topology.keyspaces:
        for tablet, row in _free_of(model, s, keyspace):
            held = tuple(each.host for each in row.replicas)
            coming, going = model.rf_steps(held, wanted, able)
            for host in coming:
                for shard in range(model.shards(host)):
                    yield BeginTransition(tablet, kind, "", f"{host}:{shard}")
            for each in row.replicas:
                if each.host in going:
                    yield BeginTransition(tablet, kind, str(each))


def completing(model: Tracks, s: TracksState) -> Iterator[BeginTransition]:
    """Of those one for each tablet, the next ones of a planner that looks at all shards."""
    for keyspace, wanted in s.control.topology.keyspaces:
        for tablet, change in _changes(model, s, keyspace, wanted):
            removed, added = (str(each or "") for each in (change.removed, change.added))
            yield BeginTransition(tablet, model.parameters.rebuild, removed, added)


def begun(
    model: Tracks, s: TracksState, request: RequestEntry
) -> tuple[tuple[int, TabletTransition], ...]:
    """What the request's command begins: of each tablet of the keyspace one transition."""
    after = altered(s.control.topology, request)
    kind = model.parameters.rebuild
    return tuple(
        (tablet, TabletTransition(kind, "", old, change.on(old)))
        for tablet, change in _changes(model, s, request.keyspace, after)
        for old in (s.tablets[tablet].replicas,)
    )


def steps_of(model: Tracks, held: tuple[str, ...], wanted: Replication, able: int) -> Steps:
    """The hosts for the next step of a tablet; ``able`` is a mask."""
    places = {name: place_of(model.rack(name)) for name in model.names}
    return steps(held, dict(wanted), places, [model.names[node] for node in nodes_in(able)])


def _free_of(model: Tracks, s: TracksState, keyspace: str) -> Iterator[tuple[int, TabletRow]]:
    """The tablets of a keyspace that may begin a transition."""
    for tablet in model.tablets_of(keyspace):
        if free(model, s.tablets[tablet]):
            yield tablet, s.tablets[tablet]


def _changes(
    model: Tracks, s: TracksState, keyspace: str, wanted: Replication
) -> Iterator[tuple[int, ReplicaChange]]:
    planner = RfPlanner(
        {name: model.shards(name) for name in model.names},
        lambda held: model.rf_steps(held, wanted, targets(s)),
        _held(s),
    )
    for tablet, row in _free_of(model, s, keyspace):
        change = planner.next(row.replicas)
        if change is not None:
            yield tablet, change


def _held(s: TracksState) -> Iterator[TabletReplica]:
    return (replica for row in s.tablets for replica in row.replicas)
