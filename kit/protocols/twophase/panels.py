"""Two-phase commit on the stage: the managers, the promises on their disks, unread messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from kit.engine.registry import build
from kit.protocols.twophase.twophase import DECISIONS
from kit.protocols.twophase.twophase import managers as named
from kit.views.declared import Badges, Table, panel_of, status
from kit.views.gate import Gate
from kit.views.panel import Scene
from kit.views.promises import LAMPS
from kit.views.registry import Views
from kit.views.stage import Character, Message, Stage, stage_panel
from kit.views.states import dot_of, reached

HEADS = ("manager", "state", "its “prepared”", "the decision")
SENT = {"not sent": "", "in the network": ", its message is not read", "✓ read": ", heard"}
"""What becomes of a manager's message *prepared*, in the table and in words."""
TM = "n:TM"
Row: TypeAlias = tuple[str, str, str, str]
"""A manager's name and state, its message, and the decision that it has yet to read, if any."""


def managers(scene: Scene) -> Iterator[Row]:
    """The resource managers, in order."""
    m, s, decided = scene.model, scene.state, DECISIONS[scene.state.tm]
    for rm in range(m.rms):
        sent = "in the network" if s.prepared >> rm & 1 else "not sent"
        waits = f"{decided}, unread" if decided and m.unfinished(s) >> rm & 1 else ""
        yield f"RM{rm}", m.where(s, rm), "✓ read" if s.heard >> rm & 1 else sent, waits


def _stage(scene: Scene) -> Stage:
    m, s, rows = scene.model, scene.state, tuple(managers(scene))
    decided, heard = DECISIONS[s.tm], s.heard.bit_count()
    decider = Character(
        "TM",
        TM,
        leads=True,
        tag=decided or "undecided",
        holds=(f"heard {heard} of {m.rms}",),
        fill=heard / m.rms,
        title=f"transaction manager: {decided or 'undecided'}",
    )
    votes = (Message(row[0], "TM", "prepared", thing=row[0]) for row in rows)
    orders = (Message("TM", row[0], decided, thing=row[0]) for row in rows)
    return Stage(
        ("TM", *(row[0] for row in rows)),
        (decider, *(_manager(row, s.prepared >> at & 1) for at, row in enumerate(rows))),
        messages=(
            *(vote for row, vote in zip(rows, votes, strict=True) if row[2] == "in the network"),
            *(order for row, order in zip(rows, orders, strict=True) if row[3]),
        ),
        lines=1,
    )


def _manager(row: Row, promised: int) -> Character:
    name, state, sent, waits = row
    yet = f", has yet to read: {waits.removesuffix(', unread')}" if waits else ""
    return Character(
        name,
        f"n:{name}",
        tag=state,
        holds=("promised" if promised else "free",),
        fill=float(promised),
        title=f"{name}: {state}{SENT[sent]}{yet}",
    )


def gates(scene: Scene) -> Iterator[Gate]:
    """To commit, all have to be heard; a decision waits until each has carried it out."""
    m, s = scene.model, scene.state
    if s.tm:
        there = m.everybody & ~m.unfinished(s)
        yield Gate(TM, f"all {DECISIONS[s.tm]}", "ended", named(there),
                   named(m.unfinished(s)), m.rms)  # fmt: skip
    else:
        missing = named(m.everybody & ~s.heard)
        yield Gate(TM, "commit", "been heard", named(s.heard), missing, m.rms)


def _badges(scene: Scene) -> Badges:
    """How many were heard to be prepared, and what was decided."""
    words = ("… undecided", "✓ commit", "✗ abort")[scene.state.tm]
    yield "heard", f"heard {scene.state.heard.bit_count()} of {scene.model.rms}", "plain"
    yield "decision", words, "" if scene.state.tm else "busy"


TABLE = Table(managers, "row:{0[0]}", HEADS, "What each resource manager has done", "{0[0]}")
VIEWS = Views(
    (
        status(_badges),
        stage_panel(
            "managers",
            "Managers and messages",
            _stage,
            gates=gates,
            meanings={
                "crown": "transaction manager",
                "blue": "promised to commit; at TM, heard",
            },
        ),
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
