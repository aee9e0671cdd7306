"""What an operation by gossip should keep: an acknowledged write is found by whoever reads."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING

from kit.engine.model import Property, always, goal, sometimes
from kit.protocols.gossip.joining.state import RingState, ViewNode
from kit.protocols.gossip.rules.ownership import replicas

if TYPE_CHECKING:
    from kit.protocols.gossip.joining.model import GossipJoin

SILENT = ("out", "shadow", "down")
"""The phases in which a node does not gossip, and gets no writes."""


def properties_of(m: GossipJoin) -> tuple[Property, ...]:
    """The promises, judged once gossip has come to rest, and what must stay possible."""

    def lost(s: RingState) -> str | None:
        return next(_misses(m, s), None) if is_settled(s) else None

    kept = always(
        "kept", "Once all have heard, each read sees each acknowledged write", lost, "INV-VISIBLE"
    )
    if m.dead:
        return (
            kept,
            always(
                "restored", "Before a dead node is removed, who takes its place holds each write",
                m.removal.short, "INV-STREAM",
            ),
            sometimes("removed", "The dead node is removed", m.removal.is_through),
            goal("all-out", "The dead node can still be removed, and all can hear of it",
                 lambda s: m.removal.is_through(s) and _all_up(m, s) and is_settled(s)),
        )  # fmt: skip
    return (
        kept,
        sometimes("joined", "A node has joined", lambda s: s.nodes[-1].phase == "member"),
        goal("all-in", "All can still join, and all can hear of it",
             lambda s: _all_up(m, s) and is_settled(s)),
    )  # fmt: skip


def early_reads(m: GossipJoin) -> Property:
    """What gossip does not promise, while news travel: whoever reads now sees the write."""
    return always(
        "seen",
        "Whoever reads at any moment sees each acknowledged write",
        lambda s: next(_misses(m, s), None),
    )


def members(s: RingState) -> tuple[ViewNode, ...]:
    """The nodes that clients may ask."""
    return tuple(node for node in s.nodes if node.phase == "member")


def talking(s: RingState) -> tuple[ViewNode, ...]:
    """The nodes that gossip."""
    return tuple(node for node in s.nodes if node.phase not in SILENT)


def is_settled(s: RingState) -> bool:
    """Whether the network is whole and all members know the same."""
    return not s.cut_off and len({node.view for node in members(s)}) == 1


def _all_up(m: GossipJoin, s: RingState) -> bool:
    """Whether all nodes but the dead one are members."""
    return len(members(s)) + len(m.dead) == len(s.nodes)


def quorum(count: int) -> int:
    """A majority of so many replicas."""
    return count // 2 + 1


def _misses(m: GossipJoin, s: RingState) -> Iterator[str]:
    """Reads, by any coordinator and of any quorum that is up, which miss a write."""
    data = {node.name: node.data for node in members(s)}
    for node in members(s):
        owners = replicas(node.view, m.walk, m.parameters.rf)
        up = [name for name in owners if name in data and m.reaches(s, node.name, name)]
        for some in combinations(up, quorum(len(owners))):
            held = 0
            for name in some:
                held |= data[name]
            if s.acknowledged & ~held:
                write = (s.acknowledged & ~held).bit_length()
                yield f"{node.name} reads {', '.join(some)}, and misses write {write}"
