"""The stages of a transition as a state diagram, one for each table that differs."""

from __future__ import annotations

from collections.abc import Iterator

from kit.protocols.tablets.rules.stages import TRANSITIONS, TransitionKind
from kit.protocols.topology.panels.states import machine_diagram
from kit.protocols.topology.rules.machines import EDITIONS, Edition, Machine
from kit.views.diagrams import StateDiagram


def diagram(kind: TransitionKind, edition: Edition) -> StateDiagram:
    """The stages of a kind; kinds with the same table share a drawing, named after the first."""
    table = TRANSITIONS[edition][kind]
    first = next(name for name, other in TRANSITIONS[edition].items() if _same(other, table))
    return machine_diagram(table, f"state-tablet-{first}-{edition}", f"stages of a {first}")


def _same(table: Machine, other: Machine) -> bool:
    return (table.states, table.edges) == (other.states, other.edges)


def diagrams() -> Iterator[StateDiagram]:
    """Every table of stages of both editions, those that kinds share once."""
    drawn = (diagram(kind, edition) for edition in EDITIONS for kind in TRANSITIONS[edition])
    yield from {each.name: each for each in drawn}.values()
