"""The documented order of the old procedure, as the next step to take in a state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kit.protocols.recovery.old import actions as act
from kit.protocols.recovery.old import cluster
from kit.protocols.recovery.old.state import OldState
from kit.protocols.recovery.state import NO_GROUP

if TYPE_CHECKING:
    from kit.protocols.recovery.old.model import RecoveryMode


def next_step(m: RecoveryMode, s: OldState) -> Any | None:
    """The first step of the documented order that is due and not refused; None: nothing is left.

    What servers do on their own comes first, so that the operator looks at what they made.
    """
    if cluster.is_whole(s):
        return None
    due = (*(a for a in m.actions(s) if isinstance(a, act.BY_SERVERS)), *_due(m, s))
    return next((action for action in due if m.refusal(s, action) is None), None)


def _due(m: RecoveryMode, s: OldState) -> Iterator[Any]:
    live = [(m.names[i], s.nodes[i]) for i in cluster.live(s)]
    if cluster.given_up(s) and not s.isolated:
        yield act.CutOffDead()
    yield from (act.StartServer(name) for name, n in live if not n.is_up)
    if any(s.nodes[i].mode == "group 0" and cluster.may_commit(s, i) for i in cluster.live(s)):
        yield from (act.RemoveDead(m.names[i]) for i in cluster.given_up(s))
    if not s.logs_read or cluster.given_up(s):
        yield from (act.SetRecovery(name) for name, n in live if n.value != "recovery")
        yield from (act.StopServer(name) for name, n in live if n.mode != "recovery")
        yield from (act.ReadLogs(),) if not s.logs_read else ()
        yield from (act.RemoveDead(m.names[i]) for i in cluster.given_up(s))
    elif any(n.value == "recovery" for _, n in live):
        yield from (act.TruncateDiscovery(name) for name, n in live if n.discovery)
        yield from (act.TruncateHistory(name) for name, n in live if n.history)
        yield from (act.DropGroupId(name) for name, n in live if n.group_id != NO_GROUP)
        yield from (act.CompareVersions(),) if not s.compared else ()
        yield from (act.DeleteStateRow(name) for name, n in live if n.value == "recovery")
    else:
        yield from (act.StopServer(name) for name, n in live if n.mode == "recovery")
