"""Tables for the lessons, from the tables of stages themselves."""

from __future__ import annotations

from kit.engine.registry import one_of
from kit.errors import BadInput
from kit.protocols.tablets.rules.stages import KINDS, TRANSITIONS, TransitionKind
from kit.protocols.topology.rules.machines import (
    BOUNDARY,
    EDITIONS,
    EdgeRow,
    Edition,
    Machine,
    StateRow,
)
from kit.views.report import Sheet

HEADS = ("stage", "reads", "writes", "work", "then", "if it cannot be done")
END = "the end"
AGAIN = "tried again"


def stage_table(kind: TransitionKind = "migration", edition: Edition = "code") -> Sheet:
    """The stages of a transition: whom requests use, the work, where it leads.

    Raises:
        BadInput: for a kind of transition or an edition that there is not.
    """
    if edition not in EDITIONS:
        raise BadInput("edition", edition, one_of(edition, list(EDITIONS)))
    if kind not in KINDS:
        raise BadInput("kind", kind, one_of(kind, list(KINDS)))
    table = TRANSITIONS[edition][kind]
    rows = tuple(_row(table, stage) for stage in table.states)
    return Sheet(f"{kind}, edition {edition}", HEADS, rows)


def _row(table: Machine, stage: StateRow) -> tuple[str, ...]:
    work = ", ".join(row.name.replace("_", " ") for row in stage.work)
    edges = [edge for edge in table.edges if edge.source == stage.name]
    onward = next(leads_to(edge) for edge in edges if edge.kind == "happy")
    fails = [leads_to(edge) for edge in edges if edge.kind != "happy"]
    aside = "; or ".join(dict.fromkeys(fails)) or AGAIN
    return stage.name, stage.reads, stage.writes, work, onward, aside


def leads_to(edge: EdgeRow) -> str:
    """The stage that an edge leads to, or the end."""
    return END if edge.target == BOUNDARY else edge.target
