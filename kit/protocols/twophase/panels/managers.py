"""Resource managers around the transaction manager, the messages between them, their table.

A manager's box says its state. An envelope on a line is a message that nobody has read yet; the
line is solid once the transaction manager has heard that the one at its end is prepared.
"""

from __future__ import annotations

from cmath import rect
from collections.abc import Iterator
from math import pi
from typing import Literal, TypeAlias

from msgspec import Struct

from kit.protocols.twophase.twophase import TwoPhase, TwoPhaseState, decision
from kit.views.declared import Badges, Column, Table, panel_of, status
from kit.views.fragment import Frag, h
from kit.views.frame import SHAPES
from kit.views.panel import Panel, Scene

WIDTH, HEIGHT = 396, 322
MIDDLE = complex(WIDTH, HEIGHT) / 2
FEW = 8
"""Managers whose boxes have room for a word below the name."""
DECIDER_SIZE, LINE = (100, 56), 16
VOTE_AT, DECISION_AT = 0.38, 0.62
"""How far from the manager to the one who decides an unread message is drawn."""
SIGNS = {"working": "", "prepared": "○", "committed": "✓", "aborted": "✗"}
"""What stands for a state where there is no room for its word."""
Lines: TypeAlias = tuple[tuple[str, str], ...]
LEGEND = "envelope: not read yet; solid line: heard to be prepared"
DECIDED = {"": "undecided", "commit": "commit", "abort": "abort"}


class ManagerRow(Struct, frozen=True):
    """A resource manager: its state, its message *prepared*, and the decision it has yet to read.

    ``vote`` says whether the transaction manager has read the message; ``unread`` is empty where
    no decision waits for the manager.
    """

    name: str
    state: str
    vote: Literal["none", "unread", "read"]
    unread: str


def managers(m: TwoPhase, s: TwoPhaseState) -> Iterator[ManagerRow]:
    """The resource managers, in order."""
    for rm in range(m.rms):
        sent, read = s.prepared >> rm & 1, s.heard >> rm & 1
        waits = m.unfinished(s) >> rm & 1
        vote: Literal["none", "unread", "read"] = "read" if read else "unread" if sent else "none"
        yield ManagerRow(f"RM{rm}", m.where(s, rm), vote, decision(s) if waits else "")


def size(count: int) -> tuple[int, int]:
    """How wide and how high a manager's box is."""
    return (88, 38) if count <= FEW else (60, 26)


def places(count: int) -> list[complex]:
    """The middle of each box: the first stands at the top, the others follow clockwise.

    They take all of the height, whatever their number.
    """
    turns = [rect(1, 2 * pi * at / count - pi / 2) for at in range(count)]
    lowest = max((turn.imag for turn in turns[1:]), default=0.0)
    wide, high = size(count)
    across, down = (WIDTH - wide) / 2 - 3, (HEIGHT - high) / 2 - 3
    return [
        MIDDLE + complex(across * turn.real, down * _stretched(turn.imag, lowest)) for turn in turns
    ]


def _stretched(height: float, lowest: float) -> float:
    """A height between -1 and ``lowest`` as one between -1 and 1."""
    return 2 * (height + 1) / (lowest + 1) - 1


def draw_managers(scene: Scene) -> Frag:
    """Draw a box per manager on an ellipse, a line to the middle, and unread messages on it."""
    rows = tuple(managers(scene.model, scene.state))
    placed = tuple(zip(rows, places(len(rows)), strict=True))
    return h(
        "div",
        h(
            "svg",
            [_line(row, place) for row, place in placed],
            [_messages(row, place) for row, place in placed],
            _decider(scene),
            [_manager(row, place, len(rows)) for row, place in placed],
            viewBox=f"0 0 {WIDTH} {HEIGHT}",
            role="img",
            aria_label=managers_text(scene),
        ),
        h("p", LEGEND, class_="soft"),
    )


def _line(row: ManagerRow, place: complex) -> Frag:
    return h(
        "path",
        d=f"M{place.real:.0f} {place.imag:.0f}L{MIDDLE.real:.0f} {MIDDLE.imag:.0f}",
        k=f"line:{row.name}",
        class_="wire" if row.vote == "read" else "wire dashed",
    )


def _messages(row: ManagerRow, place: complex) -> list[Frag]:
    """The envelopes on a manager's line."""
    envelopes = []
    if row.vote == "unread":
        envelopes.append(_envelope(f"{row.name}: prepared", place, VOTE_AT, "vote"))
    if row.unread:
        envelopes.append(_envelope(f"{row.unread} for {row.name}", place, DECISION_AT, row.unread))
    return envelopes


def _envelope(words: str, place: complex, share: float, kind: str) -> Frag:
    at = place + share * (MIDDLE - place)
    return h(
        "g",
        h("title", f"not read yet: {words}"),
        h("rect", x=-9, y=-6, width=18, height=12, class_="box"),
        h("path", d=SHAPES["message"], class_="flap"),
        k=f"unread:{words}",
        class_=f"unread {kind}",
        transform=f"translate({at.real:.0f} {at.imag:.0f})",
    )


def _decider(scene: Scene) -> Frag:
    decided = decision(scene.state)
    lines = (("transaction", "on"), ("manager", "on"), (DECIDED[decided], "word"))
    kind = f"decider {decided}".rstrip()
    return _box("transaction manager", lines, MIDDLE, DECIDER_SIZE, "n:TM", kind)


def _manager(row: ManagerRow, place: complex, count: int) -> Frag:
    """A manager's box with its state as a word, of many as a sign."""
    lines: Lines = ((row.name, "on"), (row.state, "word"))
    if count > FEW:
        lines = ((f"{row.name} {SIGNS[row.state]}".rstrip(), "on"),)
    name = f"{row.name}: {row.state}"
    return _box(name, lines, place, size(count), f"n:{row.name}", f"manager {row.state}")


def _box(
    name: str, lines: Lines, place: complex, extent: tuple[int, int], key: str, kind: str
) -> Frag:
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
        class_=kind.rstrip(),
        transform=f"translate({place.real:.0f} {place.imag:.0f})",
        data_of=name.partition(":")[0],
    )


def managers_text(scene: Scene) -> str:
    """Write the decision, and a line for each manager with what is unread of it and for it."""
    decided = decision(scene.state)
    lines = [f"  transaction manager: {DECIDED[decided]}"]
    for row in managers(scene.model, scene.state):
        notes = {"none": "", "unread": ", its message is not read", "read": ", heard"}[row.vote]
        waits = f", has yet to read: {row.unread}" if row.unread else ""
        lines.append(f"  {row.name}: {row.state}{notes}{waits}")
    return "\n".join(lines)


MANAGERS = Panel("managers", "Managers and messages", draw_managers, managers_text, still=True)


DECISIONS = {"": "…", "commit": "✓", "abort": "✗"}
VOTES = {"none": "not sent", "unread": "in the network", "read": "✓ read"}


def _badges(scene: Scene) -> Badges:
    """How many were heard to be prepared, and what was decided."""
    decided = decision(scene.state)
    yield "heard", f"heard {scene.state.heard.bit_count()} of {scene.model.rms}", "plain"
    yield "decision", f"{DECISIONS[decided]} {DECIDED[decided]}", "" if decided else "busy"


STATUS = status(_badges)
TABLE = panel_of(
    "table",
    "Managers",
    Table(
        lambda scene: managers(scene.model, scene.state),
        "row:{0.name}",
        (
            Column("manager", "name"),
            Column("state", "state"),
            Column("its “prepared”", lambda row: VOTES[row.vote]),
            Column("the decision", lambda row: row.unread and f"{row.unread}, unread"),
        ),
        caption="What each resource manager has done",
        of="{0.name}",
    ),
    still=True,
)
