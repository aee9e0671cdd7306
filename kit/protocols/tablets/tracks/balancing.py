"""Which transitions may begin: any legal one, not only what a balancer would choose.

Sources: Topology over Raft, "Load balancing"; published coordinator, what stops new plans.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kit.protocols.tablets.rules.replica_sets import TabletReplica
from kit.protocols.tablets.tracks.actions import BeginTransition
from kit.protocols.tablets.tracks.parameters import ADDITION, BalancingKind
from kit.protocols.tablets.tracks.planning import drain_moves, drains, free, targets, to_hosts
from kit.protocols.tablets.tracks.rf_change import completing, completions
from kit.protocols.tablets.tracks.state import TracksState
from kit.protocols.topology.rules.cluster import mask_of
from kit.protocols.topology.rules.queue import pending

if TYPE_CHECKING:
    from kit.protocols.tablets.tracks.model import Tracks

EVENING = ("migration", "intranode_migration")
"""The kinds that even out loads; a repair moves nothing."""


def balance_moves(
    model: Tracks, s: TracksState, *, later: bool = False
) -> Iterator[BeginTransition]:
    """The transitions that a balancer, or a repair, may begin now.

    ``later``: those of tablets that are in transition and have to come to its end first.
    """
    if not s.moves:
        return
    for tablet, row in enumerate(s.tablets):
        if free(model, row) != later:
            for kind in begun_kinds(model):
                yield from _of_kind(model, s, tablet, kind)


def begun_kinds(model: Tracks) -> tuple[BalancingKind, ...]:
    """The kinds that may begin by themselves: with balancing disabled none that evens out loads."""
    given = model.parameters
    return tuple(kind for kind in given.kinds if given.balancing or kind not in EVENING)


def _of_kind(
    model: Tracks, s: TracksState, tablet: int, kind: BalancingKind
) -> Iterator[BeginTransition]:
    row = s.tablets[tablet]
    if kind == "repair":
        yield BeginTransition(tablet, "repair")
        return
    able = targets(s)
    if kind == ADDITION:
        yield from _additions(model, s, tablet)
        return
    for source in row.replicas:
        if not able >> model.number[source.host] & 1:
            continue
        if kind == "migration":
            for target in to_hosts(model, s, row, source):
                yield BeginTransition(tablet, "migration", str(source), str(target))
        elif kind == "intranode_migration":
            for shard in range(model.shards(source.host)):
                if shard != source.shard:
                    target = TabletReplica(source.host, shard)
                    yield BeginTransition(tablet, kind, str(source), str(target))


def _additions(model: Tracks, s: TracksState, tablet: int) -> Iterator[BeginTransition]:
    """One more replica, on a host that has none."""
    taken = {each.host for each in s.tablets[tablet].replicas}
    for host in sorted(model.hosts(targets(s)) - taken):
        for shard in range(model.shards(host)):
            yield BeginTransition(tablet, model.parameters.rebuild, "", f"{host}:{shard}")


def plan(model: Tracks, s: TracksState) -> Iterator[BeginTransition]:
    """All transitions that may begin: draining first, then what an RF change still asks for, and
    nothing else while requests wait.

    Those of a cluster that was read from a dump are what its balancer would begin.
    """
    if model.planner is not None:
        step = model.planner.plan(s)
        changes = () if step.drains else tuple(completing(model, s))
        yield from changes or step.begins
        return
    first = list(drain_moves(model, s)) or list(completions(model, s))
    yield from first
    if not first and not pending(s.control.topology):
        yield from balance_moves(model, s)


def unfinished(model: Tracks, s: TracksState) -> bool:
    """Whether the track may not end yet: replicas can be drained, or keep a node from leaving, or
    an RF change can go on.
    """
    if any(drain_moves(model, s)) or any(completions(model, s)):
        return True
    left = mask_of(s.control.topology, "left")
    return any(not left >> model.number[each.host] & 1 for _, each in drains(model, s))
