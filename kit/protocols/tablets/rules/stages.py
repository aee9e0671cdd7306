"""The transitions of one tablet: kinds, stages, what is done in each and where that leads.

All there is to know of a stage is a row of a table: diagrams, buttons, the coordinator's next step,
coverage and the history of requests follow from these rows. Sources: Topology over Raft, "Tablet
transitions" (edition ``documents``); the published server (edition ``server``).
"""

from __future__ import annotations

from types import ModuleType
from typing import Literal, get_args

from kit.protocols.tablets.rules import documents_stages, server_stages
from kit.protocols.topology.rules.machines import BOUNDARY, EdgeRow, Edition, Machine

TransitionKind = Literal["migration", "intranode_migration", "rebuild", "rebuild_v2", "repair"]
KINDS: tuple[TransitionKind, ...] = get_args(TransitionKind)

STREAM, REPAIR = "stream", "repair"
CLEANUP_LEAVING, CLEANUP_PENDING = "cleanup_leaving", "cleanup_pending"
"""The work of stages, besides barriers."""
REPLACES = "replaces"
"""The effect of the edge with which ``new_replicas`` become ``replicas``."""

_TABLES: dict[Edition, ModuleType] = {"documents": documents_stages, "server": server_stages}
TRANSITIONS: dict[Edition, dict[TransitionKind, Machine]] = {
    edition: {
        "migration": tables.MIGRATION,
        "intranode_migration": tables.INTRANODE_MIGRATION,
        "rebuild": tables.REBUILD,
        "rebuild_v2": tables.REBUILD_V2,
        "repair": tables.REPAIR,
    }
    for edition, tables in _TABLES.items()
}
"""Each edition's table of each kind; the boundary of a table is a tablet without a transition."""


def stages(edition: Edition) -> tuple[str, ...]:
    """Every stage that a tablet can be in, those of migrations first."""
    rows = (row.name for table in TRANSITIONS[edition].values() for row in table.states)
    return tuple(dict.fromkeys(rows))


def onward(table: Machine, stage: str) -> EdgeRow:
    """The edge out of a stage (or the boundary) whose work is done.

    Raises:
        KeyError: when the table has no such stage.
    """
    edge = table.edge(stage, "happy")
    if edge is None:
        raise KeyError(f"{table.name} has no stage {stage}")
    return edge


def ends_well(table: Machine, stage: str) -> bool:
    """Whether the way from a stage, without failures, ends with the new replicas in force."""
    edge = onward(table, stage)
    while edge.target != BOUNDARY:
        edge = onward(table, edge.target)
    return REPLACES in edge.effects


def in_session(table: Machine) -> frozenset[str]:
    """The stages in which a session is open, by any way to them."""
    opened: set[str] = set()
    reached = [(BOUNDARY, False)]
    for stage, open_here in reached:  # grows while it is walked along
        for edge in table.edges:
            if edge.source != stage:
                continue
            is_open = {"opens": True, "closes": False, "": open_here}[edge.session]
            if edge.target != BOUNDARY and (edge.target, is_open) not in reached:
                reached.append((edge.target, is_open))
                if is_open:
                    opened.add(edge.target)
    return frozenset(opened)
