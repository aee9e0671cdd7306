"""What a dump shows under way beside its tablets: what a rehearsal begins from, and what not.

A node that drains its tablets is asked again to leave or to be removed; what goes on behind that is
a node operation of its own, which moves no tablets. Source: Topology over Raft, "Topology state
machine".
"""

from __future__ import annotations

from collections.abc import Iterator

from kit.errors import BadInput
from kit.protocols.tablets.dry_run.opening import OpenedTablets
from kit.protocols.topology.dry_run.opening import OpenedTopology
from kit.protocols.topology.rules.impossible import IN_TRANSITION

BEGUN_FROM = ("", "tablet_migration", "tablet_draining")
"""The transition states, "" for none, that a rehearsal begins from."""
DRAINED = ("decommissioning", "removing")
"""The states of nodes whose tablets go elsewhere in ``tablet_draining``."""
REHEARSED = ("leave", "remove")


def check_under_way(opened: OpenedTablets) -> None:
    """Check that a rehearsal can begin from what the topology shows.

    Raises:
        BadInput: for an operation of a node that does not drain, or a transition state of another
            thing.
    """
    given = opened.topology
    if given is None:
        return
    state = given.table.transition_state or ""
    for row in given.table.rows:
        draining = row.node_state in DRAINED and state == "tablet_draining"
        if row.node_state in IN_TRANSITION and not draining:
            allowed = "normal, none or left, or a node whose tablets are draining: a rehearsal of "
            allowed += "tablets begins where no other operation of a node is under way"
            raise BadInput(f"{given.source} node_state of {row.host_id}", row.node_state, allowed)
    if state not in BEGUN_FROM:
        allowed = "null, tablet_migration or tablet_draining for a rehearsal of tablets"
        raise BadInput(f"{given.source} transition_state", state, allowed)


def not_played(opened: OpenedTablets) -> Iterator[str]:
    """Lines that say what a cluster has asked for, and has set, that changes what is played."""
    if not opened.enabled:
        yield "balancing is disabled (tablet_balancing_enabled): nothing evens out loads"
    if opened.topology is not None:
        yield from _requests(opened.topology)


def _requests(given: OpenedTopology) -> Iterator[str]:
    """The requests that wait and are left out."""
    table = given.table
    for row in table.rows:
        if row.topology_request and row.topology_request not in REHEARSED:
            yield f"left out: the request {row.topology_request} of {row.host_id} that waits"
    if table.global_topology_request:
        yield f"left out: the request {table.global_topology_request} that waits"
    elif table.global_requests:
        yield f"left out: global requests that wait, {len(table.global_requests):,}"
