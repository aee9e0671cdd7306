"""A schema by gossip: nodes with their versions, what each has heard, what differs or was lost."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from kit.errors import counted
from kit.protocols.gossip.facts import moment as facts
from kit.protocols.gossip.facts.moment import ChangeRow, VersionRow, spot
from kit.views.declared import NONE, Badges, Column, Table, of_state, panel_of, status
from kit.views.fragment import Frag, h
from kit.views.messages import MESSAGES
from kit.views.node_boxes import NodeBox, ring_panel
from kit.views.panel import Scene
from kit.views.promises import LAMPS
from kit.views.registry import Views


def _split(scene: Scene) -> str:
    """The sides of a split network, in the middle of the nodes."""
    sides = scene.of(facts.split)
    return f"split: {sides}" if sides else ""


def _boxes(scene: Scene) -> Iterator[NodeBox]:
    """Each node with its version; one whose version is not the first node's is dashed."""
    rows = scene.of(facts.versions)
    for row in rows:
        tables = counted(row.tables, "table")
        title = f"{row.name}: version {row.version}, {tables}"
        lines = f"{row.name} · {row.version}", tables
        yield NodeBox(spot(row.name), row.name, lines, title, row.version != rows[0].version)


def _words(scene: Scene) -> Iterator[str]:
    yield from (box.title for box in _boxes(scene))
    yield from filter(None, [_split(scene)])


# -- versions, as each node says and hears them ----------------------------------------------------


def _heard(row: VersionRow) -> dict[str, str]:
    """What a node has heard of the others: whether it is its own version, how new that is."""
    return {
        each.endpoint: f"{'=' if each.version == row.version else '≠'} {each.version} "
        f"({each.digest})"
        for each in row.heard
    }


def _of(name: str, row: VersionRow) -> str:
    return row.version if name == row.name else _heard(row).get(name, "")


def _columns(scene: Scene) -> list[Column]:
    names = [row.name for row in scene.of(facts.versions)]
    return [
        Column("node", "name"),
        *(Column(name, partial(_of, name)) for name in names),
        Column("cells hashed", "cells"),
        Column("pulls", lambda row: row.pulls and f"← {', '.join(row.pulls)}"),
    ]


def _version(row: VersionRow) -> str:
    heard = ", ".join(f"{name} {words}" for name, words in _heard(row).items())
    pulls = f"; pulls from {', '.join(row.pulls)}" if row.pulls else ""
    return (
        f"{row.name}: version {row.version} of {counted(row.cells, 'cell')}; heard: {heard}{pulls}"
    )


# -- the schemas side by side, and what became of each change --------------------------------------


def _definitions(scene: Scene) -> Iterator[tuple[str, ...]]:
    """A row for each thing: whether nodes differ, its name, what each says that it is."""
    for row in scene.of(facts.schemas):
        yield ("≠" if row.differs else "=", row.name, *row.values)


def _names(scene: Scene) -> list[str]:
    return [node.name for node in scene.state.nodes]


def _nodes(scene: Scene) -> tuple[Column | str, ...]:
    return ("same", "what", *_names(scene))


def _schema_lines(scene: Scene) -> Iterator[str]:
    for sign, what, *values in _definitions(scene):
        pairs = zip(_names(scene), values, strict=True)
        yield f"{sign} {what}: {', '.join(f'{name} {value or NONE}' for name, value in pairs)}"


def state_of(row: ChangeRow) -> str:
    """What became of a change, in words."""
    if row.timestamp is None:
        return "not asked yet"
    if row.overwritten and not row.known:
        return "! lost: something newer took its place"
    if row.overwritten:
        return f"! overwritten on {', '.join(row.overwritten)}"
    return "done"


def _state(row: ChangeRow) -> str | Frag:
    words = state_of(row)
    return h("span", words, class_="witness") if row.overwritten else words


def _change(row: ChangeRow) -> str:
    makes = f" ({', '.join(row.defines)})" if row.defines else ""
    return f"{row.text}{makes}: {state_of(row)}"


def _badges(scene: Scene) -> Badges:
    """How many versions there are, whether the network is split, and how much was lost."""
    count = len({row.version for row in scene.of(facts.versions)})
    lost = sum(bool(row.overwritten) for row in scene.of(facts.changes))
    yield "versions", counted(count, "schema version"), "busy" if count > 1 else ""
    yield "split", _split(scene), "broken"
    yield "lost", f"! {counted(lost, 'change')} overwritten" if lost else "", "broken"


BADGES = status(_badges, "badges")
PICTURE = ring_panel("nodes", "Nodes and their versions", _boxes, _words, middle=_split)
VERSIONS = panel_of(
    "versions",
    "Versions, said and heard",
    Table(
        of_state(facts.versions),
        "version:{0.name}",
        _columns,
        caption="SCHEMA, as each node says and hears it",
        of="{0.name}",
        line=_version,
    ),
    still=True,
    tab="Versions",
)
SCHEMAS = panel_of(
    "schemas",
    "The schemas side by side",
    Table(
        _definitions,
        "defined:{0[1]}",
        _nodes,
        caption="The schema on each node (≠: they differ)",
        lines=_schema_lines,
        named=1,
    ),
    Table(
        of_state(facts.changes),
        "change:{0.text}",
        (
            Column("change", "text"),
            Column("timestamp", "timestamp"),
            Column("makes", "defines"),
            Column("known to", "known"),
            Column("state", _state),
        ),
        caption="What clients asked for",
        line=_change,
    ),
    tab="Schemas",
)
VIEWS = Views(
    (BADGES, PICTURE, VERSIONS, SCHEMAS, MESSAGES, LAMPS),
    evidence=("versions",),
    picture="nodes",
    table="versions",
    badges="badges",
)
