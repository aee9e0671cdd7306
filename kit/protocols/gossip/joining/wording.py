"""The words of an operation by gossip: verbs, and what a step did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import astuple

from kit.protocols.gossip.joining import state as act
from kit.protocols.gossip.joining.state import RingState

if TYPE_CHECKING:
    from kit.protocols.gossip.joining.model import GossipJoin


def verb(action: Any) -> str:
    """An action as a line of a scenario file."""
    if isinstance(action, act.WriteKey):
        return f"write {action.coordinator} by {' '.join(action.by)}"
    return " ".join((str(type(action).__struct_config__.tag), *astuple(action)))


def described(m: GossipJoin, before: RingState, action: Any, after: RingState) -> str:
    """What a step did, in a sentence or two."""
    match action:
        case act.ShadowRound(node, contact):
            return f"{node} asks {contact} what there is; nobody hears of {node}."
        case act.AnnounceBoot(node):
            generation = m.node(after, node).generation
            return (
                f"{node} says BOOT in generation {generation}: who hears it writes to {node}, too."
            )
        case act.StreamRange(node):
            source = m.source(before, node)
            if not source:
                return f"{node} takes nobody's place for this key and streams nothing of it."
            return f"{node} copies the key from {source}, whose place it takes."
        case act.AnnounceNormal(node):
            return f"{node} says NORMAL: who hears it reads from {node}."
        case act.Exchange(node, target):
            return f"{node} and {target} gossip; both know the newer of what each knew."
        case act.WriteKey(coordinator, by):
            targets, needed = m.targets(before, coordinator)
            return (
                f"{coordinator} writes to {', '.join(targets)} by its own view; "
                f"{', '.join(by)} acknowledged it, and {needed} had to."
            )
        case act.CrashDriver(node):
            return f"{node} dies {_lost(m, node)}"
        case act.ForgetJoiner(node):
            return f"{node} was silent for too long: the others take it out of what they know."
        case act.CutNodeOff(node):
            return f"The network cuts {node} off."
        case act.HealCut():
            return "The network is whole again."
    return _removal(m, before, action)


def _removal(m: GossipJoin, before: RingState, action: Any) -> str:
    """What the driver of a removal did, or a member that is back."""
    match action:
        case act.BeginRemoval(node, dead):
            return f"The operator calls removenode of {dead} on {node}: it says REMOVING."
        case act.RestoreReplica(node):
            taker, sources = m.removal.taker(before, node), m.removal.sources(before, node)
            if not sources:
                return f"{node} finds no replica left but the dead one: {taker} copies nothing."
            return f"{node} has {taker} copy the key from {sources[0]}, and {taker} answers."
        case act.AnnounceRemoved(node):
            return f"{node} says REMOVED: who hears it asks {m.dead[0]} for nothing any more."
    return f"{action.node} is up again with its data; it does not know that it drove a removal."


def _lost(m: GossipJoin, node: str) -> str:
    if node in m.joiners:
        return "while it joins. Nobody can go on with that: it starts from scratch."
    return (
        "while it drives the removal. Nobody knows how far it was: "
        "the operator starts from scratch on another node."
    )
