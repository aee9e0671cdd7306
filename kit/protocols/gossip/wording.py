"""The words of a schema by gossip: verbs, messages, and what a step did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kit.engine.actors import ActorState
from kit.protocols.gossip.actors import (
    Ack,
    Ack2,
    BeginRound,
    MakeChange,
    PullAnswer,
    PullCells,
    PullRequest,
    Syn,
)
from kit.protocols.gossip.rules.endpoints import SCHEMA, Digests, View, endpoint_of
from kit.protocols.gossip.rules.mutations import Mutations, hashed_cells

if TYPE_CHECKING:
    from kit.protocols.gossip.model import Gossip


def verb(action: Any) -> str:
    """``gossip A B``, ``pull B A``; empty for others."""
    match action:
        case BeginRound(node, target):
            return f"gossip {node} {target}"
        case PullCells(node, source):
            return f"pull {node} {source}"
    return ""


def called(message: Any) -> str:
    """A message in a word or two."""
    match message:
        case Syn():
            return "SYN"
        case Ack():
            return "ACK"
        case Ack2():
            return "ACK2"
        case PullRequest():
            return "pull"
        case PullAnswer(_, version):
            return f"cells {version}"
    return ""


def in_full(message: Any) -> str:
    """A message with what it tells."""
    match message:
        case Syn(digests):
            return f"SYN (it knows {_digests(digests)})"
        case Ack(lacking, newer):
            asks = [f"asks for {', '.join(d.endpoint for d in lacking)}"] if lacking else []
            return f"ACK ({' and '.join([*asks, *_states(newer)]) or 'nothing is newer'})"
        case Ack2(newer):
            return f"ACK2 ({' and '.join(_states(newer))})"
        case PullRequest():
            return "a request for its schema"
        case PullAnswer(_, version, cells):
            return f"{_count(cells)} of version {version}"
    return ""


def _count(cells: Mutations) -> str:
    count = hashed_cells(cells)
    return f"{count} cell" if count == 1 else f"{count} cells"


def _digests(digests: Digests) -> str:
    return ", ".join(f"{d.endpoint} {d.generation}:{d.version}" for d in digests)


def _states(newer: View) -> list[str]:
    said = ", ".join(
        f"{state.endpoint} has {state.says(SCHEMA)}" for state in newer if state.says(SCHEMA)
    )
    return [f"tells that {said}"] if said else []


def described(m: Gossip, before: ActorState, action: Any, after: ActorState) -> str:
    """What a step of the protocol's own did; empty for what the network does."""
    match action:
        case BeginRound(node, target):
            return f"{node} gossips with {target}."
        case PullCells(node, source):
            theirs = endpoint_of(m.node(before, node).view, source).says(SCHEMA)
            mine = m.node(before, node).version
            return f"{node} has version {mine}, {source} gossips {theirs}: {node} pulls its schema."
        case MakeChange(number):
            planned = m.changes[number]
            node = after.nodes[planned.node]
            stamp = dict(node.done)[number]
            return (
                f"{node.name} does {planned.change.text} with timestamp {stamp} and says so; "
                f"its version is {node.version}, a hash of {_count(node.cells)}."
            )
    return ""
