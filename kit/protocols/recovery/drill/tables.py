"""The system tables of a node, as rows made of the state and of the run that led to it.

A state has no room for what the model does not tell apart; those cells come from the run (the
commit index that a node had in its former group) or from what was typed (rows that were deleted one
table after the other, before the model's one step).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kit.engine.drill import DrillMoment
from kit.operators.printing import Row
from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.recovery.drill.reading import NodeTable
from kit.protocols.recovery.drill.servers import machines
from kit.protocols.recovery.lost_majority import NO_GROUP
from kit.protocols.recovery.recovering_cluster import RecoveryNode
from kit.protocols.recovery.rules.hosts import ServerHost, group_uuid

UPGRADED = "use_post_raft_procedures"
GROUP_ID = "raft_group0_id"
BUSY = "write_both_read_old"
"""The transition state that is shown while an operation is under way: the model has no kinds."""
TOKENS_APART = 100


def gone(now: DrillMoment, what: str, number: int, group: int) -> bool:
    """Whether a command on a node has deleted what belonged to a group."""
    return deleted(what, number, group) in now.marks


def deleted(what: str, number: int, group: int) -> str:
    """The mark of a command that deleted something of a group on a node."""
    return f"deleted {what} {number} {group}"


def noted_id(group_id: str) -> str:
    """The mark of a group's id that was read where a node has it persisted."""
    return f"noted {group_id}"


def seen_in_log(number: int, group: int) -> str:
    """The mark of a group's id that was read in a node's log."""
    return f"seen {number} {group}"


def stored_group(now: DrillMoment, number: int) -> int:
    """The group whose id and discovery a node has, or had until its restart."""
    node: RecoveryNode = now.state.nodes[number]
    return node.group_id if node.group_id != NO_GROUP else node.group


def former_groups(now: DrillMoment, number: int) -> list[int]:
    """The groups that a node had the id of in the run, and has no more."""
    present = now.state.nodes[number].group_id
    had = {step.state.nodes[number].group_id for step in now.run}
    return sorted(had - {present, NO_GROUP})


def commit_index(now: DrillMoment, number: int, group: int) -> int:
    """The last commit index that a node had in a group; 0 if it had none."""
    nodes = (step.state.nodes[number] for step in now.run)
    return next((n.index for n in reversed(list(nodes)) if group in (n.group, n.group_id)), 0)


def raft_groups(now: DrillMoment, number: int, table: str) -> list[int]:
    """The groups of which a node has rows in a table of Raft, in their order."""
    node: RecoveryNode = now.state.nodes[number]
    former = former_groups(now, number) if node.old_rows else []
    kept = {group for group in former if not gone(now, table, number, group)}
    return sorted(kept | {node.group_id} - {NO_GROUP})


def _local(now: DrillMoment, number: int) -> Iterator[Row]:
    node: RecoveryNode = now.state.nodes[number]
    yield {"key": "group0_upgrade_state", "value": UPGRADED}
    there = node.group_id != NO_GROUP
    yield {"key": GROUP_ID, "value": group_uuid(node.group_id) if there else None}


def _discovery(now: DrillMoment, number: int) -> Iterator[Row]:
    group = stored_group(now, number)
    if group == NO_GROUP or gone(now, "discovery", number, group):
        return
    for machine in _members(now, group):
        yield {"key": "peers", "ip_addr": machine.address, "raft_server_id": machine.host_id}


def _members(now: DrillMoment, group: int) -> Iterator[ServerHost]:
    everyone = machines(now.model, now.run)
    yield from (everyone[i] for i in nodes_in(now.state.groups[group]))


def _history(now: DrillMoment, number: int) -> Iterator[Row]:
    for column in reversed(list(nodes_in(now.state.nodes[number].columns))):
        text = f"{column + 1:08x}-fe88-11f0-8002-000000000001"
        said = f"add column {column + 1}"
        yield {"key": "history", "state_id": text, "description": said}


def _raft(now: DrillMoment, number: int) -> Iterator[Row]:
    for group in raft_groups(now, number, "raft"):
        index = commit_index(now, number, group)
        yield {"group_id": group_uuid(group), "commit_idx": index}


def _snapshots(now: DrillMoment, number: int) -> Iterator[Row]:
    for group in raft_groups(now, number, "raft_snapshots"):
        index = commit_index(now, number, group)
        yield {"group_id": group_uuid(group), "idx": index}


def _configuration(now: DrillMoment, number: int) -> Iterator[Row]:
    for group in raft_groups(now, number, "raft_snapshot_config"):
        for machine in _members(now, group):
            yield {
                "group_id": group_uuid(group),
                "disposition": "CURRENT",
                "server_id": machine.host_id,
                "can_vote": _votes(now, group, machine),
            }


def _votes(now: DrillMoment, group: int, machine: ServerHost) -> bool:
    return bool(now.state.voters_of(group) >> now.model.number(machine.name) & 1)


def _raft_state(now: DrillMoment, number: int) -> Iterator[Row]:
    group = now.state.nodes[number].group
    if group == NO_GROUP:
        return
    for machine in _members(now, group):
        yield {
            "group_id": group_uuid(group),
            "disposition": "CURRENT",
            "server_id": machine.host_id,
            "can_vote": _votes(now, group, machine),
        }


def _topology(now: DrillMoment, number: int) -> Iterator[Row]:
    state = now.state
    for at, machine in enumerate(machines(now.model, now.run)):
        removed = state.nodes[at].status == "removed"
        yield {
            "key": "topology",
            "host_id": machine.host_id,
            "datacenter": machine.dc,
            "rack": machine.rack,
            "node_state": "left" if removed else "normal",
            "tokens": None if removed else [str(TOKENS_APART * (at + 1))],
            "transition_state": BUSY if state.operation == "under way" else None,
            "version": 1,
            "fence_version": 1,
        }


TABLES: Mapping[str, NodeTable] = {
    f"system.{table.name}": table
    for table in (
        NodeTable("scylla_local", ("key", "value"), _local),
        NodeTable("discovery", ("key", "ip_addr", "raft_server_id"), _discovery),
        NodeTable("group0_history", ("key", "state_id", "description"), _history),
        NodeTable("raft", ("group_id", "commit_idx"), _raft),
        NodeTable("raft_snapshots", ("group_id", "idx"), _snapshots),
        NodeTable(
            "raft_snapshot_config",
            ("group_id", "disposition", "server_id", "can_vote"),
            _configuration,
        ),
        NodeTable("raft_state", ("group_id", "disposition", "server_id", "can_vote"), _raft_state),
        NodeTable(
            "topology",
            (
                *("key", "host_id", "datacenter", "rack", "node_state", "tokens"),
                *("transition_state", "version", "fence_version"),
            ),
            _topology,
        ),
    )
}
