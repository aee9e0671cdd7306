"""The logs of the nodes in the old procedure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kit.engine.server_log import ServerLine, ServerLog
from kit.protocols.recovery.facts.machines import group_uuid, version_text
from kit.protocols.recovery.old import actions as act
from kit.protocols.recovery.old.model import RecoveryMode
from kit.protocols.recovery.old.state import OldNode, OldState
from kit.protocols.recovery.rules import log_lines
from kit.protocols.recovery.state import NO_GROUP

INIT = "init"
BEGINS = {
    "recovery": log_lines.RECOVERY,
    "upgrade": log_lines.UPGRADE_BEGINS,
    "synchronize": log_lines.GOES_ON,
}
SAYS: dict[type, tuple[log_lines.LogWords, ...]] = {
    act.EnterNewGroup: log_lines.JOINED,
    act.BeginSynchronize: log_lines.SYNCHRONIZE,
    act.FinishRaftUpgrade: log_lines.FINISHED,
}
OWN: dict[type, tuple[str, str]] = {
    act.StopServer: (INIT, "shutting down"),
    act.RemoveDead: ("storage_service", "{node} is removed"),
    act.PullLegacySchema: ("migration_manager", "pulled the schema of {source}"),
    act.AddAColumn: ("migration_manager", "a client changes the schema"),
}
"""What no document quotes."""


def writes(m: RecoveryMode, before: OldState, action: Any, after: OldState) -> Iterator[ServerLine]:
    """What a step makes nodes write: a start says by what a node runs, the upgrade its phases."""
    if isinstance(action, act.StartServer | act.ReviveDead):
        yield from _started(m, action.node, after.nodes[m.number(action.node)])
    for said in SAYS.get(type(action), ()):
        yield _said(action.node, said, after.nodes[m.number(action.node)])
    if type(action) in OWN:
        component, text = OWN[type(action)]
        words = text.format(node=action.node, source=getattr(action, "source", ""))
        yield ServerLine(_writer(m, before, action), component, words, own=True)


def _said(name: str, words: log_lines.LogWords, node: OldNode) -> ServerLine:
    """A line of a node, with the id of its group and its schema version."""
    said = words.said(group_uuid(node.group), version_text(node))
    return ServerLine(name, words.component, said, own=words.own)


def _writer(m: RecoveryMode, s: OldState, action: Any) -> str:
    """The node itself; of one that is removed, the first live one that is up."""
    if not isinstance(action, act.RemoveDead):
        return str(action.node)
    up = (name for name, n in zip(m.names, s.nodes, strict=True) if n.is_up)
    return next(up, action.node)


def _started(m: RecoveryMode, name: str, node: OldNode) -> Iterator[ServerLine]:
    value = node.value or "no row"
    yield ServerLine(name, INIT, f"starts; group0_upgrade_state: {value}", own=True)
    if node.mode != "recovery" and node.group != NO_GROUP:
        text = f"group id present: starts its Raft server in group {group_uuid(node.group)}"
        yield ServerLine(name, "raft_group0", text, own=True)
    yield from (_said(name, words, node) for words in BEGINS.get(node.mode, ()))


LOG = ServerLog(writes)
