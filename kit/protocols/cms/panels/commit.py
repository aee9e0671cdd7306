"""How submitting an event is drawn: nodes and members, the log above them, requests beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kit.errors import counted
from kit.model.flows import flows
from kit.protocols.cms.commit import Answer
from kit.protocols.cms.facts import commit as facts
from kit.protocols.cms.facts.commit import RequestRow, StoreRow, entry_times
from kit.protocols.cms.rules.log import DESIGNS, EntryTimes, committed, usable
from kit.views.declared import Badges, Column, Table, of_state, panel_of
from kit.views.fragment import Frag, h
from kit.views.gate import Gate
from kit.views.panel import Panel, Scene
from kit.views.parts import scroll
from kit.views.registry import staged
from kit.views.spacetime import Arrow, Mark, Spacetime, dot, draw_spacetime, spacetime_text, tag
from kit.views.stage import Character, Stage, Tile, stage_panel
from kit.views.tape import Card

SHORT = {"waiting": "not asked yet", "sent": "asks", "unknown": "! unknown"}


def _stage(scene: Scene) -> Stage:
    m, s = scene.model, scene.state
    return Stage(
        m.names,
        tuple(_node(scene, row) for row in scene.of(facts.stores)),
        tuple(map(_client, scene.of(facts.requests), s.requests)),
        tape=tuple(_cards(scene)),
        lines=3,
        bodies=(("CMS", m.named(m.cms)),),
    )


def _node(scene: Scene, row: StoreRow) -> Character:
    m, node = scene.model, scene.state.nodes[scene.model.number(row.name)]
    is_member = bool(m.cms >> m.number(row.name) & 1)
    authors = {each.id: each.node for each in scene.of(facts.requests)}
    lines: tuple[str | Tile, ...] = (
        *(Tile(f"promise {ballot}", ballot[-1:]) for ballot in row.promised[-1:]),
        *(Tile(each, authors.get(each.split()[0], ""), open=True) for each in row.accepted[-1:]),
        *(f"held {entry}" for entry in row.held[:1]),
        *(f"snap {epoch}" for epoch in row.snapshots[-1:]),
    )
    what = "member of the CMS" if is_member else "not a member of the CMS"
    return Character(
        row.name,
        m.spot(row.name),
        "up" if node.up else "down",
        tag=f"epoch {row.epoch}",
        holds=lines[:3],
        title=", ".join((f"{row.name}: {what}", f"epoch {row.epoch}", *map(str, lines))),
    )


def _client(row: RequestRow, known: Answer) -> Character:
    tag = SHORT.get(known.stage, known.stage)
    done = f"epoch {known.epoch}" if known.stage == "committed" else ""
    holds: tuple[str, ...] = (row.event, done or row.work or f"from {row.node}")
    verdict, _, why = (row.work or row.state).partition(" because ")
    if verdict == "rejected":
        tag, holds = "! rejected", (why,)
    title = f"{row.id}, {row.event}, from {row.node}: {row.state}"
    asks = row.handler or row.node if known.stage == "sent" else ""
    return Character(row.id, row.id, tag=tag, holds=holds, title=title, kind="client", asks=asks)


def _cards(scene: Scene) -> Iterator[Card]:
    authors = {each.id: each.node for each in scene.of(facts.requests)}
    for row in scene.of(facts.log):
        by = authors.get(row.id, "")
        title = f"epoch {row.epoch}: {row.event}, submitted as {row.id}"
        yield Card(f"log:{row.epoch}", f"{row.epoch} {row.event}", by, title=title)


def _gates(scene: Scene) -> Iterator[Gate]:
    m = scene.model
    for name, node in zip(m.names, scene.state.nodes, strict=True):
        work = node.handles
        if work.ballot:
            did = "accepted" if work.value else "promised"
            proposed = work.value.id if work.value else m.id_of(work.request)
            what = f"{proposed} in {m.ballot_name(work.ballot)}"
            there, missing = m.named(work.heard), m.named(m.cms & ~work.heard)
            yield Gate(m.spot(name), what, did, there, missing, m.quorum)


def _badges(scene: Scene) -> Badges:
    m, s = scene.model, scene.state
    newest = len(scene.of(facts.log))
    behind = sum(node.log.epoch < newest for node in s.nodes)
    yield "epoch", f"epoch {newest}", "plain"
    yield "cms", f"CMS: {', '.join(m.named(m.cms))}", ""
    yield "behind", f"{counted(behind, 'node')} behind" if behind else "", "busy"
    unknown = sum(each.stage == "unknown" for each in s.requests)
    yield "unknown", f"! {counted(unknown, 'outcome')} unknown" if unknown else "", "alarm"


def _run(scene: Scene) -> Spacetime:
    m, way = scene.model, scene.way()
    arrows, marks = [], []
    names = {m.spot(name): name for name in m.names}
    for number, step in enumerate(way, 1):
        between = [
            Arrow(names[each.from_key], names[each.to_key], each.label, number, number, "received")
            for each in flows(m, step.before, step.action, step.after)
            if each.from_key in names and each.to_key in names
        ]
        arrows += between
        if not between:
            marks.append(Mark(step.action.node, number, m.label(step.before, step.action)))
    return Spacetime(m.names, len(way), tuple(arrows), tuple(marks))


ROUNDS = Panel(
    "rounds",
    "Who asked whom",
    lambda scene: draw_spacetime(_run(scene)),
    lambda scene: spacetime_text(_run(scene)),
    tab="Run",
    still=True,
)


# -- one run in three designs, as time lines: the log's, and below it one of each node -------------


WIDTH, LEFT, RIGHT = 336, 30, 12
ROW, TITLE, DOWN = 20, 32, 5
NUMBERED = 12
"""Steps that are numbered; of more every other one, and so on."""
LEGEND = (
    "log: dashed until the entry is committed · a node: dashed while an epoch that it has is "
    "hidden, until most nodes have acknowledged it; solid once it can use the "
    "epoch · two steps: a second round, assumed to be as long as the first, commits what was "
    "admitted"
)


def _design_spans(scene: Scene, design: str) -> Iterator[tuple[str, str, int, int | None]]:
    for times in entry_times(scene.model, scene.way()):
        epoch = f"e{times.epoch}"
        yield "log", epoch, times.begun, committed(times, design)
        may = usable(times, design)
        for name, has, use in zip(scene.model.names, times.applied, may, strict=True):
            if has is not None:
                yield name, epoch, has if design == DESIGNS[1] else use or has, use


def _last_step(scene: Scene) -> int:
    steps = (use or 0 for design in DESIGNS for *_, use in _design_spans(scene, design))
    return max(len(scene.way()), *steps, 1)


def _draw_designs(scene: Scene) -> Frag:
    names, last = ("log", *scene.model.names), _last_step(scene)
    scale = (WIDTH - LEFT - RIGHT) / last

    def x(step: int) -> float:
        return round(LEFT + scale * step, 1)

    drawn, high = list[Frag](), TITLE + ROW * len(names)
    for place, design in enumerate(DESIGNS):
        top = high * place
        drawn.append(tag(design, LEFT, top + TITLE / 2, "tag strong", "start"))
        rows = {name: top + TITLE + ROW * (at + 0.6) for at, name in enumerate(names)}
        drawn += [tag(name, LEFT - 4, y + DOWN, "soft", "end") for name, y in rows.items()]
        for name, epoch, begins, solid in _design_spans(scene, design):
            y, until = rows[name], last if solid is None else solid
            parts = [h("path", d=f"M{x(begins)} {y}H{x(until)}", class_="message away")]
            if solid is not None:
                parts += [
                    h("path", d=f"M{x(solid)} {y}H{x(last) + RIGHT}", class_="message"),
                    dot(x(solid), y),
                    tag(epoch, x(solid), y - DOWN, "tag", "middle"),
                ]
            drawn.append(h("g", parts, k=f"design:{design}:{name}:{epoch}"))
    foot, every = high * len(DESIGNS), -(-last // NUMBERED)
    drawn += [
        h("g", tag(f"{step}", x(step), foot + ROW - DOWN, "soft"), k=f"design:step:{step}")
        for step in range(every, last + 1, every)
    ]
    picture = h(
        "svg",
        drawn,
        viewBox=f"0 0 {WIDTH} {foot + ROW}",
        width=WIDTH,
        height=foot + ROW,
        role="img",
        aria_label=_designs_text(scene),
    )
    return scroll("timelines of three designs", picture, h("p", LEGEND, class_="soft legend"))


def _designs_text(scene: Scene) -> str:
    times = entry_times(scene.model, scene.way())
    said = (
        _design_in_words(scene.model.names, each, design) for design in DESIGNS for each in times
    )
    return "\n".join(said) or "Nothing is committed yet."


def _design_in_words(names: Sequence[str], times: EntryTimes, design: str) -> str:
    may = usable(times, design)
    users = (
        f"{name} can use it from step {step}" for name, step in zip(names, may, strict=True) if step
    )
    begun, end = times.begun, committed(times, design)
    opening = f"{design}: epoch {times.epoch} begins at step {begun}, is committed at step {end}"
    return "; ".join((opening, ", ".join(users) or "no node can use it yet"))


DESIGN_LINES = Panel(
    "designs",
    "This run, next to two abandoned designs",
    _draw_designs,
    _designs_text,
    tab="Designs",
    still=True,
)


VIEWS = staged(
    _badges,
    stage_panel(
        "service",
        "The metadata service",
        _stage,
        gates=_gates,
        meanings={
            "body": "the members of the CMS",
            "promise 1B": "it refuses ballots below 1B (round 1 of B)",
            "r1 1A": "it has accepted event r1 in ballot 1A",
            "snap 2": "its newest snapshot is of epoch 2",
        },
    ),
    panel_of(
        "log",
        "The log",
        Table(
            of_state(facts.log),
            "entry:{0.epoch}",
            ("epoch", "event", "id", "known to", "held back by"),
            caption="Each entry: its epoch, its event, the id of its submitter",
            of="log:{0.epoch}",
            line=facts.log_line,
            empty="Nothing is committed yet.",
        ),
        Table(
            of_state(facts.requests),
            "request:{0.id}",
            (
                Column("id", lambda row: row.id),
                *("event", "from"),
                Column("at", "handler"),
                Column("how far", lambda row: row.work or row.state),
                Column("submitter knows", lambda row: row.state.split()[0]),
            ),
            caption="What is submitted",
            of="{0.id}",
            line=facts.REQUEST + " {0.work}",
        ),
        still=True,
        tab="Log",
    ),
    panel_of(
        "stores",
        "What each node has stored",
        Table(
            of_state(facts.stores),
            "store:{0.name}",
            (
                *("node", "epoch", "entries", "held back", "snapshots", "archive"),
                Column("to replay", lambda row: f"{row.replays} of {row.epoch}"),
            ),
            caption="Logs: truncated entries are in the archive",
            of="{0.name}",
        ),
        Table(
            lambda scene: (row for row in scene.of(facts.stores) if row.promised),
            "slot:{0.name}",
            (
                Column("acceptor", "name"),
                *(Column(each, each) for each in ("promised", "accepted")),
            ),
            caption="Acceptors: epochs that they have not applied",
            of="{0.name}",
            empty="No node has promised a ballot for a later epoch.",
        ),
        tab="Disks",
    ),
    DESIGN_LINES,
    ROUNDS,
)
