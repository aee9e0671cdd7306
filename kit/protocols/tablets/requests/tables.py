"""A table of stages without some of its safeguards: a stage less, or another way between stages."""

from __future__ import annotations

from msgspec.structs import replace

from kit.protocols.tablets.requests.switches import TabletSafeguards
from kit.protocols.tablets.rules.stages import onward
from kit.protocols.topology.rules.machines import Machine

ALLOW = "allow_write_both_read_old"
FALLBACK = "write_both_read_old_fallback_cleanup"


def guarded(table: Machine, safeguards: TabletSafeguards) -> Machine:
    """The table as it is with these safeguards; with all of them, as it stands."""
    if not safeguards.allow_stage:
        table = without(table, ALLOW)
    if not safeguards.fallback_stage:
        table = without(table, FALLBACK)
    return table


def without(table: Machine, stage: str) -> Machine:
    """The table without one stage: whatever led there leads to the stage behind it."""
    if all(row.name != stage for row in table.states):
        return table
    behind = onward(table, stage)
    edges = tuple(
        replace(
            edge,
            target=behind.target if edge.target == stage else edge.target,
            session=edge.session or behind.session if edge.target == stage else edge.session,
        )
        for edge in table.edges
        if edge.source != stage
    )
    rows = tuple(row for row in table.states if row.name != stage)
    return replace(table, states=rows, edges=edges)
