"""A truncate on the stage: its phases, and nodes with their rows and the session that they know."""

from collections.abc import Iterator
from itertools import groupby, pairwise
from typing import get_args

from kit.model.flows import as_timeuuid
from kit.protocols.tablets.hosts import LOG, NETWORK, host_spot
from kit.protocols.tablets.truncate import (
    CLIENT,
    NEW_ROWS,
    OLD_ROWS,
    Phase,
    Truncate,
    TruncateState,
)
from kit.views.declared import Badges, Column, Table, of_state, panel_of, status
from kit.views.diagrams import Standing, StateDiagram
from kit.views.gate import Gate
from kit.views.panel import Scene
from kit.views.parts import bulb
from kit.views.promises import LAMPS
from kit.views.registry import Views
from kit.views.stage import Character, Message, Stage, stage_panel

PHASES: tuple[Phase, ...] = get_args(Phase)
DIAGRAM = StateDiagram(
    "truncate",
    "phases of a truncate",
    tuple((before, f"→ {after}", after) for before, after in pairwise(PHASES)),
)


def _nodes(m: Truncate, s: TruncateState) -> list[tuple[str, str, bool]]:
    pairs = enumerate(zip(m.names, s.views, strict=True))
    return [(name, _session(view), bool(s.answered >> i & 1)) for i, (name, view) in pairs]


def _session(number: int) -> str:
    return f"session {number}" if number else "no session"


def _stage(scene: Scene) -> Stage:
    m, s = scene.model, scene.state
    late = m.named(s.late)
    keys = dict(zip(late, (NETWORK, *(f"late:{name}" for name in late[1:])), strict=False))
    path = (scene.model.start().phase, *(step.after.phase for step in scene.way()))
    coordinator = Character(
        "g0",
        LOG,
        tag=_session(s.session),
        holds=("tablets move",) * s.moving,
        title=f"group 0, with the coordinator: {s.phase}, {_session(s.session)}",
        kind="part",
    )
    return Stage(
        m.names,
        tuple(_character(m, s, node) for node in range(m.nodes)),
        (_client(s), coordinator),
        messages=tuple(Message("g0", at, "late RPC", keys[at], held=True, thing=at) for at in late),
        standing=Standing(DIAGRAM, tuple(phase for phase, _ in groupby(path))),
        has_strip=True,
    )


def _client(s: TruncateState) -> Character:
    tag = {"idle": "", "done": "hears: done"}.get(s.phase, "wants to truncate")
    tag = "wrote new rows" if s.written else tag
    return Character("cl", host_spot(CLIENT), tag=tag, title=f"client: {tag}", kind="client")


def _character(m: Truncate, s: TruncateState, node: int) -> Character:
    rows = ["old rows"] * bool(s.rows[node] & OLD_ROWS)
    rows += ["new rows"] * bool(s.rows[node] & NEW_ROWS)
    none = "no rows" if m.holders >> node & 1 else "no replica"
    name, session = m.names[node], _session(s.views[node])
    said = [" and ".join(rows) or none]
    said.append(session + " (not up to date)" * (s.views[node] != s.session))
    said += ["has answered"] * (s.answered >> node & 1) + ["an RPC is late"] * (s.late >> node & 1)
    return Character(
        name,
        host_spot(name),
        sign="key" if s.views[node] else "",
        tag=f"{'still ' * bool(s.views[node] and not s.session)}{session}",
        holds=() if rows else (none,),
        stored=", ".join(rows),
        title=f"{name}: {', '.join(said)}",
    )


def gates(scene: Scene) -> Iterator[Gate]:
    """All have to know the session of group 0; then every replica has to answer."""
    m, s = scene.model, scene.state
    if s.phase in ("opened", "closed"):
        behind, all_of = m.behind(s), (1 << m.nodes) - 1
        verb = m.verb(Truncate.pass_barrier())
        yield Gate(LOG, verb, f"applied: session {s.phase}", m.named(all_of & ~behind),
                   m.named(behind), m.nodes)  # fmt: skip
    elif s.phase == "sending":
        there, missing = m.named(m.holders & s.answered), m.named(m.holders & ~s.answered)
        verb = m.verb(Truncate.close_session())
        yield Gate(LOG, verb, "answered", there, missing, len(there) + len(missing))


def _late(scene: Scene, row: tuple[str, str, bool]) -> str:
    inside = scene.model.let_in(scene.state, scene.model.number(row[0]))
    return "carried out" if inside else "refused"


def _badges(scene: Scene) -> Badges:
    s = scene.state
    title = as_timeuuid(s.session) * bool(s.session)
    yield "late", "a late request" * bool(s.late), "busy"
    open_now = f"session {s.session} open" if s.session else "no session open"
    yield "session", open_now, "busy" * bool(s.session), title
    yield "moving", "tablets are changing" * s.moving, "busy"


SESSION = Table(
    of_state(_nodes),
    "session:{0[0]}",
    (
        *("node", "knows"),
        Column("answered", lambda row: bulb("✓", "answered") if row[2] else ""),
        Column("a late RPC would be", draws=_late),
    ),
    caption=lambda scene: (
        f"group 0: {_session(scene.state.session)}"
        + f" ({as_timeuuid(scene.state.session)})" * bool(scene.state.session)
    ),
    of="{0[0]}",
)
TRUNCATE = Views(
    (
        status(_badges, "badges"),
        stage_panel(
            "nodes",
            "Rows of the table",
            _stage,
            gates=gates,
            meanings={
                "g0": "group 0, with the coordinator",
                "key": "knows the open session",
                "held": "an RPC that is late",
            },
        ),
        panel_of("session", "Session and late RPCs", SESSION, tab="Session"),
        LAMPS,
    ),
    evidence=("nodes",),
    picture="nodes",
    table="session",
    badges="badges",
)
