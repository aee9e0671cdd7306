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
from kit.protocols.storage.replica import Replica, ReplicaState, Send
from kit.protocols.storage.rules.view import holds
from kit.protocols.storage.storage import Finish, Start, StorageState, TimeOut


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
        m.cell_text(s.cell),
        held(s.cell),
    )
