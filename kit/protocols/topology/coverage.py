"""The rows of the transition tables that a run can take, and which of them a step takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kit.engine.model import TransitionRows
from kit.protocols.topology.control import Control
from kit.protocols.topology.rules.cluster import NOBODY, ClusterTopology
from kit.protocols.topology.rules.editions import MACHINES
from kit.protocols.topology.rules.machines import BOUNDARY, EdgeRow, Edition, Machine
from kit.protocols.topology.rules.states import NODE_STATE_OF
from kit.protocols.topology.rules.work import under_way


def row_name(machine: str, edge: EdgeRow) -> str:
    """``bootstrapping: join_group0 → left_token_ring (rollback)``."""
    kind = "" if edge.kind == "happy" else f" ({edge.kind})"
    source, target = edge.source or "null", edge.target or "null"
    return f"{machine}: {source} → {target}{kind}"


def machines(model: Control) -> Iterator[Machine]:
    """The machines of the operations that a model's requests may begin."""
    tables = MACHINES[model.setting.edition]
    names = []
    for request in model.plan.requests:
        name = next((v for k, v in NODE_STATE_OF.items() if k == request.kind), request.kind)
        zero = request.zero_token and request.node != NOBODY
        names.append(f"{name}_zero_token" if zero else name)
    names += ["tablets"] * bool(model.tablets or model.on_tablets)
    return (tables[name] for name in dict.fromkeys(names))


def rows(model: Control) -> TransitionRows:
    """The edges of those machines, and of the diagram of nodes as far as they lead along it."""
    drawn = [(machine.name, edge) for machine in machines(model) for edge in machine.edges]
    names = [row_name(name, edge) for name, edge in drawn]
    known = set(names)

    def taken(before: Any, action: Any, after: Any) -> tuple[str, ...]:
        steps = taken_edges(before.topology, after.topology, model.setting.edition)
        return tuple(row_name(*step) for step in steps if row_name(*step) in known)

    return TransitionRows(tuple(names), taken)


def taken_edges(
    before: ClusterTopology, after: ClusterTopology, edition: Edition
) -> Iterator[tuple[str, EdgeRow]]:
    """The machine and the edge that lead from a topology to the next one."""
    old, new = under_way(before), under_way(after)
    if new is not None and (old is None or (old.machine, old.node) != (new.machine, new.node)):
        yield new.machine, MACHINES[edition][new.machine].begins
    # A truncate that fails stays in its state, without its session.
    if old is None or (old == new and before.session == after.session):
        yield from _at_once(before, after, edition)
        return
    machine = MACHINES[edition][old.machine]
    for edge in machine.edges:
        if edge.source == old.state and _fits(edge, before, after, old.node):
            yield machine.name, edge


def _fits(edge: EdgeRow, before: ClusterTopology, after: ClusterTopology, node: int) -> bool:
    """Whether this edge out of the state is the one that was taken."""
    ends = edge.target == BOUNDARY
    if not ends and edge.target != after.transition:
        return False
    if node == NOBODY:
        number = before.running
        error = bool(number) and after.requests[number - 1].error
        error = error and not before.requests[number - 1].error
        return ends == (after.running == 0) and ("error" in edge.effects) == error
    becomes = edge.becomes or before.nodes[node].state
    entry = after.nodes[node]
    if entry.state != becomes:
        return False
    error = after.requests[entry.request_id - 1].error
    was = before.requests[entry.request_id - 1].error
    return was or ("error" in edge.effects) == error


AT_ONCE = ("cleanup", "keyspace_rf_change")
"""Requests that hold no state of the cluster: they go from waiting to done in one command."""


def _at_once(
    before: ClusterTopology, after: ClusterTopology, edition: Edition
) -> Iterator[tuple[str, EdgeRow]]:
    """The edges of a request that is done at once."""
    for old, new in zip(before.requests, after.requests, strict=False):
        if new.done and not (old.done or new.error) and new.kind in AT_ONCE:
            machine = MACHINES[edition][new.kind]
            yield from ((machine.name, edge) for edge in machine.edges)
