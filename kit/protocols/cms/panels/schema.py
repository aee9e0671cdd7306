"""How a schema in the log, or by gossip, is drawn: nodes, what each knows, what clients asked."""

from __future__ import annotations

from collections.abc import Iterator

from kit.errors import counted
from kit.protocols.cms.facts import schema as facts
from kit.protocols.cms.facts.schema import ChangeRow, KnownRow
from kit.protocols.cms.schema import JOINER, Schema, SchemaNode, SchemaState
from kit.protocols.gossip.panels import SIDE_BY_SIDE
from kit.protocols.gossip.rules import schema_of, titled, version_of
from kit.views.busts import Health
from kit.views.declared import Badges, Column, Table, of_state, panel_of
from kit.views.fragment import Frag, h
from kit.views.panel import Scene
from kit.views.registry import staged
from kit.views.stage import Character, Message, Stage, Tile, Wall, stage_panel
from kit.views.tape import Card

# -- the picture -----------------------------------------------------------------------------------


def _stage(scene: Scene) -> Stage:
    m, s = scene.model, scene.state
    rows = zip(s.nodes, scene.of(facts.known_rows), strict=True)
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
        tuple(_client(scene, *each) for each in enumerate(scene.of(facts.changes))),
        tape=tuple(_cards(m, s)) if m.ordered else None,
        messages=sent,
        walls=(Wall((s.cut,), beyond=JOINER),) if s.cut else (),
        lines=5,
        bodies=(("CMS", m.metadata(s, m.newest(s)).members),) if m.ordered else (),
    )


def _cards(m: Schema, s: SchemaState) -> Iterator[Card]:
    for entry in s.log:
        said = f"epoch {entry.epoch}: {entry.event}, asked by {entry.id}"
        yield Card(f"log:{entry.epoch}", f"{entry.epoch} {entry.event}", entry.id, title=said)


def _character(m: Schema, s: SchemaState, node: SchemaNode, row: KnownRow) -> Character:
    schema = schema_of(node.cells)
    called = [titled(*each).rpartition(".")[2] for each in schema.named]
    names = ", ".join(called) or "no table"
    makers = {x.change.table: m.names[x.node] for x in m.planned if x.change.verb == "create"}
    made = [Tile(each, makers.get(each, "")) for each in called[:2]]
    broken = tuple(f"! {orphan}" for orphan in schema.orphans)
    holds = f"write {', '.join(map(str, row.holds))}" if row.holds else "no write"
    more = "".join(f" + {name}" for name in row.joining)
    is_told = node.serves and (JOINER in m.names or not m.ordered)
    owners = [f"writes to {' '.join(row.owners)}{more}"] * is_told
    stored = [f"knew CMS {' '.join(row.members)}"] * (node.health == "back")
    lacks = [f"! {counted(row.missing, 'write')} missing"] * bool(row.missing)
    health: Health = "up" if node.phase == "member" else "joining"
    if not node.is_up:
        health = "down"
    return Character(
        row.name,
        m.spot(row.name),
        health,
        tag="! cannot start" if node.health == "failed" else row.applied,
        holds=(*broken[:1], *made, *(stored or lacks or owners)),
        stored=holds * bool(row.holds),
        title=f"{row.name}: {row.phase}, {row.applied}; schema: {names}; {holds}"
        + "".join(f"; {each}" for each in (*broken, *lacks)),
    )


def _client(scene: Scene, number: int, row: ChangeRow) -> Character:
    name, m = f"c{number + 1}", scene.model
    asks = m.names[m.planned[number].node] if number in scene.state.sent else ""
    tag = row.became.replace("! rejected: ", "! ").removesuffix(" to the CMS").split(",")[0]
    title = f"{row.text}: {row.became}"
    return Character(name, name, tag=tag, holds=(row.text,), title=title, kind="client", asks=asks)


def _became(row: ChangeRow) -> str | Frag:
    look = {"!": "badge busy", "✓": "badge"}.get(row.became[0])
    return h("span", row.became, class_=look) if look else row.became


def _badges(scene: Scene) -> Badges:
    m, s = scene.model, scene.state
    if m.ordered:
        yield "epoch", f"epoch {m.newest(s)}", "plain"
    else:
        count = len({version_of(node.cells) for node in s.nodes if node.is_there})
        yield "versions", f"{counted(count, 'version')} of the schema", "busy" if count > 1 else ""
    rejected = len(s.rejected)
    yield "rejected", f"{counted(rejected, 'change')} rejected" if rejected else "", "busy"
    missing = sum(row.missing for row in scene.of(facts.known_rows))
    yield "missing", f"! {JOINER} lacks {counted(missing, 'write')}" if missing else "", "alarm"


VIEWS = staged(
    _badges,
    stage_panel(
        "nodes",
        "Nodes and their schemas",
        _stage,
        gates=None,
        meanings={"body": "the members of the CMS"},
    ),
    panel_of(
        "schemas",
        "The schemas side by side",
        SIDE_BY_SIDE,
        Table(
            of_state(facts.changes),
            "change:{0.text}",
            ("change", Column("outcome", _became)),
            caption="What clients asked for",
            empty="No client has asked for a change yet.",
        ),
        tab="Schemas",
        still=True,
    ),
    panel_of(
        "known",
        "What each node knows",
        Table(
            of_state(facts.known_rows),
            "known:{0.name}",
            (
                *("node", "state", "applied", "writes to", "joins", "CMS", "holds"),
                Column("lacks", lambda row: row.missing or None),
            ),
            caption="What each node knows, and which nodes it would write to",
            of="{0.name}",
            line=facts.known_line,
        ),
        tab="Nodes",
    ),
    panel_of(
        "gossip",
        "nodetool gossipinfo",
        Table(
            of_state(facts.gossip),
            "gossip:{0[0]}:{0[1].endpoint}",
            (
                "node",
                Column("endpoint", lambda row: f"/{row[1].endpoint}"),
                Column("generation", lambda row: row[1].generation),
                Column("states", lambda row: " ".join(facts.states_of(row[1]))),
            ),
            caption="What each node says about every endpoint: state, version, value",
        ),
        tab="Gossip",
    ),
)
