"""The ring of tokens while an operation changes it: who reads and who writes each range.

Every node has one token here, in the order of names; who replaces a node has its token. A range is
the first replica's, by the ring without the operation (*old*) or the changed one (*new*): which of
them counts is the selector of the transition state.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import lru_cache
from itertools import pairwise

from msgspec import Struct

from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.topology.control import ControlState
from kit.protocols.topology.rules.cluster import NOBODY, ClusterTopology, mask_of
from kit.protocols.topology.rules.effects import owners
from kit.protocols.topology.rules.machines import Selector
from kit.protocols.topology.rules.work import state_of, under_way
from kit.protocols.topology.topology import Topology

MOST_KEPT = 16


class RingArc(Struct, frozen=True):
    """A range between two tokens (by their places), and who reads and writes it."""

    left: int
    right: int
    reads: tuple[str, ...]
    writes: tuple[str, ...]


class RingNode(Struct, frozen=True):
    """A node on the ring: its token's place, and whether the operation brings or takes it.

    ``down``: it is not up; its token is known all the same.
    """

    name: str
    place: int
    comes: bool
    goes: bool
    down: bool = False


class TokenRing(Struct, frozen=True):
    """The ring at one version: ``places`` is how many there are for tokens, ``reads`` and
    ``writes`` are the selectors. ``known`` are the members that have applied this version.
    """

    places: int
    reads: Selector
    writes: Selector
    nodes: tuple[RingNode, ...]
    arcs: tuple[RingArc, ...]
    known: tuple[str, ...]


@lru_cache(MOST_KEPT)  # the ring of now is drawn and told, and then is that of the step before
def ring(m: Topology, s: ControlState) -> TokenRing:
    """The ring of a state."""
    old, new = _rings(s.topology)
    operation = under_way(s.topology)
    row = None if operation is None else state_of(operation, m.setting)
    reads: Selector = "old" if row is None else row.reads
    writes: Selector = "old" if row is None else row.writes
    place = _places(m)
    return TokenRing(
        max(place) + 1,
        reads,
        writes,
        tuple(
            RingNode(
                *(m.names[i], place[i], not old >> i & 1, not new >> i & 1), down=not s.up >> i & 1
            )
            for i in nodes_in(old | new)
        ),
        tuple(_arcs(m, place, {"old": old, "new": new}, reads, writes)),
        m.named(_knowing(s)),
    )


def _knowing(s: ControlState) -> int:
    """The members that go by the newest version, whoever else is down (a mask)."""
    newest = len(s.views) - 1
    return sum(1 << i for i in nodes_in(s.topology.members & s.up) if s.applied[i] == newest)


def _rings(t: ClusterTopology) -> tuple[int, int]:
    """Who owns tokens by the ring without the operation, and by the changed one (masks)."""
    rebuilt = sum(1 << i for i in nodes_in(mask_of(t, "rebuilding")) if t.nodes[i].tokens)
    stay = owners(t) | rebuilt
    operation = under_way(t)
    if operation is None or operation.node == NOBODY:
        return stay, stay
    entry, bit = t.nodes[operation.node], 1 << operation.node
    if entry.state in ("decommissioning", "removing"):
        return stay | bit, stay
    if entry.state in ("bootstrapping", "replacing") and entry.tokens:
        replaced = 1 << entry.replaced if entry.state == "replacing" else 0
        return stay, stay & ~replaced | bit
    return stay, stay


def _places(m: Topology) -> tuple[int, ...]:
    """The place of each node's token on the ring."""
    has_token_of = list(range(len(m.names)))
    for asks in m.plan.requests:
        if asks.replaced != NOBODY:
            has_token_of[asks.node] = has_token_of[asks.replaced]
    tokens = sorted(set(has_token_of))
    return tuple(map(tokens.index, has_token_of))


def _arcs(
    m: Topology, place: tuple[int, ...], rings: dict[str, int], reads: Selector, writes: Selector
) -> list[RingArc]:
    tokens = sorted({place[i] for i in nodes_in(rings["old"] | rings["new"])})
    if not tokens:
        return []
    named = {name: _owners(m, place, owning, tokens) for name, owning in rings.items() if owning}

    def replicas(selector: Selector, token: int) -> tuple[str, ...]:
        chosen = ("old", "new") if selector == "both" else (selector,)
        return tuple(dict.fromkeys(named[name][token] for name in chosen if name in named))

    return [
        RingArc(left, right, replicas(reads, right), replicas(writes, right))
        for left, right in pairwise((tokens[-1], *tokens))
    ]


def _owners(m: Topology, place: tuple[int, ...], owning: int, tokens: list[int]) -> dict[int, str]:
    """The first replica of the range that ends at each token: whose token is next clockwise."""
    at = {place[node]: m.names[node] for node in reversed(tuple(nodes_in(owning)))}
    there = sorted(at)
    return {token: at[there[bisect_left(there, token) % len(there)]] for token in tokens}
