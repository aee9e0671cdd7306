"""The picture of a truncate: its phases over the nodes, each with its rows and its session."""

from __future__ import annotations

from typing import get_args

from msgspec import Struct

from kit.protocols.tablets.hosts import LOG, NETWORK, host_spot
from kit.protocols.tablets.truncate import NEW_ROWS, OLD_ROWS, Phase, Truncate, TruncateState
from kit.views.declared import Badges, Column, Table, of_state, panel_of, status
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import box, bulb, drawing, word
from kit.views.promises import LAMPS
from kit.views.registry import Views

PHASES: tuple[Phase, ...] = get_args(Phase)
WIDTH, TOP, ROW = 416.0, 74.0, 44.0
LEFT, CHIP = 70.0, 24.0
END = LEFT + 10
"""Where arrows to a node end: between its words and its rows."""
ROWS = {"old": "rows of before", "new": "new rows"}
LEGEND = "dashed: the node does not know yet what group 0 says of the session; ✓ has answered"


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
    return f"session {number}" if number else "no session"


def draw_nodes(scene: Scene) -> Frag:
    """Draw the phases in a line, group 0 and late RPCs below it, then a row for each node."""
    rows, s = scene.of(nodes), scene.state
    late = [each.name for each in rows if each.late]
    picture = drawing(
        f"truncate, {s.phase}: {'; '.join(each.said for each in rows)}",
        WIDTH,
        TOP + ROW * len(rows) + 2,
        [_phase(place, name, s.phase) for place, name in enumerate(PHASES)],
        h("text", f"group 0: {_session(s.session)}", x=14, y=54, k=LOG),
        h("text", f"late RPC for {', '.join(late)}", x=220, y=54, k=NETWORK) if late else None,
        [_node(each, TOP + ROW * place) for place, each in enumerate(rows)],
        fluid=True,
    )
    return h("div", picture, h("p", h("small", LEGEND), class_="legend"))


def _phase(place: int, name: str, now: str) -> Frag:
    wide = WIDTH / len(PHASES)
    is_now = name == now
    return h(
        "g",
        box(2, 4, wide - 4, CHIP, "box", 4),
        word(name, wide / 2, 20.5, "on"),
        h("title", f"{name}: now" if is_now else name),
        k=f"phase:{name}",
        class_="lit" if is_now else None,
        transform=f"translate({wide * place:.0f} 0)",
    )


def _node(each: TruncatedNode, top: float) -> Frag:
    kind = "wire dashed" if each.behind else "wire"
    return h(
        "g",
        h("title", each.said),
        word(f"{each.name}{' ✓' * each.answered}", 2 - END, -2, "strong", None),
        word(each.session, 2 - END, 13, "soft", None),
        box(LEFT + 20 - END, 2 - ROW / 2, WIDTH - LEFT - 22, ROW - 4, kind, 4),
        None if each.is_replica else word("no replica", LEFT + 30 - END, 5, "soft", None),
        [_rows(each.name, name, place) for place, name in enumerate(each.rows)],
        k=host_spot(each.name),
        transform=f"translate({END:.0f} {top + ROW / 2:.0f})",
        data_of=each.name,
    )


def _rows(node: str, name: str, place: int) -> Frag:
    wide = 8.0 * len(ROWS[name]) + 16
    return h(
        "g",
        h("rect", width=wide, height=CHIP, rx=4, class_="box" if name == "old" else "seat"),
        word(ROWS[name], wide / 2, 16.5, "on"),
        k=f"rows:{node}:{name}",
        class_=None if name == "old" else "letter added",
        transform=f"translate({LEFT + 30 - END + 132 * place:.0f} {-CHIP / 2:.0f})",
    )


def nodes_text(scene: Scene) -> str:
    """Write the phase, then a line for each node."""
    s = scene.state
    lines = [f"{s.phase}, {_session(s.session)}", *(each.said for each in scene.of(nodes))]
    return "\n".join(f"  {line}" for line in lines)


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
        Panel("nodes", "Rows of the table", draw_nodes, nodes_text, still=True),
        panel_of("session", "Session and late RPCs", SESSION, tab="Session"),
        LAMPS,
    ),
    evidence=("nodes",),
    picture="nodes",
    table="session",
    badges="badges",
)
