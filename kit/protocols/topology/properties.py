"""What must hold while a coordinator works, whatever fails and whoever takes over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kit.engine.model import Property, always, goal, sometimes, step
from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.topology import actions as act
from kit.protocols.topology.coordinator import task_of
from kit.protocols.topology.rules.cluster import NO_ROW, NOBODY, ClusterTopology, mask_of
from kit.protocols.topology.rules.decide import decide
from kit.protocols.topology.rules.editions import MACHINES, NODE, REPLACED
from kit.protocols.topology.rules.fence import is_served
from kit.protocols.topology.rules.machines import BOUNDARY
from kit.protocols.topology.rules.states import NODE_STATE_OF
from kit.protocols.topology.rules.work import machine_of, under_way
from kit.protocols.topology.serving import served
from kit.protocols.topology.state import ControlState, view_of

if TYPE_CHECKING:
    from kit.protocols.topology.model import Topology

NODE_EDGES = {
    (NO_ROW, "none"),
    (REPLACED.source, REPLACED.target),
    *((edge.source, edge.target) for edge in NODE.edges),
}
COMMITS = (act.CommitDecision, act.CommitDeposed)
TRACKS = ("tablet_migration", "tablet_draining", "rollback_to_normal")
"""The states in which tablet transitions may be recorded in edition ``seed``."""


def _named(model: Topology, mask: int) -> str:
    return ", ".join(model.named(mask))


def node_edge(before: ControlState, action: Any, after: ControlState) -> str | None:
    """The state of each node changes along the edges of the diagram, and along no others."""
    if before.topology is after.topology:
        return None
    pairs = zip(before.topology.nodes, after.topology.nodes, strict=True)
    for old, new in pairs:
        if old.state != new.state and (old.state, new.state) not in NODE_EDGES:
            return f"a node went from {old.state or 'no row'} to {new.state or 'no row'}"
    return None


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
    # A join goes before tablets that move, and goes back to them: edition code alone.
    tablets = {("tablet_migration", target) for target in begins} | {
        (source, "tablet_migration") for source in ends
    }
    free = {(a.replace(BOUNDARY, ""), b.replace(BOUNDARY, "")) for a, b in pairs}
    return free | (tablets if edition == "code" else set())


def at_most_one(s: ControlState) -> str | None:
    """No two nodes are in transition."""
    moving = [e.state for e in s.topology.nodes if e.state in NODE_STATE_OF.values()]
    return f"{' and '.join(moving)} at once" if len(moving) > 1 else None


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
    # Edition code takes a replaced node out of group 0 one step before its row says so.
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


def of_its_session(s: ControlState) -> str | None:
    """What was left behind does not run once a barrier has passed since its session was closed.

    A node that is on its way out is not asked by that barrier: it is shut down next.
    """
    operation = under_way(s.topology)
    if operation and operation.state == "left_token_ring" and operation.node == s.leftover_at:
        return None
    if s.sealed and s.leftover_at != NOBODY:
        return f"work of session {s.leftover} runs after a barrier that followed its end"
    return None


def built_on_it(before: ControlState, action: Any, after: ControlState) -> str | None:
    """A command takes effect only on the state that it was decided on."""
    deposed = isinstance(action, act.CommitDeposed)
    command = before.deposed if deposed else before.attempted.command
    if command is None or after.state_id == before.state_id:
        return None
    if command.new == before.state_id + 1:
        return None
    return f"a command decided on state {command.new - 1} took effect on state {before.state_id}"


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


def fence_follows(before: ControlState, action: Any, after: ControlState) -> str | None:
    """Versions only grow, and the fence never passes the version."""
    old, new = before.topology, after.topology
    if new.version < old.version or new.fence_version < old.fence_version:
        return "a version went back"
    return "the fence is above the version" if new.fence_version > new.version else None


def properties_of(model: Topology) -> tuple[Property, ...]:
    """The properties of a model: some depend on its edition and on who is asked."""
    edges = transition_edges(model.setting.edition)
    setting = model.setting

    def transition_edge(before: ControlState, action: Any, after: ControlState) -> str | None:
        change = before.topology.transition, after.topology.transition
        if change[0] == change[1] or change in edges:
            return None
        return f"the transition state went from {change[0] or 'null'} to {change[1] or 'null'}"

    def tablets_apart(s: ControlState) -> str | None:
        if setting.edition == "code" or s.topology.tablets != "moving":
            return None
        where = s.topology.transition or "null"
        return None if where in TRACKS else f"tablets move while the cluster is in {where}"

    def tablets_hold(before: ControlState, action: Any, after: ControlState) -> str | None:
        operation = under_way(before.topology)
        track = operation is None or operation.state in TRACKS
        return None if track else f"tablets advanced in {operation.machine if operation else ''}"

    def live_versions(before: ControlState, action: act.ServeRequest, after: Any) -> str | None:
        # What the last barrier asked for, or is still to ask for, may be in use: an operation ends,
        # and another begins, without one (as after a barrier that failed).
        replica = model.number[action.replica]
        if before.client_version >= before.fence_before or not served(before, replica, setting):
            return None
        return f"{action.replica} served version {before.client_version}, two fences old"

    def older_over(before: ControlState, action: Any, after: ControlState) -> str | None:
        # A rebuild streams outside any transition, without a barrier: by every version that the
        # fence still lets pass requests write to all that they write to by the newest one.
        streams = after.attempted.streaming and not before.attempted.streaming
        streams = streams and bool(before.topology.transition)
        switched = before.topology.transition == "write_both_read_new" != after.topology.transition
        if not streams and not switched:
            return None
        if before.client == NOBODY or before.client_version >= before.topology.version:
            return None
        for replica in nodes_in(before.topology.members & before.reachable):
            if is_served(before.client_version, view_of(before, replica), setting.safeguards):
                said = "streaming began" if streams else "the operation went on"
                return f"{said} while {model.names[replica]} still serves an older request"
        return None

    def silent_when_shut(before: ControlState, action: Any, after: ControlState) -> str | None:
        operation = under_way(before.topology)
        if operation is None or operation.state != "left_token_ring":
            return None
        task = task_of(before, setting)
        if task.work is None or task.work.name != "shut_down":
            return None
        if machine_of(operation, setting).state("left_token_ring").writes == "old":
            return None  # a joiner that failed: nobody writes to it since the rollback's barrier
        others = before.topology.members & before.reachable & ~(1 << operation.node)
        newest = before.topology.version
        older = [i for i in nodes_in(others) if view_of(before, i).version < newest]
        if older:
            return f"{model.names[older[0]]} still writes to a node that is shut down"
        if before.client not in (NOBODY, operation.node) and before.client_version < newest:
            return f"a request of {model.names[before.client]} still writes to it"
        return None

    def no_way_back(before: ControlState, action: Any, after: ControlState) -> str | None:
        if before.topology is after.topology:
            return None
        operation, later = under_way(before.topology), under_way(after.topology)
        if operation is None or later is None or operation.node != later.node:
            return None
        reads = machine_of(operation, setting).state(operation.state).reads
        if reads == "new" and later.state in ("left_token_ring", "rollback_to_normal"):
            back = machine_of(later, setting).state(later.state).reads
            return "reads went back to the old replicas" if back == "old" else None
        return None

    def over(s: ControlState) -> bool:
        return decide(s.topology, s.reachable, setting).kind == "rest"

    def success(s: ControlState) -> bool:
        rows = s.topology.requests
        carried_out = any(row.done and not row.error for row in rows) or not rows
        return s.made == len(model.plan.requests) and carried_out

    identity = step(
        "identity",
        "A node with another address is the same node",
        same_identity,
        "INV-MEMBER",
        (act.RestartElsewhere, act.HearAddress),
    )
    return (
        *((identity,) if model.parameters.addresses else ()),
        always("one-operation", "At most one node is in transition", at_most_one, "INV-EXCL"),
        always("tablets-apart", "Tablets move in their own track", tablets_apart, "INV-EXCL"),
        step(
            "tablets-hold",
            "No tablet advances while a node operation is under way",
            tablets_hold,
            "INV-EXCL",
            (act.MoveTablets,),
        ),
        step("left-final", "Who has left stays so", left_is_final, "INV-MEMBER"),
        always("members", "Normal nodes are in group 0, newcomers are not", members, "INV-MEMBER"),
        always("left-silent", "Who was taken out serves nobody", left_is_silent, "INV-MEMBER"),
        step("clean-first", "Who gets ranges back is clean", clean_first, "INV-NORES", COMMITS),
        always("sessions", "Nothing runs after its session", of_its_session, "INV-SESSION"),
        step(
            "guarded",
            "A command takes effect on the state it was decided on",
            built_on_it,
            "INV-ONCE",
            COMMITS,
        ),
        step("versions", "Versions only grow, the fence follows", fence_follows, "INV-FENCE"),
        step(
            "live-versions",
            "No replica serves what was below the fence before the last one",
            live_versions,
            "INV-FENCE",
            (act.ServeRequest,),
        ),
        step(
            "older-over",
            "Nothing older can be served once the barrier has passed",
            older_over,
            "INV-STREAM",
        ),
        step(
            "shut-down-unused",
            "Nobody writes to a node that is told to shut down",
            silent_when_shut,
            "INV-AVAIL",
            (act.DoWork,),
        ),
        step("no-way-back", "Reads do not go back to the old replicas", no_way_back, "INV-STREAM"),
        step("node-edges", "Node states change along the diagram", node_edge),
        step("transition-edges", "Transition states change along the tables", transition_edge),
        sometimes("success", "A request is carried out", success),
        goal("ends", "Every operation can come to its end", over, "INV-PROGRESS"),
    )
