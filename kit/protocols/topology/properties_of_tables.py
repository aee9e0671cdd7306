"""What the tables may never show: states, members and cells that do not go together, or that change
as nothing allows.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.topology.rules.cluster import NO_ROW, ClusterTopology, mask_of
from kit.protocols.topology.rules.editions import MACHINES, NODE, REPLACED
from kit.protocols.topology.rules.machines import BOUNDARY
from kit.protocols.topology.rules.states import NODE_STATE_OF
from kit.protocols.topology.rules.work import goes_on, under_way
from kit.protocols.topology.state import ControlState

if TYPE_CHECKING:
    from kit.protocols.topology.model import Topology

NODE_EDGES = {
    (NO_ROW, "none"),
    (REPLACED.source, REPLACED.target),
    *((edge.source, edge.target) for edge in NODE.edges),
}
TRACKS = ("tablet_migration", "tablet_draining", "rollback_to_normal")
"""The states in which tablet transitions may be recorded in edition ``documents``."""


def node_edge(before: ControlState, action: Any, after: ControlState) -> str | None:
    """The state of each node changes along the edges of the diagram, and along no others."""
    if before.topology is after.topology:
        return None
    pairs = zip(before.topology.nodes, after.topology.nodes, strict=True)
    for old, new in pairs:
        if old.state != new.state and (old.state, new.state) not in NODE_EDGES:
            return f"a node went from {old.state or 'no row'} to {new.state or 'no row'}"
    return None


@lru_cache
def transition_edges(edition: Any) -> set[tuple[str, str]]:
    """The changes of the transition state that the edition's tables allow."""
    pairs = {
        (edge.source, edge.target)
        for machine in MACHINES[edition].values()
        if machine is not NODE
        for edge in machine.edges
    }
    ends = {source for source, target in pairs if target == BOUNDARY}
    begins = {target for source, target in pairs if source == BOUNDARY}
    # A join goes before tablets that move, and goes back to them: edition server alone.
    tablets = {("tablet_migration", target) for target in begins} | {
        (source, "tablet_migration") for source in ends
    }
    free = {(a.replace(BOUNDARY, ""), b.replace(BOUNDARY, "")) for a, b in pairs}
    return free | (tablets if edition == "server" else set())


def transition_edge(
    model: Topology, before: ControlState, action: Any, after: ControlState
) -> str | None:
    """The transition state changes along the tables of the edition, and along no others."""
    change = before.topology.transition, after.topology.transition
    if change[0] == change[1] or change in transition_edges(model.setting.edition):
        return None
    return f"the transition state went from {change[0] or 'null'} to {change[1] or 'null'}"


def own_state(
    model: Topology, before: ControlState, action: Any, after: ControlState
) -> str | None:
    """The transition state is one of the operation's that holds the state machine."""
    operation = under_way(after.topology)
    if operation is None or goes_on(operation, model.setting):
        return None
    return f"{operation.machine} has no state {operation.state or 'null'}"


def at_most_one(s: ControlState) -> str | None:
    """No two nodes are in transition."""
    moving = [e.state for e in s.topology.nodes if e.state in NODE_STATE_OF.values()]
    return f"{' and '.join(moving)} at once" if len(moving) > 1 else None


def tablets_apart(model: Topology, s: ControlState) -> str | None:
    """In edition ``documents`` tablets move in their own track only; in ``server`` they wait,
    recorded.
    """
    if model.setting.edition == "server" or s.topology.tablets != "moving":
        return None
    where = s.topology.transition or "null"
    return None if where in TRACKS else f"tablets move while the cluster is in {where}"


def tablets_hold(
    model: Topology, before: ControlState, action: Any, after: ControlState
) -> str | None:
    """No tablet advances while a node operation holds the state machine."""
    operation = under_way(before.topology)
    track = operation is None or operation.state in TRACKS
    return None if track else f"tablets advanced in {operation.machine if operation else ''}"


def tokenless(s: ControlState) -> str | None:
    """A node that joined without tokens never owns any."""
    for entry in s.topology.nodes:
        if entry.zero_token and entry.tokens:
            return f"a node without tokens has some, in {entry.state}"
    return None


def left_is_final(before: ControlState, action: Any, after: ControlState) -> str | None:
    """Who has left stays so."""
    if before.topology is after.topology:
        return None
    for old, new in zip(before.topology.nodes, after.topology.nodes, strict=True):
        if old.state == "left" != new.state:
            return f"a node that had left is {new.state}"
    return None


def members(s: ControlState) -> str | None:
    """Every normal node is in group 0, and nobody is whose request was not accepted yet."""
    # Edition server takes a replaced node out of group 0 one step before its row says so.
    replaced = {e.replaced for e in s.topology.nodes if e.state == "replacing"}
    for node, entry in enumerate(s.topology.nodes):
        inside = s.topology.members >> node & 1
        if entry.state == "normal" and not inside and node not in replaced:
            return "a normal node is not in group 0"
        if entry.state in (NO_ROW, "none") and inside:
            return f"a node in state {entry.state or 'no row'} is in group 0"
    return None


def taken_out(topology: ClusterTopology) -> Iterator[int]:
    """The nodes that others took out of the cluster, by removal or replace.

    Who leaves by itself knows of it, and is told to shut down.
    """
    for request in topology.requests:
        if request.kind == "remove":
            yield request.node
        elif request.kind == "replace":
            yield topology.nodes[request.node].replaced


def left_is_silent(s: ControlState) -> str | None:
    """A node that others took out is not up, and so serves no client any more."""
    for node in taken_out(s.topology):
        if s.topology.nodes[node].state == "left" and s.reachable >> node & 1:
            return "a node that was taken out is up and heard"
    return None


def clean_first(before: ControlState, action: Any, after: ControlState) -> str | None:
    """Nobody gets ranges back, by another's leaving, while it keeps data that it does not own."""
    for old, new in zip(before.topology.nodes, after.topology.nodes, strict=True):
        if old.state != new.state and new.state in ("decommissioning", "removing"):
            dirty = [
                i
                for i in nodes_in(mask_of(before.topology, "normal") & before.reachable)
                if before.topology.nodes[i].cleanup != "clean"
            ]
            return "ranges come back to a node that did not clean up" if dirty else None
    return None


def same_identity(before: ControlState, action: Any, after: ControlState) -> str | None:
    """Who is restarted with another address is who it was: no row, no member, no command changes.

    Nor does it forget what it had applied.
    """
    if (before.topology.nodes, before.topology.members) != (
        after.topology.nodes,
        after.topology.members,
    ):
        return f"{action.node} has another place after a change of its address"
    return None if before.state_id == after.state_id else f"{action.node} moved group 0 on"
