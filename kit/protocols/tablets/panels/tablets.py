"""The panels of the control model: grid, stages, table, sessions, the barrier."""

from collections.abc import Iterator, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any

from msgspec.structs import replace

from kit.errors import counted
from kit.model.flows import as_timeuuid
from kit.model.timeline import PassedStep
from kit.protocols.tablets.facts import tablets as facts
from kit.protocols.tablets.hosts import LOG, NETWORK
from kit.protocols.tablets.panels import losses, plans
from kit.protocols.tablets.panels.grid import Above, grid_panel, stage_words
from kit.protocols.tablets.rules.maps import TabletMap
from kit.protocols.tablets.rules.replica_sets import StageChoice, words
from kit.protocols.tablets.rules.stages import KINDS, TRANSITIONS, TransitionKind, onward
from kit.protocols.tablets.rules.tablet_history import WITHIN_NODE
from kit.protocols.tablets.stage_work import Piece
from kit.protocols.tablets.tablets import Tablets
from kit.protocols.topology import topology as cluster
from kit.protocols.topology.panels.coordinating import QUEUE
from kit.protocols.topology.panels.stage import PLACED, waits
from kit.protocols.topology.panels.stage import TABLE as NODES
from kit.protocols.topology.panels.states import STATES, machine_diagram
from kit.protocols.topology.panels.tables import REQUESTS
from kit.protocols.topology.rules.cluster import NOBODY
from kit.protocols.topology.rules.machines import BOUNDARY, StateRow, Tables
from kit.views.declared import (
    MOST_ROWS,
    Badges,
    Choice,
    Column,
    Drawn,
    Note,
    Part,
    Table,
    of_state,
    panel_of,
    status,
)
from kit.views.diagrams import END, START, Standing, StateDiagram, state_panel
from kit.views.fragment import Frag, Kid, h
from kit.views.gate import Gate, awaited_gates
from kit.views.headlines import small
from kit.views.panel import Panel, Scene
from kit.views.parts import bulb
from kit.views.promises import LAMPS
from kit.views.registry import Views

NULL = "null"
SIGNS = {"done": "✓", "failed": "!", "next": "…", "later": "…"}  # the bulbs of pieces of work
ANSWERS = {
    "answered": ("✓", "has answered"),
    "asked": ("…", "is asked"),
    "unheard": ("!", "does not receive it"),
    "passed over": ("–", "is ignored and not asked"),
}
"""How a node stands in a barrier: a sign and words."""
NO_TRANSITION = "No tablet is in transition."


def above(scene: Scene) -> Above:
    """The log of group 0; the network, where a late RPC is in it or a request comes out of it."""
    late, plan = scene.state.late, scene.model.control.plan
    topology = scene.state.control.topology
    ways = [way.stage for row in scene.state.tablets for way in row.transitions]
    notes = [f"state {scene.state.control.state_id}"] * (not ways) + [
        small(stage_words(each)) for each in ways[:1]
    ]
    tried = scene.state.control.attempted
    notes += [f"{tried.step} done"] * (tried.step > 0)
    notes += [f"{tried.answered.bit_count()} answered"] * (tried.answered > 0)
    notes += ["copying"] * tried.streaming + ["failed"] * tried.failed
    notes += [f"{len(ways) - 1} more"] * (len(ways) > 1)
    waiting = sum(not each.done for each in topology.requests)
    notes += [counted(waiting, "request")] * (waiting > 0)
    notes += [f"fence {topology.fence_version}"] * (topology.fence_version > 1)
    notes += ["load uneven"] * (topology.tablets == "uneven")
    if scene.state.command or tried.command:
        notes.insert(0, "next is decided")
    words = {LOG: f"group 0: {', '.join(notes)}"}
    outside = any(each.node == NOBODY or each.kind == "remove" for each in plan.requests)
    if late is not None or outside:
        words[NETWORK] = f"late: {late.work}" if late else "network"
    return words


def _badges(scene: Scene) -> Badges:
    s, m = scene.state, scene.model
    topology, moving = s.control.topology, sum(bool(row.transitions) for row in s.tablets)
    yield "version", f"version {topology.version}", "plain"
    yield "coordinator", "! no coordinator" * (s.control.coordinator == NOBODY), "alarm"
    yield "late", "a late request" if s.late else "", "busy"
    yield "moving", f"{counted(moving, 'tablet')} changing" if moving else "", "busy"
    yield "balancing", "" if m.balancing else "balancing is off", ""
    if WITHIN_NODE in m.begun:  # where hard links may be made
        yield "copies", "{} linked, {} streamed".format(*facts.copies(m, scene.way())), ""


def gates(scene: Scene) -> Iterator[Gate]:
    """The next stages, which wait for a barrier or for work; then what the cluster waits for."""
    m, s, runs = scene.model, scene.state, scene.of(facts.barrier)
    alike: dict[tuple[str, int], list[Piece]] = {}
    for piece in m.pieces(s):
        alike.setdefault((piece.work.name, piece.hosts), []).append(piece)
    for (work, _), pieces in alike.items():
        first = pieces[0]
        thing, what = "tablet {} {}".format(*m.place(first.tablet)), m.briefly(s, m.led_to(pieces))
        if first.work.barrier and runs:
            polled = [(name, role) for name, role in runs.items() if role != "passed over"]
            there, missing = (
                tuple(name for name, role in polled if (role == "answered") is has)
                for has in (True, False)
            )
            yield Gate(thing, what, "answered", there, missing, len(polled))
        else:
            _, written = m.involved(s, first.transition, work)
            missing = tuple(dict.fromkeys(each.host for each in written))
            yield Gate(thing, what, f"done {work}", (), missing, len(missing))
    yield from [*waits(_cluster(scene))] or awaited_gates(scene)


# -- what explains it: selectors, replicas and work by stage ---------------------------------------


def _draw_now(scene: Scene) -> Frag:
    rows, former = scene.of(facts.stages), scene.former()
    if not rows:
        none = h("p", NO_TRANSITION, k="no-transition", class_="soft")
        return h("div", none, IDLE.draw(scene), NODES.draw(_cluster(scene)))
    before = {each.tablet: each.way.stage for each in former.of(facts.stages)} if former else {}
    drawn = (
        _transition(scene, each, place, before.get(each.tablet, each.way.stage))
        for place, each in enumerate(rows[:MOST_ROWS])
    )
    rest = _rest(len(rows) - MOST_ROWS, "transition")
    return h("div", list(drawn), h("p", rest, class_="soft") if rest else None)


def _rest(count: int, what: str) -> str:
    return f"and {counted(count, what)} more" if count > 0 else ""


def _transition(scene: Scene, each: facts.StageFacts, place: int, before: str) -> Frag:
    way, stage, chosen = each.way, each.stage, each.way.sets.chosen
    lines: dict[str, Kid] = {
        "stage": h("b", way.stage, class_=None if before == way.stage else "changed"),
        f"reads: {stage.reads}": words(chosen(stage.reads)),
        f"writes: {stage.writes}": words(chosen(stage.writes)),
        "session": f"{way.session} ({as_timeuuid(way.session)})" if way.session else "none open",
        "work": [_work(name.replace("_", " "), standing) for name, standing in each.work],
    }
    if each.choice is not None:
        lines["if it fails"] = _choice(each.choice)
    return h(
        "table",
        h("caption", f"{scene.model.tablet_words(each.tablet)}: {way.kind}"),
        h(
            "tbody",
            [h("tr", h("th", head, scope="row"), h("td", cell)) for head, cell in lines.items()],
        ),
        k=f"transition:{each.tablet}:{place}",
        data_of="tablet {} {}".format(*scene.model.place(each.tablet)),
    )


def _choice(choice: StageChoice) -> str:
    pair = f"{choice.old} of old {choice.counts}, {choice.new} of new {choice.counts}"
    return f"◇ {pair} → {choice.target or 'retried'}"


def _work(words: str, standing: str) -> Frag:
    return h("span", bulb(SIGNS[standing], f"{words}: {standing}"), f" {words} ")


def _idle(scene: Scene) -> Iterator[tuple[str, str]]:
    control = scene.state.control
    yield "state", str(control.state_id)
    yield "transition state", control.topology.transition or NULL
    yield "version", str(control.topology.version)
    yield "fence version", str(control.topology.fence_version)


IDLE = Table(_idle, "idle:{0[0]}", ("what", "now"), caption="group 0", headless=True)


def standing(scene: Scene) -> Standing:
    """The state of the transition that moved last; before the first, its diagram at its start."""
    m, way = scene.model, facts.way_of(scene.way())
    if way is None:
        kind: TransitionKind = m.begun[0] if m.moves and m.begun else "migration"
        return Standing(diagram(kind, m.stage_tables), (START,))
    path = (START, *way.stages, *((END,) * way.ended))
    failures = frozenset(number + 1 for number in way.failures)  # the path has its start before
    return Standing(diagram(way.kind, m.stage_tables), path, failures)


# -- the kinds of transitions ----------------------------------------------------------------------


def diagram(kind: TransitionKind, whose: Tables) -> StateDiagram:
    """The stages of a kind; kinds with the same table share a drawing, named after the first."""
    table = TRANSITIONS[whose][kind]
    tables = ((of, name, t) for of, each in TRANSITIONS.items() for name, t in each.items())
    alike = (x for x in tables if (x[2].states, x[2].edges) == (table.states, table.edges))
    of, first, _ = next(alike)
    drawn = machine_diagram(table, f"state-tablet-{first}-{of}", f"stages of a {first}")
    return replace(drawn, tight=True)


def diagrams() -> Iterator[StateDiagram]:
    """Every table of stages, those that kinds or releases share once."""
    drawn = (diagram(kind, whose) for whose in TRANSITIONS for kind in KINDS)
    yield from {each.name: each for each in drawn}.values()


MEANINGS: dict[TransitionKind, str] = {
    "migration": "A replica moves to a shard of another node.",
    "intranode_migration": "A replica moves to another shard of its node, using hard links.",
    "rebuild": (
        "A new replica is built from all replicas that stay; an old one may be dropped afterwards."
    ),
    "rebuild_v2": "The replicas are made identical; then a new one is streamed from one of them.",
    "repair": "The replicas are made identical; none is added or removed.",
}
STAGES = (
    Column("stage", "name"),
    Column("reads", "reads"),
    Column("writes", "writes"),
    Column("work", lambda row: tuple(work.name for work in row.work), none=""),
)


def _kind(scene: Scene, kind: TransitionKind) -> Iterator[Part]:
    yield Note(MEANINGS[kind], look=None)
    yield Table(lambda scene: _stages(scene, kind), "", STAGES, marked=False)


def _stages(scene: Scene, kind: TransitionKind) -> Iterator[StateRow]:
    table = TRANSITIONS[scene.model.stage_tables][kind]
    stage = onward(table, BOUNDARY).target
    while stage != BOUNDARY:
        yield table.state(stage)
        stage = onward(table, stage).target


def _kinds(scene: Scene) -> Iterator[str]:
    for kind in KINDS:
        way = " → ".join(row.name for row in _stages(scene, kind))
        yield f"{kind}: {MEANINGS[kind]} {way}"


KINDS_TAB = panel_of(
    "kinds",
    "Kinds of transitions",
    Choice("kind", "kind", lambda scene: KINDS, _kind, _kinds),
    optional=True,
    tab="Kinds",
)


# -- system.tablets --------------------------------------------------------------------------------

COLUMNS = ("last_token", "replicas", "new_replicas", "stage", "transition", "session")

CALLED = {"replicas": "get_replicas()", "endpoints": "get_natural_endpoints()"}
"""How the two sets are called where a node that has left is in one of them only."""


def _rows(scene: Scene) -> list[dict[str, str]]:
    m, now, before = scene.model, scene.state, scene.before or scene.state
    numbers: Sequence[int] = range(len(now.tablets))
    if len(numbers) > MOST_ROWS:
        pairs = zip(now.tablets, before.tablets, strict=True)
        first = [i for i, (row, was) in enumerate(pairs) if row.transitions or row != was]
        others = (i for i in numbers if i not in {*first[:MOST_ROWS]})
        numbers = sorted([*first, *islice(others, MOST_ROWS)][:MOST_ROWS])
    return [facts.table_row(m, now, i) for i in numbers]


def _columns(scene: Scene) -> list[Column]:
    moments = filter(None, [scene, scene.former()])
    differ = any(row["endpoints"] != row["replicas"] for each in moments for row in _rows(each))
    names = (*COLUMNS[:2], "endpoints", *COLUMNS[2:]) if differ else COLUMNS
    heads = CALLED if differ else {}
    columns = (Column(heads.get(name, name), itemgetter(name), none=NULL) for name in names)
    first = ("table", "tablet") if len(scene.model.layout.tables) > 1 else ("tablet",)
    return [*(Column(name, itemgetter(name)) for name in first), *columns]


def _caption(scene: Scene) -> str:
    tables = list(dict.fromkeys(row["table"] for row in _rows(scene)))
    partitions = "partition" if len(tables) == 1 else "partitions"
    return f"system.tablets, {partitions} of {' and '.join(tables)}"


def _base_tables(scene: Scene) -> Frag | None:
    tables = scene.model.layout.tables
    lines = [f"{name}: base_table {each.name}" for each in tables for name in each.colocated]
    rows = [h("li", words, k=f"base:{words}") for words in lines[:MOST_ROWS]]
    return h("ul", rows) if rows else None


TABLE = Table(
    _rows,
    "system.tablets:{0[table]}:{0[tablet]}",
    _columns,
    caption=_caption,
    of="tablet {0[table]} {0[tablet]}",
)


# -- sessions, the barrier -------------------------------------------------------------------------


def _sessions(scene: Scene) -> Iterator[tuple[str, str, str]]:
    for each in scene.of(facts.stages):
        if session := each.way.session:
            name = scene.model.tablet_words(each.tablet)
            words = f"session {session}: {name} in {each.way.stage}{_guards_here(0)}"
            yield f"{each.tablet}:{session}", "✓", words
    if (late := scene.state.late) is not None:
        permit = f"session {late.session}" if late.session else f"stage {late.stage}"
        how = "runs" if late.runs else "is on its way"
        over = ", which has ended on every node" if late.sealed else ""
        name = scene.model.tablet_words(late.tablet)
        words = f"{late.work} of {name} {how}; its frozen_topology_guard is from "
        yield "late", "!" if late.sealed else "…", f"{words}{permit}{over}"
        for host in dict.fromkeys(each.host for each in late.targets) if late.runs else ():
            waits = ": a barrier waits" * scene.state.is_over(late)
            yield f"guard:{host}", "!", f"{permit} on {host}{_guards_here(1)}{waits}"


def _guards_here(number: int) -> str:
    return f", {counted(number, 'topology_guard')}"


def _draw_sessions(scene: Scene) -> Frag:
    lamps = [
        h("li", bulb(sign, words), h("span", f" {words}"), k=f"session:{key}", class_="lamp")
        for key, sign, words in _sessions(scene)
    ]
    return h("ul", lamps) if lamps else h("p", "No tablet has an open session.", class_="soft")


def _draw_barrier(scene: Scene) -> Frag:
    runs, m = scene.of(facts.barrier), scene.model
    if not runs:
        return h("p", "No tablet waits for a barrier.", k="no-barrier", class_="soft")
    refusal = scene.refusal(Tablets.pass_barrier())
    waiting = [piece.tablet for piece in m.barriers(scene.state)]
    rest = len(waiting) - MOST_ROWS
    tablets = ", ".join(map(m.tablet_words, waiting[:MOST_ROWS]))
    tablets += f" and {counted(rest, 'other')}" if rest > 0 else ""
    nodes = [
        h(
            "li",
            bulb(sign, name),
            h("b", name),
            h("small", f" {words}"),
            k=f"asked:{name}",
            class_="lamp",
            data_of=name,
        )
        for name, role in runs.items()
        for sign, words in [ANSWERS[role]]
    ]
    return h(
        "div",
        h("p", f"Awaited by {tablets}."),
        h("p", f"The barrier cannot pass: {refusal.reason}.") if refusal else None,
        h("ul", nodes),
    )


# -- which shard has a key: by the map, by the sharder, statically ---------------------------------

MOST_HOSTS = 12  # that can be asked
SHARDERS = {"holding": "holding its map", "auto_refreshing": "auto-refreshing"}
NO_VERSION = "The two sharders are compared once there is a second map."


def _differs(answer: tuple[Any, ...]) -> str:
    _, _, holds, reads, writes, _ = answer
    return "" if {reads, *writes} == {*holds} else "≠"


KEY_COLUMNS = (
    Column("key", itemgetter(0)),
    Column("tablet", itemgetter(1)),
    Column("has_replica()", itemgetter(2), none="no"),
    Column("shard_for_reads()", itemgetter(3)),
    Column("shard_for_writes()", itemgetter(4), none="{}"),
    Column("static", itemgetter(5)),
    Column("differs", _differs, none=""),
)

STAGE_COLUMNS = (
    Column("stage", lambda row: f"{row[0]} ← now" if row[1] else row[0]),
    Column("shard_for_reads()", itemgetter(2)),
    Column("shard_for_writes()", itemgetter(3), none="{}"),
    Column("has_replica()", itemgetter(4)),
)


def _sharders(scene: Scene, host: str) -> Iterator[Part]:
    m, maps = scene.model, _versions(scene)

    yield Table(
        lambda scene: facts.answers(m, scene.of(facts.tablet_map), host),
        lambda each: f"shards:{host}:{each[0]}",
        KEY_COLUMNS,
        caption=f"shards of {host}, by the token of the key",
        of=lambda each: f"tablet {m.parameters.tables[0]} {each[1]}",
    )

    if stages := facts.stage_shards(m, scene.of(facts.tablet_map), host):
        yield Table(
            lambda scene: stages,
            lambda each: f"stage:{host}:{each[0]}",
            STAGE_COLUMNS,
            caption=f"shards of {host} by stage",
            marked=False,
        )
    if len(maps) < 2:
        yield Note(NO_VERSION)
        return
    key = facts.asked_about(maps[-1], maps[-2])
    columns = (
        Column("sharder", lambda each: SHARDERS[each.kind]),
        Column("map", "version"),
        Column("shard_for_reads()", lambda each: each.shard_for_reads(key.token)),
        Column("shard_for_writes()", lambda each: each.shard_for_writes(key.token), none="{}"),
        Column(
            "a barrier",
            lambda each: (
                "doesn't wait (a guard is needed)"
                if each.holds is None
                else f"! waits for map {each.holds}"
            ),
        ),
    )
    yield Table(
        lambda scene: facts.both_kinds(m, maps, host),
        lambda each: f"sharder:{host}:{each.kind}",
        columns,
        caption=f"two sharders of {host}, made from map {len(maps) - 1}, asked for {key.key}",
        marked=False,
    )


def _versions(scene: Scene) -> tuple[TabletMap, ...]:
    return scene.once("versions", lambda: facts.versions(scene.model, scene.state, scene.way()))


def _asked_hosts(scene: Scene) -> Sequence[str]:
    return list(scene.model.names[:MOST_HOSTS])


def _lines(scene: Scene) -> Iterator[str]:
    for host in _asked_hosts(scene):
        for part in _sharders(scene, host):
            yield from part.words(scene)


SHARDER = panel_of(
    "sharder",
    "Sharder",
    Choice("asked-host", "ask host", _asked_hosts, _sharders, _lines, "shards"),
    optional=True,
    tab="Sharder",
)


def lifted(panel: Panel) -> Panel:
    """A panel of the topology, drawn of the cluster that the tablets are in."""
    return replace(
        panel,
        draw=lambda scene: panel.draw(_cluster(scene)),
        wording=lambda scene: panel.text(_cluster(scene)),
        optional=True,
    )


def _cluster(scene: Scene) -> Scene:
    def made() -> Scene:
        before = scene.before and scene.before.control
        own = isinstance(scene.action, cluster.ControlAction) and before is not scene.state.control
        return replace(
            scene,
            model=scene.model.control,
            state=scene.state.control,
            before=before,
            action=scene.action if own else None,
            suggested=None,
            past=past,
            kept={},
        )

    def past() -> list[PassedStep]:
        return [
            PassedStep(step.before.control, step.action, step.after.control)
            for step in scene.way()
            if step.before.control is not step.after.control
        ]

    return scene.once("cluster", made)


def _of_model(panel: Panel) -> Panel:
    return replace(panel, shown=lambda scene: scene.model.dump is None)


TABLETS = Views(
    (
        status(_badges, "badges"),
        grid_panel(of_state(facts.grid), above),
        panel_of("now", "Selectors and work by stage", Drawn(_draw_now), still=True, tab="Stage"),
        state_panel("stages", "Stages of the transition", standing, tab="States"),
        panel_of(
            "tablets",
            "system.tablets",
            TABLE,
            Note(lambda scene: _rest(len(scene.state.tablets) - MOST_ROWS, "row")),
            Drawn(_base_tables),
            tab="Table",
        ),
        panel_of("sessions", "Sessions and guards", Drawn(_draw_sessions), tab="Sessions"),
        panel_of("tablet-barrier", "Barrier of the tablets", Drawn(_draw_barrier), tab="Barrier"),
        _of_model(SHARDER),
        KINDS_TAB,
        lifted(replace(PLACED, still=False)),
        lifted(QUEUE),
        lifted(REQUESTS),
        lifted(replace(STATES, title="Transition state", tab="Track", still=False)),
        plans.TABLETS_PLAN,
        _of_model(plans.TABLETS_LOAD),
        _of_model(losses.LOSSES),
        _of_model(losses.REPAIRS),
        LAMPS,
    ),
    evidence=("now",),
    picture="grid",
    table="now",
    badges="badges",
    gates=gates,
    may_ask=lambda scene: scene.model.dump is None,
)
