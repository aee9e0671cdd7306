"""Group 0: the log as lanes, its history, guards, members and voters, the schema on each node.

A state id is a small number in the model and a TIMEUUID for people: its time counts ticks of a
tenth of a microsecond, so that greater ids are later, and the node's bytes say who made it. Source:
RFC 9562, section 5.1 (version 1).
"""

from __future__ import annotations

from collections.abc import Iterator

from kit.errors import are, counted
from kit.protocols.group0.facts import moment as facts
from kit.protocols.group0.facts.moment import EntryRow, GuardRow, GuardStepRow
from kit.protocols.group0.panels.matrix import MATRIX, role
from kit.protocols.group0.raft import CommitCommand
from kit.views.declared import (
    Badges,
    Column,
    Drawn,
    Note,
    Table,
    of_state,
    panel_of,
    status,
    unsaid,
)
from kit.views.fragment import Frag, h
from kit.views.panel import Scene
from kit.views.parts import scroll
from kit.views.promises import LAMPS, judged
from kit.views.question import Question
from kit.views.registry import Views


def timeuuid(state_id: int, places: int) -> str:
    """``00000002-0000-1000-8000-000000000001``: id 2, made by the first of ``places`` nodes."""
    node = (state_id - 1) % places + 1 if state_id else 0
    low, mid, high = state_id & 0xFFFFFFFF, state_id >> 32 & 0xFFFF, state_id >> 48 & 0x0FFF
    return f"{low:08x}-{mid:04x}-1{high:03x}-8000-{node:012x}"


# -- group0_history beside the log -----------------------------------------------------------------


def _history(scene: Scene) -> Iterator[tuple[Frag, str, str, str, EntryRow]]:
    """Each entry of the log, newest first, with what became of it on which nodes."""
    places = len(scene.model.names)
    for entry in reversed(scene.of(facts.entries)):
        new = h("span", str(entry.new), title=timeuuid(entry.new, places))
        built = "any state" if entry.previous is None else str(entry.previous)
        yield new, f"{entry.text} of {entry.creator}", built, _outcome(scene, entry), entry


def _outcome(scene: Scene, entry: EntryRow) -> str:
    applied = [row.name for row in scene.of(facts.nodes) if row.applied >= entry.index]
    if not applied:
        return "applied by nobody yet"
    if not entry.effective:
        return f"no-op on {', '.join(applied)}"
    kept = [n for n in applied if entry.new in facts.history(scene.model, scene.state, n)]
    return f"row on {', '.join(kept)}" if kept else f"row expired on {', '.join(applied)}"


def _shown_as(scene: Scene) -> Frag:
    newest = scene.state.log[len(scene.state.log) - 1].new if len(scene.state.log) else 0
    shown = timeuuid(newest, len(scene.model.names))
    return h("p", f"A state id stands for a TIMEUUID: {newest} for {shown}.", class_="soft")


# -- guards that are held: which of the eight steps is done, and what it found ---------------------


MARKS = {"done": "✓", "next": "▸", "pending": "·"}


def _draw_guards(scene: Scene) -> Frag:
    """Draw the eight steps of each guard."""
    rows = scene.of(facts.guards)
    if not rows:
        return h("p", "No node holds a guard.", class_="soft")
    return scroll("guards", [_guard(row) for row in rows])


def _guard(row: GuardRow) -> Frag:
    done = sum(step.status == "done" for step in row.steps)
    return h(
        "div",
        h("p", h("b", row.node), f" 🔒 {row.change}: step {done} of {len(row.steps)} is done"),
        h("ol", [_step(row, step) for step in row.steps], class_="guard-steps"),
        k=f"guard:{row.node}",
    )


def _step(row: GuardRow, step: GuardStepRow) -> Frag:
    return h(
        "li",
        f"{MARKS[step.status]} {step.name}",
        h("b", f": {step.result}") if step.result else None,
        k=f"guard:{row.node}:{step.number}",
        class_=step.status,
        aria_label=f"step {step.number}, {step.status}: {step.name} {step.result}".rstrip(),
    )


def _guard_words(scene: Scene) -> Iterator[str]:
    """The steps of each guard on a line each."""
    rows = scene.of(facts.guards)
    if not rows:
        yield "no node holds a guard"
    for row in rows:
        yield f"{row.node}: {row.change}"
        for step in row.steps:
            result = f": {step.result}" if step.result else ""
            yield f"  {MARKS[step.status]} {step.number} {step.name}{result}"


# -- members, voters, schema -----------------------------------------------------------------------


def _quorum(scene: Scene) -> str:
    """The term, and how many voters a majority is."""
    up, count, needed = facts.quorum(scene.state)
    voters = f"{up} of {counted(count, 'voter')} up, {needed} {are(needed)} needed"
    return f"term {scene.state.term}; {voters}"


def _server(row: facts.MemberRow) -> str:
    """Where the member's server of the group runs (Raft in Scylla, "The group 0")."""
    return "on shard 0" if row.up else "off; comes up on shard 0"


def _local(scene: Scene) -> Iterator[tuple[str, str, str]]:
    """Node, value, keyspaces."""
    for name in scene.model.names:
        version = facts.schema_version(scene.model, scene.state, name)
        keyspaces = ", ".join(facts.keyspaces(scene.model, scene.state, name)) or "none"
        yield name, str(version) if version else "no row", keyspaces


def _tables(scene: Scene) -> Iterator[tuple[str, ...]]:
    for name in scene.model.names:
        for table in facts.schema_tables(scene.model, scene.state, name):
            columns = ", ".join(table.columns)
            maker = facts.computed_by(scene.state, table.version)
            made = "✓ computed here" if maker == name else f"given by {maker}"
            full = f"{table.keyspace}.{table.name}"
            yield name, full, columns, str(table.version), "true", made


def _schema_words(scene: Scene) -> Iterator[str]:
    for name, value, keyspaces in _local(scene):
        yield f"{name}: group0_schema_version {value}; keyspaces {keyspaces}"
        for node, table, columns, version, by, made in _tables(scene):
            if node == name:
                yield (f"  {table} ({columns}) version {version}, committed_by_group0 {by}, {made}")
    for row in scene.of(facts.requests):
        yield f"{row.text}: {_tag(row)}, {row.stage}"


def _requests(scene: Scene) -> Frag | None:
    rows = scene.of(facts.requests)
    items = [
        h("li", f"{row.text}: ", h("b", _tag(row)), f" {row.stage}", k=f"request:{row.number}")
        for row in rows
    ]
    return h("ul", items, class_="asked") if rows else None


def _tag(row: facts.RequestVersion) -> str:
    return f"version {row.version}" if row.version else "no version yet"


# -- badges, and what is asked before a step is shown ----------------------------------------------


def _badges(scene: Scene) -> Badges:
    """The log's length, term and leader, quorum, who is wrong about leading."""
    state, names = scene.state, scene.model.names
    up, _, needed = facts.quorum(state)
    wrong = [row.name for row in scene.of(facts.nodes) if row.deposed]
    yield "index", f"index {len(state.log)}", "plain"
    if state.up >> state.leader & 1:
        yield "leader", f"term {state.term}: {names[state.leader]} leads", ""
    else:
        yield "leader", f"! {names[state.leader]} led, and is down", "broken"
    yield "quorum", *(("✓ quorum", "") if up >= needed else ("! no quorum", "broken"))
    yield "deposed", f"… {', '.join(wrong)} deposed" if wrong else "", "busy"


def _status(scene: Scene) -> str:
    state = scene.state
    leader = scene.model.names[state.leader]
    return f"index {len(state.log)}, term {state.term} of {leader}, {judged(scene)}"


EFFECT, NOTHING = "it takes effect on every node", "it does nothing on any node"


def question(scene: Scene) -> Question | None:
    """Ask at each commit whether the command will take effect; the history gives the answer."""
    if not isinstance(scene.action, CommitCommand):
        return None
    entry = facts.entries(scene.model, scene.state)[-1]
    rows = [row.new for row in facts.entries(scene.model, scene.before) if row.effective]
    newest = rows[-1] if rows else 0
    built = "any state" if entry.previous is None else f"state {entry.previous}"
    return Question(
        f"{entry.text} of {entry.creator}, built on {built}, is committed. What becomes of it?",
        (EFFECT, NOTHING),
        (EFFECT if entry.effective else NOTHING,),
        f"The newest state before it is {newest}; it was built on {built}.",
    )


VIEWS = Views(
    (
        status(_badges, wording=_status),
        MATRIX,
        panel_of(
            "history",
            "group0_history",
            Table(
                _history,
                "history:{0[4].index}",
                ("state id", "description", "built on", "outcome"),
                caption="group0_history, newest first; a command without effect (no-op) leaves no "
                "row",
                line=lambda row: f"{row[4].new}  {row[1]}, built on {row[2]}: {row[3]}",
                kind=lambda row: None if row[4].effective else "no-op",
                most=30,
            ),
            Drawn(
                _shown_as,
                lambda scene: () if len(scene.state.log) else ["nothing is committed yet"],
            ),
            still=True,
            tab="History",
        ),
        panel_of("guards", "Guards", Drawn(_draw_guards, _guard_words), tab="Guards"),
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
                    Column("server", _server),
                    Column("stored", "stored"),
                    Column("commit", "commit"),
                    Column("applied", "applied"),
                ),
                of="{0.name}",
                line=lambda row: f"{row.name}: {role(row)}; {_server(row)}",
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
                lines=_schema_words,
            ),
            Table(
                _tables,
                "table:{0[0]}:{0[1]}",
                ("node", "table", "columns", "version", "committed_by_group0", "made"),
                caption="system_schema.scylla_tables",
                of="{0[0]}",
                lines=unsaid,
            ),
            Drawn(_requests, unsaid),
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
