"""The topology on the stage: nodes by their state, the barrier as a gate, the log as a tape.

Beside it stands a table of the nodes' rows.
"""

import re
from collections.abc import Iterator

from msgspec.structs import replace

from kit.errors import counted
from kit.model.flows import spot
from kit.protocols.topology import coordinator as work
from kit.protocols.topology import facts
from kit.protocols.topology.control import NETWORK
from kit.protocols.topology.coordinator import LOG
from kit.protocols.topology.facts import COMING, NodeFacts, history
from kit.protocols.topology.panels.ring import replicas_in_use
from kit.protocols.topology.rules.cluster import NOBODY
from kit.protocols.topology.rules.work import state_of, under_way
from kit.views.declared import NONE, Alike, Column, Table, of_state, panel_of
from kit.views.gate import Gate, awaited_gates
from kit.views.headlines import small, told_as, words_of
from kit.views.panel import Scene
from kit.views.stage import Character, Message, Sign, Stage, Wall, stage_panel
from kit.views.tape import Card

DECIDES = {
    "begin": "begins",
    "reject": "rejects",
    "refuse": "refuses",
    "cancel": "cancels",
    "enable": "enables",
    "work": "decides",
    "commit": "commits",
    "wait": "waits",
    "rest": "rests",
}


DATA = {0.0: "no data", 0.5: "copying", 1.0: "has data"}
"""What has arrived at a node that comes."""
SHORT = {"none": "outside", "bootstrapping": "joins", "decommissioning": "leaves"}
"""States that are too long for what stands below a node; its title has them in full."""
NODE_WAS = re.compile(r"^(\w+): .* → ")
"""A node and the state that it leaves."""


def _stage(scene: Scene) -> Stage:
    m, s = scene.model, scene.state
    rows = scene.of(facts.nodes)
    cut, in_use = m.named(s.cut), scene.of(replicas_in_use)
    return Stage(
        m.names,
        tuple(_character(scene, row, in_use) for row in rows),
        (_operator(scene),),
        tuple(_cards(scene)),
        tuple(_messages(scene)),
        walls=(Wall(cut),) if cut else (),
        tape_key=LOG,
    )


def _character(scene: Scene, node: NodeFacts, in_use: tuple[int, int]) -> Character:
    at, view, state = scene.model.number(node.name), node.view, node.row.state
    health = node.how
    holds_session: Sign = "key" if view and view.session else ""
    reads, writes = in_use
    runs, share = [*_runs(scene, node, at)], _streamed(scene, at)
    lines, title = runs, f"{node.name}: {state}{', coordinator' * node.is_coordinator}"
    tag = "down" if health == "down" and state == "normal" else SHORT.get(state, state)
    if view:
        tag = f"{tag}, v{view.version}".removeprefix("normal, ")
        lines += [f"fence {view.fence_version}"] * (view.fence_version != view.version)
        title += f", version {view.version}, fence {view.fence_version}"
    if share is not None:
        lines.insert(0, DATA[share])
    return Character(
        node.name,
        spot(node.name),
        health,
        leads=node.is_coordinator,
        sign="ban" if node.is_ignored or state == "left" else holds_session,
        tag=tag,
        holds=tuple(lines),
        written=bool(writes & ~reads & 1 << at),
        title=", ".join([title, *runs, node.health]).rstrip(", "),
    )


def _runs(scene: Scene, node: NodeFacts, at: int) -> Iterator[str]:
    s = scene.state
    if node.is_behind:
        yield f"lacks {counted(len(s.views) - 1 - s.applied[at], 'entry', 'entries')}"
    elif (before := scene.former()) and any(
        each.is_behind for each in before.of(facts.nodes) if each.name == node.name
    ):
        yield "has all entries"
    doing = _work(scene) if node.is_coordinator else ""
    if doing and doing != DECIDES["rest"]:
        yield doing
    if node.address:
        yield node.address if node.health == "" else f"{node.address}?"
    if s.client == at:
        yield f"v{s.client_version} request"
    if s.leftover_at == at and s.leftover:
        yield f"late, session {s.leftover}"
    if node.row.cleanup != "clean":
        yield "must clean up" if node.row.cleanup == "needed" else "cleans up"
    elif doing == DECIDES["rest"]:
        yield doing
    if node.row.request:
        yield f"asks: {node.row.request}"


def _streamed(scene: Scene, node: int) -> float | None:
    m, s = scene.model, scene.state
    operation = under_way(s.topology)
    if operation is None or operation.node != node or s.topology.nodes[node].state not in COMING:
        return None
    done = state_of(operation, m.setting).work[: s.attempted.step]
    is_read = s.topology.transition == "write_both_read_new"
    if is_read or any(piece.name == "stream" for piece in done):
        return 1.0
    return 0.5 if s.attempted.streaming else 0.0


def _work(scene: Scene) -> str:
    m, s = scene.model, scene.state
    if not s.started:
        return "starts"
    if s.attempted.command is not None:
        return "has decided"
    task = work.task_of(s, m.setting)
    if s.attempted.failed:
        return "! failed"
    if task.work is None:
        return DECIDES[task.decision.kind]
    if scene.of(facts.barrier) is not None:
        return "awaits answers"
    return f"{'next: ' * (not scene.half)}{task.work.name.replace('_', ' ')}"  # there, one line


def _operator(scene: Scene) -> Character:
    entries = scene.of(facts.entries)
    tag = counted(len(entries), "request") if entries else "no request"
    holds = (facts.title(scene.model, entries[0]), entries[0].standing) if entries else ()
    title = f"requests: {', '.join(facts.title(scene.model, each) for each in entries) or 'none'}"
    return Character("op", NETWORK, tag=tag, holds=holds, title=title, kind="operator")


def _cards(scene: Scene) -> Iterator[Card]:
    for line in history(scene.model, scene.way()):
        short = _in_short(line.description.split("; ")).replace("_", " ")
        words = f"{line.state_id} {short}" if line.state_id else short
        said = line.description.replace("_", " ")
        yield Card(f"card:{line.step}", words, void=not line.state_id, title=said)


def _in_short(clauses: list[str]) -> str:
    ways = (each.partition(" → ") for each in clauses)
    now = next((after for before, arrow, after in ways if arrow and ":" not in before), "null")
    if now != "null":
        return small(told_as(words_of("topology").chapters, now)) or now
    says_more = (each for each in clauses if not each.endswith((": none", "needed")))
    short = NODE_WAS.sub(r"\1 → ", next(says_more, clauses[0]))
    return short.replace("advance fence version to", "fence:")


def _messages(scene: Scene) -> Iterator[Message]:
    m, s = scene.model, scene.state
    if s.attempted.command is not None and s.coordinator != NOBODY:
        yield Message(spot(m.names[s.coordinator]), LOG, "a decision", "decision")
    if s.deposed is not None:
        yield Message(spot(s.deposed.creator), LOG, "a late decision", "late-decision", held=True)
    if s.leftover and s.leftover_at == NOBODY:
        yield Message(NETWORK, "", f"late, session {s.leftover}", "leftover", held=True)


def gates(scene: Scene) -> Iterator[Gate]:
    """The barrier that runs, else what refusals tell; then the requests that have to wait."""
    if scene.of(facts.barrier) is None:
        yield from awaited_gates(scene)
    yield from waits(scene)


def waits(scene: Scene) -> Iterator[Gate]:
    """The barrier that runs, each request that waits, with the reason that the queue gives, and the
    coordinator where none of these is why it waits.
    """
    m = scene.model
    if runs := scene.of(facts.barrier):
        missing = tuple(name for name, _ in runs.refused)
        yield Gate("barrier", runs.command, "answered", runs.answered, missing, len(runs.needs))
    for entry in scene.of(facts.entries):
        if entry.standing in ("waits", "paused"):
            table = facts.parameter(m, scene.state, entry) if entry.node == NOBODY else ""
            what = f"{facts.title(m, entry)} {table}".rstrip()
            missing = m.named(entry.waits_for)
            yield Gate(f"request:{entry.number}", what, "", (), missing, 1, entry.reason)
    decision = work.task_of(scene.state, m.setting).decision
    if decision.kind == "wait" and not decision.number:
        missing = m.named(decision.missing)
        yield Gate("decision", "the coordinator", "", (), missing, 1, decision.reason)


STAGE = stage_panel(
    "stage",
    "Nodes and the barrier",
    _stage,
    gates=gates,
    meanings={
        "crown": "the coordinator",
        "v2": "the topology version that it works with",
        "lacks 2 entries": "log entries that it has not applied",
    },
)


LEADS = "★"


def cells(node: NodeFacts) -> tuple[str, ...]:
    """The row behind the node's name, as texts."""
    row, view = node.row, node.view
    asks = f"asks for {row.request}" + (f" of {node.replaced}" if node.replaced else "")
    replaces = f"replaces {node.replaced}" if node.replaced and not row.request else ""
    words = [
        asks if row.request else replaces,
        f"at {node.address}" if node.address else "",
        node.health,
        "ignored" if node.is_ignored else "",
        f"cleanup {row.cleanup}" if row.cleanup != "clean" else "",
        "no tokens (join_ring=false)" if row.state == "normal" and not row.tokens else "",
        "lags" if node.is_behind else "",
        row.rack,
    ]
    goes_by = (view.version, view.fence_version, view.session or NONE) if view else (NONE,) * 3
    return row.state, *map(str, goes_by), ", ".join(filter(None, words))


def _is_named(scene: Scene, node: NodeFacts) -> bool:
    ends = (key for flow in scene.flows() for key in (flow.from_key, flow.to_key))
    return node.is_coordinator or spot(node.name) in ends


def _look(node: NodeFacts) -> tuple[str, ...]:
    state, version, fence, session, notes = cells(node)
    goes_by = (f"version {version}", f"fence {fence}") if node.view else ()
    return state, *goes_by, f"session {session}" if session != NONE else "", notes


def _line(node: NodeFacts) -> str:
    state, *others = filter(None, _look(node))
    leads = ["coordinator"] if node.is_coordinator else []
    return f"{node.name}: {', '.join([state, *leads, *others])}"


TABLE = Table(
    of_state(facts.nodes),
    "row:{0.name}",
    (
        Column("node", lambda node: f"{LEADS} {node.name}" if node.is_coordinator else node.name),
        Column("state", lambda node: cells(node)[0]),
        Column("version", lambda node: cells(node)[1]),
        Column("fence", lambda node: cells(node)[2]),
        Column("notes", lambda node: ", ".join(filter(None, _look(node)[-2:]))),
    ),
    caption=f"What each node has applied ({LEADS} coordinator)",
    of="{0.name}",
    line=_line,
    alike=Alike(_look, _is_named),
)


NODES = panel_of("nodes", "Nodes", TABLE, still=True)
PLACED = panel_of("nodes", "Nodes", replace(TABLE, key=lambda node: spot(node.name)), still=True)
"""The same beside a picture without nodes: what travels goes to the rows."""
