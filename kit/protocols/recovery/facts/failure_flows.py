"""What travels when nodes fail and come back: new schema to who hears of it."""

from __future__ import annotations

from kit.engine.flows import Flow, FlowTable
from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.recovery.facts.flows import spot
from kit.protocols.recovery.failures import sides as reach
from kit.protocols.recovery.failures import state as act
from kit.protocols.recovery.failures.model import Failures
from kit.protocols.recovery.failures.state import FailuresState


def _entry(
    m: Failures, before: FailuresState, action: act.AlterTable, after: FailuresState
) -> tuple[Flow, ...]:
    node = m.number(action.node)
    column = f"column {after.entries}"
    return tuple(
        Flow("entry", spot(action.node), spot(name), column, f"{action.node} → {name}: {column}")
        for name in m.named(reach.side_of(after, node) & ~(1 << node))
    )


def _schema(
    m: Failures, before: FailuresState, action: act.CatchUpSchema, after: FailuresState
) -> tuple[Flow, ...]:
    """The newest schema, from the first voter on the node's side that has it."""
    node = m.number(action.node)
    newest = after.schemas[node]
    others = reach.side_of(before, node) & before.voters & ~(1 << node)
    source = next((i for i in nodes_in(others) if before.schemas[i] == newest), None)
    if source is None or before.schemas[node] == newest:
        return ()
    name = m.names[source]
    text = f"{name} → {action.node}: the newest schema"
    return (Flow("data", spot(name), spot(action.node), "schema", text),)


FLOWS = FlowTable(
    {act.AlterTable: _entry, act.CatchUpSchema: _schema},
    # Nodes fail and start where they are; a cut and its end move nothing.
    (
        *(act.ServeAlone, act.StartFailed, act.StartDatacenter, act.EndCut),
        *(act.StopNode, act.StopTogether, act.LoseDatacenter, act.CutPlace),
    ),
)
