"""One moment of a join by gossip as rows: what each node knows, and whom it would ask."""

from __future__ import annotations

from msgspec import Struct

from kit.engine.flows import Flow, FlowTable
from kit.protocols.gossip.facts.flows import spot
from kit.protocols.gossip.joining import state as act
from kit.protocols.gossip.joining.model import GossipJoin
from kit.protocols.gossip.joining.state import RingState
from kit.protocols.gossip.rules.endpoints import STATUS, UNKNOWN, endpoint_of
from kit.protocols.gossip.rules.ownership import pending, replicas

Flows = tuple[Flow, ...]


class ViewRow(Struct, frozen=True):
    """A node: how far it is, what it has heard of each one that joins, whom it takes for replicas.

    ``says`` gives each joining node its status and generation, ``holds`` the writes that are here.
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
        heard = [endpoint_of(node.view, name) for name in m.joiners]
        says = tuple(
            f"{each.says(STATUS)} {each.generation}" if each.generation != UNKNOWN else ""
            for each in heard
        )
        owners, more = replicas(node.view, m.walk, rf), pending(node.view, m.walk, rf)
        holds = tuple(at + 1 for at in range(s.written) if node.data >> at & 1)
        cut = node.name == s.cut_off
        rows.append(ViewRow(node.name, node.phase, says, owners, more, holds, cut))
    return tuple(rows)


def unheard(m: GossipJoin, s: RingState) -> tuple[str, ...]:
    """Who does not know yet what a node that joins says of itself."""
    return tuple(
        f"{node.name} of {joiner.name}"
        for joiner in s.nodes
        if joiner.name in m.joiners and joiner.phase not in ("out", "shadow")
        for node in s.nodes
        if node.phase not in ("out", "shadow")
        and endpoint_of(node.view, joiner.name) != endpoint_of(joiner.view, joiner.name)
    )


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
        act.WriteKey: _written,
    },
    (
        *(act.AnnounceBoot, act.AnnounceNormal, act.CrashJoiner, act.ForgetJoiner),
        *(act.CutNodeOff, act.HealCut),
    ),
)
