"""The rows of the stage tables that a run can take, and which of them a step takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kit.engine.model import TransitionRows
from kit.protocols.tablets.rules.stages import TRANSITIONS, TransitionKind
from kit.protocols.tablets.tracks.model import Tracks
from kit.protocols.tablets.tracks.state import TabletCommand, TracksState
from kit.protocols.topology import topology as cluster
from kit.protocols.topology.coverage import row_name
from kit.protocols.topology.rules.machines import BOUNDARY, Machine


def tables(model: Tracks) -> Iterator[Machine]:
    """The tables of the kinds that a model's balancer, drains and rebuilds begin."""
    kinds: list[TransitionKind] = list(model.parameters.begun) if model.parameters.moves else []
    requested = {request.kind for request in model.control.plan.requests}
    kinds += ["migration"] * ("leave" in requested)
    rebuilding = {"remove", "replace", "keyspace_rf_change"}
    kinds += [model.parameters.rebuild] * bool(requested & rebuilding)
    machines = TRANSITIONS[model.parameters.edition]
    return (machines[kind] for kind in dict.fromkeys(kinds))


def rows(model: Tracks) -> TransitionRows:
    """The edges of those tables."""
    names = tuple(row_name(table.name, edge) for table in tables(model) for edge in table.edges)

    def taken(before: Any, action: Any, after: Any) -> tuple[str, ...]:
        return tuple(_taken(model, before, action, after))

    return TransitionRows(names, taken)


def _taken(model: Tracks, before: TracksState, action: Any, after: TracksState) -> Iterator[str]:
    command: TabletCommand | None = None
    if isinstance(action, cluster.CommitDecision):
        command = before.command
    elif isinstance(action, cluster.CommitDeposed):
        command = before.deposed
    if command is None or (command.stale and model.guarded):
        return
    for change in command.changes:
        transition = before.tablets[change.tablet].transitions[change.place]
        table = model.table(transition)
        edge = table.edge(change.after, change.kind)
        assert edge is not None
        yield row_name(table.name, edge)
    for _, transition in command.begins:
        table = model.table(transition)
        edge = table.edge(BOUNDARY, "happy")
        assert edge is not None
        yield row_name(table.name, edge)
