"""One moment of an operation by gossip as rows: what each node knows, and whom it would ask."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from kit.protocols.gossip.gossip_join import SILENT, GossipJoin, RingState, talking
from kit.protocols.gossip.rules.endpoints import STATUS, UNKNOWN, EndpointState, endpoint_of
from kit.protocols.gossip.rules.ownership import pending, replicas


class ViewRow(Struct, frozen=True):
    """A node: how far it is, what it has heard of each one that joins or goes, whom it asks.

    ``phase`` is how far the removal is that it drives, if it does. ``says`` gives the status and
    generation of each node that joins or is removed, ``holds`` the writes that are here.
    """

    name: str
    phase: str
    says: tuple[str, ...]
    reads: tuple[str, ...]
    pending: tuple[str, ...]
    holds: tuple[int, ...]
    cut_off: bool


def views(m: GossipJoin, s: RingState) -> tuple[ViewRow, ...]:
    """A row for each node."""
    rf = m.rf
    rows = []
    for node in s.nodes:
        heard = [endpoint_of(node.view, name) for name in m.changing]
        says = tuple(
            f"{each.says(STATUS)} {each.generation}" if each.generation != UNKNOWN else ""
            for each in heard
        )
        owners, more = replicas(node.view, m.walk, rf), pending(node.view, m.walk, rf)
        holds = tuple(at + 1 for at in range(s.written) if node.data >> at & 1)
        cut = node.name == s.cut_off
        phase = node.drives or node.phase
        rows.append(ViewRow(node.name, phase, says, owners, more, holds, cut))
    return tuple(rows)


def unheard(m: GossipJoin, s: RingState) -> tuple[str, ...]:
    """Who does not know yet the newest of a node that joins or is removed."""
    return tuple(
        f"{node.name} of {news.endpoint}"
        for news in _news(m, s)
        for node in talking(s)
        if endpoint_of(node.view, news.endpoint) != news
    )


def _news(m: GossipJoin, s: RingState) -> Iterator[EndpointState]:
    """What a joining node says of itself, and the newest that anybody says of a dead one."""
    for name in m.newcomers:
        if m.node(s, name).phase not in SILENT:
            yield endpoint_of(m.node(s, name).view, name)
    for name in m.dead:
        heard = (endpoint_of(node.view, name) for node in talking(s))
        yield max(heard, key=lambda each: (each.generation, each.version))
