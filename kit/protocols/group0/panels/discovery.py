"""Who knows whom: the peer graph as it grows, and each node's rows of it."""

from __future__ import annotations

from cmath import rect
from math import pi

from kit.errors import counted
from kit.protocols.group0.facts import discovery as facts
from kit.protocols.group0.facts.discovery import PeersRow
from kit.views.declared import Badges, Column, Drawn, Table, panel_of, status
from kit.views.fragment import Frag, h
from kit.views.messages import MESSAGES
from kit.views.panel import Panel, Scene, alternative
from kit.views.promises import LAMPS, judged
from kit.views.registry import Views

SIZE, RADII, DISC = 300, (76, 105), 22
"""Discs stand in an oval: beside one at its left or right is room for the name of a group."""


def _draw_peers(scene: Scene) -> Frag:
    """Draw a disc per node and an arrow from each node to those that it knows.

    An arrow is dashed until the one at its end has answered. A double edge marks the lowest Raft
    id, a filled disc a member of a group, with the name of the group beside it.
    """
    rows = facts.rows(scene.state)
    places = {row.name: _place(i, len(rows)) for i, row in enumerate(rows)}
    arrows = [
        _arrow(row.name, name, name in row.unanswered, places)
        for row in rows
        for name in row.known
        if name != row.name
    ]
    lowest = facts.lowest(scene.model)
    discs = [_disc(row, places[row.name], row.name == lowest) for row in rows]
    return h(
        "svg",
        h("title", "who knows whom"),
        arrows,
        discs,
        viewBox=f"0 0 {SIZE} {SIZE}",
        role="img",
        aria_label=alternative("who knows whom", _peers_text(scene)),
        class_="whole small",
    )


def _place(at: int, count: int) -> complex:
    """The middle of a disc: the first stands at the top, the others follow clockwise."""
    around = rect(1, 2 * pi * at / count - pi / 2)
    return SIZE / 2 * (1 + 1j) + complex(RADII[0] * around.real, RADII[1] * around.imag)


def _arrow(source: str, target: str, waits: bool, places: dict[str, complex]) -> Frag:
    """An arrow from disc to disc, a little to one side, so that two may lie between them."""
    way = places[target] - places[source]
    along = way / abs(way)
    side = 5j * along
    start, end = places[source] + DISC * along + side, places[target] - DISC * along + side
    corners = (end, end - 9 * along + 0.8 * side, end - 9 * along - 0.8 * side)
    return h(
        "g",
        h(
            "line",
            x1=start.real,
            y1=start.imag,
            x2=end.real,
            y2=end.imag,
            class_="wire dashed" if waits else "wire",
        ),
        h(
            "polygon",
            points=" ".join(f"{at.real:.1f},{at.imag:.1f}" for at in corners),
            class_="tip",
        ),
        k=f"knows:{source}:{target}",
        class_="knows",
    )


def _disc(row: PeersRow, place: complex, lowest: bool) -> Frag:
    x, y = place.real, place.imag
    return h(
        "g",
        h("circle", cx=x, cy=y, r=DISC + 4, class_="wire") if lowest else None,
        h("circle", cx=x, cy=y, r=DISC, class_="box"),
        h("text", row.name, x=x, y=y + 5, text_anchor="middle", class_="on"),
        _group(row.group, place) if row.group else None,
        k=f"peer:{row.name}",
        class_="peer lit" if row.group else "peer",
    )


def _group(name: str, place: complex) -> Frag:
    """The name of a group, outside of the circle, where no arrow passes."""
    out = place - SIZE / 2 * (1 + 1j)
    at = place + out / abs(out) * (DISC + 10)
    side = 0 if abs(out.real) < DISC else out.real
    anchor = "middle" if not side else "start" if side > 0 else "end"
    return h("text", f"group {name}", x=round(at.real, 1), y=round(at.imag + 4, 1),
             text_anchor=anchor, class_="soft")  # fmt: skip


def _peers_text(scene: Scene) -> str:
    """Write a line per node."""
    return "\n".join(f"  {row.name}: {_line(row)}" for row in facts.rows(scene.state))


def _line(row: PeersRow) -> str:
    waits = f", waits for {', '.join(row.unanswered)}" if row.unanswered and not row.group else ""
    group = f"group {row.group}" if row.group else "no group"
    return f"knows {', '.join(row.known)}{waits}; {group}"


def _draw_warning(scene: Scene) -> Frag | None:
    warning = facts.warning(scene.model)
    return h("p", f"! {warning}", k="warning", class_="witness") if warning else None


def _warning(scene: Scene) -> list[str]:
    warning = facts.warning(scene.model)
    return [f"! {warning}"] if warning else []


def _badges(scene: Scene) -> Badges:
    """How many groups there are, and whether the contact points can make two."""
    count = len(facts.founded(scene.state))
    yield "groups", counted(count, "group"), "broken" if count > 1 else ""
    warned = facts.warning(scene.model)
    yield "seeds", "! these seeds may make two groups" if warned else "", "busy"


def _status(scene: Scene) -> str:
    count = counted(len(facts.founded(scene.state)), "group")
    return ", ".join(filter(None, (count, facts.warning(scene.model), judged(scene))))


VIEWS = Views(
    (
        status(_badges, wording=_status),
        Panel("peers", "Who knows whom", _draw_peers, _peers_text, still=True),
        MESSAGES,
        panel_of(
            "tables",
            "Tables of discovery",
            Drawn(_draw_warning, _warning),
            Table(
                lambda scene: facts.rows(scene.state),
                "tables:{0.name}",
                (
                    Column("node", "name"),
                    Column("system.discovery", "known"),
                    Column(
                        "waits for",
                        lambda row: "–" if row.group else ", ".join(row.unanswered),
                        none="",
                    ),
                    Column("raft_group0_id", "group", none="no row"),
                    Column("next start", "boot"),
                ),
                of="{0.name}",
                line=lambda row: (
                    f"{row.name}: discovery {', '.join(row.known)}; raft_group0_id "
                    f"{row.group or 'no row'}; starts with {row.boot}"
                ),
            ),
            tab="Tables",
        ),
        LAMPS,
    ),
    picture="messages",
    table="peers",
    badges="status",
    wide=True,
)
