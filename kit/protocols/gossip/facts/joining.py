"""One moment of an operation by gossip as rows: what each node knows, and whom it would ask."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from kit.engine.flows import Flow, FlowTable
from kit.protocols.gossip.facts.moment import spot
from kit.protocols.gossip.joining import state as act
from kit.protocols.gossip.joining.model import GossipJoin
from kit.protocols.gossip.joining.properties import SILENT, talking
from kit.protocols.gossip.joining.state import RingState
from kit.protocols.gossip.rules.endpoints import STATUS, UNKNOWN, EndpointState, endpoint_of
from kit.protocols.gossip.rules.ownership import pending, replicas

Flows = tuple[Flow, ...]


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
    rf = m.parameters.rf
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
    for name in m.joiners:
        if m.node(s, name).phase not in SILENT:
            yield endpoint_of(m.node(s, name).view, name)
    for name in m.dead:
        heard = (endpoint_of(node.view, name) for node in talking(s))
        yield max(heard, key=lambda each: (each.generation, each.version))


def _shadow(m: GossipJoin, before: RingState, a: act.ShadowRound, after: RingState) -> Flows:
    node, contact = spot(a.node), spot(a.contact)
    return (
        Flow("request", node, contact, "what is there?", f"{a.node} → {a.contact}: shadow round"),
        Flow("answer", contact, node, "states", f"{a.contact} → {a.node}: its states", leg=1),
    )


def _gossip(m: GossipJoin, before: RingState, a: act.Exchange, after: RingState) -> Flows:
    there, back = f"{a.node} → {a.target}", f"{a.target} → {a.node}"
    return (
        Flow("message", spot(a.node), spot(a.target), "gossip", f"{there}: digests"),
        Flow("message", spot(a.target), spot(a.node), "gossip", f"{back}: what is newer", leg=1),
    )


def _streamed(m: GossipJoin, before: RingState, a: act.StreamRange, after: RingState) -> Flows:
    source = m.source(before, a.node)
    if not source:
        return ()
    return (Flow("data", spot(source), spot(a.node), "range", f"{source} → {a.node}: the range"),)


def _restored(m: GossipJoin, before: RingState, a: act.RestoreReplica, after: RingState) -> Flows:
    taker, sources = m.removal.taker(before, a.node), m.removal.sources(before, a.node)
    flows = [Flow("data", spot(name), spot(taker), "range", f"{name} → {taker}: the range", leg=1)
             for name in sources[:1]]  # fmt: skip
    if taker != a.node:
        there, back = f"{a.node} → {taker}", f"{taker} → {a.node}"
        flows.insert(0, Flow("request", spot(a.node), spot(taker), "stream", f"{there}: stream"))
        flows.append(Flow("answer", spot(taker), spot(a.node), "done", f"{back}: done", leg=2))
    return tuple(flows)


def _written(m: GossipJoin, before: RingState, a: act.WriteKey, after: RingState) -> Flows:
    label = f"write {after.written}"
    return tuple(
        Flow("data", spot(a.coordinator), spot(name), label, f"{a.coordinator} → {name}: {label}")
        for name in a.by
        if name != a.coordinator
    )


# What a node says of itself travels with the gossip that follows; faults move nothing.
FLOWS = FlowTable(
    {
        act.ShadowRound: _shadow,
        act.Exchange: _gossip,
        act.StreamRange: _streamed,
        act.RestoreReplica: _restored,
        act.WriteKey: _written,
    },
    (
        *(act.AnnounceBoot, act.AnnounceNormal, act.CrashDriver, act.ForgetJoiner),
        *(act.BeginRemoval, act.AnnounceRemoved, act.RestartDriver),
        *(act.CutNodeOff, act.HealCut),
    ),
)
