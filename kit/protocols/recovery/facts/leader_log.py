"""The logs of the nodes in the procedure with ``recovery_leader``.

``joined group 0 with group id`` is the server's own fragment (manual on Raft), and so are the two
lines by which the published manual has each restarted node checked (edition ``server``); of the
rest no document gives the words.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kit.engine.server_log import ServerLine, ServerLog
from kit.protocols.recovery import actions as act
from kit.protocols.recovery import groups
from kit.protocols.recovery.facts.machines import group_uuid, machine
from kit.protocols.recovery.model import Recovery
from kit.protocols.recovery.state import NO_GROUP, NOBODY, RecoveryState

RAFT, TOPOLOGY, INIT = "raft_group0", "raft_topology", "init"
STORAGE = "storage_service"
RECOVERS = "Performing Raft-based recovery procedure with recovery leader"
FOUND = "Raft-based recovery procedure - found group 0 with ID"


def writes(
    m: Recovery, before: RecoveryState, action: Any, after: RecoveryState
) -> Iterator[ServerLine]:
    """What a step makes nodes write: starts and stops, the group of a start, the coordinator."""
    match action:
        case act.CrashLiveNode(name):
            yield _own(name, INIT, "the server is down")
        case act.RestartLiveNode(name) | act.ReturnNode(name):
            yield _own(name, INIT, "the server starts")
            yield from _started(m, name, before, after)
        case act.ReplaceNode(name):
            yield _joined(name, after.nodes[m.number(name)].group)
        case act.EndOperation() | act.RemoveNode():
            yield _own(m.names[before.leader], TOPOLOGY, _coordinated(m, action, after))


def _started(
    m: Recovery, name: str, before: RecoveryState, after: RecoveryState
) -> Iterator[ServerLine]:
    was, node = before.nodes[m.number(name)], after.nodes[m.number(name)]
    if node.group == NO_GROUP:
        yield _own(name, RAFT, "neither a group id nor recovery_leader: refuses to start")
        return
    group = group_uuid(node.group)
    if was.group_id == node.group:
        ignored = ", recovery_leader is ignored" if node.option != NOBODY else ""
        yield _own(name, RAFT, f"has group id {group}{ignored}")
        return
    recovers = m.parameters.edition == "server" and node.option != NOBODY
    if recovers:
        leader = machine(m, node.option)
        yield ServerLine(name, STORAGE, f"{RECOVERS} {leader.host_id}/{leader.address}")
    if len(after.groups) > len(before.groups):
        yield _own(name, RAFT, f"creates group 0 with group id {group}")
    if recovers:
        yield ServerLine(name, STORAGE, f"{FOUND} {group}")
    if len(after.groups) == len(before.groups):
        yield _joined(name, node.group)


def _joined(name: str, group: int) -> ServerLine:
    return ServerLine(name, RAFT, f"joined group 0 with group id {group_uuid(group)}")


def _coordinated(m: Recovery, action: Any, after: RecoveryState) -> str:
    if isinstance(action, act.RemoveNode):
        return f"removenode of {machine(m, m.number(action.node)).host_id} is done"
    dead = ", ".join(m.names[i] for i in groups.dead(after))
    if after.operation == "rolled back":
        return f"a barrier failed on {dead}: the operation is rolled back"
    return "the operation is done"


def _own(name: str, component: str, text: str) -> ServerLine:
    return ServerLine(name, component, text, own=True)


LEADER_LOG = ServerLog(writes)
