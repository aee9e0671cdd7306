"""How submitting an event is drawn: nodes and members, the log above them, requests beside them."""

from __future__ import annotations

from collections.abc import Iterator

from kit.errors import counted
from kit.model.flows import flows
from kit.protocols.cms.facts import commit as facts
from kit.protocols.cms.facts.commit import RequestRow, StoreRow
from kit.protocols.cms.panels.designs import DESIGN_LINES
from kit.protocols.cms.submitting import Answer
from kit.views.declared import Badges, Column, Table, of_state, panel_of
from kit.views.gate import Gate
from kit.views.panel import Panel, Scene
from kit.views.registry import staged
from kit.views.spacetime import Arrow, Mark, Spacetime, draw_spacetime, spacetime_text
from kit.views.stage import Character, Stage, stage_panel
from kit.views.tape import Card, Reach

SHORT = {"waiting": "not asked yet", "sent": "asks", "unknown": "! unknown"}


def _stage(scene: Scene) -> Stage:
    m, s = scene.model, scene.state
    return Stage(
        m.names,
        tuple(_node(scene, row) for row in scene.of(facts.stores)),
        tuple(map(_client, scene.of(facts.requests), s.requests)),
        tape=tuple(_cards(scene)),
        lines=3,
        aside=144,  # a line of it has room for "decommission"
    )


def _node(scene: Scene, row: StoreRow) -> Character:
    m, node = scene.model, scene.state.nodes[scene.model.number(row.name)]
    is_member = bool(m.cms >> m.number(row.name) & 1)
    lines = (
        *(f"promise {ballot}" for ballot in row.promised[-1:]),
        *row.accepted[-1:],
        *(f"held {entry}" for entry in row.held[:1]),
        *(f"snap {epoch}" for epoch in row.snapshots[-1:]),
    ) or (f"log to {row.epoch}" if row.epoch else "empty log",)
    what = "member of the CMS" if is_member else "not a member of the CMS"
    return Character(
        row.name,
        m.spot(row.name),
        "up" if node.up else "down",
        sign="key" if is_member else "",
        tag=f"epoch {row.epoch}",
        holds=lines[:3],
        fill=row.replays / row.epoch if row.epoch else None,
        title=", ".join((f"{row.name}: {what}", f"epoch {row.epoch}", *lines)),
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
    for row in scene.of(facts.log):
        reach: dict[str, Reach] = dict.fromkeys(row.held, "stored")
        reach |= dict.fromkeys(row.known, "applied")
        names = scene.model.names
        marks = [(name, f"log:{row.epoch}:{name}", reach.get(name, "")) for name in names]
        title = f"epoch {row.epoch}: {row.event}, submitted as {row.id}"
        yield Card(f"log:{row.epoch}", f"{row.epoch} {row.event}", tuple(marks), title=title)


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
    yield "cms", f"CMS: {', '.join(m.named(m.cms))}", ""
    yield "epoch", f"epoch {newest}", ""
    yield "behind", f"{behind} behind" if behind else "", "busy"
    unknown = sum(each.stage == "unknown" for each in s.requests)
    yield "unknown", f"! {counted(unknown, 'outcome')} unknown" if unknown else "", "broken"


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


VIEWS = staged(
    _badges,
    stage_panel(
        "service",
        "The metadata service",
        _stage,
        gates=_gates,
        meanings={
            "key": "a member of the CMS",
            "promise 1B": "it refuses ballots below 1B (round 1 of B)",
            "r1 1A": "it has accepted event r1 in ballot 1A",
            "snap 2": "its newest snapshot is of epoch 2",
            "blue": "entries of its log that it has to replay",
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
