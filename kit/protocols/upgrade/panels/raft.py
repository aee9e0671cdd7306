"""The Raft upgrade: nodes, their five phases, the tables that tell of it, what to do when stuck."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from kit.protocols.upgrade import facts
from kit.protocols.upgrade.facts import ChangeAnswer, SchemaVersionRow, UpgradingRow
from kit.protocols.upgrade.raft_upgrade import LOG, PHASES
from kit.protocols.upgrade.rules import KEY, StuckQuestion, diagnosis, next_step
from kit.views.actions import mark
from kit.views.declared import (
    NONE,
    Badges,
    Column,
    Drawn,
    Table,
    of_state,
    panel_of,
    status,
    unsaid,
)
from kit.views.fragment import Frag, h
from kit.views.logs import log_panel
from kit.views.node_boxes import NodeBox, Places, ring_panel
from kit.views.panel import Scene
from kit.views.parts import act_button, bulb, lamp
from kit.views.promises import LAMPS
from kit.views.registry import Views

QUERY_TEXT = f"SELECT * FROM system.scylla_local WHERE key = '{KEY}'"
NOBODY_WAITS = "No node waits for another one."
SIGNS = {"✓": "done", "…": "under way", NONE: "not begun"}


# -- the picture -----------------------------------------------------------------------------------


def _boxes(scene: Scene) -> Iterator[NodeBox]:
    """Each node with state, version and group."""
    for row in scene.of(facts.nodes):
        title, is_off = f"{row.name}: {row.status}", row.status in ("down", "lost")
        yield NodeBox(f"node:{row.name}", row.name, _lines(row), title, is_off)


def _lines(row: UpgradingRow) -> tuple[str, str, str]:
    """What stands in a node's box."""
    group = f"group 0 id {row.group}" if row.group else "no group 0"
    return f"{row.name} · {row.version} · option {row.option}", row.state, f"{group} · {row.status}"


def _links(scene: Scene, places: Places) -> list[Frag]:
    """A pair that is cut has a dashed line."""
    names = scene.model.names
    return [_link(places[names[i]], places[names[j]]) for i, j in scene.state.cut]


def _link(first: tuple[float, float], second: tuple[float, float]) -> Frag:
    (x1, y1), (x2, y2) = first, second
    return h(
        "g",
        h("path", d=f"M{x1:.0f} {y1:.0f}L{x2:.0f} {y2:.0f}", class_="box dashed"),
        h("text", "✗", x=(x1 + x2) / 2, y=(y1 + y2) / 2, text_anchor="middle", class_="on"),
    )


def _words(scene: Scene) -> Iterator[str]:
    yield from (", ".join(_lines(row)) for row in scene.of(facts.nodes))
    names = scene.model.names
    yield from (f"{names[i]} and {names[j]} do not reach each other" for i, j in scene.state.cut)


# -- the five phases -------------------------------------------------------------------------------


def _after_restart(row: UpgradingRow) -> str:
    version = [f"version {row.next_version}"] if row.next_version else []
    option = [f"option {row.next_option}"] if row.next_option else []
    return ", ".join([*version, *option])


def _sign(row: UpgradingRow, phase: int) -> str:
    """✓ behind it, … the one that it is in, – not begun."""
    if row.phases > phase:
        return "✓"
    return "…" if row.phases == phase and row.group else NONE


def _bulb(phase: int, row: UpgradingRow) -> Frag:
    sign = _sign(row, phase)
    return bulb(sign, f"{PHASES[phase]}: {SIGNS[sign]}")


def _phases(row: UpgradingRow) -> str:
    signs = " ".join(_sign(row, phase) for phase in range(len(PHASES)))
    waits = f"; waits: {row.waits}" if row.waits else ""
    later = _after_restart(row)
    restart = f"; after a restart {later}" if later else ""
    return f"{row.name}: {signs} ({row.phases} of 5){waits}{restart}"


def _numbered(scene: Scene) -> Frag:
    """The names of the phases; the columns have only their numbers, which leaves room for words."""
    return h("p", ", ".join(f"{at} {phase}" for at, phase in enumerate(PHASES, 1)), class_="soft")


# -- what a query returns, schema versions, what a change is answered ------------------------------


def _queried(scene: Scene) -> Iterator[tuple[str, str, str]]:
    """The row of each node, and what that means; one that is not up does not answer."""
    for name, node in zip(scene.model.names, scene.state.nodes, strict=True):
        if node.is_up:
            yield name, node.row or "(0 rows)", diagnosis(node.row)
        else:
            yield name, "no answer", "the node is not up"


def _version(row: SchemaVersionRow) -> str:
    columns = ", ".join(row.columns) or "no column"
    return f"{row.node}: {row.version} ({row.source}; {columns}){' ! differs' * row.differs}"


def _mismatches(scene: Scene) -> Iterator[str]:
    differing = [each.node for each in scene.of(facts.versions) if each.differs]
    yield f"schema mismatches: {{{', '.join(differing)}}}"


def _ask(scene: Scene, each: ChangeAnswer) -> Frag:
    """A button, while any change may come."""
    if not scene.state.changes:
        return lamp(each.is_taken, "taken", "refused")
    return act_button(
        f"ALTER at {each.node}",
        f"change:{each.node}:button",
        f"do:{mark(scene.model, each.action)}",
        scene.closed or (None if each.is_taken else each.answer),
    )


# -- what to do when the upgrade is stuck: the branch of now is lit --------------------------------


def _tree(scene: Scene) -> tuple[tuple[StuckQuestion, ...], int]:
    """The questions, and which has the first bad answer; none while nobody waits."""
    if not facts.waiting(scene.model, scene.state):
        return (), 0
    tree = scene.once("advice", lambda: facts.advice(scene.model, scene.state, scene.way()))
    return tree, next((at for at, each in enumerate(tree) if not each.is_good), len(tree))


def _draw_advice(scene: Scene) -> Frag:
    """Draw the questions in their order; the first with a bad answer says what to do."""
    tree, stop = _tree(scene)
    if not tree:
        return h("p", NOBODY_WAITS, class_="soft")
    return h("ol", list(_branches(tree, stop)), class_="advice", aria_label="advice")


def _branches(tree: tuple[StuckQuestion, ...], stop: int) -> Iterator[Frag]:
    for at, each in enumerate(tree):
        if at < stop:
            yield h("li", bulb("✓", "yes"), f" {each.asks} Yes.", k=f"advice:{at}")
        elif at == stop:
            no = bulb("!", "no")
            yield h("li", no, f" {each.asks} No: ", h("strong", each.then), k=f"advice:{at}")
        else:
            yield h("li", bulb("·", "not yet"), f" {each.asks}", k=f"advice:{at}", class_="soft")


def _advice(scene: Scene) -> Iterator[str]:
    tree, stop = _tree(scene)
    for at, each in enumerate(tree):
        yield f"{each.asks} {'yes' if at < stop else 'no' if at == stop else 'later'}"
    yield f"Do this: {next_step(tree)}" if tree else NOBODY_WAITS


def _badges(scene: Scene) -> Badges:
    """How far the upgrade is on all nodes, and where the schema can be changed."""
    rows = scene.of(facts.nodes)
    behind = min(row.phases for row in rows)
    able = sum(each.is_taken for each in scene.of(facts.answers))
    yield "phase", f"all: {behind} of 5 phases", "" if behind == 5 else "busy"
    changes = f"schema changes at {able} of {len(rows)}" if able else "! no schema changes"
    yield "schema", changes, "" if able else "broken"
    yield "waiting", "nodes wait" if any(row.waits for row in rows) else "", "busy"


VIEWS = Views(
    (
        status(_badges, "badges"),
        ring_panel(
            "nodes", "Nodes on the way into Raft", _boxes, _words, between=_links, wide=164.0
        ),
        panel_of(
            "phases",
            "The five phases",
            Table(
                of_state(facts.nodes),
                "phases:{0.name}",
                (
                    Column("node", "name"),
                    *(Column(str(at + 1), partial(_bulb, at)) for at in range(len(PHASES))),
                    Column("waits", "waits"),
                    Column("after a restart", _after_restart),
                ),
                caption="The five phases of each node",
                of="{0.name}",
                line=_phases,
            ),
            Drawn(_numbered, unsaid),
            still=True,
            tab="Phases",
        ),
        panel_of(
            "query",
            "group0_upgrade_state on each node",
            Table(
                _queried,
                "query:{0[0]}",
                ("node", "value", "diagnosis"),
                caption=QUERY_TEXT,
                titled=True,
                line=": ".join,
            ),
            tab="Query",
        ),
        panel_of(
            "versions",
            "Schema versions",
            Table(
                of_state(facts.versions),
                "version:{0.node}",
                (
                    Column("node", "node"),
                    Column("version", "version"),
                    Column("same", lambda row: lamp(not row.differs, "as most", "differs")),
                    Column("version from", "source"),
                    Column("columns added", "columns"),
                ),
                caption="nodetool describecluster: schema versions",
                line=_version,
            ),
            Drawn(lambda scene: None, _mismatches),
            tab="Schema",
        ),
        panel_of(
            "changes",
            "Schema changes",
            Table(
                of_state(facts.answers),
                "change:{0.node}",
                (Column("node", "node"), Column("asked", draws=_ask), Column("answer", "answer")),
                caption="ALTER TABLE, asked at each node",
                line=lambda each: (
                    f"{each.node}: {'taken' if each.is_taken else 'refused'}: {each.answer}"
                ),
            ),
            tab="DDL",
        ),
        panel_of("advice", "When the upgrade is stuck", Drawn(_draw_advice, _advice), tab="Advice"),
        log_panel(LOG),
        LAMPS,
    ),
    evidence=("phases",),
    picture="nodes",
    table="phases",
    badges="badges",
)
