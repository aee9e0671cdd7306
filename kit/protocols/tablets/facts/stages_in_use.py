"""Which stages of a tablet somebody still works by: coordinators, replicas, messages.

A row is a version; the oldest one is that of whoever is furthest behind. Source: Topology over
Raft, "Shard assignment stability": coordinators and replicas are at most one stage apart.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from kit.protocols.storage.rules.requests import AT_WORK, WAITING
from kit.protocols.storage.rules.view import holds
from kit.protocols.storage.storage import StorageState
from kit.protocols.tablets.rules.replica_sets import Replicas, ReplicaSets
from kit.protocols.tablets.rules.stages import REPLACES, TRANSITIONS, TransitionKind
from kit.protocols.tablets.rules.tablet_history import NO_TRANSITION, stage_of
from kit.protocols.tablets.tablet import Tablet
from kit.protocols.topology.rules.machines import BOUNDARY

ENDS_WELL = frozenset(
    edge.source
    for tables in TRANSITIONS.values()
    for table in tables.values()
    for edge in table.edges
    if edge.target == BOUNDARY and REPLACES in edge.effects
)
"""The stages after which the new replicas are in force."""


class StageInUse(Struct, frozen=True):
    """A version with its stage: its selectors, which replicas stand there, and who plans by it.

    ``reads`` and ``writes`` are the replicas that the selectors stand for; ``selectors`` are their
    names, empty outside a transition. Of ``replicas`` those in ``without`` find no replica of the
    tablet on themselves. ``planners`` are coordinators that may plan their next request by it, or
    by any newer one; ``requests`` are those planned by it that are open or have messages on their
    way. ``note`` says what happened without a version of its own.
    """

    index: int
    version: int
    stage: str
    note: str
    selectors: tuple[str, str]
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    replicas: tuple[str, ...]
    without: tuple[str, ...]
    planners: tuple[str, ...]
    requests: tuple[str, ...]


class AwaitedVersion(Struct, frozen=True):
    """A version below the committed one that requests hold, so that barriers wait for them.

    Of ``orphans`` the coordinator has given up, or is gone; what they write is on its way still.
    A read without its coordinator holds nothing: it can do no harm (Topology over Raft, "Tracking
    replica-side requests"). ``passed`` are those of an excluded coordinator: barriers pass over
    them.
    """

    version: int
    requests: tuple[str, ...]
    orphans: tuple[str, ...]
    passed: tuple[str, ...]


class StagePath(Struct, frozen=True):
    """The stages of the latest transition, its kind and its replicas; ``ended``: it is over.

    Before the first one there are no stages, and its replicas are those that it will find.
    """

    kind: TransitionKind
    stages: tuple[str, ...]
    ended: bool
    sets: ReplicaSets

    @property
    def replicas(self) -> Replicas:
        """The replicas that are in force: the old ones until it has ended well."""
        if not (self.ended and self.stages):
            return self.sets.old
        return self.sets.new if self.stages[-1] in ENDS_WELL else self.sets.old


def stages_in_use(m: Tablet, s: StorageState) -> tuple[StageInUse, ...]:
    """The versions from the oldest that somebody works by to the newest."""
    newest = len(m.views(s)) - 1
    live = [s.known[i] for i in range(m.replicas) if not holds(s.down, i)]
    planned = [r.epoch for r in s.requests if r.phase in AT_WORK or r.in_flight & ~s.down]
    planning = [at for name, at in _places(m, s) if name in _planners(m, s)]
    oldest = min([newest, *live, *planned, *planning])
    return tuple(_row(m, s, index) for index in range(oldest, newest + 1))


def awaited_versions(m: Tablet, s: StorageState) -> tuple[AwaitedVersion, ...]:
    """What barriers wait for, the oldest version first."""
    rows = stages_in_use(m, s)
    return tuple(
        _awaited(m, s, row) for row in rows if row.requests and row.version < rows[-1].version
    )


def _awaited(m: Tablet, s: StorageState, row: StageInUse) -> AwaitedVersion:
    there = [n for n in range(len(s.requests)) if _is_at(s, n, row.index)]
    orphans = tuple(_request(m, s, n) for n in there if s.requests[n].phase not in AT_WORK)
    ignored = m.newest(s).ignored
    passed = tuple(_request(m, s, n) for n in there if holds(ignored, n))
    return AwaitedVersion(row.version, row.requests, orphans, passed)


def awaited_shards(m: Tablet, s: StorageState) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The writes that a node began by an older stage, and the shards on which it is at work.

    Barriers wait for them as for older requests (Topology over Raft, "Tracking replica-side
    requests").
    """
    view = m.newest(s).view
    for number in range(len(s.requests)):
        at_work = m.shards_at_work(s, number)
        if at_work and m.writing(s, number) and at_work != view.written_at & m.all_shards:
            yield m.title_of(number), m.history.names(at_work)


def _places(m: Tablet, s: StorageState) -> Iterator[tuple[str, int]]:
    """The coordinators, and the oldest version that each may plan by."""
    return zip(m.coordinators, s.known[m.replicas :], strict=True)


def _planners(m: Tablet, s: StorageState) -> set[str]:
    """The coordinators with a request to come and none that is open."""
    pairs = list(zip(m.workload, s.requests, strict=True))
    busy = {client.coordinator for client, request in pairs if request.phase in AT_WORK}
    return {client.coordinator for client, r in pairs if r.phase == WAITING} - busy


def _row(m: Tablet, s: StorageState, index: int) -> StageInUse:
    epoch = m.history.epochs[m.trails[s.trail].nodes[index]]
    view, stage = m.views(s)[index], stage_of(epoch)
    sharded = m.history.sharded
    out = s.down | (1 << sharded.node if sharded else 0)  # its shards stand for it
    at = [i for i in range(m.replicas) if s.known[i] == index and not holds(out, i)]
    return StageInUse(
        index,
        m.epoch(s, index),
        stage,
        epoch.title.rpartition(", ")[2].removesuffix(")") if epoch.quiet else "",
        _selectors(m, stage),
        m.history.names(view.read_at),
        m.history.names(view.written_at),
        tuple(m.history.replicas[i] for i in at),
        tuple(m.history.replicas[i] for i in at if not view.holds_it(i, write=True)),
        tuple(name for name, at in _places(m, s) if at == index and name in _planners(m, s)),
        tuple(_request(m, s, n) for n in range(len(s.requests)) if _is_at(s, n, index)),
    )


def _selectors(m: Tablet, stage: str) -> tuple[str, str]:
    for table in TRANSITIONS[m.edition].values():
        for row in table.states:
            if row.name == stage:
                return row.reads, row.writes
    return "", ""


def _is_at(s: StorageState, number: int, index: int) -> bool:
    request = s.requests[number]
    return request.epoch == index and (
        request.phase in AT_WORK or bool(request.in_flight & ~s.down)
    )


def _request(m: Tablet, s: StorageState, number: int) -> str:
    ways = ", ".join(m.history.names(s.requests[number].in_flight & ~s.down))
    who = f"{m.workload[number].coordinator}: {m.title_of(number)}"
    return f"{who} → {ways}" if ways else who


def path(m: Tablet, s: StorageState) -> StagePath:
    """The way of the latest transition; of none yet, that of the first one, without a stage."""
    now = _planned(m, 0, m.first_replicas)
    begun = 0
    for node in m.trails[s.trail].nodes[1:]:
        stage, stages = stage_of(m.history.epochs[node]), now.stages
        if stage == NO_TRANSITION:
            now = replace(now, ended=True)
        elif now.ended or (len(stages) > 1 and stage == stages[0]):  # ended, or written over
            begun += 1
            now = replace(_planned(m, begun, now.replicas), stages=(stage,))
        elif not stages or stages[-1] != stage:
            now = replace(now, stages=(*stages, stage))
    return now


def _planned(m: Tablet, number: int, replicas: Replicas) -> StagePath:
    plan = m.plans[number]
    return StagePath(plan.kind, (), False, plan.sets(replicas))
