"""The panels of one tablet's requests: those of storage, whose epochs are stages; its own tabs.

They say which stage each coordinator and replica stands at, and compare leaving and new replicas,
write by write. Sources: Topology over Raft, "Tablet transitions", the precondition of
``write_both_read_new``; "Topology guards", its example scenario, for a run in numbered steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter

from msgspec import Struct
from msgspec.structs import replace

from kit.errors import are
from kit.masks import holds, mask_of, members
from kit.model.timeline import PassedStep
from kit.protocols.storage import storage
from kit.protocols.storage.facts import OUTPUT
from kit.protocols.storage.panels import VIEWS as STORAGE
from kit.protocols.storage.rules import requests
from kit.protocols.storage.rules.conditions import begun_writes
from kit.protocols.tablets.panels.tablets import diagram
from kit.protocols.tablets.rules import tablet_history
from kit.protocols.tablets.rules.replica_sets import Replicas, ReplicaSets
from kit.protocols.tablets.rules.stages import TRANSITIONS, TransitionKind, ends_well
from kit.protocols.tablets.rules.tablet_history import NO_TRANSITION, WITHIN_NODE, stage_of
from kit.protocols.tablets.tablet import Tablet
from kit.views import declared
from kit.views.diagrams import END, START, Standing, state_panel
from kit.views.fragment import Kid, h
from kit.views.panel import Scene
from kit.views.parts import bulb

__all__ = ["OUTPUT", "TABLET"]

STREAMING, SWITCH = "streaming", "write_both_read_new"


# -- the way of a transition, its replicas -----------------------------------------


class StagePath(Struct, frozen=True):
    """The latest transition: its stages, its kind, its replicas, and whether it is over
    (``ended``); before the first no stages, and the replicas that it will find.
    """

    kind: TransitionKind
    stages: tuple[str, ...]
    ended: bool
    sets: ReplicaSets

    @property
    def replicas(self) -> Replicas:
        """The replicas that are in force: the old ones until it has ended well."""
        table = TRANSITIONS["server"][self.kind]  # which has the stages of both editions
        good = self.ended and self.stages and ends_well(table, self.stages[-1])
        return self.sets.new if good else self.sets.old


def path(m: Tablet, s: storage.StorageState) -> StagePath:
    """The way of the latest transition; of none yet, that of the first one, without a stage."""

    def planned(number: int, replicas: Replicas, *stages: str) -> StagePath:
        plan = m.plans[number]
        return StagePath(plan.kind, stages, False, plan.sets(replicas))

    now, begun = planned(0, m.first_replicas), 0
    for node in m.trails[s.trail].nodes[1:]:
        stage, stages = stage_of(m.history.epochs[node]), now.stages
        if stage == NO_TRANSITION:
            now = replace(now, ended=True)
        elif now.ended or (len(stages) > 1 and stage == stages[0]):  # ended, or written over
            begun = tablet_history.next_plan(m.plans, begun + 1, now.replicas)
            now = planned(begun, now.replicas, stage)
        elif not stages or stages[-1] != stage:
            now = replace(now, stages=(*stages, stage))
    return now


def standing(scene: Scene) -> Standing:
    """The state of the latest transition; before the first, its diagram at its start."""
    way = path(scene.model, scene.state)
    ends = (END,) * way.ended
    return Standing(diagram(way.kind, scene.model.edition), (START, *way.stages, *ends))


# -- who stands at which stage ---------------------------------------------------------------------


class StageInUse(Struct, frozen=True):
    """A version with its stage: its selectors, which replicas stand there, and who plans by it.

    ``reads`` and ``writes`` are the replicas that the selectors stand for; ``selectors`` are their
    names, empty outside a transition. ``replicas`` say of themselves if they find none of the
    tablet there. ``planners`` are coordinators that may plan their next request by it, or
    by any newer one; ``requests`` are those planned by it that are open or have messages on their
    way. ``note`` says what happened without a version of its own.

    Of the ``orphans`` among the requests the coordinator has given up, or is gone. Barriers wait
    for the writes on which a replica is at work, not for those that are ``adrift``: on their way.
    A read without its coordinator holds nothing: it can do no harm (Topology over Raft, "Tracking
    replica-side requests"). ``passed`` are those of an excluded coordinator: barriers pass over
    them.
    """

    index: int
    version: int
    stage: str
    note: str
    selectors: tuple[str, str]
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    replicas: tuple[str, ...]
    planners: tuple[str, ...]
    requests: tuple[str, ...]
    orphans: tuple[str, ...]
    adrift: tuple[str, ...]
    passed: tuple[str, ...]


def stages_in_use(m: Tablet, s: storage.StorageState) -> tuple[StageInUse, ...]:
    """The versions from the oldest that somebody works by to the newest.

    The oldest one is that of whoever is furthest behind. Source: Topology over Raft, "Shard
    assignment stability": coordinators and replicas are at most one stage apart.
    """
    newest = len(m.views(s)) - 1
    live = [s.known[i] for i in range(m.replicas) if not holds(s.down, i)]
    planned = [r.epoch for r in s.requests if _is_open(s, r)]
    planners = _planners(m, s)
    oldest = min([newest, *live, *planned, *planners.values()])
    return tuple(_in_use(m, s, index, planners) for index in range(oldest, newest + 1))


def awaited_versions(m: Tablet, s: storage.StorageState) -> tuple[StageInUse, ...]:
    """The versions below the committed one that requests hold: what barriers wait for."""
    rows = stages_in_use(m, s)
    return tuple(row for row in rows if row.requests and row.version < rows[-1].version)


def awaited_shards(m: Tablet, s: storage.StorageState) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The writes that a node began by an older stage, and the shards on which it is at work.

    Barriers wait for them as for older requests (Topology over Raft, "Tracking replica-side
    requests").
    """
    view = m.newest(s).view
    for number in range(len(s.requests)):
        at_work = m.shards_at_work(s, number)
        if at_work and m.writing(s, number) and at_work != view.written_at & m.all_shards:
            yield m.title_of(number), m.history.names(at_work)


def _planners(m: Tablet, s: storage.StorageState) -> dict[str, int]:
    phases = [(c.coordinator, r.phase) for c, r in zip(m.workload, s.requests, strict=True)]
    busy = {name for name, phase in phases if phase in requests.AT_WORK}
    waiting = {name for name, phase in phases if phase == requests.WAITING} - busy
    known = zip(m.coordinators, s.known[m.replicas :], strict=True)
    return {name: at for name, at in known if name in waiting}


def _is_open(s: storage.StorageState, request: requests.Request) -> bool:
    return request.phase in requests.AT_WORK or bool(request.in_flight & ~s.down)


def _in_use(
    m: Tablet, s: storage.StorageState, index: int, planners: Mapping[str, int]
) -> StageInUse:
    epoch = m.history.epochs[m.trails[s.trail].nodes[index]]
    view, stage, names = m.views(s)[index], stage_of(epoch), m.history.names
    sharded = m.history.sharded
    out = s.down | (1 << sharded.node if sharded else 0)  # its shards stand for it
    at = mask_of(i for i in range(m.replicas) if s.known[i] == index and not holds(out, i))
    there = [n for n, r in enumerate(s.requests) if r.epoch == index and _is_open(s, r)]

    def request(number: int) -> str:
        ways = ", ".join(names(s.requests[number].in_flight & ~s.down))
        who = f"{m.workload[number].coordinator}: {m.title_of(number)}"
        return f"{who} → {ways}" if ways else who

    given_up = [n for n in there if s.requests[n].phase == requests.FAILED]
    states = (row for table in TRANSITIONS[m.edition].values() for row in table.states)
    ignored = m.newest(s).ignored
    without = names(mask_of(i for i in members(at) if not view.holds_it(i, write=True)))
    return StageInUse(
        index,
        m.epoch(s, index),
        stage,
        epoch.title.rpartition(", ")[2].removesuffix(")") if epoch.quiet else "",
        next(((row.reads, row.writes) for row in states if row.name == stage), ("", "")),
        names(view.read_at),
        names(view.written_at),
        tuple(f"{name} (no replica)" if name in without else name for name in names(at)),
        tuple(name for name, oldest in planners.items() if oldest == index),
        tuple(map(request, there)),
        tuple(map(request, given_up)),
        tuple(request(n) for n in given_up if not begun_writes(s.requests[n]) & ~s.down),
        tuple(request(n) for n in there if holds(ignored, n)),
    )


FREE = "no request holds an older version"
COLUMNS = ("reads", "writes", "replicas", "coordinators")


def _drain(scene: Scene) -> Iterator[tuple[str, str]]:
    held = awaited_versions(scene.model, scene.state)
    for each in held:
        for words in each.requests:
            version = f"version {each.version} is held by {words}"
            dead = ", which its coordinator has given up" * (words in each.orphans)
            if words in each.passed:
                yield "·", f"{version}, now excluded: no barrier waits"
            elif words in each.adrift:
                yield "·", f"{version}{dead}: no barrier waits"
            else:
                yield "!", f"a barrier waits: {version}{dead}"
    shards = tuple(awaited_shards(scene.model, scene.state))
    for title, at in shards:
        yield "!", f"a barrier waits: {title} on {' and '.join(at)} began in an older stage"
    if not (held or shards):
        yield "✓", FREE


def _stage(row: StageInUse) -> str:
    return f"{row.stage}, {row.note}" if row.note else row.stage


def _cells(row: StageInUse) -> tuple[str, str, str, str]:
    reads, writes = (
        f"{selector}: {', '.join(group)}" if selector else ", ".join(group)
        for selector, group in zip(row.selectors, (row.reads, row.writes), strict=True)
    )
    plans = (f"{name} from here on" for name in row.planners)
    return reads, writes, ", ".join(row.replicas), "; ".join((*plans, *row.requests))


# -- the run in numbered steps ---------------------------------------------------------------------


def _step(row: tuple[int, str]) -> list[Kid]:
    sign = next((sign for sign in (HARM, KEPT) if row[1].startswith(sign)), "")
    words = row[1].removeprefix(sign)
    return [bulb(sign.strip(), "a late stream"), f" {words}"] if sign else [words]


FAILS = "roll back to", "give up to"  # how the events begin with which a transition fails
HARM, KEPT = "! ", "✓ "
"""What a line begins with in which a late stream did harm, or was turned away."""


def story(m: Tablet, way: Sequence[PassedStep]) -> tuple[str, ...]:
    """The story so far: writes that are on all replicas, transitions, and what they left."""
    start = ", ".join(m.history.names(m.history.epochs[0].view.writes))
    lines, whole, begun = [f"The tablet is on {start}."], set[int](), [""]
    for step in way:
        match step.action:
            case storage.Serve() | storage.WriteBack():
                now = {*_everywhere(m, step.after)} - whole
                whole |= now
                lines += (_on_all(m, step.after, number) for number in sorted(now))
            case storage.Commit(verb) if verb.startswith(FAILS):
                late = set(m.late_copies(step.after)) - set(m.late_copies(step.before))
                left = ", ".join(sorted({f"s{each.session}" for each in late}))
                lines.append(f"It fails{f' and leaves a stream behind: {left}' if left else ''}.")
                begun.append("")
            case storage.Commit(verb) if verb.startswith("plan "):
                what = f"{'A' if verb == 'plan repair' else 'The'} {verb.removeprefix('plan ')}"
                lines.append(f"{what} {'is retried' if what in begun else 'begins'}.")
                begun.append(what)
            case storage.Commit() if begun[-1] and stage_of(m.newest(step.after)) == NO_TRANSITION:
                last = _pop_line(lines, begun[-1])
                names = ", ".join(m.history.names(m.newest(step.after).view.writes))
                ends = (
                    f"{f'{last} and' if last else begun[-1]} completes: the tablet is on {names}."
                )
                lines.append("The tablet is repaired." if begun[-1] == "A repair" else ends)
                begun.append("")
            case storage.CollectTombstones(replica):
                mark = requests.timestamp(step.before.cells[m.code[replica]])
                number = [request.timestamp for request in step.before.requests].index(mark)
                what = f"The tombstone of {m.title_of(number)} is collected on"
                last = _pop_line(lines, what)
                lines.append(f"{f'{last},' if last else what} {replica}.")
            case storage.LandLate():
                lines.append(_landed(m, step))
    return tuple(lines)


def _pop_line(lines: list[str], beginning: str) -> str:
    return lines.pop().removesuffix(".") if lines[-1].startswith(beginning) else ""


def _everywhere(m: Tablet, s: storage.StorageState) -> Iterator[int]:
    oldest = min(requests.timestamp(s.cells[i]) for i in members(m.newest(s).view.written_at))
    for number, request in enumerate(s.requests):
        if m.mutations[number] and 0 < request.timestamp <= oldest:
            yield number


def _on_all(m: Tablet, s: storage.StorageState, number: int) -> str:
    names = ", ".join(m.history.names(m.newest(s).view.written_at))
    does = "deletes {} and" if m.workload[number].kind == "delete" else "of {}"
    title = m.title_of(number).capitalize()
    return f"{title} {does.format(m.row_key)} is on all replicas: {names}."


def _landed(m: Tablet, step: PassedStep) -> str:
    before, action = step.before, step.action
    late, to, name = m.late_copy(before, action), action.target, f"s{action.session}"
    asks = zip(m.workload, before.requests, strict=True)
    done = [(r.timestamp, ask.kind) for ask, r in asks if ask.writes and r.phase == requests.DONE]
    mark, kind = max(done, default=(0, ""))
    deleted = kind == "delete" and 0 < requests.timestamp(late.cell) < mark
    if m.rejects_late(before, action):
        stays = f": {m.row_key} stays deleted" if deleted else ""
        return f"{KEPT}{to} rejects {name}, whose session is closed{stays}."
    if before.cells == step.after.cells:
        return f"{name} is applied to {to}, which already has everything in it."
    back = f": {m.row_key} is back" * deleted
    return f"{HARM * deleted}{name} is applied to {to}{back}."


# -- leaving and new replicas, write by write ------------------------------------------------------

NONE_LEAVES = "No replica leaves: a repair does not change the replica set."


class KeptWrite(Struct, frozen=True):
    """A write, which stands for the key that it writes: who had it then, who has it by now.

    ``had`` are the leaving replicas that it, or a later one, had reached as streaming began: if
    any, it is owed to all new ones. ``has`` are the new replicas that hold it or a later one.
    """

    write: str
    had: tuple[str, ...]
    has: tuple[str, ...]
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


def kept_writes(m: Tablet, s: storage.StorageState, steps: Sequence[PassedStep]) -> KeptWrites:
    """Write by write: the leaving replicas as streaming began beside the new ones now."""
    way, names = path(m, s), m.history.names
    if way.kind == "repair":
        return KeptWrites((), (), True, False, ())
    began = next((each.after for each in reversed(steps) if _enters(m, each)), None)
    if began is None or STREAMING not in way.stages:
        return KeptWrites((), (), False, False, ())
    view = m.newest(began).view
    leaving = view.old_replicas & ~view.new_replicas
    coming = view.new_replicas & ~view.old_replicas
    if way.kind == WITHIN_NODE:
        leaving, coming = view.read_at & ~view.reads, view.written_at & ~view.read_at

    def kept(number: int) -> KeptWrite:
        had, has = (
            mask_of(i for i in members(mask) if requests.timestamp(at.cells[i]) > number)
            for mask, at in ((leaving, began), (coming, s))
        )
        return KeptWrite(m.title_of(number), names(had), names(has), not had or has == coming)

    writes = tuple(kept(number) for number, is_write in enumerate(m.mutations) if is_write)
    return KeptWrites(names(leaving), names(coming), True, SWITCH in way.stages, writes)


def _enters(m: Tablet, step: PassedStep) -> bool:
    stages = [stage_of(m.newest(each)) == STREAMING for each in (step.before, step.after)]
    return isinstance(step.action, storage.Commit) and stages == [False, True]


def _kept_writes_of(scene: Scene) -> KeptWrites:
    return scene.once("kept writes", lambda: kept_writes(scene.model, scene.state, scene.way()))


def _compared(scene: Scene) -> Iterator[declared.Part]:
    kept = _kept_writes_of(scene)
    if not kept.begun or not (kept.leaving or kept.coming):
        yield declared.Note(
            NONE_LEAVES if kept.begun else "The comparison begins in stage streaming."
        )
        return
    then, now = f"{', '.join(kept.leaving)} then", f"{', '.join(kept.coming)} now"

    def stands(each: KeptWrite) -> tuple[str, str]:
        if each.kept:
            return "✓", "this write or a later one is there" if each.had else "not required"
        return ("!", "missing") if kept.due else ("…", "still to come")

    yield declared.Table(
        lambda scene: _kept_writes_of(scene).writes,
        "kept:{0.write}",
        (
            declared.Column("write", "write"),
            declared.Column(then, "had"),
            declared.Column(now, "has"),
            declared.Column("state", lambda each: [bulb(*stands(each)), f" {stands(each)[1]}"]),
        ),
        caption="each write represents its key",
    )
    verdict = "write_both_read_new must not begin until the new replicas have every required write."
    if kept.due:
        missing = [each.write for each in kept.writes if not each.kept]
        said = f"{', '.join(missing) or 'nothing'} {are(len(missing) or 1)} missing"
        verdict = f"Reads have been switched, and {said}."
    yield declared.Note(verdict, "kept:verdict", None)


TABLET = replace(
    STORAGE,
    panels=(
        *(
            declared.renamed(panel, "The tablet, stage by stage", "Stages")
            if panel.name == "views"
            else panel
            for panel in STORAGE.panels
        ),
        declared.panel_of(
            "strips",
            "Which node is at which stage",
            declared.Drawn(
                lambda scene: [
                    h("p", bulb(sign, "drain"), f" {words}", class_="lamp")
                    for sign, words in _drain(scene)
                ]
            ),
            declared.Table(
                lambda scene: [(row, *_cells(row)) for row in reversed(scene.of(stages_in_use))],
                "stage:{0[0].index}",
                (
                    declared.Column(
                        "version",
                        lambda row: [h("b", str(row[0].version)), " ", h("small", _stage(row[0]))],
                    ),
                    *(
                        declared.Column(head, itemgetter(at), none="")
                        for at, head in enumerate(COLUMNS, 1)
                    ),
                ),
                caption="Stages in use, the committed one first",
                of="state:{0[0].stage}",
            ),
            tab="Strips",
        ),
        state_panel("states", "The transition's stages", standing, tab="States"),
        declared.panel_of(
            "steps",
            "The run in steps",
            declared.Table(
                lambda scene: enumerate(
                    scene.once("story", lambda: story(scene.model, scene.way())), 1
                ),
                "told:{0[0]}",
                (declared.Column("step", "{0[0]}".format), declared.Column("what happened", _step)),
                caption="Step by step, as in the documents",
                line="{0[0]}. {0[1]}",
            ),
            tab="Steps",
        ),
        declared.panel_of(
            "kept",
            "Leaving and new replicas, write by write",
            declared.Several(_compared),
            optional=True,
            tab="Copied",
        ),
    ),
)
