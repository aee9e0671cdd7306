"""One moment of two-phase commit as rows: where each manager is, and what is still unread."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from kit.protocols.twophase.twophase import TwoPhase, TwoPhaseState, decision

Vote = Literal["none", "unread", "read"]


class ManagerRow(Struct, frozen=True):
    """A resource manager: its state, its message *prepared*, and the decision it has yet to read.

    ``vote`` says whether the transaction manager has read the message; ``unread`` is empty where
    no decision waits for the manager.
    """

    name: str
    state: str
    vote: Vote
    unread: str


def heard(s: TwoPhaseState) -> int:
    """How many managers the transaction manager has heard to be prepared."""
    return s.heard.bit_count()


def managers(m: TwoPhase, s: TwoPhaseState) -> tuple[ManagerRow, ...]:
    """The resource managers, in order."""
    return tuple(_manager(m, s, rm) for rm in range(m.rms))


def _manager(m: TwoPhase, s: TwoPhaseState, rm: int) -> ManagerRow:
    sent, read = s.prepared >> rm & 1, s.heard >> rm & 1
    vote: Vote = "read" if read else "unread" if sent else "none"
    waits = m.unfinished(s) >> rm & 1
    return ManagerRow(f"RM{rm}", m.where(s, rm), vote, decision(s) if waits else "")
