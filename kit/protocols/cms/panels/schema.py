"""How a schema in the log, or by gossip, is drawn: nodes, what each knows, what clients asked."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from kit.errors import counted
from kit.protocols.cms.schema import JOINER, Schema, SchemaNode, SchemaState
from kit.protocols.gossip.rules import (
    BOOT,
    NORMAL,
    definitions,
    schema_of,
    titled,
    version_of,
)
from kit.views.declared import NONE, Badges, Column, Table, of_state, panel_of, status
from kit.views.panel import Scene
from kit.views.promises import LAMPS
from kit.views.registry import Views
from kit.views.stage import Character, Health, Message, Stage, Wall, stage_panel
from kit.views.tape import Card, Reach

PHASES = {
    "out": "not there",
    "asked": "asked a seed",
    "boot": "joins",
    "streamed": "has streamed",
    "member": "member",
}


class KnownRow(Struct, frozen=True):
    """A node: how far it is, what it has applied, whom it writes to, its list of the CMS.

    ``missing`` are acknowledged writes that a joiner does not have.
    """

    name: str
    phase: str
    applied: str
    owners: tuple[str, ...]
    joining: tuple[str, ...]
    members: tuple[str, ...]
    holds: tuple[int, ...]
    missing: int


class ChangeRow(Struct, frozen=True):
    """What a client asked for, and what became of it."""

    text: str
    became: str


class GossipRow(Struct, frozen=True):
    """What a node says of an endpoint when asked for gossipinfo, as a line for each state."""

    node: str
    endpoint: str
    generation: int
    states: tuple[str, ...]


# -- facts -----------------------------------------------------------------------------------------


def is_there(node: SchemaNode) -> bool:
    """Whether a node has begun to show itself."""
    return node.phase not in ("out", "asked")


def applied(m: Schema, node: SchemaNode) -> str:
    """How far a node is: its epoch, or by gossip the version of its schema."""
    if m.ordered:
        return f"epoch {node.epoch}" if node.epoch else "no epoch"
    return version_of(node.cells)


def known(m: Schema, s: SchemaState) -> tuple[KnownRow, ...]:
    """A row for each node."""
    return tuple(
        KnownRow(
            node.name,
            PHASES[node.phase] if node.is_up else node.health,
            applied(m, node),
            m.status(s, node, NORMAL),
            m.status(s, node, BOOT),
            node.members if m.ordered else (),
            tuple(at + 1 for at in range(len(s.written)) if node.data >> at & 1),
            m.missing(s).bit_count() if node.name == JOINER and is_there(node) else 0,
        )
        for node in s.nodes
    )


def schemas(m: Schema, s: SchemaState) -> tuple[tuple[str, ...], ...]:
    """Each definition that some node has: whether they differ, its name, what each node says."""
    each = [definitions(node.cells) for node in s.nodes]
    names = sorted({name for one in each for name in one}, key=lambda name: name.split()[1])
    rows = ((name, [one.get(name, "") for one in each]) for name in names)
    return tuple(("≠" if len(set(said)) > 1 else "=", name, *said) for name, said in rows)


def changes(m: Schema, s: SchemaState) -> tuple[ChangeRow, ...]:
    """What clients asked for, and what became of it."""
    lost = dict(s.rejected)
    epochs = {entry.event: entry.epoch for entry in s.log}
    rows = []
    for number, planned in enumerate(m.planned):
        became = "not asked yet"
        if number in s.sent:
            became = "on its way to the CMS"
        elif number in lost:
            became = f"! rejected: lost to epoch {lost[number]}"
        elif number in s.done:
            became = f"✓ epoch {epochs[planned.text]}" if m.ordered else "✓ done, says its node"
        rows.append(ChangeRow(planned.text, became))
    return tuple(rows)


def gossip(m: Schema, s: SchemaState) -> tuple[GossipRow, ...]:
    """What each node answers to gossipinfo; who is down answers nothing."""
    return tuple(
        GossipRow(
            node.name,
            each.endpoint,
            each.generation,
            tuple(f"{state.name}:{state.version}:{state.value}" for state in each.states),
        )
        for node in s.nodes
        if node.is_up
        for each in node.view
    )


# -- the picture -----------------------------------------------------------------------------------


def _stage(scene: Scene) -> Stage:
    m, s = scene.model, scene.state
    rows = zip(s.nodes, scene.of(known), strict=True)
    cast = tuple(_character(m, s, *row) for row in rows if row[0].phase != "out")
    sent = tuple(
        Message(
            m.names[m.planned[number].node], "log", m.planned[number].change.text, f"sent:{number}"
        )
        for number in s.sent
    )
    return Stage(
        m.names,
        cast,
        tuple(map(_client, range(len(m.planned)), scene.of(changes))),
        tape=tuple(_cards(m, s)) if m.ordered else None,
        messages=sent,
        walls=(Wall((s.cut,), beyond=JOINER),) if s.cut else (),
        lines=3,
    )


def _cards(m: Schema, s: SchemaState) -> Iterator[Card]:
    """A card for each epoch, and which nodes have applied it."""
    for entry in s.log:
        reach: dict[bool, Reach] = {True: "applied", False: ""}
        marks = tuple(
            (n.name, f"at:{n.name}:{entry.epoch}", reach[n.epoch >= entry.epoch])
            for n in s.nodes
            if n.phase != "out"
        )
        said = f"epoch {entry.epoch}: {entry.event}, asked by {entry.id}"
        yield Card(f"log:{entry.epoch}", f"{entry.epoch} {entry.event}", marks, title=said)


def _character(m: Schema, s: SchemaState, node: SchemaNode, row: KnownRow) -> Character:
    """A node with its epoch or version, what is in its schema, whom it writes to."""
    schema = schema_of(node.cells)
    names = ", ".join(titled(*each).rpartition(".")[2] for each in schema.named) or "no table"
    broken = tuple(f"! {orphan}" for orphan in schema.orphans)
    holds = f"write {', '.join(map(str, row.holds))}" if row.holds else "no write"
    owners = [f"writes to {' '.join((*row.owners, *row.joining))}"] * node.serves
    lacks = [f"! {counted(row.missing, 'write')} missing"] * bool(row.missing)
    health: Health = "up" if node.phase == "member" else "joining"
    if not node.is_up:
        health = "joining" if node.health == "back" else "down"
    wait = {"back": "has to check", "failed": "! cannot start"}
    return Character(
        row.name,
        m.spot(row.name),
        health,
        leads=m.ordered and row.name in m.metadata(s, m.newest(s)).members,
        tag=wait.get(node.health, row.applied),
        holds=(*broken[:1], names, *(lacks or owners))[:3],
        fill=len(row.holds) / len(s.written) if s.written else None,
        title=f"{row.name}: {row.phase}, {row.applied}; schema: {names}; {holds}"
        + "".join(f"; {each}" for each in (*broken, *lacks)),
    )


def _client(number: int, row: ChangeRow) -> Character:
    name = f"c{number + 1}"
    tag = "waits"
    if row.became != "not asked yet":
        tag = "! rejected" if row.became.startswith("!") else row.became.split(",")[0]
    title = f"{row.text}: {row.became}"
    return Character(name, name, tag=tag, holds=(row.text,), title=title, kind="client")


def _badges(scene: Scene) -> Badges:
    m, s = scene.model, scene.state
    yield "world", "ordered by the log" if m.ordered else "by gossip", ""
    if m.ordered:
        yield "epoch", f"epoch {m.newest(s)}", ""
    else:
        count = len({version_of(node.cells) for node in s.nodes if is_there(node)})
        yield "versions", counted(count, "schema version"), "busy" if count > 1 else ""
    rejected = len(s.rejected)
    yield "rejected", f"{counted(rejected, 'change')} rejected" if rejected else "", "busy"
    missing = sum(row.missing for row in scene.of(known))
    yield "missing", f"! {JOINER} misses {counted(missing, 'write')}" if missing else "", "broken"


def _known(row: KnownRow) -> str:
    members = f"; its CMS: {', '.join(row.members)}" if row.members else ""
    joins = f" and {', '.join(row.joining)}, who joins" if row.joining else ""
    lacks = f"; {counted(row.missing, 'write')} missing" if row.missing else ""
    owners = f"writes to {', '.join(row.owners) or NONE}{joins}"
    return f"{row.name}: {row.phase}, {row.applied}; {owners}{members}{lacks}"


def _gossipinfo(row: GossipRow) -> str:
    return f"{row.node} says of /{row.endpoint}: generation:{row.generation} {' '.join(row.states)}"


def schemas_shown(m: Schema, s: SchemaState) -> str:
    """What each node says of each definition."""
    lines = []
    for sign, what, *said in schemas(m, s):
        words = (f"{n.name} {word or NONE}" for n, word in zip(s.nodes, said, strict=True))
        lines.append(f"{sign} {what}: {', '.join(words)}")
    return "\n".join(lines)


VIEWS = Views(
    (
        status(_badges, "badges"),
        stage_panel(
            "nodes",
            "Nodes and their schemas",
            _stage,
            gates=None,
            meanings={
                "below a node": "the epoch that it has applied, or the version of its schema",
                "on a disk": "what is in its schema, whom it writes to",
                "crown": "a member of the CMS",
            },
        ),
        panel_of(
            "schemas",
            "The schemas side by side",
            Table(
                of_state(schemas),
                "defined:{0[1]}",
                lambda scene: ("same", "what", *scene.model.names),
                caption="The schema on each node (≠: they differ)",
                lines=lambda scene: schemas_shown(scene.model, scene.state).splitlines(),
                named=1,
            ),
            Table(
                of_state(changes),
                "change:{0.text}",
                (Column("change", "text"), Column("became", "became")),
                caption="What clients asked for",
                line="{0.text}: {0.became}",
            ),
            tab="Schemas",
            still=True,
        ),
        panel_of(
            "known",
            "What each node knows",
            Table(
                of_state(known),
                "known:{0.name}",
                (
                    Column("node", "name"),
                    Column("state", "phase"),
                    Column("applied", "applied"),
                    Column("writes to", "owners"),
                    Column("who joins", "joining"),
                    Column("CMS on its disk", "members"),
                    Column("holds writes", lambda row: ", ".join(map(str, row.holds))),
                    Column("missing writes", lambda row: str(row.missing or "")),
                ),
                caption="What each node knows, and whom it would write to",
                of="{0.name}",
                line=_known,
            ),
            tab="Nodes",
        ),
        panel_of(
            "gossip",
            "nodetool gossipinfo",
            Table(
                of_state(gossip),
                "gossip:{0.node}:{0.endpoint}",
                (
                    Column("node", "node"),
                    Column("endpoint", lambda row: f"/{row.endpoint}"),
                    Column("generation", "generation"),
                    Column("states", lambda row: " ".join(row.states)),
                ),
                caption="What each node says of all endpoints: state, version, value",
                line=_gossipinfo,
            ),
            tab="Gossip",
        ),
        LAMPS,
    ),
    evidence=("schemas",),
    picture="nodes",
    table="schemas",
    badges="badges",
    wide=True,
)


# -- what scenario files show ----------------------------------------------------------------------


def _gossipinfo_of(m: Schema, s: SchemaState, node: str) -> str:
    """The states that a node has, as ``nodetool gossipinfo`` prints them."""
    lines = []
    for row in gossip(m, s):
        if row.node == (node or m.names[0]):
            lines += [f"/{row.endpoint}", f"  generation:{row.generation}"]
            lines += [f"  {state}" for state in row.states]
    return "\n".join(lines) or "it does not answer"


OUTPUT = {
    "schemas": lambda m, s, _: schemas_shown(m, s),
    "changes": lambda m, s, _: "\n".join(f"{row.text}: {row.became}" for row in changes(m, s)),
    "nodes": lambda m, s, _: "\n".join(map(_known, known(m, s))),
    "gossipinfo": _gossipinfo_of,
}
