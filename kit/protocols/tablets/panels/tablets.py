"""The panels of the control model: grid, stages, table, sessions, the barrier."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice

from msgspec.structs import replace

from kit.engine.breaches import PassedStep
from kit.errors import counted
from kit.protocols.tablets.facts import tablets as facts
from kit.protocols.tablets.facts.tablets import (
    WITHIN_NODE,
    HeldVersion,
    ShardAnswer,
    StageFacts,
    TableRow,
    copies,
    tablet_map,
)
from kit.protocols.tablets.hosts import LOG, NETWORK
from kit.protocols.tablets.panels import losses, plans
from kit.protocols.tablets.panels.grid import Above, grid_panel
from kit.protocols.tablets.panels.states import KINDS_TAB, diagram
from kit.protocols.tablets.rules.maps import TabletMap
from kit.protocols.tablets.tablets import Tablets
from kit.protocols.topology import topology as cluster
from kit.protocols.topology.panels.coordinating import QUEUE
from kit.protocols.topology.panels.nodes import NODES
from kit.protocols.topology.panels.states import STATES
from kit.protocols.topology.rules.cluster import NOBODY
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
from kit.views.diagrams import END, START, Standing, state_panel
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import bulb
from kit.views.promises import LAMPS
from kit.views.question import Question, changed_parts
from kit.views.registry import Views

KINDS = {"holding": "holding its map", "auto_refreshing": "auto-refreshing"}
NO_VERSION = "Two sharders are compared once there is a second map."
KEY_COLUMNS = (
    Column("key", "key.key"),
    Column("tablet", "key.tablet"),
    Column("has_replica()", "holds", none="no"),
    Column("reads", "reads"),
    Column("writes", "writes", none=""),
    Column("static", "static"),
    Column("differs", lambda each: "≠" if each.differs else "", none=""),
)


def _parts(scene: Scene, host: str) -> Iterator[Part]:
    """A row for each key; then both kinds of sharder, made before the newest version."""
    maps, table = _versions(scene), scene.model.parameters.tables[0]
    yield Table(
        partial(_answers, host),
        f"shards:{host}:{{0.key.key}}",
        KEY_COLUMNS,
        caption=f"shards of {host}, by the token of the key",
        of=f"tablet {table} {{0.key.tablet}}",
        line=partial(_answer, host),
    )
    if len(maps) < 2:
        yield Note(NO_VERSION)
        return
    key = facts.asked_about(maps[-1], maps[-2])
    yield Table(
        lambda scene: facts.both_kinds(scene.model, maps, host, key),
        f"sharder:{host}:{{0.kind}}",
        (
            Column("sharder", lambda each: KINDS[each.kind]),
            Column("map", "version"),
            Column("reads", "reads"),
            Column("writes", "writes"),
            Column("a barrier", _waits),
        ),
        caption=f"two sharders of {host}, made of map {len(maps) - 1}, asked for {key.key}",
        line=partial(_sharder, f"{host}, {key.key}"),
        marked=False,
    )


def _answers(host: str, scene: Scene) -> tuple[ShardAnswer, ...]:
    return facts.answers(scene.model, scene.of(tablet_map), host)


def _answer(host: str, each: ShardAnswer) -> str:
    tablet, holds, reads, writes, static, sign = (column.cell(each) for column in KEY_COLUMNS[1:])
    return (
        f"{host}, {each.key.key} of tablet {tablet}: has_replica() {holds}, "
        f"reads {reads}, writes {writes}, static {static} {sign}"
    ).rstrip()


def _versions(scene: Scene) -> tuple[TabletMap, ...]:
    return scene.once("versions", lambda: facts.versions(scene.model, scene.state, scene.way()))


def _waits(each: HeldVersion) -> str:
    if each.holds is not None:
        return f"! waits for map {each.holds}"
    return "does not wait: a guard is needed"


def _sharder(what: str, each: HeldVersion) -> str:
    writes = ", ".join(map(str, each.writes))
    return (
        f"{what}, {KINDS[each.kind]}: map {each.version}, reads {each.reads}, "
        f"writes {writes}; a barrier {_waits(each)}"
    )


def _lines(scene: Scene) -> Iterator[str]:
    """A line for each host and key, then one for each kind of sharder."""
    for host in facts.asked_hosts(scene.model):
        for part in _parts(scene, host):
            if isinstance(part, Table):
                yield from part.words(scene)
    if len(_versions(scene)) < 2:
        yield NO_VERSION


SHARDER = panel_of(
    "sharder",
    "Sharder",
    Choice(
        "asked-host", "ask host", lambda s: facts.asked_hosts(s.model), _parts, _lines, "shards"
    ),
    optional=True,
    tab="Sharder",
)


NULL = "null"
SIGNS = {"done": "✓", "failed": "!", "next": "…", "later": "…"}
"""The bulbs of pieces of work."""
ANSWERS = {
    "answered": ("✓", "has answered"),
    "asked": ("…", "is asked"),
    "unheard": ("!", "does not hear it"),
    "passed over": ("–", "is ignored: it is not asked"),
}
"""How a node stands in a barrier: a sign and words."""
NO_TRANSITION = "No tablet is in transition."


# -- the picture -----------------------------------------------------------------------------------


def above(scene: Scene) -> Above:
    """The log of group 0; the network, where a late RPC is in it or a request comes out of it."""
    late, plan = scene.state.late, scene.model.control.plan
    words = {LOG: f"group 0: state {scene.state.control.state_id}"}
    if late is not None:
        return {**words, NETWORK: f"late: {late.work}"}
    outside = any(request.node == NOBODY for request in plan.requests)
    return {**words, NETWORK: "network"} if outside else words


def _badges(scene: Scene) -> Badges:
    """The version, the transition state, how many tablets move, and who is missing."""
    s, m = scene.state, scene.model
    topology, moving = s.control.topology, sum(bool(row.transitions) for row in s.tablets)
    yield "version", f"version {topology.version}", "plain"
    yield "state", topology.transition or "no transition state", ""
    yield "moving", f"{moving} in transition" if moving else "", "busy"
    yield "balancing", "" if m.balancing else "balancing is off", ""
    if WITHIN_NODE in m.begun:  # where hard links may be made
        done = copies(m, scene.way())
        yield "copies", f"{done.linked} linked, {done.streamed} streamed", ""
    yield "decided", "decided" if s.command else "", "busy"
    yield "late", "a late RPC" if s.late else "", "busy"
    yield "coordinator", "! no coordinator" * (s.control.coordinator == NOBODY), "broken"


# -- what explains it: selectors, replicas and work by stage ---------------------------------------


def _draw_now(scene: Scene) -> Frag:
    """Draw each transition: its stage, whom requests use in it, and its work."""
    rows = scene.of(facts.stages)
    before = _stages_before(scene)
    if not rows:
        return h("p", NO_TRANSITION, k="no-transition", class_="soft")
    return h(
        "div",
        [
            _transition(scene, each, i, before.get(each.tablet))
            for i, each in enumerate(rows[:MOST_ROWS])
        ],
        h("p", _rest(len(rows)), class_="soft") if len(rows) > MOST_ROWS else None,
    )


def _rest(count: int) -> str:
    return f"and {counted(count - MOST_ROWS, 'transition')} more"


def _stages_before(scene: Scene) -> dict[int, str]:
    if scene.before is None:
        return {}
    return {each.tablet: each.stage for each in facts.stages(scene.model, scene.before)}


def _transition(scene: Scene, each: StageFacts, place: int, before: str | None) -> Frag:
    changed = before is not None and before != each.stage
    return h(
        "table",
        h("caption", f"{scene.model.tablet_words(each.tablet)}: {each.kind}"),
        h(
            "tbody",
            _line("stage", h("b", each.stage, class_="changed" if changed else None)),
            _line(f"reads: {each.reads}", facts.words(each.read_from)),
            _line(f"writes: {each.writes}", facts.words(each.written_to)),
            _line("session", str(each.session) if each.session else "none open"),
            _line("work", [_work(work.name, work.standing) for work in each.work]),
        ),
        k=f"transition:{each.tablet}:{place}",
        data_of="tablet {} {}".format(*scene.model.place(each.tablet)),
    )


def _line(head: str, words: str | Frag | list[Frag]) -> Frag:
    return h("tr", h("th", head, scope="row"), h("td", words))


def _work(name: str, standing: str) -> Frag:
    words = name.replace("_", " ")
    return h("span", bulb(SIGNS[standing], f"{words}: {standing}"), f" {words} ")


def _now(scene: Scene) -> Iterator[str]:
    """A line for each transition."""
    rows = scene.of(facts.stages)
    yield from (_sentence(scene, each) for each in rows[:MOST_ROWS])
    if len(rows) > MOST_ROWS:
        yield _rest(len(rows))
    if not rows:
        yield NO_TRANSITION


def _sentence(scene: Scene, each: StageFacts) -> str:
    work = ", ".join(f"{work.name} {work.standing}" for work in each.work)
    session = f"; session {each.session}" if each.session else ""
    return (
        f"{scene.model.tablet_words(each.tablet)}, {each.kind}, {each.stage}: reads {each.reads} "
        f"({facts.words(each.read_from)}), writes {each.writes} "
        f"({facts.words(each.written_to)}){session}; {work}"
    )


# -- system.tablets --------------------------------------------------------------------------------

COLUMNS = ("last_token", "replicas", "new_replicas", "stage", "transition", "session")


def _rows(scene: Scene) -> list[TableRow]:
    """The rows to show; of very many those in transition come first."""
    m, now, before = scene.model, scene.state, scene.before or scene.state
    numbers: Sequence[int] = range(len(now.tablets))
    if len(numbers) > MOST_ROWS:
        pairs = zip(now.tablets, before.tablets, strict=True)
        first = [i for i, (row, was) in enumerate(pairs) if row.transitions or row != was]
        others = (i for i in numbers if i not in {*first[:MOST_ROWS]})
        numbers = sorted([*first, *islice(others, MOST_ROWS)][:MOST_ROWS])
    return [facts.table_row(m, now, i) for i in numbers]


def _columns(scene: Scene) -> list[Column]:
    """Those of the table; beside them the replicas by address, where some have none."""
    moments = filter(None, [scene, scene.former()])
    differ = any(row.endpoints != row.replicas for each in moments for row in _rows(each))
    names = (*COLUMNS[:2], "endpoints", *COLUMNS[2:]) if differ else COLUMNS
    return [Column("tablet", "number"), *(Column(name, name, none=NULL) for name in names)]


def _caption(scene: Scene) -> str:
    tables = list(dict.fromkeys(row.table for row in _rows(scene)))
    of = (
        f"partition of {tables[0]}" if len(tables) == 1 else f"partitions of {' and '.join(tables)}"
    )
    return f"system.tablets, {of}"


def _more(scene: Scene) -> str:
    rest = len(scene.state.tablets) - MOST_ROWS
    return f"and {counted(rest, 'row')} more" if rest > 0 else ""


def _table(scene: Scene) -> Iterator[str]:
    """The cells that are not null, a line for each row."""
    columns = _columns(scene)[1:]
    for row in _rows(scene):
        cells = ((column.head, column.cell(row)) for column in columns)
        said = "; ".join(f"{name} {text}" for name, text in cells if text != NULL)
        yield f"tablet {row.number}: {said}"


def _references(scene: Scene) -> list[str]:
    """The rows of co-located tables: they have no map, and name the table whose map is theirs."""
    references = facts.co_located(scene.model).items()
    return [f"{name}: base_table {base}" for name, base in references][:MOST_ROWS]


def _base_tables(scene: Scene) -> Frag | None:
    rows = [h("li", words, k=f"base:{words}") for words in _references(scene)]
    return h("ul", rows) if rows else None


# -- stages, sessions, the barrier -----------------------------------------------------------------


def standing(scene: Scene) -> Standing:
    """Where the transition stands that moved last; before the first, its diagram at its start."""
    m = scene.model
    way = facts.way_of(scene.state, scene.way())
    edition = m.edition
    if way is None:
        return Standing(diagram(facts.first_kind(m), edition), (START,))
    path = (START, *way.stages, *((END,) * way.ended))
    failures = frozenset(number + 1 for number in way.failures)  # the path has its start before
    return Standing(diagram(way.kind, edition), path, failures)


def _sessions(scene: Scene) -> Iterator[tuple[str, str, str]]:
    """A key, a sign and words for each."""
    for each in facts.stages(scene.model, scene.state):
        if each.session:
            words = f"session {each.session}: tablet {each.tablet} in {each.stage}"
            yield f"{each.tablet}:{each.session}", "✓", words
    late = scene.state.late
    if late is not None:
        permit = f"session {late.session}" if late.session else f"stage {late.stage}"
        how = "runs" if late.runs else "is on its way"
        over = ", which is over for every node" if late.sealed else ""
        words = f"{late.work} of tablet {late.tablet} {how}; its permit is {permit}{over}"
        yield "late", "!" if late.sealed else "…", words


def _draw_sessions(scene: Scene) -> Frag:
    """Draw the sessions that are open, and the RPC that carries one that may be closed."""
    lamps = [
        h("li", bulb(sign, words), h("span", f" {words}"), k=f"session:{key}", class_="lamp")
        for key, sign, words in _sessions(scene)
    ]
    return h("ul", lamps) if lamps else h("p", "No session is open.", class_="soft")


def _draw_barrier(scene: Scene) -> Frag:
    """Draw who answers the barrier that tablets wait for, and what keeps it."""
    runs = scene.of(facts.barrier)
    if runs is None:
        return h("p", "No tablet waits for a barrier.", k="no-barrier", class_="soft")
    refusal = scene.refusal(Tablets.pass_barrier())
    return h(
        "div",
        h("p", f"Awaited by {_tablets(runs.tablets)}."),
        h("p", f"It cannot pass: {refusal.reason}.") if refusal else None,
        h(
            "ul",
            [
                h(
                    "li",
                    bulb(sign, name),
                    h("b", name),
                    h("small", f" {words}"),
                    k=f"asked:{name}",
                    class_="lamp",
                    data_of=name,
                )
                for name, role in runs.standing
                for sign, words in [ANSWERS[role]]
            ],
        ),
    )


def _tablets(numbers: tuple[int, ...]) -> str:
    shown = ", ".join(map(str, numbers[:MOST_ROWS]))
    rest = f" and {counted(len(numbers) - MOST_ROWS, 'other')}" if len(numbers) > MOST_ROWS else ""
    return f"tablet {shown}{rest}" if len(numbers) == 1 else f"tablets {shown}{rest}"


# -- the cluster's own panels ----------------------------------------------------------------------


def lifted(panel: Panel) -> Panel:
    """A panel of the topology, drawn of the cluster that the tablets are in."""
    return replace(
        panel,
        draw=lambda scene: panel.draw(_cluster(scene)),
        wording=lambda scene: panel.text(_cluster(scene)),
        optional=True,
    )


def _cluster(scene: Scene) -> Scene:
    """The scene of the cluster alone."""
    return scene.once("cluster", lambda: _cluster_scene(scene))


def _cluster_scene(scene: Scene) -> Scene:
    own = isinstance(scene.action, cluster.ControlAction)
    return replace(
        scene,
        model=scene.model.control,
        state=scene.state.control,
        before=None if scene.before is None else scene.before.control,
        action=scene.action if own and _changes(scene) else None,
        suggested=None,
        past=lambda: _past(scene),
        kept={},
    )


def _changes(scene: Scene) -> bool:
    return scene.before.control is not scene.state.control


def _past(scene: Scene) -> list[PassedStep]:
    return [
        PassedStep(step.before.control, step.action, step.after.control)
        for step in scene.way()
        if step.before.control is not step.after.control
    ]


def _question(scene: Scene) -> Question | None:
    """Which parts change; of a cluster that was read from a dump nobody is asked."""
    return None if scene.model.dump is not None else changed_parts(scene)


def _of_model(panel: Panel) -> Panel:
    """A panel that looks at every tablet of one table; no dump is so small."""
    return replace(panel, shown=lambda scene: scene.model.dump is None)


TABLE = Table(
    _rows,
    "system.tablets:{0.table}:{0.number}",
    _columns,
    caption=_caption,
    of="tablet {0.table} {0.number}",
    lines=_table,
)
TABLETS = Views(
    (
        status(_badges, "badges"),
        grid_panel(of_state(facts.grid), above),
        panel_of(
            "now", "Selectors and work by stage", Drawn(_draw_now, _now), still=True, tab="Stage"
        ),
        state_panel("stages", "Stages of the transition", standing, tab="Diagram"),
        panel_of(
            "tablets",
            "system.tablets",
            TABLE,
            Note(_more),
            Drawn(_base_tables, _references),
            tab="Table",
        ),
        panel_of("sessions", "Sessions and guards", Drawn(_draw_sessions), tab="Sessions"),
        panel_of("tablet-barrier", "Barrier of the tablets", Drawn(_draw_barrier), tab="Barrier"),
        _of_model(SHARDER),
        KINDS_TAB,
        lifted(replace(NODES, still=False)),
        lifted(QUEUE),
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
    question=_question,
)
