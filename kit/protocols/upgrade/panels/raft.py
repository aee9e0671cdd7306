"""The Raft upgrade: nodes, their five phases, the tables that tell of it, what to do when stuck."""

from collections.abc import Iterator
from functools import partial
from operator import itemgetter

from kit.errors import counted
from kit.protocols.upgrade import facts, rules
from kit.protocols.upgrade.facts import SWITCH, UpgradingRow
from kit.protocols.upgrade.panels import ROW, of_first_node
from kit.protocols.upgrade.raft_upgrade import LOG, PHASES, Alter
from kit.views.actions import mark
from kit.views.busts import Health
from kit.views.declared import NONE, Badges, Column, Drawn, Table, of_state, panel_of, unsaid
from kit.views.fragment import Frag, h
from kit.views.gate import Gate
from kit.views.logs import log_panel
from kit.views.panel import Scene
from kit.views.parts import act_button, bulb, lamp
from kit.views.registry import staged
from kit.views.stage import Character, Stage, Steps, Wall, stage_panel

QUERY_TEXT = f"SELECT * FROM system.scylla_local WHERE key = '{rules.KEY}'"
NUMBERED = ", ".join(f"{at} {phase}" for at, phase in enumerate(PHASES, 1))
NOBODY_WAITS = "No node is waiting for another one."
HEALTH: dict[str, Health] = {"catching up": "joining", "down": "down", "lost": "gone"}
SHORT = {
    rules.PRE: "before Raft",
    rules.SYNCHRONIZE: rules.SYNCHRONIZE,
    rules.POST: "Raft",
    rules.RECOVERY: "RECOVERY",
}
SIGNS = {"✓": "done", "…": "in progress", NONE: "not begun"}
ANSWERS = {"yes": ("✓", "yes", " Yes."), "no": ("!", "no", " No: "), "later": ("·", "not yet", "")}


# -- the picture -----------------------------------------------------------------------------------


def _stage(scene: Scene) -> Stage:
    names = scene.model.names
    return Stage(
        names,
        tuple(_character(scene, row) for row in scene.of(facts.nodes)),
        walls=tuple(Wall((names[i],), beyond=names[j]) for i, j in scene.state.cut),
        standing=of_first_node(scene),
        has_strip=True,
        lines=3,
    )


def _character(scene: Scene, row: UpgradingRow) -> Character:
    node = row.node
    group = f"group 0 id {node.group}" if node.group else "no group 0"
    option = f"option {SWITCH[node.enabled]}"
    release = row.release
    if node.configured != node.enabled:
        option += f" → {SWITCH[node.configured]}"
    if node.installed != node.runs_new:
        release += f" → {row.releases[node.installed]}"
    columns = f", {' '.join(node.columns)}" if node.columns else ""
    waits = f"asked {counted(node.tries, 'time')}" if node.tries else ""
    return Character(
        row.name,
        f"n:{row.name}",
        HEALTH.get(row.status, "up"),
        tag=SHORT[node.state],
        holds=(*[release] * (node.installed != node.runs_new or not node.runs_new),
               *[option] * (node.configured != node.enabled or not node.enabled),
               Steps("phases done", node.position, len(PHASES)),
               f"{group}{columns}{' ≠' * row.differs}", *[waits] * bool(waits)),
        title=f"{row.name} · {row.release} · option {SWITCH[node.enabled]}, {node.state}, "
        f"{group} · {row.status}",
    )  # fmt: skip


def gates(scene: Scene) -> Iterator[Gate]:
    """The phase that the last node is in: every one has to have it behind it."""
    rows = scene.of(facts.nodes)
    if not scene.state.has_begun:
        return
    at = min(*(row.node.position for row in rows), len(PHASES) - 1)
    there = tuple(row.name for row in rows if row.node.position > at)
    missing = tuple(row.name for row in rows if row.node.position <= at)
    yield Gate("phase", f"{at + 1} {PHASES[at]}", "done it", there, missing, len(rows))


# -- the five phases -------------------------------------------------------------------------------


def _sign(row: UpgradingRow, phase: int) -> str:
    if row.node.position > phase:
        return "✓"
    return "…" if row.node.position == phase and row.node.group else NONE


def _bulb(phase: int, row: UpgradingRow) -> Frag:
    sign = _sign(row, phase)
    return bulb(sign, f"{PHASES[phase]}: {SIGNS[sign]}")


# -- what a query returns, schema versions, what a change is answered ------------------------------


def _queried(scene: Scene) -> Iterator[tuple[str, str, str]]:
    for name, node in zip(scene.model.names, scene.state.nodes, strict=True):
        answer = node.row or "(0 rows)", rules.diagnosis(node.row)
        yield name, *(answer if node.is_up else ("no answer", "the node is down"))


def _mismatches(scene: Scene) -> Iterator[str]:
    differing = ", ".join(row.name for row in scene.of(facts.nodes) if row.differs)
    yield f"schema mismatches: {{{differing}}}"


def _answers(scene: Scene) -> Iterator[tuple[str, bool, str]]:
    for name, node in zip(scene.model.names, scene.state.nodes, strict=True):
        refusal = scene.model.why_not(scene.state, Alter(name))
        if not node.is_up:
            yield name, False, f"no answer: {node.status}"
        elif refusal is not None:
            yield name, False, refusal.reason
        else:
            yield name, True, "group 0 commits it" if node.has_finished else "gossip spreads it"


def _ask(scene: Scene, row: tuple[str, bool, str]) -> Frag:
    name, is_taken, answer = row
    if not scene.state.changes:
        return lamp(is_taken, "accepted", "refused")
    act = f"do:{mark(scene.model, Alter(name))}"
    why = scene.closed or (None if is_taken else answer)
    return act_button(f"ALTER at {name}", f"change:{name}:button", act, why)


# -- what to do when the upgrade is stuck: the branch of now is lit --------------------------------


def _tree(scene: Scene) -> tuple[rules.StuckQuestion, ...]:
    tree: tuple[rules.StuckQuestion, ...] = scene.once(
        "advice", lambda: facts.advice(scene.model, scene.state, scene.way())
    )
    return tree


def _branches(scene: Scene) -> Iterator[tuple[rules.StuckQuestion, str]]:
    tree = _tree(scene)
    stop = next((at for at, each in enumerate(tree) if not each.is_good), len(tree))
    for at, each in enumerate(tree):
        yield each, "yes" if at < stop else "no" if at == stop else "later"


def _draw_advice(scene: Scene) -> Frag:
    if not _tree(scene):
        return h("p", NOBODY_WAITS, class_="soft")
    branches = []
    for at, (each, answer) in enumerate(_branches(scene)):
        sign, label, said = ANSWERS[answer]
        then = h("strong", each.then) if answer == "no" else None
        words, kind = f" {each.asks}{said}", "soft" if answer == "later" else None
        branches.append(h("li", bulb(sign, label), words, then, k=f"advice:{at}", class_=kind))
    return h("ol", branches, class_="advice", aria_label="advice")


def _badges(scene: Scene) -> Badges:
    rows = scene.of(facts.nodes)
    behind = min(row.node.position for row in rows)
    able = sum(is_taken for _, is_taken, _ in _answers(scene))
    yield "phase", f"{behind} of 5 phases", "" if behind == 5 else "busy"
    changes = f"schema changes on {able} of {len(rows)}" if able else "! no schema changes"
    yield "schema", changes, "" if able else "alarm"
    yield "waiting", "waiting" if any(row.waits for row in rows) else "", "busy"


VIEWS = staged(
    _badges,
    stage_panel(
        "nodes",
        "Nodes moving to Raft",
        _stage,
        gates=gates,
        meanings={"pill": "what decides its schema", "phases": NUMBERED},
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
                Column("after a restart", "after_restart"),
            ),
            caption="The five phases of each node",
            of="{0.name}",
        ),
        Drawn(lambda scene: h("p", NUMBERED, class_="soft"), unsaid),
        still=True,
        tab="Phases",
    ),
    ROW,
    panel_of(
        "query",
        "group0_upgrade_state on each node",
        Table(_queried, "query:{0[0]}", ("node", "value", "diagnosis"), caption=QUERY_TEXT),
        tab="Query",
    ),
    panel_of(
        "versions",
        "Schema versions",
        Table(
            lambda scene: [row for row in scene.of(facts.nodes) if row.node.is_up],
            "version:{0.name}",
            (
                Column("node", "name"),
                Column("version", "node.version"),
                Column("same", lambda row: lamp(not row.differs, "like most", "differs")),
                Column("version from", lambda row: "group 0" if row.node.by_group0 else "hash"),
                Column("columns added", "node.columns"),
            ),
            caption="nodetool describecluster: schema versions",
        ),
        Drawn(lambda scene: None, _mismatches),
        tab="Schema",
    ),
    panel_of(
        "changes",
        "Schema changes",
        Table(
            _answers,
            "change:{0[0]}",
            ("node", Column("asked", draws=_ask), Column("answer", itemgetter(2))),
            caption="ALTER TABLE, tried at each node",
        ),
        tab="DDL",
    ),
    panel_of("advice", "When the upgrade is stuck", Drawn(_draw_advice), tab="Advice"),
    log_panel(LOG),
)
