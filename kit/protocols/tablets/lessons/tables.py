"""Tables for the lessons, from the tables of stages themselves."""

from __future__ import annotations

from collections.abc import Sequence

from kit.engine.registry import edition_of, one_of
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
from kit.views.static import Sheet

HEADS = ("stage", "reads", "writes", "work", "then", "if it cannot be done")
END = "the end"
AGAIN = "tried again"
WHEN = {
    "excluded": "if a replica's node is excluded",
    "more_old": "if more old replicas are left",
    "more_new": "if as many new as old replicas are left, or more",
    "more_new_excluded": "if more new replicas are excluded than old ones",
}
"""What an error edge asks for, in words, by the names that the tables use."""
EITHER = {"more_old", "more_new"}
"""Conditions of which one is always met."""


def stage_table(kind: TransitionKind = "migration", edition: Edition = "server") -> Sheet:
    """The stages of a transition: whom requests use, the work, where it leads.

    Raises:
        BadInput: for a kind of transition or an edition that there is not.
    """
    edition = edition_of(edition, EDITIONS)
    if kind not in KINDS:
        raise BadInput("kind", kind, one_of(kind, list(KINDS)))
    table = TRANSITIONS[edition][kind]
    rows = tuple(_row(table, stage) for stage in table.states)
    return Sheet(f"{kind}, edition {edition}", HEADS, rows)


def _row(table: Machine, stage: StateRow) -> tuple[str, ...]:
    work = ", ".join(row.name.replace("_", " ") for row in stage.work)
    edges = [edge for edge in table.edges if edge.source == stage.name]
    onward = next(leads_to(edge) for edge in edges if edge.kind == "happy")
    otherwise = onward if any(each.on_failure == "proceed" for each in stage.work) else AGAIN
    aside = _aside([edge for edge in edges if edge.kind != "happy"], otherwise)
    return stage.name, stage.reads, stage.writes, work, onward, aside


def _aside(errors: Sequence[EdgeRow], otherwise: str) -> str:
    """Where failed work leads: each way with its condition, then what holds without one."""
    ways = [f"{leads_to(edge)} {WHEN[edge.when]}" for edge in errors if edge.when]
    if {edge.when for edge in errors} >= EITHER:
        return "; ".join(ways)
    last = next((leads_to(edge) for edge in errors if not edge.when), otherwise)
    return "; ".join([*ways, f"else {last}" if ways else last])


def leads_to(edge: EdgeRow) -> str:
    """The stage that an edge leads to, or the end."""
    return END if edge.target == BOUNDARY else edge.target
