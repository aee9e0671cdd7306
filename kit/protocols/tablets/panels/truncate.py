"""A truncate on the stage: its phases, and nodes with their rows and the session that they know."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, pairwise
from typing import get_args

from msgspec import Struct

from kit.protocols.tablets.hosts import LOG, NETWORK, host_spot
from kit.protocols.tablets.truncate import NEW_ROWS, OLD_ROWS, Phase, Truncate, TruncateState
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
ROWS = {"old": "rows of before", "new": "new rows"}
NO_SESSION = "no session"


class TruncatedNode(Struct, frozen=True):
    """A node: the session that it knows, its rows (*old*, *new*), what it has to do with the RPC.

    ``is_replica``: it holds rows of the table. ``behind``: group 0 says another session.
    """

    name: str
    is_replica: bool
    session: str
    behind: bool
    rows: tuple[str, ...]
    answered: bool
    late: bool

    @property
    def said(self) -> str:
        """All of it in words."""
        rows = " and ".join(ROWS[each] for each in self.rows)
        words = [rows or ("no rows" if self.is_replica else "no replica")]
        words.append(self.session + (" (not up to date)" if self.behind else ""))
        words += ["has answered"] * self.answered + ["an RPC is late"] * self.late
        return f"{self.name}: {', '.join(words)}"


def nodes(m: Truncate, s: TruncateState) -> tuple[TruncatedNode, ...]:
    """Every node."""
    return tuple(
        TruncatedNode(
            *(name, bool(m.holders >> i & 1), _session(s.views[i]), s.views[i] != s.session),
            ("old",) * bool(s.rows[i] & OLD_ROWS) + ("new",) * bool(s.rows[i] & NEW_ROWS),
            *(bool(s.answered >> i & 1), bool(s.late >> i & 1)),
        )
        for i, name in enumerate(m.names)
    )


def _session(number: int) -> str:
    return f"session {number}" if number else NO_SESSION


def _stage(scene: Scene) -> Stage:
    m, s, rows = scene.model, scene.state, scene.of(nodes)
    late = [each.name for each in rows if each.late]
    keys = dict(zip(late, (NETWORK, *(f"late:{name}" for name in late[1:])), strict=False))
    path = (scene.model.start().phase, *(step.after.phase for step in scene.way()))
    coordinator = Character(
        "g0",
        LOG,
        tag=_session(s.session),
        holds=("tablets move",) * s.moving,
        title=f"group 0, with the coordinator: {s.phase}, {_session(s.session)}",
        kind="operator",
    )
    return Stage(
        m.names,
        tuple(map(_character, rows)),
        (coordinator,),
        messages=tuple(Message("g0", at, "late RPC", keys[at], held=True, thing=at) for at in late),
        standing=Standing(DIAGRAM, tuple(phase for phase, _ in groupby(path))),
        has_strip=True,
    )


def _character(each: TruncatedNode) -> Character:
    held = tuple(ROWS[name] for name in each.rows) or ("no rows",)
    return Character(
        each.name,
        host_spot(each.name),
        sign="key" if each.session != NO_SESSION else "",
        tag=each.session,
        holds=held if each.is_replica else ("no replica",),
        fill=float(bool(each.rows)),
        title=each.said,
    )


def gates(scene: Scene) -> Iterator[Gate]:
    """All have to know the session of group 0; then every replica has to answer."""
    m, s = scene.model, scene.state
    if s.phase in ("opened", "closed"):
        behind, all_of = m.behind(s), (1 << m.nodes) - 1
        yield Gate(LOG, f"know it is {s.phase}", "applied it", m.named(all_of & ~behind),
                   m.named(behind), m.nodes)  # fmt: skip
    elif s.phase == "sending":
        there, missing = m.named(m.holders & s.answered), m.named(m.holders & ~s.answered)
        yield Gate(LOG, "have deleted", "answered", there, missing, len(there) + len(missing))


def _late(scene: Scene, each: TruncatedNode) -> str:
    """What would happen to an RPC that arrives now."""
    inside = scene.model.let_in(scene.state, scene.model.number(each.name))
    return "carried out" if inside else "refused"


def _badges(scene: Scene) -> Badges:
    """The phase, tablets in transition, and RPCs that are late."""
    s = scene.state
    yield "session", f"session {s.session or 'none'}", "plain"
    yield "phase", f"truncate: {s.phase}", "" if s.phase in ("idle", "done") else "busy"
    yield "moving", "tablets in transition" * s.moving, "busy"
    yield "late", "a late RPC" * bool(s.late), "busy"


SESSION = Table(
    of_state(nodes),
    "session:{0.name}",
    (
        Column("node", "name"),
        Column("knows", "session"),
        Column("answered", lambda each: bulb("✓", "answered") if each.answered else ""),
        Column("a late RPC would be", draws=_late),
    ),
    caption=lambda scene: f"group 0: {_session(scene.state.session)}",
    of="{0.name}",
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
                "key": "knows the open session",
                "blue": "has rows",
                "diamond": "group 0, with the coordinator",
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
