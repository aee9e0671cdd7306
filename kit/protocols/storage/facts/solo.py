"""What a picture needs to know where one node is real and the others are played by you.

For a coordinator: what each replica may answer now. For a replica: what may be sent to it, and by
which epochs it is a member. Every function is pure; epochs are absolute.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from kit.errors import Refusal
from kit.protocols.storage.coordinator import Coordinator, Reply
from kit.protocols.storage.facts.moment import EpochRow, Held, Role, epoch_rows, held, role
from kit.protocols.storage.facts.steps import Applied, Delivered, Happened
from kit.protocols.storage.replica import Replica, ReplicaState, Send
from kit.protocols.storage.rules.cells import NOTHING, timestamp
from kit.protocols.storage.rules.exchange import Verdict, sent
from kit.protocols.storage.rules.masks import holds
from kit.protocols.storage.storage import ApplyEpoch, Finish, Start, StorageState, TimeOut

ERRORS: dict[Verdict, str] = {
    "ok": "",
    "not-a-member": "no replica",
    "coordinator-behind": "coordinator is behind",
}


class Choice(Struct, frozen=True):
    """Something that you may do: at which epoch, in a word, and why not now, if not."""

    action: Any
    epoch: int | None
    word: str
    refusal: Refusal | None


class AnswerRow(Struct, frozen=True):
    """A replica that you play: asked and silent so far if there are choices.

    ``in_flight``: the message to it was sent and is not answered.
    """

    replica: str
    in_flight: bool
    acked: bool
    choices: tuple[Choice, ...]


class SendRow(Struct, frozen=True):
    """A kind of message that you may send to the real replica."""

    kind: str
    choices: tuple[Choice, ...]


class RealReplica(Struct, frozen=True):
    """The real replica: what it knows and holds, and its part by the epoch that it knows."""

    name: str
    epoch: int
    behind: int
    role: Role
    cell: str
    held: Held


def answers(m: Coordinator, s: StorageState) -> tuple[AnswerRow, ...]:
    """Every replica that you play, with what it may answer now."""
    choices_of: dict[str, list[Choice]] = {name: [] for name in m.history.replicas}
    for action, why in _all(m, s):
        if isinstance(action, Reply):
            word = "error" if action.verdict != "ok" else "ok, has it" if action.has_write else "ok"
            choices_of[action.replica].append(Choice(action, action.epoch, word, why))
    request = s.requests[0]
    return tuple(
        AnswerRow(name, holds(request.in_flight, i), holds(request.acked, i), tuple(choices))
        for i, (name, choices) in enumerate(choices_of.items())
    )


def beginnings(m: Coordinator, s: StorageState) -> tuple[Choice, ...]:
    """The epochs at which the coordinator may plan its request."""
    return tuple(
        Choice(action, action.epoch, "plans", why)
        for action, why in _all(m, s)
        if isinstance(action, Start)
    )


def endings(m: Coordinator, s: StorageState) -> tuple[Choice, ...]:
    """What the coordinator may do once it has sent its request: answer its client, or give up."""
    words = {Finish: "answer the client", TimeOut: "time out"}
    return tuple(
        Choice(action, None, words[type(action)], why)
        for action, why in _all(m, s)
        if type(action) in words
    )


def sends(m: Replica, s: ReplicaState) -> tuple[SendRow, ...]:
    """The messages that you may send, by the epoch of their plan."""
    choices_of: dict[str, list[Choice]] = {"write": [], "read": []}
    for action, why in _all(m, s):
        if isinstance(action, Send):
            kind = "write" if action.write else "read"
            choices_of[kind].append(Choice(action, action.epoch, "send", why))
    return tuple(SendRow(kind, tuple(choices)) for kind, choices in choices_of.items())


def _all(m: Any, s: Any) -> list[tuple[Any, Refusal | None]]:
    """Every action that one could think of, in the order of the model's table, with its refusal."""
    return list(m.options(s))


def epochs(m: Replica, s: ReplicaState) -> tuple[EpochRow, ...]:
    """Every committed epoch, and which of them the replica knows as its newest."""
    return epoch_rows(m.history, m.trail, ((m.replica, s.known),))


def real(m: Replica, s: ReplicaState) -> RealReplica:
    """The replica as it is now."""
    return RealReplica(
        m.replica,
        m.epoch(s.known),
        len(m.seen) - 1 - s.known,
        role(m.seen[s.known], m.index),
        cell_text(s.cell),
        held(s.cell),
    )


def cell_text(cell: int) -> str:
    """A cell of the real replica: ``write 1``, the first that you sent, or ``nothing``."""
    return "nothing" if cell == NOTHING else f"write {timestamp(cell)}"


def replied(m: Coordinator, before: StorageState, action: Reply, after: StorageState) -> Delivered:
    """Your answer for a replica, as a step; what the replica knew before is your affair."""
    caught_up = after.requests[0].coordinator_epoch > before.requests[0].coordinator_epoch
    return Delivered(
        0,
        m.title_of(0),
        m.workload[0].coordinator,
        action.replica,
        _carried(m, before),
        action.epoch,
        action.epoch,
        ERRORS[action.verdict],
        _reply(m, action),
        False,
        m.epoch(after, after.requests[0].coordinator_epoch) if caught_up else None,
    )


def _reply(m: Coordinator, action: Reply) -> str:
    if action.verdict != "ok":
        return "answers an error"
    if m.workload[0].writes:
        return f"takes {m.title_of(0)}"
    return "returns write 1" if action.has_write else "returns nothing"


def _carried(m: Coordinator, s: StorageState) -> int | None:
    if not m.switches.safeguards.epoch_exchange:
        return None
    return m.epoch(s, sent(m.views(s), s.requests[0].epoch, m.switches))


def happened(
    m: Replica, before: ReplicaState, action: Any, after: ReplicaState
) -> tuple[Happened, ...]:
    """What a step of the real replica was."""
    if isinstance(action, ApplyEpoch):
        return (Applied(m.replica, m.epoch(after.known)),)
    assert isinstance(action, Send)
    answer = m.answer(before, action)
    carried = m.epoch(sent(m.seen, m.trail.index(action.epoch), m.switches))
    number = after.timestamp if action.write else before.timestamp
    title = f"write {number}" if action.write else "read"
    error = ERRORS[answer.verdict]
    did = "answers an error"
    if not error:
        did = f"takes {title}" if action.write else f"returns {cell_text(before.cell)}"
    return (
        Delivered(
            number,
            title,
            "you",
            m.replica,
            carried if m.switches.safeguards.epoch_exchange else None,
            m.epoch(before.known),
            m.epoch(answer.known),
            error,
            did,
            False,
            None,
        ),
    )
