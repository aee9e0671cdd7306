"""The two pages of a class, a seat's and the wall's. They ask nobody but the room for anything."""

from functools import cache
from pathlib import Path

from kit.classroom.room import Room
from kit.views.export import closed_words
from kit.views.fragment import Frag, escape, h
from kit.views.palette import page_colours
from kit.views.shell import shell

FOLDER = Path(__file__).resolve().parent / "browser"


@cache
def sheet(name: str) -> str:
    """The text of a browser file of this folder."""
    return (FOLDER / name).read_text(encoding="utf-8")


def seat_page() -> str:
    """The page of a phone: a door that asks for the code, the nodes that are free, one's node."""
    door = (
        '<form id="door"><label for="code">The code of the class</label> '
        '<input id="code" autocomplete="off" autocapitalize="characters" spellcheck="false" '
        'maxlength="40" required> <button>join the class</button></form>'
    )
    leave = h("p", h("button", "give up the seat", type="button", id="leave"))
    body = (
        f'<main class="seat"><h1>Be a node</h1><p id="wrong" role="alert"></p>'
        f'{door}<section id="nodes" hidden></section>'
        '<section id="node" hidden><div id="seen" aria-live="polite"></div>'
        f"{leave.html()}</section></main>"
    )
    unkept = "This browser keeps nothing: load this page again, and you lose your seat."
    return _page("Be a node", body, "seat", unkept)


def wall_page() -> str:
    """The page for the projector; what it shows comes only to who has the key."""
    stage = f'<main id="player">{shell().html()}</main>'
    body = f'<div id="wall"><div id="head"></div><p id="wrong" role="alert"></p>{stage}</div>'
    return _page("The class", body, "projector")


def head_of(room: Room, address: str) -> Frag:
    """Where to go, the code, and who is there; a press on a seat frees it."""
    taken, items = set(room.tickets.values()), []
    for node in room.nodes:
        words = f"{node} ✓" if node in taken else node
        title = f"free the seat of {node}"
        seat = h("button", words, type="button", title=title, data_node=node)
        items.append(h("li", seat if node in taken else h("span", words)))
    return h(
        "header",
        h("p", f"Open {address} and type"),
        h("b", f"{room.code[:4]} {room.code[4:]}"),
        h("ul", items, aria_label="seats"),
    )


def nodes_of(room: Room) -> Frag:
    """The nodes that nobody is yet, a button for each."""
    taken = set(room.tickets.values())
    free = [node for node in room.nodes if node not in taken]
    buttons = [h("li", h("button", node, type="button", data_node=node)) for node in free]
    words = "Which node will you be?" if free else "Every node is taken."
    lost = "Were you a node before? Ask your lecturer to free it: one press on the projector."
    return h("div", h("h2", words), h("ul", buttons), h("p", lost) if taken else None)


def _page(title: str, body: str, script: str, unkept: str = "") -> str:
    cut, closed = escape("The connection is lost: trying again."), escape(closed_words())
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<link rel="icon" href="data:,"><title>{escape(title)}</title>'
        '<link rel="stylesheet" href="room.css"><link rel="stylesheet" href="player.css"></head>\n'
        f'<body data-cut="{cut}" data-closed="{closed}" data-unkept="{escape(unkept)}">{body}'
        f'<script type="module" src="{script}.js"></script></body></html>\n'
    )


def room_style() -> str:
    """The style sheet of both pages."""
    # The colours are those of a Player; here the whole page has them.
    return page_colours().replace(".kp", ":root") + sheet("room.css")
