"""How a schema by gossip, and an operation by gossip, are drawn: nodes, what each of them knows."""

from collections.abc import Container, Iterator
from functools import partial

from msgspec.structs import replace

from kit.errors import counted
from kit.protocols.gossip import facts
from kit.protocols.gossip.facts import ChangeRow, VersionRow, ViewRow
from kit.protocols.gossip.gossip_join import JOINING
from kit.protocols.gossip.rules import SCHEMA, endpoint_of
from kit.views.busts import Health
from kit.views.declared import Badges, Column, Table, of_state, panel_of
from kit.views.fragment import Frag, h
from kit.views.gate import Gate
from kit.views.panel import Scene
from kit.views.registry import staged
from kit.views.spacetime import MESSAGES
from kit.views.stage import Character, Row, Stage, Tile, Wall, stage_panel

# -- a schema: versions, as each node says and hears them ------------------------------------------


def _version_stage(scene: Scene) -> Stage:
    rows, short = scene.of(facts.versions), scene.of(facts.short_versions)
    return Stage(
        scene.model.names,
        tuple(_versioned(scene, row, short) for row in rows),
        tuple(map(_client, range(len(scene.model.planned)), scene.of(facts.changes))),
        lines=3,
    )


def _versioned(scene: Scene, row: VersionRow, short: dict[str, str]) -> Character:
    planned, changes = scene.model.planned, scene.of(facts.changes)
    made = [
        Tile(each.text.partition(" at ")[0].rpartition(" ")[2], scene.model.names[of.node])
        for of, each in zip(planned, changes, strict=True)
        if row.name in each.known
    ]
    tables = counted(row.tables, "table")
    said = sorted(
        ((each.says(SCHEMA), each.endpoint) for each in row.heard),
        key=lambda each: each[0] == row.version,
    )
    heard = (f"heard: {of} has {short.get(version, version)}" for version, of in said)
    name = short[row.version]
    return Character(
        row.name,
        scene.model.spot(row.name),
        tag=f"{name}: {row.version}" if name != row.version else name,
        holds=(*made[:2], *heard),
        title=f"{row.name}: version {row.version}, {tables}",
    )


def _client(number: int, row: ChangeRow) -> Character:
    tag = "not requested" if row.timestamp is None else "! replaced" if row.overwritten else "done"
    name, title = f"c{number + 1}", f"{row.text}: {state_of(row)}"
    return Character(name, name, tag=tag, holds=(row.text,), title=title, kind="client")


def _of(name: str, row: VersionRow) -> str:
    """The version of a node, its own; or as it has heard of it: whether it has that one, too, and
    how new that is. No short names: no node knows how many changes there are.
    """
    if name == row.name:
        return row.version
    each = endpoint_of(row.heard, name)
    said = each.says(SCHEMA)
    return f"{'≠='[said == row.version]} {said} ({each.generation}:{each.version})"


def state_of(row: ChangeRow) -> str:
    """The outcome of a change, in words."""
    if row.timestamp is None:
        return "not requested yet"
    if not row.newer:
        return "done"
    nodes = f"something newer on {', '.join(row.newer)}"
    return f"! {nodes if row.known else 'lost: something newer took its place'}"


def _state(row: ChangeRow) -> str | Frag:
    words = state_of(row)
    return h("span", words, class_="witness") if row.newer else words


def _badges(scene: Scene) -> Badges:
    count = len({row.version for row in scene.of(facts.versions)})
    lost = sum(row.overwritten for row in scene.of(facts.changes))
    yield "versions", f"{counted(count, 'version')} of the schema", "busy" if count > 1 else ""
    apart = scene.model.carrier.apart(scene.state.network)
    sides = f"partition: {scene.model.carrier.sides(apart)}" if apart else ""
    yield "split", sides, "alarm"
    yield "lost", f"! {counted(lost, 'change')} overwritten" if lost else "", "alarm"


SIDE_BY_SIDE = Table(
    of_state(facts.schemas),
    "defined:{0[1]}",
    lambda scene: ("same", "definition", *scene.model.names),
    caption="The schema on each node (≠: nodes differ)",
    lines=lambda scene: facts.schemas_shown(scene.model, scene.state).splitlines(),
    named=1,
)
VIEWS = staged(
    _badges,
    stage_panel(
        "nodes",
        "Nodes and their versions",
        _version_stage,
        gates=None,
        meanings={"v1": "the schema version with change 1"},
    ),
    panel_of(
        "versions",
        "Versions: own and heard",
        Table(
            of_state(facts.versions),
            "version:{0.name}",
            lambda scene: [
                Column("node", "name"),
                *(Column(name, partial(_of, name)) for name in scene.model.names),
                Column("cells", "cells"),
                Column("pulls", lambda row: row.pulls and f"← {', '.join(row.pulls)}"),
            ],
            caption="Versions that each node has or has heard of",
            of="{0.name}",
        ),
        still=True,
        tab="Versions",
        own=True,
        marks="=: that node has the same schema version, as far as this one has heard "
        "· ≠: another version · (1:2): heard from generation 1, version 2 of that node's state",
    ),
    panel_of(
        "schemas",
        "The schemas side by side",
        SIDE_BY_SIDE,
        Table(
            of_state(facts.changes),
            "change:{0.text}",
            (
                "change",
                "timestamp",
                "defines",
                Column("known to", "known"),
                Column("state", _state),
            ),
            caption="The changes that clients request",
        ),
        tab="Schemas",
    ),
    MESSAGES,
)

# -- an operation: how far each node is, what it holds, whom it would ask --------------------------

PHASES = {"shadow": "shadow round", "boot": "BOOT"}
HEALTH: dict[str, Health] = dict.fromkeys(JOINING, "joining")
HEALTH["down"] = "down"


def _ring(scene: Scene) -> Stage:
    m, s = scene.model, scene.state
    rows = scene.of(facts.views)
    reads = {name for row in rows for name in row.reads}
    writes = reads.union(name for row in rows for name in row.pending)
    has = {m.taker(s, at) for at, node in enumerate(s.nodes) if node.drives == "restored"} | reads
    cast = (_of_ring(scene, row, has) for row in rows if row.phase != "out")
    return Stage(
        m.names,
        tuple(replace(x, written=x.name in writes - reads) for x in cast),
        walls=(Wall((s.cut_off,), ends="reconnect"),) if s.cut_off else (),
        lines=3,
    )


def _of_ring(scene: Scene, row: ViewRow, keepers: Container[str]) -> Character:
    m = scene.model
    has = row.name in keepers or row.phase == "streamed"
    holds = f"write{'s' * (len(row.holds) > 1)} {', '.join(map(str, row.holds))}"
    holds = holds if row.holds else "has the data" if has else "no data"
    news = zip(m.changing, row.says, strict=True)
    heard = (f"heard: {name} {said.split()[0]}" for name, said in news if said)  # no generation
    phase = PHASES.get(row.phase, row.phase)
    return Character(
        row.name,
        m.spot(row.name),
        HEALTH.get(row.phase, "up"),
        tag=phase,
        holds=(*[holds] * (has or bool(row.holds)), *_questions(row), *heard),
        title=f"{row.name}: {phase}, {holds}{', cut off' if row.cut_off else ''}",
    )


def _questions(row: ViewRow) -> Iterator[Row]:
    """Whom a node reads from and writes to, by its own table."""
    if row.reads:
        yield Row("reads", row.reads)
        yield Row("writes", (*row.reads, *row.pending), hatched=row.pending)


def gates(scene: Scene) -> Iterator[Gate]:
    """RING_DELAY: all shall have heard what is said of who joins or goes."""
    for endpoint, said, there, missing in facts.news(scene.model, scene.state):
        count = len(there) + len(missing)
        yield Gate(scene.model.spot(endpoint), said, "heard it", there, missing, count)


def _view_columns(scene: Scene) -> list[Column]:
    changing = enumerate(scene.model.changing)
    return [
        Column("node", "name"),
        *(Column(f"heard of {name}", f"{{0.says[{at}]}}".format) for at, name in changing),
        Column("reads from", "reads"),
        Column("also writes to", "pending"),
    ]


def _join_badges(scene: Scene) -> Badges:
    news, state = facts.news(scene.model, scene.state), scene.state
    behind = sum(len(missing) for *_, missing in news)
    yield "heard", f"yet to hear: {behind}" if behind else "all have heard", "busy" * bool(behind)
    yield "cut", f"{state.cut_off} is cut off" if state.cut_off else "", "alarm"
    acked = state.acknowledged.bit_count()
    yield "streams", counted(state.streams, "stream") if state.streams else "", ""
    yield "writes", f"{counted(acked, 'write')} acknowledged" if acked else "", ""


JOIN_VIEWS = staged(
    _join_badges,
    stage_panel(
        "ring",
        "Nodes of the ring",
        _ring,
        gates=gates,
        meanings={"reads": "whom it asks by its own table; so with writes"},
    ),
    panel_of(
        "views",
        "What each node knows",
        Table(
            of_state(facts.views),
            "view:{0.name}",
            _view_columns,
            caption="What each node knows (status, generation)",
            of="{0.name}",
        ),
        still=True,
        tab="Views",
    ),
)
