"""The picture of a truncate: its phases over the nodes, each with its rows and its session."""

from __future__ import annotations

from typing import get_args

from msgspec import Struct

from kit.protocols.tablets.hosts import LOG, NETWORK, host_spot
from kit.protocols.tablets.truncate import NEW_ROWS, OLD_ROWS, Phase, Truncate, TruncateState
from kit.views.declared import Badges, Column, Table, of_state, panel_of, status
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import bulb
from kit.views.promises import LAMPS
from kit.views.registry import Views

PHASES: tuple[Phase, ...] = get_args(Phase)


class TruncatedNode(Struct, frozen=True):
    """A node: the session that it knows (0: none), its rows, what it has to do with the RPC.

    ``is_replica``: it holds rows of the table. ``behind``: group 0 says another session.
    """

    name: str
    is_replica: bool
    session: int
    behind: bool
    old_rows: bool
    new_rows: bool
    answered: bool
    late: bool


def nodes(m: Truncate, s: TruncateState) -> tuple[TruncatedNode, ...]:
    """Every node."""
    return tuple(
        TruncatedNode(
            *(name, bool(m.holders >> i & 1), s.views[i], s.views[i] != s.session),
            *(bool(s.rows[i] & OLD_ROWS), bool(s.rows[i] & NEW_ROWS)),
            *(bool(s.answered >> i & 1), bool(s.late >> i & 1)),
        )
        for i, name in enumerate(m.names)
    )


WIDTH, TOP, ROW = 416.0, 74.0, 44.0
LEFT, CHIP = 70.0, 24.0
ROWS = {"old": "rows of before", "new": "new rows"}


def draw_nodes(scene: Scene) -> Frag:
    """Draw the phases in a line, group 0 and late RPCs below it, then a row for each node."""
    rows, s = scene.of(nodes), scene.state
    late = [each.name for each in rows if each.late]
    height = TOP + ROW * len(rows) + 2
    return h(
        "div",
        h(
            "svg",
            [_phase(place, name, s.phase) for place, name in enumerate(PHASES)],
            h("text", f"group 0: {_session(s.session)}", x=LEFT, y=54, k=LOG),
            h("text", f"late RPC for {', '.join(late)}", x=220, y=54, k=NETWORK) if late else None,
            [_node(each, TOP + ROW * place) for place, each in enumerate(rows)],
            viewBox=f"0 0 {WIDTH:.0f} {height:.0f}",
            role="img",
            aria_label=f"truncate, {s.phase}: {'; '.join(map(_said, rows))}",
        ),
        h("p", h("small", LEGEND), class_="legend"),
    )


LEGEND = "dashed: the node does not know yet what group 0 says of the session; ✓ has answered"


def _session(number: int) -> str:
    return f"session {number}" if number else "no session"


def _phase(place: int, name: str, now: str) -> Frag:
    wide = WIDTH / len(PHASES)
    is_now = name == now
    return h(
        "g",
        h("rect", x=2, y=4, width=wide - 4, height=CHIP, rx=4, class_="box"),
        h("text", name, x=wide / 2, y=20.5, text_anchor="middle", class_="on"),
        h("title", f"{name}: now" if is_now else name),
        k=f"phase:{name}",
        class_="lit" if is_now else None,
        transform=f"translate({wide * place:.0f} 0)",
    )


def _node(each: TruncatedNode, top: float) -> Frag:
    kind = "wire dashed" if each.behind else "wire"
    chips = [name for name, has in (("old", each.old_rows), ("new", each.new_rows)) if has]
    sign = " ✓" if each.answered else ""
    return h(
        "g",
        h("title", _said(each)),
        h("text", f"{each.name}{sign}", x=2, y=ROW / 2 - 2, class_="strong"),
        h("text", _session(each.session), x=2, y=ROW / 2 + 13, class_="soft"),
        h("rect", x=LEFT + 20, y=2, width=WIDTH - LEFT - 22, height=ROW - 4, rx=4, class_=kind),
        None
        if each.is_replica
        else h("text", "no replica", x=LEFT + 30, y=ROW / 2 + 5, class_="soft"),
        [_rows(each.name, name, place) for place, name in enumerate(chips)],
        k=host_spot(each.name),
        transform=f"translate(0 {top:.0f})",
        data_of=each.name,
    )


def _rows(node: str, name: str, place: int) -> Frag:
    wide = 8.0 * len(ROWS[name]) + 16
    return h(
        "g",
        h("rect", width=wide, height=CHIP, rx=4, class_="box" if name == "old" else "seat"),
        h("text", ROWS[name], x=wide / 2, y=16.5, text_anchor="middle", class_="on"),
        k=f"rows:{node}:{name}",
        class_=None if name == "old" else "letter added",
        transform=f"translate({LEFT + 30 + 132 * place:.0f} {(ROW - CHIP) / 2:.0f})",
    )


def _said(each: TruncatedNode) -> str:
    chips = [ROWS[name] for name, has in (("old", each.old_rows), ("new", each.new_rows)) if has]
    words = [" and ".join(chips) or ("no rows" if each.is_replica else "no replica")]
    words.append(_session(each.session) + (" (not up to date)" if each.behind else ""))
    words += ["has answered"] if each.answered else []
    words += ["an RPC is late"] if each.late else []
    return f"{each.name}: {', '.join(words)}"


def nodes_text(scene: Scene) -> str:
    """Write the phase, then a line for each node."""
    rows = map(_said, scene.of(nodes))
    lines = [f"{scene.state.phase}, {_session(scene.state.session)}", *rows]
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
        Column("knows", lambda each: _session(each.session)),
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
