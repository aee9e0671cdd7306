"""What travels in the steps of a schema by gossip: messages, when they arrive."""

from __future__ import annotations

from typing import Any

from kit.engine.actors import ActorState, NetworkModel
from kit.engine.flows import Flow, FlowKind, FlowTable
from kit.engine.network import DeliverMessage
from kit.protocols.gossip.actors import (
    BeginRound,
    MakeChange,
    PullAnswer,
    PullCells,
    PullRequest,
)
from kit.protocols.gossip.model import Gossip

KINDS: dict[type, FlowKind] = {PullRequest: "request", PullAnswer: "data"}


def spot(name: str) -> str:
    """The key of a node in the picture."""
    return f"node:{name}"


def _arrived(
    m: Gossip, before: ActorState, action: DeliverMessage[Any], after: ActorState
) -> tuple[Flow, ...]:
    envelope = action.envelope
    source, target, message = envelope.source, envelope.target, envelope.message
    kind = KINDS.get(type(message), "message")
    text = f"{source} → {target}: {m.in_full(message)}"
    return (Flow(kind, spot(source), spot(target), m.in_short(message), text),)


# What a node begins travels when it arrives; a change is done where the client asks for it.
STILL = (*list(NetworkModel.acts)[1:], BeginRound, PullCells, MakeChange)
FLOWS = FlowTable({DeliverMessage: _arrived}, STILL)
