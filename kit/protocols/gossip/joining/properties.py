"""What a join by gossip should keep: an acknowledged write is found by whoever reads."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING

from kit.engine.model import Property, always, goal, sometimes
from kit.protocols.gossip.joining.state import RingState, ViewNode
from kit.protocols.gossip.rules.ownership import replicas

if TYPE_CHECKING:
    from kit.protocols.gossip.joining.model import GossipJoin


def properties_of(m: GossipJoin) -> tuple[Property, ...]:
    """The promises, judged once gossip has come to rest, and what must stay possible."""

    def lost(s: RingState) -> str | None:
        return next(_misses(m, s), None) if is_settled(s) else None

    return (
        always(
            "kept", "Once all have heard, each read sees each acknowledged write", lost,
            "INV-VISIBLE",
        ),
        sometimes("joined", "A node has joined", lambda s: s.nodes[-1].phase == "member"),
        goal("all-in", "All can still join, and all can hear of it", all_in),
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
    return tuple(node for node in s.nodes if node.phase not in ("out", "shadow"))


def is_settled(s: RingState) -> bool:
    """Whether the network is whole and all members know the same."""
    return not s.cut_off and len({node.view for node in members(s)}) == 1


def all_in(s: RingState) -> bool:
    """Whether all nodes are members and know it of one another."""
    return len(members(s)) == len(s.nodes) and is_settled(s)


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
