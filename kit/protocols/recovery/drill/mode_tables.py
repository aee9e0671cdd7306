"""The system tables of a node in the drill by RECOVERY mode, as rows made of the state.

The model knows of a mistyped ``group0_upgrade_state`` only that it is no known value; what was
typed is in a mark of the drill.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kit.engine.drill import DrillMoment
from kit.operators.printing import Row
from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.recovery.drill.reading import NodeTable
from kit.protocols.recovery.lost_majority import NO_GROUP
from kit.protocols.recovery.recovery_mode import RecoveryMode
from kit.protocols.recovery.rules.hosts import ServerHost, group_uuid, server_host

STATE, GROUP_ID = "group0_upgrade_state", "raft_group0_id"
COMPARED = "compared"
"""The mark of one schema version, seen on all live nodes while all were in RECOVERY mode."""


def hosts(m: RecoveryMode) -> list[ServerHost]:
    """Every machine, in the order of nodes."""
    return [server_host(name, number) for number, name in enumerate(m.names)]


def mistyped(now: DrillMoment, number: int) -> tuple[str, ...]:
    """The values that were typed on a node and are no known ones, in their order."""
    begins = f"mistyped {number} "
    marks = (m.removeprefix(begins).partition(" ") for m in now.marks if m.startswith(begins))
    return tuple(value for _, _, value in sorted(marks, key=lambda mark: int(mark[0])))


def noted_mistype(now: DrillMoment, number: int, value: str) -> str:
    """The mark of the next one."""
    return f"mistyped {number} {len(mistyped(now, number))} {value}"


def _local(now: DrillMoment, number: int) -> Iterator[Row]:
    node = now.state.nodes[number]
    if node.value:
        typed = mistyped(now, number) if node.value == "unknown" else ()
        yield {"key": STATE, "value": typed[-1] if typed else node.value}
    there = node.group_id != NO_GROUP
    yield {"key": GROUP_ID, "value": group_uuid(node.group_id) if there else None}


def _discovery(now: DrillMoment, number: int) -> Iterator[Row]:
    for at in nodes_in(now.state.nodes[number].discovery):
        host = hosts(now.model)[at]
        yield {"key": "peers", "ip_addr": host.address, "raft_server_id": host.host_id}


def _history(now: DrillMoment, number: int) -> Iterator[Row]:
    newest = now.state.nodes[number].history
    if newest:
        yield {"key": "history", "state_id": f"{newest:08x}-fe88-11f0-8002-000000000001"}


MODE_TABLES: Mapping[str, NodeTable] = {
    f"system.{table.name}": table
    for table in (
        NodeTable("scylla_local", ("key", "value"), _local),
        NodeTable("discovery", ("key", "ip_addr", "raft_server_id"), _discovery),
        NodeTable("group0_history", ("key", "state_id"), _history),
    )
}
