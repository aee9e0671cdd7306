"""Two-phase commit on the stage: the managers, the promises on their disks, unread messages."""

from collections.abc import Iterator
from typing import TypeAlias

from kit.model.registry import build
from kit.protocols.twophase.twophase import DECISIONS, TwoPhase
from kit.protocols.twophase.twophase import managers as named
from kit.views.declared import Badges, Table, panel_of, status
from kit.views.gate import Gate
from kit.views.panel import Scene
from kit.views.promises import LAMPS
from kit.views.registry import Views
from kit.views.stage import Character, Message, Stage, Tile, stage_panel
from kit.views.states import dot_of, reached

HEADS = ("manager", "state", "“prepared” sent", "the decision")
MAY = {"working": "may still say no", "prepared": "must do as told"}
"""What a manager may do that has not ended."""
SENT = {"not sent": "", "in the network": ", its message is not read yet", "✓ read": ", heard"}
"""What becomes of a manager's message *prepared*, in the table and in words."""
TM, UNREAD = "n:TM", ", unread"
Row: TypeAlias = tuple[str, str, str, str]
"""A manager's name and state, its message, and how it relates to the decision, if there is one."""


def managers(scene: Scene) -> Iterator[Row]:
    """The resource managers, in order."""
    m, s, decided = scene.model, scene.state, DECISIONS[scene.state.tm]
    for rm in range(m.rms):
        sent = "in the network" if s.prepared >> rm & 1 else "not sent"
        follows = f"{decided}{UNREAD}" if m.unfinished(s) >> rm & 1 else "✓ carried out"
        heard = "✓ read" if s.heard >> rm & 1 else sent
        yield f"RM{rm}", m.where(s, rm), heard, follows if decided else ""


def _stage(scene: Scene) -> Stage:
    s, rows = scene.state, tuple(managers(scene))
    decided = DECISIONS[s.tm]
    decider = Character(
        "TM",
        TM,
        leads=True,
        tag=decided or "undecided",
        title=f"transaction manager: {decided or 'undecided'}",
    )
    votes = (Message(row[0], "TM", "prepared", thing=row[0]) for row in rows)
    orders = (Message("TM", row[0], decided, thing=row[0]) for row in rows)
    return Stage(
        ("TM", *(row[0] for row in rows)),
        (decider, *map(_manager, rows)),
        messages=(
            *(vote for row, vote in zip(rows, votes, strict=True) if row[2] == "in the network"),
            *(order for row, order in zip(rows, orders, strict=True) if row[3].endswith(UNREAD)),
        ),
        plain=("TM",),
    )


def _manager(row: Row) -> Character:
    name, state, sent, follows = row
    order = follows.removesuffix(UNREAD)
    yet = f", has yet to read: {order}" if order != follows else ""
    held = MAY.get(state, "has ended")
    return Character(
        name,
        f"n:{name}",
        holds=(Tile(state, name, open=state == "prepared"), held),
        title=f"{name}: {state}{SENT[sent]}{yet}",
    )


def gates(scene: Scene) -> Iterator[Gate]:
    """To commit, all have to be heard; a decision waits until each has carried it out.

    Where one has aborted nobody can commit, and who is prepared waits for the transaction manager.
    """
    m, s = scene.model, scene.state
    if s.tm:
        there = m.everybody & ~m.unfinished(s)
        yield Gate(TM, f"all {DECISIONS[s.tm]}", "ended", named(there),
                   named(m.unfinished(s)), m.rms)  # fmt: skip
    elif not s.aborted:
        missing = named(m.everybody & ~s.heard)
        verb = m.verb(TwoPhase.decide(commit=True))
        yield Gate(TM, verb, "been heard", named(s.heard), missing, m.rms)
    elif s.prepared:
        yield Gate(TM, "the decision", "decided", (), ("TM",), 1)


def _badges(scene: Scene) -> Badges:
    words = ("undecided", "✓ commit", "✗ abort")[scene.state.tm]
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
            meanings={"crown": "transaction manager", "open": "has promised, cannot say no"},
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
