"""Looking at a group 0 that is in trouble: calls for Raft's operations, and maintenance mode.

The documents tell that there is such a table and such calls, and give no words. Table and routes
are those of the published server, ``system.raft_state`` and ``/raft/...``; the start is our own.
"""

from __future__ import annotations

from kit.engine.drill import CommandReply, DrillMoment
from kit.engine.forms import Form, Given
from kit.errors import Refused, are
from kit.protocols.group0.rules.voters import majority, nodes_in
from kit.protocols.recovery.drill.servers import machines, maintenance, running
from kit.protocols.recovery.lost_majority import NOBODY
from kit.protocols.recovery.recovering_cluster import RecoveryNode
from kit.protocols.recovery.recovery import Crash
from kit.protocols.recovery.rules.hosts import group_uuid


def _committing(now: DrillMoment, tool: str) -> int:
    """The group of the node that one is on, which has a majority.

    Raises:
        Refused: where the server is down, or waits for a majority in vain.
    """
    number = running(now, tool)
    node: RecoveryNode = now.state.nodes[number]
    walled_off = now.state.is_walled_off(node)
    if now.state.may_commit(node.group, walled_off):
        return node.group
    voters = now.state.voters_of(node.group)
    up = (now.state.running(node.group, walled_off) & voters).bit_count()
    many, needed = voters.bit_count(), majority(voters.bit_count())
    who = "members" if voters == now.state.groups[node.group] else "voters"
    raise Refused(f"{tool}: timed out; {up} of {many} {who} answer, {needed} {are(needed)} needed")


def leader_host(now: DrillMoment, given: Given) -> CommandReply:
    """The host id of a member that leads: the recovery leader where it is one."""
    group = _committing(now, "raft/leader_host")
    members = list(nodes_in(now.state.running(group)))
    chosen = now.state.leader
    leads = chosen if chosen != NOBODY and chosen in members else members[0]
    return CommandReply((machines(now.model, now.run)[leads].host_id,))


def read_barrier(now: DrillMoment, given: Given) -> CommandReply:
    """A barrier passes where a majority answers."""
    group = _committing(now, "raft/read_barrier")
    return CommandReply((f"group 0 {group_uuid(group)}: the barrier has passed",))


def maintain(now: DrillMoment, given: Given) -> CommandReply:
    """A start that no other node sees; a server that is up stops first."""
    name = str(given["node"])
    number = now.model.number(name)
    node: RecoveryNode = now.state.nodes[number]
    if not node.takes_part:
        raise Refused(f"{name} is {node.status}: there is nothing to start")
    stops = (Crash(name),) if node.status == "up" else ()
    mark = maintenance(now, number, len(stops))
    return CommandReply(
        (f"{name} is in maintenance mode: its tables can be read there, nobody reaches it",),
        actions=stops,
        marks=(mark,),
    )


TROUBLESHOOTING: tuple[Form, ...] = (
    Form("GET /raft/leader_host", "who leads group 0 (published server's route)", leader_host),
    Form("POST /raft/read_barrier", "whether a majority answers (published server's)",
         read_barrier),
    Form("start {node} --maintenance-mode", "start cut off from all others", maintain, own=True),
)  # fmt: skip
