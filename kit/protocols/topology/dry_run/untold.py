"""What the coordinator asks of tables that the dump does not hold: of keyspaces, and of tablets."""

from __future__ import annotations

from collections.abc import Iterator

from kit.protocols.topology.dry_run.opening import OpenedTopology
from kit.protocols.topology.rules.columns import SystemTopologyRow
from kit.protocols.topology.rules.safeguards import Setting
from kit.protocols.topology.rules.states import transition_state


def untold(opened: OpenedTopology, setting: Setting, rf: int) -> Iterator[str]:
    """What depends on tables that the dump does not hold: asked as an operation begins.

    In edition ``documents`` no racks are checked, and tablets are drained within the operation.
    """
    if setting.edition == "documents":
        return
    begins = [row for row in opened.table.rows if row.node_state in ("none", "normal")]
    asks = {row.topology_request or "" for row in begins} & {"join", "leave", "remove"}
    if any(_is_let_in(row, opened) for row in opened.table.rows):
        asks.add("join")
    racks = {(row.datacenter, row.rack) for row in opened.table.rows if row.rack}
    if asks and len(racks) > 1 and not rf:
        yield (
            "the dump does not tell whether a keyspace has to stay RF-rack-valid: --rf N has the "
            f"racks checked before a {' or a '.join(sorted(asks))}"
        )
    for row in begins:
        if row.topology_request in ("leave", "remove"):
            yield (
                f"the dump does not tell whether {row.host_id} has tablets: while it has any, its "
                f"{row.topology_request} is paused"
            )


def _is_let_in(row: SystemTopologyRow, opened: OpenedTopology) -> bool:
    """Whether the node bootstraps and has no tokens yet: its rack is checked before it gets any."""
    state = transition_state(opened.table.transition_state or "")
    return row.node_state == "bootstrapping" and state is not None and state.name == "join_group0"
