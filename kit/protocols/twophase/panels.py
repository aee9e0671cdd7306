"""Two-phase commit drawn: the managers around the one who decides, unread messages, their table.

A manager's box says its state. An envelope on a line is a message that nobody has read yet; the
line is solid once the transaction manager has heard that the one at its end is prepared.
"""

from __future__ import annotations

from cmath import rect
from collections.abc import Iterator
from math import pi
from typing import TypeAlias

from kit.engine.registry import build
from kit.protocols.twophase.twophase import DECISIONS
from kit.views.declared import Badges, Table, panel_of, status
from kit.views.fragment import Frag, h
from kit.views.frame import SHAPES
from kit.views.panel import Panel, Scene
from kit.views.promises import LAMPS
from kit.views.registry import Views
from kit.views.states import dot_of, reached

WIDTH, HEIGHT = 396, 322
MIDDLE = complex(WIDTH, HEIGHT) / 2
FEW = 8
"""Managers whose boxes have room for a word below the name."""
LINE = 16
HEADS = ("manager", "state", "its “prepared”", "the decision")
SIGNS = {"working": "", "prepared": "○", "committed": "✓", "aborted": "✗"}
"""What stands for a state where there is no room for its word."""
SENT = {"not sent": "", "in the network": ", its message is not read", "✓ read": ", heard"}
"""What becomes of a manager's message *prepared*, in the table and in words."""
Size: TypeAlias = tuple[int, int]
Line: TypeAlias = tuple[str, str]
Row: TypeAlias = tuple[str, str, str, str]
"""A manager's name and state, its message, and the decision that it has yet to read, if any."""


def managers(scene: Scene) -> Iterator[Row]:
    """The resource managers, in order."""
    m, s, decided = scene.model, scene.state, DECISIONS[scene.state.tm]
    for rm in range(m.rms):
        sent = "in the network" if s.prepared >> rm & 1 else "not sent"
        waits = f"{decided}, unread" if decided and m.unfinished(s) >> rm & 1 else ""
        yield f"RM{rm}", m.where(s, rm), "✓ read" if s.heard >> rm & 1 else sent, waits


def size(count: int) -> Size:
    """How wide and how high a manager's box is."""
    return (88, 38) if count <= FEW else (60, 26)


def places(count: int) -> list[complex]:
    """The middle of each box, clockwise from the top; they always take all of the height."""
    turns = [rect(1, 2 * pi * at / count - pi / 2) for at in range(count)]
    lowest = max(0.0, *(turn.imag for turn in turns))
    wide, high = size(count)
    across, down = (WIDTH - wide) / 2 - 3, (HEIGHT - high) / 2 - 3
    return [
        MIDDLE + complex(across * turn.real, down * (2 * (turn.imag + 1) / (lowest + 1) - 1))
        for turn in turns
    ]


def draw_managers(scene: Scene) -> Frag:
    """Draw a box per manager on an ellipse, a line to the middle, and unread messages on it."""
    count, decided = scene.model.rms, DECISIONS[scene.state.tm]
    placed = tuple(zip(managers(scene), places(count), strict=True))
    name, kind = "transaction manager", f"decider {decided}".rstrip()
    lines = *((word, "on") for word in name.split()), (decided or "undecided", "word")
    return h(
        "div",
        h(
            "svg",
            [_line(row, place) for row, place in placed],
            [_messages(row, place, decided) for row, place in placed],
            _box(MIDDLE, (100, 56), "n:TM", kind, name, *lines),
            [_manager(row, place, count) for row, place in placed],
            viewBox=f"0 0 {WIDTH} {HEIGHT}",
            role="img",
            aria_label=managers_text(scene),
        ),
        h("p", "envelope: not read yet; solid line: heard to be prepared", class_="soft"),
    )


def _line(row: Row, place: complex) -> Frag:
    way = f"M{place.real:.0f} {place.imag:.0f}L{MIDDLE.real:.0f} {MIDDLE.imag:.0f}"
    kind = "wire" if row[2] == "✓ read" else "wire dashed"
    return h("path", d=way, k=f"line:{row[0]}", class_=kind)


def _messages(row: Row, place: complex, decided: str) -> Iterator[Frag]:
    """The envelopes on a manager's line, each so far from the manager to the one who decides."""
    name, _, sent, waits = row
    vote = (f"{name}: prepared", 0.38, "vote") if sent == "in the network" else None
    order = (f"{decided} for {name}", 0.62, decided) if waits else None
    for words, share, kind in filter(None, (vote, order)):
        at = place + share * (MIDDLE - place)
        yield h(
            "g",
            h("title", f"not read yet: {words}"),
            h("rect", x=-9, y=-6, width=18, height=12, class_="box"),
            h("path", d=SHAPES["message"], class_="flap"),
            k=f"unread:{words}",
            class_=f"unread {kind}",
            transform=f"translate({at.real:.0f} {at.imag:.0f})",
        )


def _manager(row: Row, place: complex, count: int) -> Frag:
    """A manager's box with its state as a word, of many as a sign."""
    name, state, *_ = row
    short = [(f"{name} {SIGNS[state]}".rstrip(), "on")]
    lines = short if count > FEW else [(name, "on"), (state, "word")]
    words, kind = f"{name}: {state}", f"manager {state}"
    return _box(place, size(count), f"n:{name}", kind, words, *lines)


def _box(at: complex, extent: Size, key: str, kind: str, name: str, *lines: Line) -> Frag:
    """A box with lines of text, each in its class."""
    wide, high = extent
    top = 5 - LINE * (len(lines) - 1) / 2
    return h(
        "g",
        h("title", name),
        h("rect", x=-wide / 2, y=-high / 2, width=wide, height=high, rx=6, class_="box"),
        [
            h("text", words, y=top + LINE * i, text_anchor="middle", class_=look)
            for i, (words, look) in enumerate(lines)
        ],
        k=key,
        class_=kind,
        transform=f"translate({at.real:.0f} {at.imag:.0f})",
        data_of=name.partition(":")[0],
    )


def managers_text(scene: Scene) -> str:
    """Write the decision, and a line for each manager with what is unread of it and for it."""
    decided = DECISIONS[scene.state.tm]
    lines = [f"  transaction manager: {decided or 'undecided'}"]
    for name, state, sent, waits in managers(scene):
        yet = f", has yet to read: {decided}" if waits else ""
        lines.append(f"  {name}: {state}{SENT[sent]}{yet}")
    return "\n".join(lines)


def _badges(scene: Scene) -> Badges:
    """How many were heard to be prepared, and what was decided."""
    words = ("… undecided", "✓ commit", "✗ abort")[scene.state.tm]
    yield "heard", f"heard {scene.state.heard.bit_count()} of {scene.model.rms}", "plain"
    yield "decision", words, "" if scene.state.tm else "busy"


TABLE = Table(managers, "row:{0[0]}", HEADS, "What each resource manager has done", "{0[0]}")
VIEWS = Views(
    (
        status(_badges),
        Panel("managers", "Managers and messages", draw_managers, managers_text, still=True),
        panel_of("table", "Managers", TABLE, still=True),
        LAMPS,
    ),
    picture="managers",
    table="table",
    badges="status",
)


def graphs() -> Iterator[tuple[str, str]]:
    """Yield the committed picture of all states with one resource manager: (name, DOT text)."""
    yield "states-twophase-1", dot_of(reached(build("twophase", {"rms": 1})))
