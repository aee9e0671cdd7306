"""What coordinators, streams and requests may never do, whatever fails and whoever takes over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.topology import actions as act
from kit.protocols.topology.coordinator import task_of
from kit.protocols.topology.rules.cluster import NOBODY
from kit.protocols.topology.rules.fence import is_served
from kit.protocols.topology.rules.work import state_of, under_way
from kit.protocols.topology.serving import served
from kit.protocols.topology.state import ControlState, view_of

if TYPE_CHECKING:
    from kit.protocols.topology.model import Topology


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


def fence_follows(before: ControlState, action: Any, after: ControlState) -> str | None:
    """Versions only grow, and the fence never passes the version."""
    old, new = before.topology, after.topology
    if new.version < old.version or new.fence_version < old.fence_version:
        return "a version went back"
    return "the fence is above the version" if new.fence_version > new.version else None


def live_versions(
    model: Topology, before: ControlState, action: act.ServeRequest, after: Any
) -> str | None:
    """No replica serves a version of before the fence before the last one."""
    # What the last barrier asked for, or is still to ask for, may be in use: an operation ends,
    # and another begins, without one (as after a barrier that failed).
    replica = model.number[action.replica]
    if before.client_version >= before.fence_before or not served(before, replica, model.setting):
        return None
    return f"{action.replica} served version {before.client_version}, two fences old"


def older_over(
    model: Topology, before: ControlState, action: Any, after: ControlState
) -> str | None:
    """Streaming begins, and the read switch ends, once nobody can be served by an older version."""
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
        if is_served(before.client_version, view_of(before, replica), model.setting.safeguards):
            said = "streaming began" if streams else "the operation went on"
            return f"{said} while {model.names[replica]} still serves an older request"
    return None


def silent_when_shut(
    model: Topology, before: ControlState, action: Any, after: ControlState
) -> str | None:
    """Nobody writes any more to a node that is told to shut down."""
    operation = under_way(before.topology)
    if operation is None or operation.state != "left_token_ring":
        return None
    task = task_of(before, model.setting)
    if task.work is None or task.work.name != "shut_down":
        return None
    if state_of(operation, model.setting).writes == "old":
        return None  # a joiner that failed: nobody writes to it since the rollback's barrier
    others = before.topology.members & before.reachable & ~(1 << operation.node)
    newest = before.topology.version
    older = [i for i in nodes_in(others) if view_of(before, i).version < newest]
    if older:
        return f"{model.names[older[0]]} still writes to a node that is shut down"
    if before.client not in (NOBODY, operation.node) and before.client_version < newest:
        return f"a request of {model.names[before.client]} still writes to it"
    return None


def no_way_back(
    model: Topology, before: ControlState, action: Any, after: ControlState
) -> str | None:
    """Once reads use the new replicas they do not go back to the old ones."""
    if before.topology is after.topology:
        return None
    operation, later = under_way(before.topology), under_way(after.topology)
    if operation is None or later is None or operation.node != later.node:
        return None
    reads = state_of(operation, model.setting).reads
    if reads == "new" and later.state in ("left_token_ring", "rollback_to_normal"):
        back = state_of(later, model.setting).reads
        return "reads went back to the old replicas" if back == "old" else None
    return None
