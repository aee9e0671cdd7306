"""A transition table without some of its safeguards: other selectors, work or edges.

Those that a table can show are changed here; what barriers and streaming wait for is told by
``kit.protocols.vnodes.projection``.
"""

from __future__ import annotations

from msgspec.structs import replace

from kit.protocols.topology.rules.machines import EdgeRow, Machine, StateRow
from kit.protocols.vnodes.rules.safeguards import VnodeSafeguards

SHUT_DOWN = "shut_down"


def guarded(machine: Machine, safeguards: VnodeSafeguards) -> Machine:
    """The table as it is with these safeguards; with all of them, as it stands."""
    rows = tuple(_row(row, safeguards) for row in machine.states)
    back = () if safeguards.no_rollback_after_switch else tuple(_ways_back(machine))
    return replace(machine, states=rows, edges=(*machine.edges, *back))


def _row(row: StateRow, safeguards: VnodeSafeguards) -> StateRow:
    if not safeguards.write_before_read and (row.reads, row.writes) == ("old", "both"):
        row = replace(row, reads="new", writes="old")
    if not safeguards.old_writer_stays and (row.reads, row.writes) == ("new", "both"):
        row = replace(row, writes="new")
    if not safeguards.drain_before_leaving and any(work.name == SHUT_DOWN for work in row.work):
        row = replace(row, work=tuple(work for work in row.work if not work.barrier))
    return row


def _ways_back(machine: Machine) -> list[EdgeRow]:
    """From each state that reads new replicas and writes both, the rollback of the one before."""
    switched = {row.name for row in machine.states if (row.reads, row.writes) == ("new", "both")}
    return [
        replace(back, source=edge.target)
        for edge in machine.edges
        if edge.target in switched
        for back in (machine.edge(edge.source, "rollback"),)
        if back is not None
    ]
