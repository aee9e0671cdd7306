"""Tables for the lessons, from the transition tables themselves."""

from __future__ import annotations

from kit.engine.registry import edition_of, one_of
from kit.errors import BadInput
from kit.protocols.topology.rules.editions import MACHINES
from kit.protocols.topology.rules.machines import BOUNDARY, EDITIONS, Edition, Machine, StateRow
from kit.views.static import Sheet

HEADS = ("state", "reads", "writes", "work", "then", "if it cannot be done")


def machine_table(name: str, edition: Edition = "server") -> Sheet:
    """The states of an operation: which replicas requests use, the work, where it leads.

    ``name`` is that of the node's state, such as ``bootstrapping``.

    Raises:
        BadInput: for an operation or an edition that there is not.
    """
    edition = edition_of(edition, EDITIONS)
    machines = MACHINES[edition]
    known = [each for each, machine in machines.items() if machine.states]
    if name not in known:
        raise BadInput("operation", name, one_of(name, known))
    machine = machines[name]
    rows = tuple(_row(machine, state) for state in machine.states)
    return Sheet(f"{name}, edition {edition}", HEADS, rows)


def _row(machine: Machine, state: StateRow) -> tuple[str, ...]:
    work = ", ".join(row.name for row in state.work)
    back = [_leads(machine, state, kind) for kind in ("rollback", "rejected")]
    fails = ", ".join(filter(None, back)) or "–"
    return state.name, state.reads, state.writes, work, _leads(machine, state, "happy"), fails


def _leads(machine: Machine, state: StateRow, kind: str) -> str:
    edge = next(
        (edge for edge in machine.edges if (edge.source, edge.kind) == (state.name, kind)), None
    )
    if edge is None:
        return ""
    return edge.becomes or "the end" if edge.target == BOUNDARY else edge.target
