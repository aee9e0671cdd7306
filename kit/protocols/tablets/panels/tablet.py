"""The panels of one tablet's requests: those of storage, whose epochs are stages; its own tabs.

They say which stage each coordinator and replica stands at, and compare leaving and new replicas,
write by write. Source: Topology over Raft, "Tablet transitions", the precondition of
``write_both_read_new``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from kit.engine.breaches import PassedStep
from kit.protocols.storage.facts import OUTPUT
from kit.protocols.storage.panels import VIEWS as STORAGE
from kit.protocols.storage.rules.requests import AT_WORK, NOTHING, WAITING, timestamp
from kit.protocols.storage.rules.view import holds
from kit.protocols.storage.storage import Commit, StorageState
from kit.protocols.tablets.panels.grid import grid_panel
from kit.protocols.tablets.panels.states import diagram
from kit.protocols.tablets.rules.grid import GridHost, PlacedTablet, TabletGrid, TabletWay
from kit.protocols.tablets.rules.replica_sets import Replicas, ReplicaSets, TabletReplica
from kit.protocols.tablets.rules.stages import REPLACES, TRANSITIONS, TransitionKind
from kit.protocols.tablets.rules.tablet_history import NO_TRANSITION, WITHIN_NODE, stage_of
from kit.protocols.tablets.tablet import Tablet
from kit.protocols.topology.rules.machines import BOUNDARY
from kit.views.declared import (
    NONE,
    Column,
    Drawn,
    Note,
    Part,
    Several,
    Table,
    of_state,
    panel_of,
    renamed,
    unsaid,
)
from kit.views.diagrams import END, START, Standing, state_panel
from kit.views.fragment import Frag, Kid, h
from kit.views.panel import Scene
from kit.views.parts import bulb

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


__all__ = ["OUTPUT", "TABLET"]

STREAMING, SWITCH = "streaming", "write_both_read_new"


class KeptWrite(Struct, frozen=True):
    """A write, which stands for the key that it writes: who had it then, who has it by now.

    ``had`` are the leaving replicas that it, or a later one, had reached as streaming began;
    ``has`` the new replicas that hold it or a later one. ``owed``: it had reached one of the first,
    so that it has to be on all of the second.
    """

    write: str
    had: tuple[str, ...]
    has: tuple[str, ...]
    owed: bool
    kept: bool


class KeptWrites(Struct, frozen=True):
    """The comparison for the latest transition.

    ``leaving`` and ``coming`` are its replicas; a repair has neither. ``begun``: its streaming
    began; ``due``: its reads are switched, or on their way back.
    """

    leaving: tuple[str, ...]
    coming: tuple[str, ...]
    begun: bool
    due: bool
    writes: tuple[KeptWrite, ...]


def kept_writes(m: Tablet, s: StorageState, steps: Sequence[PassedStep]) -> KeptWrites:
    """Write by write: the leaving replicas as streaming began beside the new ones now."""
    way = path(m, s)
    if way.kind == "repair":
        return KeptWrites((), (), True, False, ())
    began = next((each.after for each in reversed(steps) if _enters(m, each)), None)
    if began is None or STREAMING not in way.stages:
        return KeptWrites((), (), False, False, ())
    view = m.newest(began).view
    leaving = _numbers(m, view.old_replicas & ~view.new_replicas)
    coming = _numbers(m, view.new_replicas & ~view.old_replicas)
    if way.kind == WITHIN_NODE:
        leaving, coming = (
            _numbers(m, each)
            for each in (view.read_at & ~view.reads, view.written_at & ~view.read_at)
        )
    writes = (_is_kept(m, began, s, n, leaving, coming) for n in range(len(s.requests)))
    return KeptWrites(
        *(_names(m, leaving), _names(m, coming), True, SWITCH in way.stages),
        tuple(each for each, is_write in zip(writes, m.mutations, strict=True) if is_write),
    )


def _enters(m: Tablet, step: PassedStep) -> bool:
    """Whether a step commits the stage of streaming."""
    if not isinstance(step.action, Commit):
        return False
    before, after = (stage_of(m.newest(each)) for each in (step.before, step.after))
    return after == STREAMING and before != STREAMING


def _is_kept(
    m: Tablet,
    began: StorageState,
    s: StorageState,
    number: int,
    leaving: tuple[int, ...],
    coming: tuple[int, ...],
) -> KeptWrite:
    when = number + 1  # its timestamp
    had = tuple(i for i in leaving if timestamp(began.cells[i]) >= when)
    has = tuple(i for i in coming if timestamp(s.cells[i]) >= when)
    return KeptWrite(
        *(m.title_of(number), _names(m, had), _names(m, has)),
        owed=bool(had),
        kept=not had or has == coming,
    )


def _numbers(m: Tablet, mask: int) -> tuple[int, ...]:
    return tuple(i for i in range(m.replicas) if holds(mask, i))


def _names(m: Tablet, numbers: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(m.history.replicas[i] for i in numbers)


TABLE = "ks.table"


def grid(m: Tablet, s: StorageState) -> TabletGrid:
    """The tablet as the newest version has it, with data where no replica of it is."""
    way = path(m, s)
    moving = bool(way.stages) and not way.ended
    ways = (TabletWay(way.kind, way.stages[-1], way.sets),) if moving else ()
    known = {*way.replicas, *way.sets.both} if moving else {*way.replicas}
    stray = tuple(place for place in _with_data(m, s) if place not in known)
    return TabletGrid(_hosts(m, s), (PlacedTablet(TABLE, 0, way.replicas, ways, stray),))


def _hosts(m: Tablet, s: StorageState) -> tuple[GridHost, ...]:
    """The nodes, all with as many shards."""
    places = [_place(name) for name in m.history.replicas]
    shards = 1 + max(place.shard for place in places)
    nodes = [i for i in range(m.replicas) if not holds(m.all_shards, i)]
    return tuple(
        GridHost(m.history.replicas[i], shards, note="down" if holds(s.down, i) else "")
        for i in nodes
    )


def _with_data(m: Tablet, s: StorageState) -> Iterator[TabletReplica]:
    for name, cell in zip(m.history.replicas, s.cells, strict=True):
        if cell != NOTHING:
            yield _place(name)


def _place(name: str) -> TabletReplica:
    """The shard that a name of a history stands for: that of a node is its first one."""
    host, _, shard = name.partition(":")
    return TabletReplica(host, int(shard or 0))


FREE = "no request holds an older version"
COLUMNS = ("reads", "writes", "replicas", "coordinators")
NOT_BEGUN = "The comparison begins with the stage streaming."
NONE_LEAVES = "No replica leaves: a repair changes no replica set."


# -- who stands at which stage ---------------------------------------------------------------------


def _drain(scene: Scene) -> Iterator[tuple[str, str]]:
    """Requests that hold an older version, with a sign: barriers wait, or pass over them."""
    held = awaited_versions(scene.model, scene.state)
    for each in held:
        for words in each.requests:
            if words in each.passed:
                yield "·", f"version {each.version} is held by {words}: excluded, no barrier waits"
                continue
            dead = ", whose coordinator is gone" * (words in each.orphans)
            yield "!", f"a barrier waits: version {each.version} is held by {words}{dead}"
    shards = tuple(awaited_shards(scene.model, scene.state))
    for title, at in shards:
        yield "!", f"a barrier waits: {title} began by an older stage, on {' and '.join(at)}"
    if not (held or shards):
        yield "✓", FREE


def _draw_drain(scene: Scene) -> list[Frag]:
    return [
        h("p", bulb(sign, "drain"), f" {words}", class_="lamp") for sign, words in _drain(scene)
    ]


def _version(row: StageInUse) -> list[Kid]:
    return [h("b", str(row.version)), " ", h("small", _stage(row))]


def _stage(row: StageInUse) -> str:
    return f"{row.stage}, {row.note}" if row.note else row.stage


def _cells(row: StageInUse) -> tuple[str, str, str, str]:
    reads, writes = (", ".join(group) for group in (row.reads, row.writes))
    old, new = row.selectors
    return (
        f"{old}: {reads}" if old else reads,
        f"{new}: {writes}" if new else writes,
        ", ".join(_replica(row, name) for name in row.replicas),
        "; ".join((*(f"{name} from here on" for name in row.planners), *row.requests)),
    )


def _replica(row: StageInUse, name: str) -> str:
    return f"{name} (no replica)" if name in row.without else name


def _cell(at: int, row: StageInUse) -> str:
    return _cells(row)[at]


def _line(row: StageInUse) -> str:
    cells = zip(COLUMNS, _cells(row), strict=True)
    said = "; ".join(f"{name} {words}" for name, words in cells if words)
    return f"{row.version} {_stage(row)}: {said}"


def _strips(scene: Scene) -> Iterator[str]:
    """A line for each version in use, the newest first."""
    yield from map(_line, reversed(scene.of(stages_in_use)))
    yield from (words for _, words in _drain(scene))


def standing(scene: Scene) -> Standing:
    """Where the latest transition stands; before the first, its diagram at its start."""
    way = path(scene.model, scene.state)
    ends = (END,) * way.ended
    return Standing(diagram(way.kind, scene.model.edition), (START, *way.stages, *ends))


# -- leaving and new replicas, write by write ------------------------------------------------------


def _kept(scene: Scene) -> KeptWrites:
    kept: KeptWrites = scene.once(
        "kept writes", lambda: kept_writes(scene.model, scene.state, scene.way())
    )
    return kept


def _compared(scene: Scene) -> Iterator[Part]:
    kept = _kept(scene)
    why = _nothing(kept)
    if why:
        yield Note(why)
        return
    yield Table(
        lambda scene: _kept(scene).writes,
        "kept:{0.write}",
        (
            Column("write", "write"),
            Column(f"{', '.join(kept.leaving)} then", "had"),
            Column(f"{', '.join(kept.coming)} now", "has"),
            Column("stands", partial(_lit, kept)),
        ),
        caption="each write stands for its key",
        line=partial(_write, kept),
    )
    yield Note(_verdict(kept), "kept:verdict", None)


def _nothing(kept: KeptWrites) -> str:
    if not kept.begun:
        return NOT_BEGUN
    return "" if kept.leaving or kept.coming else NONE_LEAVES


def _lit(kept: KeptWrites, each: KeptWrite) -> list[Kid]:
    return [bulb(_sign(kept, each), _standing(kept, each)), f" {_standing(kept, each)}"]


def _sign(kept: KeptWrites, each: KeptWrite) -> str:
    if each.kept:
        return "✓"
    return "!" if kept.due else "…"


def _standing(kept: KeptWrites, each: KeptWrite) -> str:
    if not each.owed:
        return "not owed"
    if each.kept:
        return "it, or a later one, is there"
    return "is missing" if kept.due else "is still to come"


def _verdict(kept: KeptWrites) -> str:
    if not kept.due:
        return "All that is owed has to be there when write_both_read_new is entered."
    missing = [each.write for each in kept.writes if not each.kept]
    said = f"{', '.join(missing)} is missing" if missing else "all that is owed is there"
    return f"Reads were switched: {said}."


def _write(kept: KeptWrites, each: KeptWrite) -> str:
    then, now = (", ".join(names) or NONE for names in (each.had, each.has))
    coming, leaving = ", ".join(kept.coming), ", ".join(kept.leaving)
    return f"{each.write}: {leaving} then {then}; {coming} now {now}; {_standing(kept, each)}"


TABLET = replace(
    STORAGE,
    panels=(
        *(
            renamed(panel, "The tablet, stage by stage", "Stages")
            if panel.name == "views"
            else panel
            for panel in STORAGE.panels
        ),
        replace(grid_panel(of_state(grid)), optional=True, still=False, tab="Grid"),
        panel_of(
            "strips",
            "Who stands at which stage",
            Drawn(_draw_drain, unsaid),
            Table(
                lambda scene: reversed(scene.of(stages_in_use)),
                "stage:{0.index}",
                (
                    Column("version", _version),
                    *(Column(head, partial(_cell, at), none="") for at, head in enumerate(COLUMNS)),
                ),
                caption="Stages in use, the committed one first",
                of="state:{0.stage}",
                lines=_strips,
            ),
            tab="Strips",
        ),
        state_panel("states", "The transition's stages", standing, tab="Diagram"),
        panel_of(
            "kept",
            "Leaving and new replicas, write by write",
            Several(_compared),
            optional=True,
            tab="Copied",
        ),
    ),
)
