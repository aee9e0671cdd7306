"""One state of the topology upgrade as people ask of it: gossip beside the table, route, joins."""

from __future__ import annotations

from msgspec import Struct

from kit.protocols.upgrade.rules.topology_state import (
    NOT_UPGRADED,
    ORDER,
    JoinWay,
    TopologyUpgradeState,
    join_way,
)
from kit.protocols.upgrade.topology import state as act
from kit.protocols.upgrade.topology.model import TopologyUpgrade
from kit.protocols.upgrade.topology.permits import post, serve
from kit.protocols.upgrade.topology.state import NOBODY, TopologyNode, TopologyUpgradeRun

APART = 100  # between the tokens of two nodes


class GossipedNode(Struct, frozen=True):
    """A node: what gossip tells of it, and what ``system.topology`` has (empty: no row)."""

    name: str
    gossip: str
    row: str


class TopologyNodeRow(Struct, frozen=True):
    """A node as the picture shows it."""

    name: str
    status: str
    version: str
    view: str
    leads: bool
    is_up: bool


class RouteAnswer(Struct, frozen=True):
    """What the route answers at a node: to GET, and why a POST is refused (empty: it is not)."""

    node: str
    state: str
    refusal: str
    action: act.PostUpgrade


class QueuedJoin(Struct, frozen=True):
    """A join: in the old way, or in the queue with the reason why it waits."""

    node: str
    way: JoinWay
    waits: str


def _tokens(number: int) -> str:
    return f"tokens {{{APART * (number + 1)}}}"


def _gossip(node: TopologyNode, number: int) -> str:
    match node.standing:
        case "normal":
            up = "" if node.is_up else " (down)"
            return f"NORMAL{up}, {_tokens(number)}"
        case "joining":
            return "BOOT"
        case _:
            return ""


def gossiped(m: TopologyUpgrade, s: TopologyUpgradeRun) -> tuple[GossipedNode, ...]:
    """Every node that gossip or the table tells of."""
    rows = []
    for number, (name, node) in enumerate(zip(m.names, s.nodes, strict=True)):
        row = f"normal, {_tokens(number)}" if s.rows >> number & 1 else ""
        gossip = _gossip(node, number)
        if gossip or row:
            rows.append(GossipedNode(name, gossip, row))
    return tuple(rows)


def nodes(m: TopologyUpgrade, s: TopologyUpgradeRun) -> tuple[TopologyNodeRow, ...]:
    """Every node, those outside too."""
    return tuple(
        TopologyNodeRow(
            name,
            node.standing if node.is_up else "down",
            "newer" if node.is_new else "older",
            node.view,
            s.leader != NOBODY and m.names[s.leader] == name,
            node.is_up and node.standing != "outside",
        )
        for name, node in zip(m.names, s.nodes, strict=True)
    )


def boxes(s: TopologyUpgradeRun) -> tuple[tuple[TopologyUpgradeState, str], ...]:
    """The states of the upgrade in order, each *passed*, *now* or *ahead*."""
    at = ORDER.index(s.upgrade_state)
    words = ["passed"] * at + ["now"] + ["ahead"] * (len(ORDER) - at - 1)
    return tuple(zip(ORDER, words, strict=True))


def route(m: TopologyUpgrade, s: TopologyUpgradeRun) -> tuple[RouteAnswer, ...]:
    """The route at each member."""
    rows = []
    for name, node in zip(m.names, s.nodes, strict=True):
        if node.standing == "normal":
            action = act.PostUpgrade(name)
            refusal = post(m, s, action) if node.is_up else None
            why = "the node is down" if not node.is_up else refusal.reason if refusal else ""
            rows.append(RouteAnswer(name, node.view if node.is_up else "no answer", why, action))
    return tuple(rows)


def joins(m: TopologyUpgrade, s: TopologyUpgradeRun) -> tuple[QueuedJoin, ...]:
    """Every node on its way into the cluster."""
    rows = []
    for name, node in zip(m.names, s.nodes, strict=True):
        if node.standing == "joining":
            rows.append(QueuedJoin(name, "old way", ""))
        if node.standing == "queued":
            refusal = serve(m, s, act.ServeJoin(name))
            rows.append(QueuedJoin(name, "request", refusal.reason if refusal else ""))
    return tuple(rows)


def way_now(s: TopologyUpgradeRun) -> JoinWay:
    """How a node that comes now joins."""
    return join_way(True, s.upgrade_state)


def chart(s: TopologyUpgradeRun) -> tuple[tuple[str, str, bool], ...]:
    """The branches of the flow chart: question and answer, what follows, whether it is taken now.

    A cluster that exists is joined here, so that discovery finds a group.
    """
    old = way_now(s) == "old way"
    return (
        ("discovery finds no group", "the node creates the cluster, with the new topology", False),
        (f"a member answers {NOT_UPGRADED}", "old way: GROUP0_MODIFY_CONFIG, then gossip", old),
        (
            "a member answers otherwise",
            "JOIN_NODE_REQUEST: a request, served once the upgrade is done",
            not old,
        ),
    )
