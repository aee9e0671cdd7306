"""The panels of group 0, its log first, and of the discovery before it: who knows whom.

A state id is a small number in the model and a TIMEUUID for people: its time counts ticks of a
tenth of a microsecond, so that greater ids are later, and the node's bytes say who made it. Source:
RFC 9562, section 5.1 (version 1).
"""

from collections.abc import Iterator
from itertools import count, zip_longest
from typing import Any

from kit.errors import are, counted
from kit.model.flows import as_timeuuid
from kit.model.registry import build, scenario_of
from kit.model.timeline import PassedStep, Timeline, played_out
from kit.protocols.group0 import facts
from kit.protocols.group0.discovery import Peers, boot, groups, makes_one_group, table_line
from kit.protocols.group0.facts import EntryRow, GuardRow, MemberRow
from kit.protocols.group0.group0 import Group0
from kit.protocols.group0.raft import CommitCommand
from kit.protocols.group0.rules.commands import STEPS
from kit.protocols.group0.rules.schema import ClientOperation
from kit.protocols.group0.state import APPLIED, HeldGuard, command_text, key_of
from kit.views.declared import Badges, Column, Drawn, Note, Table, of_state, panel_of, status
from kit.views.diagrams import Cell, table_source
from kit.views.fragment import Frag, h
from kit.views.gate import Gate
from kit.views.panel import Scene
from kit.views.parts import scroll
from kit.views.promises import LAMPS, judged
from kit.views.question import Question
from kit.views.registry import Views
from kit.views.spacetime import MESSAGES
from kit.views.stage import Character, Message, Row, Stage, stage_panel
from kit.views.tape import Card

# -- the stage: members with their guards, clients, the log with who has it ----------------------


def role(row: MemberRow) -> str:
    """The role of a node in the group: ``leader``, ``voter, down``, ``believes that it leads``."""
    is_voter = "voter" if row.votes else "no vote"
    word = "believes that it leads" if row.deposed else "leader" if row.leads else is_voter
    return word if row.up else f"{word}, down"


def _stage(scene: Scene) -> Stage:
    m, s = scene.model, scene.state
    rows, guards = scene.of(facts.nodes), {row.node: row for row in scene.of(facts.guards)}
    sent = tuple(
        Message(sent.creator, "log", f"on {_built(sent.previous)}: {sent.change.text}",
                key_of(s.in_flight, i), title=command_text(sent), thing=f"state_id {sent.new}",)
        for i, sent in enumerate(s.in_flight)
    )  # fmt: skip
    requests = tuple(
        Message(
            m.names[request.coordinator],
            m.names[request.replica],
            f"{request.text.split()[0]} v{at.version}",
            f"asked:{number}",
            title=request.text,
        )
        for number, (request, at) in enumerate(zip(m.table_requests, s.requests, strict=True))
        if at.stage == "sent"
    )
    return Stage(
        m.names,
        tuple(_member(row, guards.get(row.name)) for row in rows),
        tuple(_client(m, *each) for each in zip(count(), m.clients, s.answers, strict=False)),
        tuple(map(_card, scene.of(facts.entries))),
        sent + requests,
    )


AT_WORK = (
    *("took lock", "barrier", "read id", "new id"),
    *("validated", "submitted", "applied", "looked up"),
)
"""What is done of a change (``STEPS``), in as many letters as a disk has room for."""


def _at_work(guard: GuardRow) -> str:
    return AT_WORK[len(guard.results) - 1]


def _member(row: MemberRow, guard: GuardRow | None) -> Character:
    holds = [f"{len(guard.results)}/{len(STEPS)} {_at_work(guard)}"] if guard else []
    holds += ["deposed"] * row.deposed + ["no vote"] * (not row.votes)
    holds += [f"{row.commit} of {row.stored} committed"] * (row.commit < row.stored)
    words = (
        f"{row.name} ({role(row)}): stores {row.stored}, knows {row.commit} committed, "
        f"applied {row.applied}"
    )
    return Character(
        row.name,
        f"n:{row.name}",
        "up" if row.up else "down",
        leads=row.leads and not row.deposed,
        tag=f"applied {row.applied}",
        holds=tuple(holds[:2]),
        title=f"{words}; holds the guard for {guard.change}" if guard else words,
    )


def _client(m: Group0, number: int, client: ClientOperation, answer: str) -> Character:
    what = client.statement.text
    title = f"{client.text}: {answer}"
    asks = m.names[client.node] if answer == "running" else ""
    return Character(f"c{number + 1}", f"op:{number}", tag=answer, holds=(what,), title=title,
                     kind="client", asks=asks)  # fmt: skip


def _card(entry: EntryRow) -> Card:
    words = f"{entry.index} {entry.text}"
    effect = "" if entry.effective else " (no-op)"
    title = f"{entry.index}  {entry.text} by {entry.creator}{effect}"
    built = f"s{entry.previous}" if entry.previous else ""
    return Card(f"log:{entry.index}", words, entry.creator, void=not entry.effective, title=title,
                built=built, makes=f"s{entry.new}")  # fmt: skip


# -- group0_history beside the log -----------------------------------------------------------------


def timeuuid(state_id: int, places: int) -> str:
    """A state id as the TIMEUUID that it is: the ``places`` nodes take turns to make them."""
    return as_timeuuid(state_id, (state_id - 1) % places + 1 if state_id else 0)


def _built(previous: int | None) -> str:
    return "any state" if previous is None else f"state {previous}"


def _history(scene: Scene) -> Iterator[tuple[Frag, str, str, str, EntryRow]]:
    places = len(scene.model.names)
    for entry in reversed(scene.of(facts.entries)):
        new = h("span", str(entry.new), title=timeuuid(entry.new, places))
        built = "any state" if entry.previous is None else str(entry.previous)
        yield new, f"{entry.text} by {entry.creator}", built, _outcome(scene, entry), entry


def _outcome(scene: Scene, entry: EntryRow) -> str:
    model, state = scene.model, scene.state
    applied = [row.name for row in scene.of(facts.nodes) if row.applied >= entry.index]
    if not applied:
        return "not applied anywhere yet"
    if not entry.effective:
        return f"no-op on {', '.join(applied)}"
    kept = [n for n in applied if entry.new in model.tables(state, model.number(n)).history.rows]
    return f"row on {', '.join(kept)}" if kept else f"row expired on {', '.join(applied)}"


def _shown_as(scene: Scene) -> Frag:
    newest = scene.state.log[len(scene.state.log) - 1].new if len(scene.state.log) else 0
    shown = timeuuid(newest, len(scene.model.names))
    return h("p", f"State id {newest} corresponds to the TIMEUUID {shown}.", class_="soft")


# -- guards that are held: which of the eight steps is done, and what it found ---------------------


SILENT = "no answer: outcome unknown"
MARKS = {"done": "✓", "next": "▸", "pending": "·"}


def _steps(row: GuardRow) -> Iterator[tuple[int, str, str, str]]:
    done = len(row.results)
    for number, (name, result) in enumerate(zip_longest(STEPS, row.results, fillvalue=""), 1):
        state = "done" if number <= done else "next" if number == done + 1 else "pending"
        yield number, state, name, result


def _draw_guards(scene: Scene) -> Frag:
    rows = scene.of(facts.guards)
    if not rows:
        return h("p", "No node holds a guard.", class_="soft")
    return scroll("guards", [_guard(row) for row in rows])


def _guard(row: GuardRow) -> Frag:
    items = [
        h(
            "li",
            f"{MARKS[state]} {name}",
            h("b", f": {result}") if result else None,
            k=f"guard:{row.node}:{number}",
            class_=state,
            aria_label=f"step {number}, {state}: {name} {result}".rstrip(),
        )
        for number, state, name, result in _steps(row)
    ]
    done = f"{len(row.results)} of {len(STEPS)} steps done"
    return h(
        "div",
        h(
            "p",
            h("b", row.node),
            f" 🔒 {row.change}: {done}",
            f"; {SILENT}" if row.silent else None,
        ),
        h("ol", items, class_="steps"),
        k=f"guard:{row.node}",
    )


# -- members, voters, schema -----------------------------------------------------------------------


def _quorum(scene: Scene) -> str:
    up, count, needed = facts.quorum(scene.state)
    voters = f"{up} of {counted(count, 'voter')} up, {needed} {are(needed)} needed"
    return f"term {scene.state.term}; {voters}"


def _server(row: MemberRow) -> str:
    where = f"on shard {facts.SERVER_SHARD} of {row.shards}"
    return where if row.up else f"off; starts {where}"


def _shards(row: MemberRow) -> list[Frag]:
    signs = {facts.SERVER_SHARD: ("★", "has")} if row.up else {}
    return [
        h("span", f"{i}{sign} ", class_=look, title=f"shard {i}")
        for i in range(row.shards)
        for sign, look in [signs.get(i, ("·", "soft"))]
    ]


def _local(scene: Scene) -> Iterator[tuple[str, str, str]]:
    for node, name in enumerate(scene.model.names):
        schema = scene.model.tables(scene.state, node).schema
        keyspaces = ", ".join(each.name for each in schema.keyspaces) or "none"
        yield name, str(schema.version or "no row"), keyspaces


def _tables(scene: Scene) -> Iterator[tuple[str, ...]]:
    makers = {command.new: command.creator for command in scene.state.log}
    for node, name in enumerate(scene.model.names):
        for table in scene.model.tables(scene.state, node).schema.tables:
            maker, version = makers[table.version], str(table.version)
            made = "✓ computed here" if maker == name else f"given by {maker}"
            full = f"{table.keyspace}.{table.name}"
            yield name, full, ", ".join(table.columns), version, "true", made


def _requests(scene: Scene) -> Frag | None:
    requests = zip(scene.model.table_requests, scene.state.requests, strict=True)
    items = [
        h(
            "li",
            f"{request.text}: ",
            h("b", f"version {sent.version}" if sent.version else "no version yet"),
            f" {sent.stage}",
            k=f"request:{number}",
        )
        for number, (request, sent) in enumerate(requests)
    ]
    return h("ul", items, class_="asked") if items else None


# -- badges, and what is asked before a step is shown ----------------------------------------------


def _badges(scene: Scene) -> Badges:
    state, names = scene.state, scene.model.names
    up, _, needed = facts.quorum(state)
    wrong = [row.name for row in scene.of(facts.nodes) if row.deposed]
    yield "index", f"index {len(state.log)}", "plain"
    if state.up >> state.leader & 1:
        yield "leader", f"term {state.term}: {names[state.leader]} leads", ""
    else:
        yield "leader", f"! leader {names[state.leader]} is down", "alarm"
    yield "quorum", "" if up >= needed else "! no quorum", "alarm"
    yield "deposed", f"{', '.join(wrong)} deposed" if wrong else "", "busy"


def _status(scene: Scene) -> str:
    state = scene.state
    leader = scene.model.names[state.leader]
    return f"index {len(state.log)}, term {state.term} led by {leader}, {judged(scene)}"


EFFECT, NOTHING = "it takes effect on every node", "it does nothing on any node"


def question(scene: Scene) -> Question | None:
    """Ask at each commit whether the command will take effect; the history gives the answer."""
    if not isinstance(scene.action, CommitCommand):
        return None
    entry = scene.of(facts.entries)[-1]
    rows = [row.new for row in facts.entries(scene.model, scene.before) if row.effective]
    newest = rows[-1] if rows else 0
    built = _built(entry.previous)
    return Question(
        f"{entry.text} by {entry.creator}, built on {built}, is committed. What effect "
        "does it have?",
        (EFFECT, NOTHING),
        (EFFECT if entry.effective else NOTHING,),
        f"Before the command, the newest state was {newest}; the command was built on {built}.",
    )


VIEWS = Views(
    (
        status(_badges, wording=_status),
        stage_panel(
            "matrix",
            "Log of group 0",
            _stage,
            meanings={
                "6/8": "steps of its change that are done",
                "s1": "the newest state; a command fits only on the state that it was built on",
            },
        ),
        panel_of(
            "history",
            "group0_history",
            Table(
                _history,
                "history:{0[4].index}",
                ("state id", "description", "built on", "outcome"),
                caption="group0_history, newest first; a command without effect (no-op) leaves no "
                "row",
                kind=lambda row: None if row[4].effective else "no-op",
                most=30,
            ),
            Table(
                of_state(facts.guards),
                "held:{0.node}",
                (
                    Column("node", "node"),
                    Column("its change", "change"),
                    Column("step of 8", lambda row: f"{len(row.results)} {_at_work(row)}"),
                    Column("result", lambda row: row.results[-1]),
                ),
                caption="Changes in progress",
                of="{0.node}",
                empty="No node is working on a change.",
                lines=lambda scene: (),  # the tab of guards writes each step
            ),
            Drawn(
                _shown_as,
                lambda scene: () if len(scene.state.log) else ["nothing is committed yet"],
            ),
            still=True,
            tab="History",
        ),
        panel_of("guards", "Guards", Drawn(_draw_guards), tab="Guards"),
        panel_of(
            "configuration",
            "Configuration and voters",
            Note(_quorum, look=None),
            Table(
                of_state(facts.nodes),
                "member:{0.name}",
                (
                    Column("member", "name"),
                    Column("role", role),
                    Column("shards", _shards),
                    Column("server", _server),
                    Column("stored", "stored"),
                    Column("commit", "commit"),
                    Column("applied", "applied"),
                ),
                of="{0.name}",
            ),
            tab="Voters",
        ),
        panel_of(
            "schema",
            "Schema",
            Table(
                _local,
                "schema:{0[0]}",
                ("node", "value", "keyspaces"),
                caption="system.scylla_local, key group0_schema_version",
                of="{0[0]}",
            ),
            Table(
                _tables,
                "table:{0[0]}:{0[1]}",
                ("node", "table", "columns", "version", "committed_by_group0", "made"),
                caption="system_schema.scylla_tables",
                of="{0[0]}",
            ),
            Drawn(_requests),
            tab="Schema",
        ),
        LAMPS,
    ),
    question=question,
    evidence=("matrix", "history"),
    picture="matrix",
    table="history",
    badges="status",
)


# -- discovery: the peer graph as it grows, and each node's rows of it ----------------------------

MOST_NAMED = 6
"""Nodes up to which each disk names whom its node knows; above that they are counted."""


def _peers_stage(scene: Scene) -> Stage:
    m, nodes = scene.model, scene.state.nodes
    peers = tuple(_peer(scene, each, len(nodes)) for each in nodes)
    return Stage(m.names, peers, lines=1 if len(nodes) <= MOST_NAMED else 0)


def _peer(scene: Scene, peers: Peers, count: int) -> Character:
    waits, knows = ", ".join(peers.awaited), ", ".join(peers.known)
    own = ("no group", "lowest id" * (peers.name == min(scene.model.contact_points)))
    late = str(len(peers.awaited)) if peers.awaited[1:] else waits
    tag = f"waits for {late}" if waits else own[1] or own[0]
    if count > MOST_NAMED:
        tag = f"{len(peers.answered)} of {len(peers.known)}"
    return Character(
        peers.name,
        scene.model.spot(peers.name),
        "up" if peers.group else "joining",
        leads=peers.group == peers.name,
        tag=f"group {peers.group}" if peers.group else tag,
        holds=(Row("knows", peers.known),),
        title=f"{peers.name}: knows {knows}{f', waits for {waits}' * bool(waits)}; "
        f"{f'group {peers.group}' if peers.group else ', '.join(filter(None, own))}",
    )


def _peer_gates(scene: Scene) -> Iterator[Gate]:
    """Who knows of no lower Raft id may found a group, once all whom it knows have answered; of the
    others one may name a group.
    """
    for each in scene.state.nodes:
        if not each.group and not each.joining and each.known[1:]:
            leads = min(each.known) == each.name
            what = f"{each.name} can found a group" if leads else f"{each.name} finds a group"
            there = tuple(name for name in each.answered if name != each.name)
            count = len(there) + len(each.unanswered)
            thing = scene.model.spot(each.name)
            yield Gate(thing, what, "answered", there, each.unanswered, count)


def _warning(scene: Scene) -> str:
    if makes_one_group(scene.model.contact_points):
        return ""
    return "with these seeds, no node is reachable from every other: two groups can be founded"


def _groups(scene: Scene) -> str:
    return counted(len(groups(scene.state)), "group")


def _discovery_badges(scene: Scene) -> Badges:
    yield (
        "groups",
        _groups(scene) if groups(scene.state) else "no group yet",
        "alarm" if len(groups(scene.state)) > 1 else "",
    )
    yield "seeds", "! two groups can form" if _warning(scene) else "", "busy"


def _discovery_status(scene: Scene) -> str:
    return ", ".join(filter(None, (_groups(scene), _warning(scene), judged(scene))))


DISCOVERY_VIEWS = Views(
    (
        status(_discovery_badges, wording=_discovery_status),
        stage_panel(
            "peers",
            "Who knows whom",
            _peers_stage,
            gates=_peer_gates,
            meanings={
                "joining": "in no group yet",
                "crown": "founded a group",
            },
        ),
        MESSAGES,
        panel_of(
            "tables",
            "Tables of discovery",
            Note(
                lambda scene: f"! {_warning(scene)}" if _warning(scene) else "",
                key="warning",
                look="witness",
            ),
            Table(
                lambda scene: scene.state.nodes,
                "tables:{0.name}",
                (
                    Column("node", "name"),
                    Column("system.discovery", "known"),
                    Column("waits for", "awaited"),
                    Column("raft_group0_id", "group", none="no row"),
                    Column("next start", boot),
                ),
                of="{0.name}",
                line=table_line,
            ),
            tab="Tables",
            own=True,
        ),
        LAMPS,
    ),
    picture="peers",
    table="tables",
    badges="status",
)  # fmt: skip

# -- two nodes race for one state id, as a drawing: a lane for each of them, and the log between ---

LOG = "log"
DOES = {
    1: "takes its lock",
    2: "read barrier",
    3: "newest is {held.observed}",
    4: "makes {held.new}",
    5: "it makes sense",
    6: "submits {held.observed} → {held.new}",
}
"""What a node does in the steps of its guard."""


def graphs() -> Iterator[tuple[str, str]]:
    """Yield the drawing: (name, DOT text). Time runs down; what two nodes do alike is one row."""
    entry, scenario = scenario_of("group0/race")
    model: Any = build(entry.name, scenario.parameters)
    rows: list[dict[str, Cell]] = []
    last = 0
    for step in played_out(Timeline(model, scenario.script)).passed():
        for lane, kind, cell in _changed_cells(model, step):
            if kind != last or lane in rows[-1]:
                rows.append({})
            rows[-1][lane], last = cell, kind
    lanes = (model.names[0], LOG, model.names[1])
    drawn = ([row.get(lane, Cell()) for lane in lanes] for row in rows)
    yield "group0-race", table_source([[*map(Cell, lanes)], *drawn])


def _changed_cells(model: Group0, step: PassedStep) -> Iterator[tuple[str, int, Cell]]:
    before, after = step.before, step.after
    if len(after.log) > len(before.log):
        entry = facts.entries(model, after)[-1]
        fate, fill = ("takes effect", "added") if entry.effective else ("no-op", "removed")
        yield LOG, 0, Cell(f"{entry.previous} → {entry.new}: {fate}", fill=fill)
    for name, was, now in zip(model.names, before.guards, after.guards, strict=True):
        if was != now and not (now and now.step == APPLIED):
            yield name, now.step if now else len(DOES) + 1, _says(was, now, after.answers)


def _says(was: HeldGuard | None, now: HeldGuard | None, answers: tuple[str, ...]) -> Cell:
    if now and (was is None or now.step > was.step):
        return Cell(DOES[now.step].format(held=now), fill="plain")
    assert was is not None
    if now:
        return Cell(f"finds no {was.new}, starts again", fill="removed")
    why = f"finds {was.new}" if was.step == APPLIED else "no longer makes sense"
    return Cell(f"{why}: {answers[was.operation]}", fill="added")
